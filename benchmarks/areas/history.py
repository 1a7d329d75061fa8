"""The cost of looking back at a run of 100,000 inputs: a page of rows, the state at a random
moment, and the moments nearby.

Measured in processor time; less is better.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial

from benchmarks.areas.travel import LONG, long_run
from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.kernel.work import done
from sim.read.history.history import History
from sim.read.history.pages import Query
from sim.server.collector import rare_collections

MS, S = 1e3, 1.0
NEARBY, NEAR = 30, 300


def _looked(
    history: History, of_short: History, rounds: int, draw: random.Random
) -> tuple[list[float], ...]:
    """Return how long pages took, of both, moments for the first time, ready, and nearby."""
    pages = [_took(lambda: done(history.page(Query(after=LONG - 200)))) for _ in range(rounds)]
    same = [_took(lambda: done(of_short.page(Query(after=100)))) for _ in range(rounds)]
    first, created, nearby = [], [], []
    for _ in range(rounds):
        seq = draw.randrange(NEAR, LONG - NEAR)
        first.append(_took(partial(_look, history, seq), S))
        created.append(_took(partial(_make_ready, history, seq), S))
        near = [draw.randrange(seq - NEAR, seq + NEAR) for _ in range(NEARBY)]
        took = sorted(_took(partial(_look, history, at)) for at in near)
        nearby.append(took[int(0.95 * NEARBY)])
    return pages, same, first, created, nearby


def figures(rounds: int) -> list[Figure]:
    """Milliseconds and seconds of each, beside what making the world afresh takes; a page is beside
    the same page of a run that is a hundredth as long.
    """
    scenario, draw = load_scenario("quickstart"), random.Random(1)
    fresh = [_took(lambda: Simulation(scenario)) for _ in range(rounds)]
    short, _ = long_run(LONG // 100)
    long, live = long_run(LONG)
    history, of_short = History(long), History(short)
    with rare_collections():  # with Python's own setting looks cost half as much again
        pages, same, first, created, nearby = _looked(history, of_short, rounds, draw)
    note = f"{LONG} orders by REST"
    return [
        Figure("page of 100 rows", "ms", pages, same, "ms in a short run", Goal(2, lower=True)),
        Figure(
            "state at a random moment, the first time",
            "s",
            first,
            [live] * rounds,
            "s to replay it all",
            Goal(2, lower=True, absolute=True),
            note,
        ),
        Figure(
            "moments nearby made ready, while nobody looks",
            "s",
            created,
            [live] * rounds,
            "s to replay it all",
        ),
        Figure(
            "state at moments nearby, p95",
            "ms",
            nearby,
            fresh,
            "ms made afresh",
            Goal(100, lower=True, absolute=True),
            f"{NEARBY} moments within {NEAR} inputs",
        ),
    ]


def _look(history: History, seq: int) -> object:
    return done(history.state(seq, "books"))


def _make_ready(history: History, seq: int) -> object:
    return done(history.around(seq))


def _took(do: Callable[[], object], unit: float = MS) -> float:
    start = time.thread_time()
    do()
    return (time.thread_time() - start) * unit
