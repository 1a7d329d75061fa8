"""How close the sandbox is to the real service: what is specified, what was observed, and what is
unknown.

A scorecard combines the results of `sim compare` on recordings with the public evidence in the
catalogue of observations, side by side for both readings. There is no average: whatever was never
observed is counted and listed as "no evidence", however many of our own tests cover it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from sim.contract.contract import Operation, load_contract
from sim.core.catalogue import assumptions, quirks
from sim.core.catalogue.observations import DOCUMENTED, OBSERVED, READINGS, catalogue
from sim.core.catalogue.observations.observation import LIVE, Observation, written
from sim.core.catalogue.quirks import Quirk
from sim.core.model.refusals import NotFound
from sim.evidence.axes import Axis, Source, agreement, axes_of, refusals, summary
from sim.evidence.axes import totals as axis_totals
from sim.evidence.compare.tally import OperationTally
from sim.evidence.scorecard.evidence import Evidence, Place, fields_below
from sim.read import spec_coverage
from sim.read.catalogues import rows


class OperationScore(Struct, frozen=True):
    """One operation or stream. `observed` are names of observations, `statements` tests by id."""

    operation: Operation
    statements: dict[str, int]
    observed: tuple[Observation, ...]
    fields: frozenset[Place]
    seen_fields: frozenset[Place]
    statuses: dict[int, int]
    recorded: dict[str, OperationTally]  # by reading
    axes: dict[str, Axis | None]

    @property
    def evidence(self) -> str:
        """The best evidence available.

        "recorded" in a file that was read, "live" if others published answers, "documents" for
        pages, types and imitations only; "" if there is none.
        """
        if any(tally.agree + tally.differ for tally in self.recorded.values()):
            return "recorded"
        return _best(self.observed)

    def does(self, reading: str) -> int:
        """Return in how many of its observations the exchange agrees, in a reading."""
        return sum(1 for observation in self.observed if does(observation, reading))

    def document(self) -> dict[str, Any]:
        """Return the score for `--json`."""
        recorded = {reading: tally.counts() for reading, tally in self.recorded.items()}
        not_seen = sorted(".".join(path) for path in self.fields - self.seen_fields)
        return {
            "axes": self.axes,
            "agrees": agreement(self.operation.name),
            "evidence": self.evidence or None,
            "statements": self.statements,
            "observations": {
                observation.name: _readings(observation) for observation in self.observed
            },
            "fields": {"contract": len(self.fields), "seen": len(self.seen_fields)}
            | ({"not_seen": not_seen} if self.seen_fields else {}),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "recorded": recorded,
        }


class SwitchScore(Struct, frozen=True):
    """One assumption or quirk: our value in each reading, its source, and the evidence."""

    name: str
    kind: str  # assumption or quirk
    values: dict[str, str]  # by reading
    source: str
    observed: tuple[Observation, ...]
    inferred: dict[str, Any]

    @property
    def verdict(self) -> str:
        """The verdict of `sim infer` on a recording; "" if it was not requested."""
        return str(self.inferred.get("verdict", ""))

    @property
    def evidence(self) -> str:
        """The best evidence, as for an operation; "recorded" if a recording decides."""
        if self.verdict in ("confirmed", "refuted"):
            return "recorded"
        return _best(self.observed)

    def document(self) -> dict[str, Any]:
        """Return the score for `--json`."""
        return {
            "evidence": self.evidence or None,
            **self.values,
            "source": self.source,
            "observations": {observation.name: observation.value for observation in self.observed},
            **({"inferred": self.inferred} if self.inferred else {}),
        }


class Scorecard(Struct, frozen=True):
    """Everything that the page shows."""

    evidence: Evidence
    operations: tuple[OperationScore, ...]
    switches: tuple[SwitchScore, ...]
    statements: dict[str, str]  # text by id
    tests: dict[str, list[str]]  # by statement
    observation_tests: dict[str, list[str]]

    def document(self) -> dict[str, Any]:
        """Return the scorecard for `--json`."""
        return {
            "recordings": [asdict(source) for source in self.evidence.sources],
            "scenario": self.evidence.scenario or None,
            "operations": {score.operation.name: score.document() for score in self.operations},
            "assumptions": self._of_kind("assumption"),
            "quirks": self._of_kind("quirk"),
            "observations": {
                observation.name: {
                    **_readings(observation),
                    "tests": len(self.observation_tests.get(observation.name, ())),
                    "date": observation.date,
                    "evidence": list(observation.evidence),
                }
                for observation in catalogue().values()
            },
            "statements": {name: len(self.tests.get(name, ())) for name in self.statements},
            "refusals": refusals(),
            "totals": self.totals(),
        }

    def summary(self) -> dict[str, list[str]]:
        """Return what is proven, not proven and unknown, by operation."""
        return summary({score.operation.name: score.axes for score in self.operations})

    def _of_kind(self, kind: str) -> dict[str, Any]:
        return {switch.name: switch.document() for switch in self.switches if switch.kind == kind}

    def totals(self) -> dict[str, Any]:
        """Return counts, each of one kind of thing. Nothing is averaged over kinds."""
        observed = catalogue().values()
        return {
            "statements": len(self.statements),
            "statements_with_tests": sum(1 for name in self.statements if self.tests.get(name)),
            "observations": len(observed),
            "observations_done": {
                reading: sum(1 for observation in observed if does(observation, reading))
                for reading in READINGS
            },
            "observations_with_tests": sum(
                1 for observation in observed if self.observation_tests.get(observation.name)
            ),
            "axes": axis_totals(score.axes for score in self.operations),
            "operations": _by_evidence(score.evidence for score in self.operations),
            "operations_without_evidence": [
                score.operation.name for score in self.operations if not score.evidence
            ],
            "assumptions": _by_evidence(switch.evidence for switch in self.switches),
        }


def does(observation: Observation, reading: str) -> bool:
    """Return whether the exchange behaves as observed, in a reading."""
    return observation.holds == "both" or (observation.holds == reading == OBSERVED)


def _readings(observation: Observation) -> dict[str, bool]:
    return {reading: does(observation, reading) for reading in READINGS}


def _best(observed: Iterable[Observation]) -> str:
    kinds = {kind for observation in observed for kind in observation.evidence}
    return "live" if LIVE in kinds else "documents" if kinds else ""


def _by_evidence(kinds: Iterable[str]) -> dict[str, int]:
    """Return how many there are of each kind of evidence, and in total."""
    counted = Counter(kinds)
    return {
        **{kind: counted[kind] for kind in ("recorded", "live", "documents")},
        "none": counted[""],
        "all": sum(counted.values()),
    }


def scorecard(evidence: Evidence | None = None) -> Scorecard:
    """Return the scorecard of this release, with the results of recordings."""
    evidence = evidence or Evidence()
    statements, tests = _statements()
    observed = _observed_by_operation()
    by_observation = _observation_tests()
    named = tests | by_observation
    operations = tuple(
        OperationScore(
            operation,
            {name: len(tests.get(name, ())) for name in operation.statements},
            tuple(observed.get(operation.name, ())),
            _fields(operation),
            frozenset(evidence.fields.get(operation.name, ())),
            dict(evidence.statuses.get(operation.name, {})),
            {
                reading: tallies[operation.name]
                for reading, tallies in evidence.tallies.items()
                if operation.name in tallies
            },
            axes_of(operation, named, _recorded(evidence, operation.name)),
        )
        for operation in load_contract().operations
    )
    switches = tuple(_switches(evidence.inferred))
    return Scorecard(evidence, operations, switches, statements, tests, by_observation)


def _recorded(evidence: Evidence, operation: str) -> list[Source]:
    """Return the recordings that were read, as sources of an operation that they show."""
    shown_in = any(operation in tallies for tallies in evidence.tallies.values())
    rows = evidence.sources if shown_in else []
    kind = ("live", "test")
    return [
        {"kind": kind[source.local], "name": source.file, "date": source.started[:10]}
        for source in rows
    ]


def _statements() -> tuple[dict[str, str], dict[str, list[str]]]:
    try:
        ledger = rows("ledger")
    except NotFound:  # a wheel that was not built from a checkout has none
        return {}, {}
    return (
        {row["id"]: row["statement"] for row in ledger},
        {row["id"]: row["tests"] for row in ledger},
    )


def _observation_tests() -> dict[str, list[str]]:
    try:
        return spec_coverage.load("observed")[1]
    except (FileNotFoundError, KeyError):
        return {}


def _observed_by_operation() -> dict[str, list[Observation]]:
    by_operation: dict[str, list[Observation]] = {}
    for observation in catalogue().values():
        for name in observation.operations:
            by_operation.setdefault(name, []).append(observation)
    return by_operation


def _fields(operation: Operation) -> frozenset[Place]:
    """Return the fields of an answer or a frame. A CSV file has columns instead."""
    return frozenset() if operation.content == "csv" else fields_below(operation.response)


def _switches(inferred: Mapping[str, Any]) -> Iterator[SwitchScore]:
    """Yield every assumption and quirk with its observations."""
    kinds: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("assumption", assumptions.catalogue()),
        ("quirk", quirks.catalogue()),
    )
    for kind, switches in kinds:
        for name, switch in switches.items():
            if isinstance(switch, Quirk):
                default, source = str(switch.default), f"§{switch.spec}"
            else:
                default, source = written(switch.show(switch.default)), switch.source
            observed = tuple(
                observation
                for observation in catalogue().values()
                if observation.switch is not None and observation.switch.name == name
            )
            chosen = (observation.value for observation in observed if observation.in_observed)
            values = {DOCUMENTED: default, OBSERVED: next(chosen, default)}
            yield SwitchScore(name, kind, values, source, observed, inferred.get(name, {}))
