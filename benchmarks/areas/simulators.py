"""Orders a second through other exchanges in Python and through ours, on one flow.

PAMS simulates whole markets: an order goes to its market, is matched there, and cash and shares of
both agents change. Beside it stands our whole command, with checks, collateral, reports, positions,
cash and statistics. `order-matching` and `pyorderbook` match and keep nothing; ours does more
beside them, so they have no goal. ABIDES, the other simulator of whole markets, is not on PyPI.

The flow is that of the matching goals (`flows.py`): quotes around a middle that wanders, a quarter
of cancels, some takers. Every engine has to make as many fills, or the comparison is refused. PAMS
executes what an order matches at one price, that of its last match, so
prices may differ. Each peer is measured where it is installed (`peers.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from benchmarks.areas.matching import ACCOUNTS, pyorderbook, rate, run_trading
from benchmarks.figures import Figure, Goal
from benchmarks.flows import Op, mixed

OPERATIONS = 5_000  # PAMS searches a list for each cancel, so the ratio grows with the flow
GOAL = Goal(5)
_RICH = 10**12

Run: TypeAlias = Callable[[list[Op]], int]


class Peer(NamedTuple):
    """An exchange to be compared with: its name, and what runs a flow through it and returns the
    number of fills.
    """

    name: str
    run: Run
    goal: Goal | None = None


def figures(rounds: int) -> list[Figure]:
    """One row for each peer that is installed."""
    ops = mixed(1, 1, OPERATIONS)
    return [_beside(peer, ops, rounds) for peer in _peers()]


def _peers() -> list[Peer]:
    runs = (
        ("PAMS, market and agents", _pams(), GOAL),
        ("order-matching", _order_matching(), None),
        ("pyorderbook", pyorderbook(), None),
    )
    return [Peer(name, run, goal) for name, run, goal in runs if run is not None]


def _beside(peer: Peer, ops: list[Op], rounds: int) -> Figure:
    if (trading := run_trading(ops)) != (reference := peer.run(ops)):
        raise RuntimeError(f"{trading} fills, of {peer.name} {reference}")
    pairs = [(rate(run_trading, ops), rate(peer.run, ops)) for _ in range(rounds)]
    return Figure(
        f"whole command beside {peer.name}",
        "op/s",
        [mine for mine, _ in pairs],
        [other for _, other in pairs],
        f"op/s {peer.name}",
        peer.goal,
        f"{trading:,} fills of each",
    )


def _pams() -> Run | None:
    """The path of an order in a run of PAMS: runner, market, agents."""
    try:
        from pams import LIMIT_ORDER, Market, Order, Session, Simulator
        from pams.agents import Agent
        from pams.order import Cancel
        from pams.runners import SequentialRunner
    except ImportError:
        return None

    class Sender(Agent):  # type: ignore[misc]  # a package without types
        """One whose orders come from the flow."""

        def submit_orders(self, markets: list[Any]) -> list[Any]:
            return []

    def run(ops: list[Op]) -> int:
        runner = SequentialRunner(settings={}, prng=random.Random(1))
        simulator = runner.simulator = Simulator(prng=random.Random(1))
        market = Market(0, random.Random(1), simulator, "bench")
        market.setup({"tickSize": 1.0, "marketPrice": 50.0})
        market._is_running = True
        market._update_time(50.0)
        simulator._add_market(market)
        for number in range(ACCOUNTS):
            agent = Sender(number, random.Random(number), simulator, f"agent {number}")
            agent.setup({"cashAmount": _RICH, "assetVolume": _RICH}, [0])
            simulator._add_agent(agent)
        session = Session(0, random.Random(1), 0, simulator, "session")
        session.with_order_placement = session.with_order_execution = True
        executed = _counted(market)
        orders: dict[int, Any] = {}
        for number, (buying, price, qty, target, _) in enumerate(ops):
            if qty:
                order = orders[number] = Order(
                    agent_id=number % ACCOUNTS,
                    market_id=0,
                    is_buy=buying,
                    kind=LIMIT_ORDER,
                    volume=qty,
                    price=float(price),
                )
                runner._process_order(session, order)
            elif target in orders and orders[target].volume:
                runner._process_order(session, Cancel(orders[target]))
        return len(executed)

    return run


def _counted(market: Any) -> list[Any]:
    """A list that gets what a market of PAMS executes."""
    executed: list[Any] = []
    execute = market._execution

    def counted() -> list[Any]:
        logs: list[Any] = execute()
        executed.extend(logs)
        return logs

    market._execution = counted
    return executed


def _order_matching() -> Run | None:
    """Every order is matched when it arrives; nothing is kept but the book."""
    try:
        from order_matching.matching_engine import MatchingEngine
        from order_matching.order import LimitOrder
        from order_matching.orders import Orders
        from order_matching.side import Side
        from order_matching.status import Status
    except ImportError:
        return None

    def run(ops: list[Op]) -> int:
        engine = MatchingEngine(seed=1)
        now = datetime(2026, 10, 8)  # noqa: DTZ001 - it is compared with the naive datetime.max
        orders: dict[int, Any] = {}
        fills = 0
        for number, (buying, price, qty, target, _) in enumerate(ops):
            now += timedelta(microseconds=1)
            if qty:
                order = orders[number] = LimitOrder(
                    side=Side.BUY if buying else Side.SELL,
                    price=float(price),
                    size=float(qty),
                    timestamp=now,
                    order_id=str(number),
                    trader_id=str(number % ACCOUNTS),
                )
                fills += len(engine.match(timestamp=now, orders=Orders([order])).trades)
            elif target in orders and orders[target].size:
                orders[target].status = Status.CANCEL
                engine.match(timestamp=now, orders=Orders([orders[target]]))
        return fills

    return run
