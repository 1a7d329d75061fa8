"""Verdicts on a client, from the journals and exit codes of its runs only. So a bundle can be
judged again elsewhere, with the same result.

| Verdict | Meaning |
|---|---|
| passed | the item was exercised, and the client did as documented each time |
| failed | at least once the client did not |
| not exercised | no call of the client could have broken it, so it shows nothing |

Failing tests of a leg are evidence about its faults only if the tests pass without them. So if the
tests fail in the first leg, those of the other legs count as not exercised; so do those of a pair
of faults if the tests fail under one of them alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from sim.evidence.witness import witness_run
from sim.kernel.instants import format_instant
from sim.read.conformance import check
from sim.read.conformance.recorded_run import ClientActivity
from sim.read.layout import first_lines
from sim.read.replay import replay_file
from sim.run.actors.script.view import script_view
from sim.run.simulation import Simulation
from sim.testing.certify.profile import Item, Profile, ProfileLeg
from sim.testing.client_command import ClientRun

PASSED, FAILED, UNEXERCISED = "passed", "failed", "not exercised"
EVIDENCE_MAX = 5


class LegResult(Struct, frozen=True, kw_only=True):
    """Result of one leg. `applied` and `broken` are by rule, `broken` with the input and a sentence
    each; `code` is None if the command did not end in time; `failing` are the failed tests by name,
    if the command reports them; `exercised`: the leg's faults or steps affected the client.
    """

    leg: str
    code: int | None
    digest: str
    seq: int
    calls: int
    exercised: bool
    failing: tuple[str, ...] = ()
    applied: dict[str, int] = {}
    broken: dict[str, list[tuple[int, str]]] = {}
    observations: int = 0
    contradictions: list[str] = []


class ItemVerdict(Struct, frozen=True, kw_only=True):
    """One line of the report. `evidence` tells where it failed, or why it was not exercised."""

    item: Item
    verdict: str
    applied: int = 0
    evidence: tuple[str, ...] = ()


class CertificationReport(Struct, frozen=True, kw_only=True):
    """The verdicts on a client, and the legs that they rest on. `left_out` are legs that were not
    run, because of the time limit or an interrupt. `messages` has those of failed tests by leg
    and name: text of the client, so it is printed to the user and written to no file.
    """

    profile: Profile
    verdicts: list[ItemVerdict]
    legs: list[LegResult]
    left_out: tuple[str, ...] = ()
    messages: dict[str, dict[str, str]] = {}

    @property
    def ok(self) -> bool:
        """Whether no item failed, the client made calls, and every leg was run."""
        count = self.count
        return not count[FAILED] and count[PASSED] > 0 and not self.left_out

    @property
    def count(self) -> Counter[str]:
        """Number of items by verdict."""
        return Counter(verdict.verdict for verdict in self.verdicts)

    def document(self) -> dict[str, Any]:
        """The report as JSON."""
        count = self.count
        return {
            "ok": self.ok,
            "note": NOTE,
            "profile": {
                "id": self.profile.id,
                "version": self.profile.version,
                "sha256": self.profile.digest,
                "says": self.profile.summary,
            },
            "totals": {word: count[word] for word in (PASSED, FAILED, UNEXERCISED)},
            "items": [
                {
                    "id": verdict.item.id,
                    "section": verdict.item.section,
                    "says": verdict.item.summary,
                    "why": verdict.item.why,
                    "verdict": verdict.verdict,
                    "applied": verdict.applied,
                    "evidence": list(verdict.evidence),
                }
                for verdict in self.verdicts
            ],
            "legs": to_builtins(self.legs),
            "left_out": list(self.left_out),
        }


NOTE = (
    "This is a report on the client, made by a sandbox. It is not the venue's certificate, and the"
    " venue knows nothing of it."
)


def leg_of_journal(leg: ProfileLeg, journal: Path, run: ClientRun) -> LegResult:
    """Return the result of a leg from its journal. Divergence or UnreadableJournal if
    it is damaged.
    """
    simulation = replay_file(journal).simulation
    return leg_of_simulation(leg, simulation, run.code, tuple(run.cases.failing))


def leg_of_simulation(
    leg: ProfileLeg, sim: Simulation, code: int | None, failing: tuple[str, ...] = ()
) -> LegResult:
    """Return the result of a leg from the simulation that ran it."""
    run, conformance, witness = ClientActivity(sim), check(sim, clock_moves=True), witness_run(sim)
    return LegResult(
        leg=leg.id,
        code=code,
        digest=sim.digest,
        seq=sim.seq,
        calls=len(run.calls),
        exercised=_is_exercised(leg, sim, run),
        failing=failing,
        applied={row.rule.name: len(row.applied) for row in conformance.verdicts if row.applied},
        broken={
            row.rule.name: [(finding.seq, finding.line()) for finding in row.broken]
            for row in conformance.verdicts
            if row.broken
        },
        observations=witness.observations,
        contradictions=[f"{leg.id}: {each.sentence}" for each in witness.contradictions],
    )


def _is_exercised(leg: ProfileLeg, sim: Simulation, run: ClientActivity) -> bool:
    """Return whether the leg's faults or steps affected the client."""
    if leg.shows in ("faults", "pair"):
        faults = (*sim.exchange.faults.all(), *sim.exchange.faults.over())
        injected_operations = Counter(
            fault.spec.match.operation for fault in faults if fault.affected
        )
        return max(injected_operations.values(), default=0) >= (2 if leg.shows == "pair" else 1)
    if leg.shows == "steps":
        done = [
            step["at"] for step in script_view(sim.script)["steps"] if step["state"] == "passed"
        ]
        return bool(done) and any(format_instant(call.at) > min(done) for call in run.calls)
    return bool(run.calls)


def judge(profile: Profile, legs: Sequence[LegResult]) -> CertificationReport:
    """Return the report on a client from the results of its legs."""
    by_id = {leg.leg: leg for leg in legs}
    return CertificationReport(
        profile=profile,
        verdicts=[_verdict(profile, item, by_id) for item in profile.items],
        legs=list(legs),
        left_out=tuple(leg.id for leg in profile.legs if leg.id not in by_id),
    )


def _verdict(profile: Profile, item: Item, legs: dict[str, LegResult]) -> ItemVerdict:
    if item.leg:
        return _of_leg(profile, item, legs)
    if item.witness:
        applied = sum(leg.observations for leg in legs.values())
        evidence = [text for leg in legs.values() for text in leg.contradictions]
    else:
        applied = sum(leg.applied.get(item.rule, 0) for leg in legs.values())
        evidence = [text for leg in legs.values() for text in _charged(profile, item, leg)]
    if not applied:
        unmet = item.unmet or "no client received an answer or a message"
        return ItemVerdict(item=item, verdict=UNEXERCISED, evidence=(unmet,))
    word = FAILED if evidence else PASSED
    return ItemVerdict(item=item, verdict=word, applied=applied, evidence=_some(evidence))


def _charged(profile: Profile, item: Item, leg: LegResult) -> list[str]:
    """Return the violations of an item's rule in a leg, without inputs that also break a narrower
    rule: one mistake fails one item.
    """
    narrower = [other.rule for other in profile.items if item.id in other.instead_of]
    elsewhere = {seq for rule in narrower for seq, _ in leg.broken.get(rule, ())}
    broken = leg.broken.get(item.rule, ())
    return [f"{leg.leg}: {text}" for seq, text in broken if seq not in elsewhere]


def _of_leg(profile: Profile, item: Item, legs: dict[str, LegResult]) -> ItemVerdict:
    """The verdict on the tests of one leg."""
    leg = legs.get(item.leg)
    why = ""
    if leg is None:
        why = "the leg was not run"
    elif not leg.exercised:
        reason = next(each.unmet for each in profile.legs if each.id == item.leg)
        why = reason if leg.calls else "no call reached the exchange"
    elif unmet_legs := [name for name in profile.rests_on(item.leg) if not _passed(legs.get(name))]:
        why = f"the tests do not pass in the leg {unmet_legs[0]}"
    if leg is None or why:
        return ItemVerdict(item=item, verdict=UNEXERCISED, evidence=(why,))
    if leg.code == 0:
        return ItemVerdict(item=item, verdict=PASSED, applied=1)
    ended = "did not end in time" if leg.code is None else f"ended with {leg.code}"
    tests = [failing(leg.leg, name) for name in leg.failing]
    evidence = (f"{leg.leg}: the tests {ended}", *_some(tests))
    return ItemVerdict(item=item, verdict=FAILED, applied=1, evidence=evidence)


def failing(leg: str, test: str) -> str:
    """The evidence that a test failed in a leg."""
    return f"{leg}: {test} failed"


def _passed(leg: LegResult | None) -> bool:
    return leg is not None and leg.code == 0


def _some(evidence: list[str]) -> tuple[str, ...]:
    return tuple(first_lines(evidence, EVIDENCE_MAX, "… and {} more"))
