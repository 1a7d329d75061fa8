"""How fast a journal replays, against the rate at which the same inputs were handled live, in one process."""

from __future__ import annotations

import io
import time
from pathlib import Path

from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.kernel.journal import read_journal
from sim.replay import run, simulation_of
from sim.testing.client import connect

COUNT = 4_000


def figures(rounds: int) -> list[Figure]:
    """Inputs per second, replayed and live."""
    ours, live = [], []
    for _ in range(max(1, rounds // 2)):
        rate, journal = _live()
        live.append(rate)
        header, lines = read_journal(io.BytesIO(journal))
        simulation = simulation_of(header)
        start = time.thread_time()
        count = run(simulation, lines)
        ours.append(count / (time.thread_time() - start))
    return [Figure("replay of a journal", "inputs/s", ours, live, "live", Goal(0.8), f"{COUNT} orders by REST")]


def _live() -> tuple[float, bytes]:
    file = io.BytesIO()
    sim = Simulation(load_scenario(str(Path(__file__).parent / "bench.yaml")), journal=file)
    world = connect(sim)
    firm = next(found for found in sim.exchange.firms.all() if found.client_id)
    headers = world.bearer(firm, firm.users[0].name)
    bodies = [
        b'{"type":"ORDER_TYPE_LIMIT","side":"SIDE_%b","symbol":"bench-orders","orderQty":"1","price":"%d","timeInForce":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'
        % (b"BUY" if number % 2 else b"SELL", 30 + number * 7 % 40)
        for number in range(COUNT)
    ]
    start = time.thread_time()
    for body in bodies:
        sim.rest("exchange", "POST", "/v1/trading/orders", "", headers, body)
    return COUNT / (time.thread_time() - start), file.getvalue()
