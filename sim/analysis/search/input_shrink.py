"""A session that no scenario can tell (a receiver that fails, a token that is wrong) is shrunk as
what it is: inputs of a journal.

The shorter journal replays like any other. Ids of streams are those that the shorter run gives.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from msgspec import json
from msgspec.structs import replace

from sim.analysis.replay import at_the_start, replaying, simulation_of
from sim.analysis.search.bisect import Question
from sim.analysis.search.delta import minimal
from sim.analysis.search.shrink import words
from sim.api.pipeline.inputs import Input, StreamFrame, StreamHungUp, recorded_input
from sim.kernel.journal import Header, read_journal, read_line
from sim.simulation import Simulation


class Given(NamedTuple):
    """One input of a journal, and the id of the stream it opened there (0: none)."""

    input: Input
    stream: int


class Session(NamedTuple):
    """A journal's start, the seed in force at its end, and the inputs of its present branch."""

    header: Header
    seed: int
    inputs: list[Given]


def session_of(path: Path) -> Session:
    """The inputs that led to a journal's end. Divergence and NotAJournal as for a replay."""
    with path.open("rb") as file:
        header, lines = read_journal(file)
        sim = simulation_of(header)
        for _ in replaying(sim, lines):
            pass
    found = [read_line(raw) for raw in sim.journal.lines()]
    return Session(
        header,
        sim.seed,
        [Given(recorded_input(line), json.decode(line.out).get("stream", 0)) for line in found],
    )


def feed(sim: Simulation, inputs: list[Given]) -> None:
    """Hand inputs to a simulation at its start; frames and hang-ups go to the streams that the
    inputs before them opened here.
    """
    streams: dict[int, int] = {}
    for given in inputs:
        one = given.input
        if isinstance(one, StreamFrame | StreamHungUp):
            if one.stream not in streams:
                continue
            one = replace(one, stream=streams[one.stream])
        outcome = sim.handle(one)
        if given.stream:
            streams[given.stream] = outcome.stream


def smallest(
    session: Session, ask: Question, told: Callable[[int], None] = lambda left: None
) -> list[Given]:
    """The fewest inputs after which the same does not hold, in the same words. The question is
    answered badly after all of them.
    """
    sim = at_the_start(session.header, session.seed)
    feed(sim, session.inputs)
    wanted = {words(line) for line in ask(sim)}

    def fails(inputs: list[Given]) -> bool:
        told(len(inputs))
        sim.reset()
        try:
            feed(sim, inputs)
            return wanted <= {words(line) for line in ask(sim)}
        except Exception:  # without what is left out it cannot be done at all
            return False

    return minimal(session.inputs, fails)
