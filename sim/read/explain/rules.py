"""What stands behind a rule: its section of the specification, the assumptions that switch it, and
the quirk that applies it.

The rule itself comes from the decision (`sim/core/model/why.py`). Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.core.catalogue import assumptions, quirks
from sim.core.catalogue.assumption import Assumption
from sim.core.catalogue.quirks import Quirk
from sim.run.simulation import Simulation


class Basis:
    """The section of a rule, and the assumptions and the quirk involved."""

    def __init__(self, section: str, *switches: Assumption, quirk: Quirk | None = None) -> None:
        self.section = section
        self.switches = switches
        self.quirk = quirk

    def document(self, sim: Simulation, without: Sequence[str] = ()) -> dict[str, Any]:
        """Return section, assumptions and quirk with their current values, for people and tests.

        Assumptions named in `without` are omitted.
        """
        ctx = sim.exchange.ctx
        document: dict[str, Any] = {}
        if self.section:
            document["section"] = f"§{self.section}"
        if switches := [switch for switch in self.switches if switch.name not in without]:
            document["assumptions"] = [
                {
                    "name": switch.name,
                    "value": ctx.assumptions.as_written(switch.name),
                    "source": switch.source,
                }
                for switch in switches
            ]
        if self.quirk is not None:
            name, section = self.quirk.name, f"§{self.quirk.spec}"
            odds = ctx.quirks.as_written(name)
            document["quirk"] = {"name": name, "odds": odds, "section": section}
        return document


# The section of the rules of a letter, where `_BASES` has no other.
_SECTIONS = {
    "L": "3.1",
    "M": "3.4",
    "P": "4.3",
    "S": "6.2",
    "K": "3.5",
    "R": "8",
    "W": "8",
    "E": "7.1",
    "T": "7.1",
}
_BASES = {
    "L12": Basis("3.4", assumptions.DAY_ROLL_EXPIRES),
    "L9": Basis("3.1", assumptions.COLLAPSE_TO_EXPIRED),
    "L23": Basis("3.4"),
    "L25": Basis("2.10", assumptions.SETTLEMENT_DELAY, assumptions.SETTLEMENT_PRELIMINARY),
    "L27": Basis("4.3", assumptions.CLEARING_DELAY),
    "L29": Basis("2.10", assumptions.GAMES_ARE_PLAYED),
    "L7": Basis("3.1", assumptions.GAMES_ARE_PLAYED),
    "M2": Basis("7.1"),
    "M4": Basis("2.6"),
    "M5": Basis("8"),
    "M6": Basis("7.1"),
    "M22": Basis("3.4", assumptions.STRICT_LIMIT_MODE),
    "M34": Basis("7.1"),
    "M37": Basis("7.2", assumptions.ENGINE_LATENCY),
    "M39": Basis("6.2", assumptions.ORDER_SESSIONS),
    "P3": Basis("3.4"),
    "P4": Basis("3.4"),
    "P5": Basis("3.4", assumptions.AUTO_CANCEL_ORDER),
    "P16": Basis("2.3"),
    "P21": Basis("4.3", assumptions.LEDGER_COMMISSION),
    "P22": Basis("3.1"),
    "S6": Basis(
        "6.2",
        assumptions.REVOCATION_SCOPE,
        assumptions.SYMBOLS_SPARE,
        quirk=quirks.SESSION_REVOCATION,
    ),
    "S13": Basis("8", assumptions.IDLE_TIMEOUT, assumptions.BIDI_IDLE_TIMEOUT),
    "K3": Basis("3.5", assumptions.KYC_PROVISION_DELAY, quirk=quirks.EMPTY_PARTICIPANT_WINDOW),
    "K4": Basis("3.5", assumptions.KYC_DOCUMENT_DELAY, assumptions.KYC_REVIEW_OUTCOME),
    "K5": Basis("3.5", assumptions.KYC_OUTCOME_RULES),
    "K9": Basis("6.1"),
    "K10": Basis("6.1"),
    "K11": Basis(
        "6.1",
        assumptions.WEBHOOK_ATTEMPTS,
        assumptions.WEBHOOK_RETRY_FIRST,
        assumptions.WEBHOOK_RETRY_LONGEST,
        assumptions.WEBHOOK_TIMEOUT,
    ),
    "K12": Basis(
        "6.1",
        assumptions.WEBHOOK_BREAKER_THRESHOLD,
        assumptions.WEBHOOK_BREAKER_COOLDOWN,
        assumptions.WEBHOOK_BREAKER_BUFFERS,
    ),
    "K13": Basis("6.1", quirk=quirks.WEBHOOK_DUPLICATES),
    "W2": Basis("8", assumptions.CANCEL_LEAD),
    "W5": Basis("8", assumptions.MAINTENANCE_STREAM_END),
}


def basis_of(rule: str) -> Basis:
    """Return what stands behind a rule of the page *Rules*, or behind a statement (`S3.1-8`)."""
    if rule in _BASES:
        return _BASES[rule]
    if "-" in rule:
        return Basis(rule[1:].partition("-")[0])
    return Basis(_SECTIONS.get(rule[:1], ""))
