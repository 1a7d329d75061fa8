"""The cost of time travel: fork, reset, snapshot and rewind of the quickstart, and a rewind into a
journal of 100,000 inputs.

Measured in processor time; less is better.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.run.client.client import connect
from sim.server.journal_file import spooled_journal

MS, S = 1e3, 1.0
LONG = 100_000


def figures(rounds: int) -> list[Figure]:
    """Milliseconds and seconds of each journey, beside what making the same world afresh takes."""
    scenario = load_scenario("quickstart")
    sim = Simulation(scenario)
    connect(sim).advance("5m")

    def took(do: Callable[[], object], unit: float = MS) -> float:
        start = time.thread_time()
        do()
        return (time.thread_time() - start) * unit

    fresh = [took(lambda: Simulation(scenario)) for _ in range(rounds)]
    results = [
        Figure(
            "fork of the quickstart",
            "ms",
            [took(sim.fork) for _ in range(rounds)],
            fresh,
            "ms made afresh",
            Goal(5, lower=True, absolute=True),
        ),
        Figure(
            "snapshot of the quickstart",
            "ms",
            [took(lambda: sim.snapshot("here")) for _ in range(rounds)],
            fresh,
            "ms made afresh",
        ),
        Figure(
            "reset of the quickstart",
            "ms",
            [took(sim.reset) for _ in range(rounds)],
            fresh,
            "ms made afresh",
            Goal(1, lower=True, absolute=True),
        ),
    ]
    long, live = long_run(LONG)
    targets = [LONG - 1 - number * LONG // (rounds + 1) for number in range(rounds)]
    rewinds = [took(partial(long.rewind, seq=target), S) for target in targets]
    note = f"{LONG} orders by REST, rewound to {rounds} places"
    return [
        *results,
        Figure(
            "rewind in a long journal",
            "s",
            rewinds,
            [live] * rounds,
            "s to replay it all",
            Goal(2, lower=True, absolute=True),
            note,
        ),
    ]


def long_run(inputs: int) -> tuple[Simulation, float]:
    """A simulation after many inputs, and the seconds they took."""
    sim = Simulation(
        load_scenario(str(Path(__file__).parent / "bench.yaml")), journal=spooled_journal()
    )
    world = connect(sim)
    firm = next(result for result in sim.exchange.firms.all() if result.client_id)
    headers = world.bearer(firm, firm.users[0].name)
    start = time.thread_time()
    for number in range(inputs):
        body = (
            b'{"type":"ORDER_TYPE_LIMIT","side":"SIDE_%b","symbol":"bench-orders","orderQty":"1","price":"%d","timeInForce":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'
            % (b"BUY" if number % 2 else b"SELL", 30 + number * 7 % 40)
        )
        sim.rest("exchange", "POST", "/v1/trading/orders", "", headers, body)
    return sim, time.thread_time() - start
