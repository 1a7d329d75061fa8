"""What stands behind a rule: its section of the specification, the assumptions that switch it, and
the quirk that applies it.

The rule itself comes from the decision (`sim/core/model/why.py`). Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sim.core.catalogue import assumptions as known
from sim.core.catalogue import quirks
from sim.core.catalogue.assumption import Assumption
from sim.core.catalogue.quirks import Quirk

if TYPE_CHECKING:
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
    "L12": Basis("3.4", known.DAY_ROLL_EXPIRES),
    "L9": Basis("3.1", known.COLLAPSE_TO_EXPIRED),
    "L23": Basis("3.4"),
    "L25": Basis("2.10", known.SETTLEMENT_DELAY, known.SETTLEMENT_PRELIMINARY),
    "L27": Basis("4.3", known.CLEARING_DELAY),
    "L29": Basis("2.10", known.GAMES_ARE_PLAYED),
    "L7": Basis("3.1", known.GAMES_ARE_PLAYED),
    "M2": Basis("7.1"),
    "M4": Basis("2.6"),
    "M5": Basis("8"),
    "M6": Basis("7.1"),
    "M22": Basis("3.4", known.STRICT_LIMIT_MODE),
    "M34": Basis("7.1"),
    "M37": Basis("7.2", known.ENGINE_LATENCY),
    "M39": Basis("6.2", known.ORDER_SESSIONS),
    "P3": Basis("3.4"),
    "P4": Basis("3.4"),
    "P5": Basis("3.4", known.AUTO_CANCEL_ORDER),
    "P16": Basis("2.3"),
    "P21": Basis("4.3", known.LEDGER_COMMISSION),
    "P22": Basis("3.1"),
    "S6": Basis(
        "6.2", known.REVOCATION_SCOPE, known.SYMBOLS_SPARE, quirk=quirks.SESSION_REVOCATION
    ),
    "S13": Basis("8", known.IDLE_TIMEOUT, known.BIDI_IDLE_TIMEOUT),
    "K3": Basis("3.5", known.KYC_PROVISION_DELAY, quirk=quirks.EMPTY_PARTICIPANT_WINDOW),
    "K4": Basis("3.5", known.KYC_DOCUMENT_DELAY, known.KYC_REVIEW_OUTCOME),
    "K5": Basis("3.5", known.KYC_OUTCOME_RULES),
    "K9": Basis("6.1"),
    "K10": Basis("6.1"),
    "K11": Basis(
        "6.1",
        known.WEBHOOK_ATTEMPTS,
        known.WEBHOOK_RETRY_FIRST,
        known.WEBHOOK_RETRY_LONGEST,
        known.WEBHOOK_TIMEOUT,
    ),
    "K12": Basis(
        "6.1",
        known.WEBHOOK_BREAKER_THRESHOLD,
        known.WEBHOOK_BREAKER_COOLDOWN,
        known.WEBHOOK_BREAKER_BUFFERS,
    ),
    "K13": Basis("6.1", quirk=quirks.WEBHOOK_DUPLICATES),
    "W2": Basis("8", known.CANCEL_LEAD),
    "W5": Basis("8", known.MAINTENANCE_STREAM_END),
}


def basis_of(rule: str) -> Basis:
    """Return what stands behind a rule of the page *Rules*, or behind a statement (`S3.1-8`)."""
    if rule in _BASES:
        return _BASES[rule]
    if "-" in rule:
        return Basis(rule[1:].partition("-")[0])
    return Basis(_SECTIONS.get(rule[:1], ""))
