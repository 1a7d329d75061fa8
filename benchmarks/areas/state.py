"""The cost of time and of a full exchange: one idle virtual year, snapshot and restore over three
decades of resting orders.

Measured in processor time, which other work on the machine disturbs least.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from pathlib import Path
from time import thread_time

from msgspec.structs import replace

from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import Side, TimeInForce
from sim.kernel.instants import DAY
from sim.run.engine import time_travel

ORDERS = (1_000, 10_000, 100_000)
MS = 1_000.0


def figures(rounds: int) -> list[Figure]:
    """Milliseconds each."""
    return [*_year(max(3, rounds // 2)), *(row for count in ORDERS for row in _full(count, rounds))]


def _took(act: Callable[[], object]) -> float:
    gc.collect()
    start = thread_time()
    act()
    return (thread_time() - start) * MS


def _year(rounds: int) -> list[Figure]:
    took = []
    fired = 0
    for _ in range(rounds):
        sim = Simulation(load_scenario("quickstart"))
        start = thread_time()
        fired = len(sim.advance_to(sim.now + 365 * DAY).fired)
        took.append((thread_time() - start) * MS)
    return [
        Figure(
            "one idle virtual year of the default world",
            "ms",
            took,
            [],
            "",
            Goal(1_000, lower=True, absolute=True),
            f"{fired} timers fired",
        )
    ]


def resting(count: int) -> Simulation:
    """A world with so many orders resting, those of one account at one price."""
    sim = Simulation(load_scenario(str(Path(__file__).parent / "bench.yaml")))
    trading = sim.exchange.trading
    account = next(firm for firm in sim.exchange.firms.all() if firm.users).users[0].account
    command = PlaceOrder(
        symbol="bench-orders",
        account=account,
        participant=account,
        side=Side.BUY,
        qty=1,
        price=1,
        tif=TimeInForce.GOOD_TILL_CANCEL,
    )
    for _ in range(count):
        trading.order_service.enter(command)
    sim.exchange.flush()
    sim.exchange.take_events()
    return sim


def _full(count: int, rounds: int) -> list[Figure]:
    """An exchange with many resting orders: its snapshot beside copy.deepcopy of the same state,
    its restore beside copying the orders.
    """
    sim = resting(count)
    kept = sim.engine.snapshot()
    saves = [_took(lambda: sim.engine.snapshot()) for _ in range(rounds)]
    copies = [
        _took(lambda: copy.deepcopy(sim.exchange.save()))
        for _ in range(1 if count == ORDERS[-1] else min(3, rounds))
    ]
    trading = sim.exchange.trading
    account = next(
        order.account for order in trading.orders.all() if order.symbol == "bench-orders"
    )

    def restore() -> None:
        """Books and reservations are made when somebody asks for them, so they are asked for."""
        time_travel.load(sim.engine, kept)
        if not trading.book("bench-orders").bids or not trading.open_orders_reserve(account):
            raise RuntimeError("the orders did not come back")

    loads, copied = [], []
    for _ in range(rounds):
        loads.append(_took(restore))
        copied.append(_took(lambda: [replace(order) for order in kept.history.live.values()]))
    last = count == ORDERS[-1]
    size = f"{kept.size / count:,.0f} bytes an order"
    return [
        Figure(
            f"snapshot of {count:,} resting orders",
            "ms",
            saves[: len(copies)],
            copies,
            "ms deepcopy",
            Goal(0.03, lower=True) if last else None,
            size,
        ),
        Figure(
            f"restore of {count:,} resting orders",
            "ms",
            loads,
            copied,
            "ms copying orders",
            Goal(2, lower=True) if last else None,
        ),
    ]
