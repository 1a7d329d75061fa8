"""Reports over a million trades beside the same reports over a thousand, and CSV text beside the
standard library's writer.

The trades are written straight into the execution log, as pairs of a few executions, because
reading is what is measured.
"""

from __future__ import annotations

import csv
import io
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from time import thread_time
from typing import Any

from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.figures import Figure, Goal

MANY, FEW = 1_000_000, 1_000
ROWS = 20_000  # of text, in one round
SEARCHES = 50  # in one round
_US = 1e6


def figures(rounds: int) -> list[Figure]:
    """The rows of searches and downloads."""
    many, few = _World(MANY), _World(FEW)
    name = f"{FEW:,} trades"
    results = [
        Figure(
            f"{work} among {MANY:,} trades",
            "µs",
            *_paired(rounds, many, few, search),
            name,
            Goal(2, lower=True),
        )
        for work, search in (
            ("search by trade id", _World.by_id),
            ("search by symbol, a page of 100", _World.by_symbol),
            ("search in a window of a second", _World.by_time),
            ("first chunk of a CSV", _World.first_chunk),
        )
    ]
    peaks: tuple[list[float], list[float]] = ([many.peak(ROWS) / 1e6], [many.peak(2 * 500) / 1e6])
    results.append(
        Figure(
            f"most memory for {ROWS:,} rows of CSV",
            "MB",
            *peaks,
            "MB for 1,000 rows",
            Goal(1.1, lower=True),
        )
    )
    text: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        text[0].append(many.rows_a_second())
        text[1].append(_writer_alone(many))
    results.append(Figure("trades as CSV, 125 columns", "rows/s", *text, "csv.writer alone"))
    return results


def _paired(
    rounds: int, many: _World, few: _World, work: Callable[[_World], object]
) -> tuple[list[float], list[float]]:
    result: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for world, times in ((many, result[0]), (few, result[1])):
            start = thread_time()
            for _ in range(SEARCHES):
                work(world)
            times.append((thread_time() - start) / SEARCHES * _US)
    return result


class _World:
    """An exchange with so many trades between two participants of one firm."""

    def __init__(self, trades: int) -> None:
        from sim import Simulation, load_scenario
        from sim.contract.messages import exchange_v1 as wire
        from sim.core.matching.fills import BY_PRICE_AND_TIME
        from sim.core.model.commands import PlaceOrder
        from sim.core.model.enums import ExecutionType, Side, TimeInForce, TradeType
        from sim.run.client.client import connect

        self._wire = wire
        self._simulation = simulation = Simulation(load_scenario(SCENARIO))
        exchange = simulation.exchange
        exchange.rate_limits.replace("search_reports", "off")
        firm = next(
            result for result in exchange.firms.all() if result.client_id and len(result.users) > 1
        )
        trading, execution_log, ctx = exchange.trading, exchange.trading.execution_log, exchange.ctx
        executions: list[Any] = []
        for user, price in zip(firm.users, (1, 2), strict=False):
            order = trading.order_service.enter(
                PlaceOrder(
                    account=user.account,
                    participant=user.name,
                    symbol=SYMBOL,
                    side=Side.BUY,
                    price=price,
                    qty=100,
                    tif=TimeInForce.GOOD_TILL_CANCEL,
                )
            )
            executions.append(
                execution_log.report(order, ExecutionType.PARTIAL_FILL, BY_PRICE_AND_TIME, 1, 50)
            )
        for _ in range(trades):
            ctx.now += 1_000_000
            trade_id, (buy, sell) = execution_log.next_trade_id(), executions
            execution_log.trade(trade_id, 50, 1, buy, sell, TradeType.REGULAR, BY_PRICE_AND_TIME)
            ctx.events.clear()
        self._middle = execution_log.trades[trades // 2]
        self._rpc = connect(simulation).rpc(firm, firm.users[0].name)

    def by_id(self) -> object:
        return self._search(trade_id=self._middle.id)

    def by_symbol(self) -> object:
        return self._search(symbol=SYMBOL, page_size=100)

    def by_time(self) -> object:
        return self._search(
            symbol=SYMBOL,
            start_time=self._middle.at,
            end_time=self._middle.at + 1_000_000_000,
            page_size=100,
        )

    def _search(self, **asked: Any) -> object:
        rpc = self._rpc.call(
            "ReportAPI.SearchTrades", self._wire.SearchTradesRequest(**asked)
        ).trade
        assert rpc
        return rpc

    def _chunks(self) -> Iterator[Any]:
        return self._rpc.download("ReportAPI.DownloadTrades", self._wire.DownloadTradesRequest())

    def first_chunk(self) -> object:
        return next(self._chunks())

    def peak(self, rows: int) -> int:
        """Most bytes in use at once while so many rows are read and thrown away."""
        tracemalloc.start()
        try:
            for _ in islice(self._chunks(), rows // 500):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def rows_a_second(self) -> float:
        start = thread_time()
        for _ in islice(self._chunks(), ROWS // 500):
            pass
        return ROWS / (thread_time() - start)

    def line(self) -> list[str]:
        """Cells of one row."""
        return list(csv.reader(io.StringIO(next(self._chunks()).filechunk)))[1]


def _writer_alone(world: _World) -> float:
    """Rows a second of the standard library's writer, cells at hand, to bytes in chunks."""
    line = world.line()
    start = thread_time()
    for _ in range(ROWS // 500):
        text = io.StringIO()
        writer = csv.writer(text)
        for _ in range(500):
            writer.writerow(line)
        text.getvalue().encode()
    return ROWS / (thread_time() - start)
