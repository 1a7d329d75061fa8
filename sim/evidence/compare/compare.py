"""Compare a recording with the contract and, if one is given, with a scenario.

`RecordingComparison` is what `sim compare` prints. Every line is read once, so time is linear in
the number of answers and frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct

from sim.contract.contract import load_contract
from sim.evidence.compare.chance import DeferredTally, ExcusedPlaces, decided_by_chance
from sim.evidence.compare.tally import ComparisonTally, PlaceTally, without_positions
from sim.evidence.recording.files import Recording
from sim.evidence.recording.reading import naming_file
from sim.evidence.recording.recorded_events import RecordingReader
from sim.evidence.replay.arrival_order import likely_order
from sim.evidence.replay.player import RecordedSession
from sim.evidence.replay.service_clock import ServiceClock
from sim.evidence.validation.answers import Checker, NoEvidence
from sim.evidence.validation.difference import CULPRITS, LineVerdict, Misfit
from sim.evidence.validation.readings import observation_of, other_reading
from sim.read.layout import put
from sim.read.progress import QUIET_BELOW_LINES, Progress
from sim.world.format.scenario import Scenario

_WIDTH = 80
_PLACES_MAX = 3  # printed places of one operation
_LINES_MAX = 24  # printed lines about differing operations; no operation is started after them

# What is said of a comparison that was interrupted
_EARLIER = "this is of what was compared before"
_MAY_BE_CHANCE = "some of what differs may be due to chance"


class RecordingComparison(Struct, frozen=True):
    """The result of comparing a recording: what agrees, what differs and what has no evidence."""

    path: Path
    reading: str
    tally: ComparisonTally
    warnings: list[str]
    scenario: str = ""

    def not_seen(self) -> list[str]:
        """Return the operations of the contract that the recording never shows."""
        names = (operation.name for operation in load_contract().operations)
        return [name for name in names if name not in self.tally.operations]

    def document(self) -> dict[str, Any]:
        """Return the document that `--json` prints."""
        tally, not_seen = self.tally, self.not_seen()
        return {
            "recording": str(self.path),
            "scenario": self.scenario or None,
            "reading": self.reading,
            "operations": {
                name: operation.document() for name, operation in sorted(tally.operations.items())
            },
            "not_seen": not_seen,
            "totals": tally.totals() | {"not_seen": len(not_seen)},
            "warnings": self.warnings,
        }

    def write(self, out: TextIO) -> None:
        """Print the report, the most important part first."""
        for line in self._lines():
            put(line, file=out)

    def _lines(self) -> Iterator[str]:
        totals = self.tally.totals()
        yield from self.warnings
        yield (
            f"{self.path.name}: {totals['seen']:,} answers and frames of {totals['operations']}"
            f" operations, reading {self.reading}"
        )
        if self.scenario:
            yield f"replayed into {self.scenario}"
        if self.tally.same:
            nothing = "" if totals["agree"] else ", because nothing could be compared"
            yield f"nothing differs{nothing}"
        else:
            culprits = totals["culprits"]
            whose = ", ".join(f"{culprits[name]:,} {name}" for name in CULPRITS if culprits[name])
            yield f"{totals['differ']:,} differ; differences by culprit: {whose}"
        yield ""
        yield from self._differing()
        yield from self._observed()
        yield from agreement(self)

    def _differing(self) -> Iterator[str]:
        """Yield lines about differences that no observation explains."""
        places = {
            name: [
                group for group in operation.places.values() if not group.first.difference.switch
            ]
            for name, operation in self.tally.operations.items()
        }
        operations = [
            (name, self.tally.operations[name]) for name, listed in places.items() if listed
        ]
        operations.sort(key=lambda item: (-item[1].differ, item[0]))
        lines = 0
        for number, (name, operation) in enumerate(operations):
            if lines >= _LINES_MAX:
                yield f"… and {len(operations) - number} more operations: --json lists all"
                break
            differing = [
                f"{name}: {operation.differ:,} of {operation.total:,} differ",
                *_places(places[name]),
            ]
            lines += len(differing)
            yield from differing
        if operations:
            yield ""

    def _observed(self) -> Iterator[str]:
        """Yield lines about differences between the two readings, grouped by observation."""
        explained: dict[str, tuple[int, set[str]]] = {}
        for name, operation in self.tally.operations.items():
            for group in operation.places.values():
                if switch := group.first.difference.switch:
                    count, names = explained.get(switch, (0, set()))
                    explained[switch] = count + group.count, names | {name}
        if not explained:
            return
        other = other_reading(self.reading)
        yield f"no difference in the reading {other} (--reading {other}):"
        for switch, (count, names) in sorted(explained.items(), key=lambda item: -item[1][0]):
            name = observation_of(switch) or switch
            yield f"  {name}: {count:,} places in {len(names)} operations"
        yield ""


def agreement(comparison: RecordingComparison) -> Iterator[str]:
    """Yield the last lines: what agrees, and what has no evidence."""
    tally, totals = comparison.tally, comparison.tally.totals()
    agree = [
        name for name, operation in tally.operations.items() if operation.agree == operation.total
    ]
    yield f"agree:       {totals['agree']:,} answers and frames, {len(agree)} whole operations"
    unknown = f"{totals['no_evidence']:,} answers and frames" if totals["no_evidence"] else ""
    never = f"{len(comparison.not_seen())} operations never seen (--json lists them)"
    yield f"no evidence: {'; '.join(part for part in (unknown, never) if part)}"


def _places(places: list[PlaceTally]) -> Iterator[str]:
    places = sorted(places, key=lambda group: (-group.count, group.where))
    for group in places[:_PLACES_MAX]:
        yield from (f"  {line}"[:_WIDTH] for line in group.lines(_WIDTH - 2))
    if len(places) > _PLACES_MAX:
        yield f"  … and {len(places) - _PLACES_MAX} more places"


def compare(path: Path, recording: Recording, reading: str) -> RecordingComparison:
    """Check every answer and frame against the contract. Raises UnreadableRecording."""
    checker = Checker(reading, relations=not recording.of_shapes)
    tally = ComparisonTally()
    with naming_file(path), _through(recording) as progress:
        for event in progress.each(RecordingReader(recording.entries).events()):
            try:
                differences = _published(recording, event.name, checker.check(event))
            except NoEvidence as why:
                tally.no_evidence(event.name, str(why))
                continue
            if differences:
                tally.differ(LineVerdict(event.name, event.entry.n, differences))
            else:
                tally.agree(event.name)
    warnings = _warnings(path, recording, _EARLIER if progress.interrupted else "")
    return RecordingComparison(path, reading, tally, warnings)


def _published(recording: Recording, operation: str, differences: list[Misfit]) -> list[Misfit]:
    """Return the differences at paths that the file shows: a partial shape file leaves out more."""
    absent = recording.absent
    if absent is None:
        return differences
    return [
        misfit
        for misfit in differences
        if misfit.kind != "missing name"
        or (operation, without_positions(misfit.where).removeprefix("answer.body.")) in absent
    ]


def compare_with(
    path: Path, recording: Recording, scenario: Scenario, seed: int | None
) -> RecordingComparison:
    """Replay a recording into a scenario; compare values, order and causality as well.

    Raises UnreadableRecording, and Unmatched if the scenario has too few identities.
    """
    chance, tally = ExcusedPlaces(complete=False), DeferredTally()
    with naming_file(path):
        clock = ServiceClock(recording.entries)
        session = RecordedSession(scenario, seed, recording.entries, clock)
        with _through(recording) as progress:
            names = tally.replay(session, progress.step)
        if not progress.interrupted:
            with Progress(0, "orders of arrival tried", log=False) as orders:

                def differences(other: RecordedSession) -> Iterator[Misfit]:
                    orders.step()
                    trial = DeferredTally()
                    trial.replay(other)
                    return (misfit for line in trial.lines for misfit in line.differences)

                lines = {line.n for line in tally.lines}
                if (moved := likely_order(session, lines, differences)) is not None:
                    other = DeferredTally()
                    names = other.replay(moved)
                    session, tally = moved, other
            if not orders.interrupted:
                chance = decided_by_chance(session, tally.lines, names)
    tally.settle(chance.places)
    interrupted = "" if chance.complete else _MAY_BE_CHANCE
    if progress.interrupted:
        interrupted = f"{_EARLIER}, and {_MAY_BE_CHANCE}"
    warnings = _warnings(path, recording, interrupted)
    return RecordingComparison(path, scenario.reading, tally, warnings, scenario.name)


def _warnings(path: Path, recording: Recording, interrupted: str) -> list[str]:
    interrupt = f"{path}: interrupted; {interrupted}" if interrupted else ""
    return [*recording.warning.splitlines(), *filter(None, (interrupt,))]


def _through(recording: Recording) -> Progress:
    """Show progress through a recording. After an interrupt the lines compared so far count."""
    total = len(recording.entries)
    return Progress(total, "lines compared", quiet_below=QUIET_BELOW_LINES)
