"""The verdict: every check on everything that clients saw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct, to_builtins

from sim.evidence.recording.reading import is_recording, read_recording, uncollected
from sim.evidence.witness import journal
from sim.evidence.witness.check import Contradiction, WitnessCheck
from sim.evidence.witness.checks import CHECKS
from sim.evidence.witness.observation import ClientObservation, WorldReset, observed
from sim.evidence.witness.statements import KINDS, facts
from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, put, wrapped
from sim.read.replay import journal_lines, lines_leading_to, simulation_of
from sim.read.tables import print_table
from sim.run.simulation import Simulation

# Raised when a message does not have its type: a number is text, an object is a list.
_NO_MESSAGE = (ArithmeticError, AttributeError, TypeError, ValueError)


class CheckVerdict(Struct):
    """What one check found. `count` counts all contradictions; the first hundred are listed."""

    applied: int = 0
    contradictions: list[Contradiction] = []
    count: int = 0
    cannot_tell: int = 0

    def add(self, further: CheckVerdict | WitnessCheck) -> None:
        """Add what the check found in another segment of history, or in another file."""
        self.applied += further.applied
        self.cannot_tell += further.cannot_tell
        self.count += further.count
        self.contradictions += further.contradictions


class Witness(Struct):
    """What all checks found, by name, in `observations` things that clients saw. `illegible` are
    the lines of messages that are none of their type; `sim compare` says what is wrong with them.
    """

    checks: dict[str, CheckVerdict]
    observations: int = 0
    illegible: list[int] = []

    @property
    def contradictions(self) -> list[Contradiction]:
        """Every listed contradiction."""
        return [
            contradiction
            for verdict in self.checks.values()
            for contradiction in verdict.contradictions
        ]

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
        self._handlers = {
            kind: [getattr(check, kind) for check in self.checks if hasattr(check, kind)]
            for kind in (*KINDS, "observation")
        }

    def examine(self, observation: ClientObservation) -> bool:
        """Pass an observation, and each fact that it states, to the checks. False where a message
        is none of its type, so that not all of it could be read.
        """
        legible, handlers, operation = True, self._handlers, observation.operation
        if observation.ok and observation.body is not None:
            stated = facts(operation.rpc, operation.response, observation.body, observation.client)
            try:
                for kind, fact in stated:
                    for handler in handlers[kind]:
                        handler(fact, observation)
            except _NO_MESSAGE:
                legible = False
        for handler in handlers["observation"]:
            handler(observation)
        return legible


def judge(observations: Iterable[ClientObservation | WorldReset]) -> Witness:
    """Look for contradictions in what clients saw."""
    verdicts = {check.name: CheckVerdict() for check in CHECKS}
    witness, segment = Witness(verdicts), _HistorySegment()

    def finish() -> None:
        for check in segment.checks:
            check.finish()
            verdicts[check.name].add(check)

    with uncollected():
        for observation in observations:
            if isinstance(observation, WorldReset):
                finish()
                segment = _HistorySegment()
                continue
            witness.observations += 1
            if not segment.examine(observation):
                witness.illegible.append(observation.n)
        finish()
    return witness


def witness_file(path: Path) -> Witness:
    """The verdict on a recording, a HAR file or a journal. UnreadableRecording, UnreadableJournal,
    OSError, or Divergence where a journal's run cannot be repeated.
    """
    if is_recording(path):
        return judge(observed(read_recording(path).entries))
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
        yield from (f"witness: {check}: {it.sentence}" for it in verdict.contradictions)


def document(witnesses: dict[str, Witness]) -> dict[str, Any]:
    """The verdict on some files for a program: of all together, and of each where they are many. A
    contradiction then says in which `file` its lines are.
    """
    if len(witnesses) == 1:
        return next(iter(witnesses.values())).document()
    files = {name: witness.document() for name, witness in witnesses.items()}
    together = {check.name: CheckVerdict() for check in CHECKS}
    for witness in witnesses.values():
        for check, verdict in witness.checks.items():
            together[check].add(verdict)
    checks = to_builtins(together)
    for check, total in checks.items():
        total["contradictions"] = [
            {"file": name, **contradiction}
            for name, file in files.items()
            for contradiction in file["checks"][check]["contradictions"]
        ]
    return {"checks": checks, "files": files}


def write(witness: Witness, name: str, out: TextIO) -> None:
    """The verdict as text: contradictions first, then how often each check applied."""
    for check, verdict in witness.checks.items():
        for contradiction in verdict.contradictions:
            lines = ", ".join(map(str, contradiction.evidence))
            noun = "line" if len(contradiction.evidence) == 1 else "lines"
            _print(f"{check}: {contradiction.sentence} [{noun} {lines}]", out)
        more = verdict.count - len(verdict.contradictions)
        if more:
            put(f"{check}: and {more} more", file=out)
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
        _print(f"never applied: {', '.join(never)}", out)
    if witness.illegible:
        count = counted(len(witness.illegible), "message")
        first = f"the first in line {witness.illegible[0]}"
        _print(f"{count} could not be read, {first}; `sim compare` shows what is wrong", out)
    total = sum(verdict.count for verdict in witness.checks.values())
    observations = counted(witness.observations, "observation")
    put(f"{name}: {observations}, {counted(total, 'contradiction')}", file=out)


def _print(text: str, out: TextIO) -> None:
    put(*wrapped(text, "  ", first=""), file=out)


def junit_of(witnesses: dict[str, Witness]) -> bytes:
    """JUnit XML: a suite for each file, a case for each check, skipped if it never applied."""
    return junit(
        [
            Suite(name, [_case(*row) for row in witness.checks.items()])
            for name, witness in witnesses.items()
        ]
    )


def _case(check: str, verdict: CheckVerdict) -> Case:
    texts = [contradiction.sentence for contradiction in verdict.contradictions]
    if texts:
        return Case("witness", check, failure=texts[0], text="\n".join(texts))
    return Case("witness", check, skipped="" if verdict.applied else "never applied")
