"""Audits: the law follows a simulation, or the replay of a journal, and judges each input.

A journal keeps counts and checksums of frames, not their contents, so it is replayed first, and
judged by what the replay shows. After a jump in time the run goes on in another state, and the law
begins again with that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from traceback import extract_tb
from typing import TextIO

from sim.api.pipeline.inputs import Input, Outcome
from sim.evidence.recording.reading import is_recording
from sim.kernel.instants import Instant
from sim.kernel.journal import Header
from sim.oracle.law import Law
from sim.oracle.verdict import AuditVerdict, Disagreement
from sim.read.errors import UsageError
from sim.read.layout import counted, put, wrapped
from sim.read.observed import ObservedInput, beginning_of
from sim.read.replay import NumberedLines, journal_lines, lines_leading_to, replaying, simulation_of
from sim.run.engine.engine import Engine
from sim.run.simulation import Simulation

_PRINTED_MAX = 20


class Audit:
    """Follows one simulation from now on. `new` has disagreements that nobody has taken yet."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.verdict = AuditVerdict()
        self.new: list[Disagreement] = []
        self.after_jump()
        simulation.engine.observers.append(self)

    def after_jump(self) -> None:
        """Begin with the state in which the simulation is."""
        self._law = Law(beginning_of(self._simulation), self.verdict)

    def after_input(
        self, engine: Engine, input_: Input, outcome: Outcome, at: Instant, out: bytes
    ) -> None:
        """Judge an input. A law that fails has found something too, and the run goes on."""
        try:
            self.new += self._law.judge(ObservedInput(engine, input_, outcome, at, out))
        except Exception as error:
            where = extract_tb(error.__traceback__)[-1]
            sentence = f"the law failed: {type(error).__name__}: {error} in {where.name}"
            failed = Disagreement(outcome.seq, "", "a verdict", "a failure", sentence)
            self.verdict.disagreements.append(failed)
            self.new.append(failed)
            self.after_jump()

    def end(self) -> None:
        """Follow the simulation no longer."""
        self._simulation.engine.observers.remove(self)

    def take(self) -> list[Disagreement]:
        """Return what the law disagrees with since the last time."""
        new, self.new = self.new, []
        return new


def audit_lines(header: Header, lines: NumberedLines) -> AuditVerdict:
    """Replay lines of a journal under the law. Raises Divergence at the first that differs."""
    simulation = simulation_of(header)
    audit = Audit(simulation)
    for _ in replaying(simulation, lines):
        pass
    return audit.verdict


def audit_file(path: Path | str) -> AuditVerdict:
    """Audit a journal. Raises UnreadableJournal or Divergence, and UsageError for a recording."""
    if Path(path).is_file() and is_recording(Path(path)):
        raise UsageError(
            f"{path} is a recording, which does not show with what the exchange began: `sim witness"
            f" {path}` judges what clients saw"
        )
    with journal_lines(path) as (header, lines):
        return audit_lines(header, lines)


def audit_run(simulation: Simulation) -> AuditVerdict:
    """Audit everything that led to the present state of a simulation, in a replay."""
    return audit_lines(*lines_leading_to(simulation))


def disagreement_lines(disagreements: Iterable[Disagreement]) -> Iterator[str]:
    """Yield a line for each disagreement, as a report of a run has them."""
    return (f"law: {disagreement}" for disagreement in disagreements)


def write(verdict: AuditVerdict, name: str, out: TextIO) -> None:
    """Print a verdict: the first disagreements, what was undecided, and the counts."""
    for disagreement in verdict.disagreements[:_PRINTED_MAX]:
        put(*wrapped(str(disagreement), "  ", first=""), file=out)
    if (more := len(verdict.disagreements) - _PRINTED_MAX) > 0:
        put(f"and {more} more; --json has all of them", file=out)
    for kind, count in sorted(verdict.undecided.items()):
        put(f"undecided: {kind}: {counted(count, 'input')}", file=out)
    decided = f"{verdict.decided} of {counted(verdict.inputs, 'input')} decided"
    disagreements = counted(len(verdict.disagreements), "disagreement")
    put(f"{name}: {decided}, {disagreements}", file=out)
