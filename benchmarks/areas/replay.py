"""How fast a journal replays, and what journalling costs.

The floor of the replay is the rate at which the same inputs were handled live, in one process. The
floor of the journal is a signed POST.
"""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import json

from benchmarks.figures import Figure, Goal
from benchmarks.profiles import ORDER
from sim import Simulation, load_scenario
from sim.api.pipeline.inputs import recorded_input
from sim.kernel.journal import Journal
from sim.kernel.journal_reader import read_journal, read_line
from sim.read.replay import simulation_of, verify
from sim.run.client.client import connect
from sim.run.engine.journal_record import record_of
from sim.server.journal_file import spooled_journal

COUNT = 4_000
SIGNED = 1_000


def figures(rounds: int) -> list[Figure]:
    """Inputs per second, replayed and live."""
    sandbox, live = [], []
    for _ in range(max(1, rounds // 2)):
        rate, journal = _live()
        live.append(rate)
        header, lines = read_journal(io.BytesIO(journal))
        simulation = simulation_of(header)
        start = time.thread_time()
        count = verify(simulation, lines)
        sandbox.append(count / (time.thread_time() - start))
    return [
        Figure(
            "replay of a journal",
            "inputs/s",
            sandbox,
            live,
            "live",
            Goal(1.0),
            f"{COUNT} orders by REST",
        ),
        _journalling(rounds),
    ]


def _journalling(rounds: int) -> Figure:
    """The record of a signed order beside the whole order; sockets are not in it, they would make
    the share smaller.
    """
    sandbox, total = zip(*(_recorded() for _ in range(rounds)), strict=True)
    return Figure(
        "journalling of a retail POST order",
        "µs",
        [*sandbox],
        [*total],
        "the order, signed",
        Goal(0.1, lower=True),
    )


def _recorded() -> tuple[float, float]:
    """Microseconds for the record of an order, and for all of it. What records are made of is kept
    aside first, then they are made by themselves.
    """
    sim = Simulation(
        load_scenario(str(Path(__file__).parent / "bench.yaml")), journal=spooled_journal()
    )
    headers = connect(sim).retail_headers(sim.exchange.firms.api_keys()[0], "POST", "/v1/orders")

    def orders() -> float:
        start = time.thread_time()
        for _ in range(SIGNED):
            sim.rest("retail", "POST", "/v1/orders", "", headers, ORDER)
        return (time.thread_time() - start) / SIGNED * 1e6

    total, before = orders(), sim.seq
    made_of: list[tuple[Any, ...]] = []

    def recording(*parts: Any) -> Any:
        made_of.append(parts)
        return record_of(*parts)

    with patch("sim.run.engine.engine.record_of", recording):
        orders()
    inputs = [recorded_input(read_line(line)) for line in sim.journal.lines(before)]
    journal, encode = Journal(sim.journal.header, spooled_journal()), json.Encoder().encode
    start = time.thread_time()
    for item, parts in zip(inputs, made_of, strict=True):
        journal.append(0, encode(item), encode(record_of(*parts)), b"", 0)
    return (time.thread_time() - start) / SIGNED * 1e6, total


def _live() -> tuple[float, bytes]:
    file = io.BytesIO()
    sim = Simulation(load_scenario(str(Path(__file__).parent / "bench.yaml")), journal=file)
    world = connect(sim)
    firm = next(result for result in sim.exchange.firms.all() if result.client_id)
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
