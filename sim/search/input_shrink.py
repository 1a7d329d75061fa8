"""Shrinks the inputs of a journal, for sessions that no scenario can express.

A failing webhook receiver, or a wrong token, has no step in the scenario language. For such a
session, the recorded inputs are shrunk; the shorter journal can be replayed like any other. Frames
and disconnections name streams by id, which differ in a shorter run, so they are translated.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from sim.api.pipeline.inputs import Input, StreamFrame, StreamHungUp, by_script
from sim.kernel.journal import Header
from sim.read.identifiers import without_identifiers
from sim.read.record import entries
from sim.read.replay import at_the_start, journal_lines, simulation_of, verify
from sim.run.simulation import Simulation
from sim.search.bisect import Question
from sim.search.delta import minimal


class RecordedInput(NamedTuple):
    """One input of a journal, and the id of the stream that it opened there (0: none)."""

    input: Input
    stream: int


class Session(NamedTuple):
    """A journal's start, the seed at its end, and the inputs of its current branch."""

    header: Header
    seed: int
    inputs: list[RecordedInput]


def session_of(path: Path) -> Session:
    """Return the inputs that lead to a journal's end, without those of the scenario's steps.

    Raises UnreadableJournal or Divergence.
    """
    with journal_lines(path) as (header, lines):
        sim = simulation_of(header)
        verify(sim, lines)
    inputs = []
    for entry in entries(sim.journal.lines()):
        if not by_script(entry.input):
            inputs.append(RecordedInput(entry.input, entry.out.stream))
    return Session(header, sim.seed, inputs)


def feed(sim: Simulation, inputs: list[RecordedInput]) -> None:
    """Pass inputs to a simulation at its start, each frame to the corresponding stream."""
    streams: dict[int, int] = {}
    for recorded in inputs:
        input_ = recorded.input
        if isinstance(input_, StreamFrame | StreamHungUp):
            if input_.stream not in streams:
                continue
            input_ = replace(input_, stream=streams[input_.stream])
        outcome = sim.enter(input_)
        if recorded.stream:
            streams[recorded.stream] = outcome.stream


class FewestInputs(NamedTuple):
    """The fewest inputs that were found. `interrupted` means that a smaller set may exist."""

    inputs: list[RecordedInput]
    interrupted: bool


def smallest(
    session: Session, question: Question, on_trial: Callable[[int], None] = lambda left: None
) -> FewestInputs:
    """Return the fewest inputs after which the same does not hold, with the same messages.

    After all of them, the question must have been answered with failures.
    """
    best = session.inputs
    sim = at_the_start(session.header, session.seed)
    feed(sim, session.inputs)
    wrong = {without_identifiers(line) for line in question.ask(sim)}

    def fails(inputs: list[RecordedInput]) -> bool:
        nonlocal best
        on_trial(len(inputs))
        sim.reset()
        try:
            feed(sim, inputs)
            still = wrong <= {without_identifiers(line) for line in question.ask(sim)}
        except Exception:  # an input depends on a removed one: not a valid reduction
            return False
        if still and len(inputs) < len(best):
            best = inputs
        return still

    try:
        return FewestInputs(minimal(session.inputs, fails), interrupted=False)
    except KeyboardInterrupt:
        return FewestInputs(best, interrupted=True)
