"""The verdict: every check on everything that clients saw."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct, field, to_builtins

from sim.evidence.recording.reading import read_recording, uncollected
from sim.evidence.witness import journal, recorded
from sim.evidence.witness.check import Check, Contradiction
from sim.evidence.witness.checks import CHECKS
from sim.evidence.witness.observation import Observation, WorldReset
from sim.evidence.witness.statements import facts
from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, wrapped
from sim.read.replay import journal_lines, lines_leading_to, simulation_of
from sim.read.tables import print_table
from sim.run.simulation import Simulation

# Raised when a message does not have its type: a number is text, an object is a list.
_NO_MESSAGE = (ArithmeticError, AttributeError, TypeError, ValueError)


class CheckVerdict(Struct):
    """What one check found. `count` counts all contradictions; the first hundred are listed."""

    applied: int = 0
    contradictions: list[Contradiction] = field(default_factory=list)
    count: int = 0
    cannot_tell: int = 0

    def add(self, check: Check) -> None:
        """Add what a check found in one stretch of history."""
        self.applied += check.applied
        self.cannot_tell += check.cannot_tell
        self.count += check.count
        self.contradictions += check.contradictions


class Witness(Struct):
    """What all checks found, by name, in `observations` things that clients saw. `illegible` are
    the lines of messages that are none of their type; `sim compare` says what is wrong with them.
    """

    checks: dict[str, CheckVerdict]
    observations: int = 0
    illegible: list[int] = field(default_factory=list)

    @property
    def contradictions(self) -> list[Contradiction]:
        """Every listed contradiction."""
        return [one for verdict in self.checks.values() for one in verdict.contradictions]

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts itself."""
        return not any(verdict.count for verdict in self.checks.values())

    def document(self) -> dict[str, Any]:
        """The verdict for a program."""
        fields: dict[str, Any] = to_builtins(self)
        return fields


class _HistorySegment:
    """The checks of one history, and which of them looks at which kind of fact."""

    def __init__(self) -> None:
        self.checks = [check() for check in CHECKS]
        self._handlers: dict[str, list[Callable[[Any, Observation], None]]] = defaultdict(list)
        kinds = ("order", "past_order", "execution", "trade", "book", "position", "cash", "holding")
        for kind in (*kinds, "settlement", "instrument"):
            for check in self.checks:
                if hasattr(check, kind):
                    self._handlers[kind].append(getattr(check, kind))
        self._whole = [check.observation for check in self.checks if hasattr(check, "observation")]

    def examine(self, seen: Observation) -> bool:
        """Pass an observation, and each fact that it states, to the checks. False where a message
        is none of its type, so that not all of it could be read.
        """
        legible = True
        if seen.ok and seen.body is not None:
            handlers, operation = self._handlers, seen.operation
            try:
                for kind, fact in facts(operation.rpc, operation.response, seen.body, seen.client):
                    for handler in handlers[kind]:
                        handler(fact, seen)
            except _NO_MESSAGE:
                legible = False
        for whole in self._whole:
            whole(seen)
        return legible


def judge(observations: Iterable[Observation | WorldReset]) -> Witness:
    """Look for contradictions in what clients saw."""
    verdicts = {check.name: CheckVerdict() for check in CHECKS}
    witness, stretch = Witness(verdicts), _HistorySegment()

    def finish() -> None:
        for check in stretch.checks:
            check.finish()
            verdicts[check.name].add(check)

    with uncollected():
        for seen in observations:
            if isinstance(seen, WorldReset):
                finish()
                stretch = _HistorySegment()
                continue
            witness.observations += 1
            if not stretch.examine(seen):
                witness.illegible.append(seen.n)
        finish()
    return witness


def witness_file(path: Path) -> Witness:
    """The verdict on a recording, a HAR file or a journal. UnreadableRecording, UnreadableJournal,
    OSError, or Divergence where a journal's run cannot be repeated.
    """
    if path.suffix.lower() == ".har" or _begins_recording(path):
        return judge(recorded.observed(read_recording(path).entries))
    with journal_lines(path) as (header, lines):
        return judge(journal.observed(simulation_of(header), lines))


def witness_run(simulation: Simulation) -> Witness:
    """The verdict on what clients of a simulation have seen so far, on its present branch. Its
    journal is replayed in another one.
    """
    header, lines = lines_leading_to(simulation)
    return judge(journal.observed(simulation_of(header), lines))


def contradiction_lines(simulation: Simulation) -> Iterator[str]:
    """A line for each contradiction in what clients of a finished run have seen."""
    for check, verdict in witness_run(simulation).checks.items():
        yield from (f"witness: {check}: {one.says}" for one in verdict.contradictions)


def _begins_recording(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(15).removeprefix(BOM_UTF8).startswith(b'{"recording"')


def document(witnesses: dict[str, Witness]) -> dict[str, Any]:
    """The verdict on some files for a program: of all together, and of each where they are many. A
    contradiction then says in which `file` its lines are.
    """
    if len(witnesses) == 1:
        return next(iter(witnesses.values())).document()
    files = {name: one.document() for name, one in witnesses.items()}
    checks: dict[str, dict[str, Any]] = {}
    for name, one in files.items():
        for check, verdict in one["checks"].items():
            whole = checks.setdefault(
                check, {"applied": 0, "contradictions": [], "count": 0, "cannot_tell": 0}
            )
            for counted_ in ("applied", "count", "cannot_tell"):
                whole[counted_] += verdict[counted_]
            whole["contradictions"] += [
                {"file": name, **contradiction} for contradiction in verdict["contradictions"]
            ]
    return {"checks": checks, "files": files}


def write(witness: Witness, name: str, out: TextIO) -> None:
    """The verdict as text: contradictions first, then how often each check applied."""
    for check, verdict in witness.checks.items():
        for one in verdict.contradictions:
            lines = ", ".join(map(str, one.evidence))
            noun = "line" if len(one.evidence) == 1 else "lines"
            text = f"{check}: {one.says} [{noun} {lines}]"
            print(*wrapped(text, "  ", first=""), sep="\n", file=out)
        more = verdict.count - len(verdict.contradictions)
        if more:
            print(f"{check}: and {more} more", file=out)
    rows = [
        {
            "check": check,
            "applied": verdict.applied,
            "contradictions": verdict.count,
            "cannot tell": verdict.cannot_tell,
        }
        for check, verdict in witness.checks.items()
        if verdict.applied or verdict.cannot_tell
    ]
    if rows:
        print_table(rows, out)
    never = [check for check, verdict in witness.checks.items() if not verdict.applied]
    if never:
        text = f"never applied: {', '.join(never)}"
        print(*wrapped(text, "  ", first=""), sep="\n", file=out)
    if witness.illegible:
        count = counted(len(witness.illegible), "message")
        text = (
            f"{count} could not be read, the first in line {witness.illegible[0]}; `sim compare` "
        )
        print(*wrapped(text + "shows what is wrong", "  ", first=""), sep="\n", file=out)
    total = sum(verdict.count for verdict in witness.checks.values())
    seen = counted(witness.observations, "observation")
    print(f"{name}: {seen}, {counted(total, 'contradiction')}", file=out)


def junit_of(witnesses: dict[str, Witness]) -> bytes:
    """JUnit XML: a suite for each file, a case for each check, skipped if it never applied."""
    return junit(
        [
            Suite(name, [_case(*row) for row in one.checks.items()])
            for name, one in witnesses.items()
        ]
    )


def _case(check: str, verdict: CheckVerdict) -> Case:
    says = [one.says for one in verdict.contradictions]
    if says:
        return Case("witness", check, failure=says[0], text="\n".join(says))
    return Case("witness", check, skipped="" if verdict.applied else "never applied")
