"""What clients see of a market against the obviously correct matcher: executions on the drop copy,
books and statistics by stream and by REST.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import format_instant
from sim.run.client.client import Connection, connect
from tests.journeys import firm, order, quiet, rpc_trader, trader
from tests.naive_matcher import NaiveMatcher, Report, Resting

TIFS = {"GTC": "GOOD_TILL_CANCEL", "IOC": "IMMEDIATE_OR_CANCEL", "FOK": "FILL_OR_KILL"}


class Place(NamedTuple):
    """A limit order of one of two participants."""

    user: int
    buying: bool
    cents: int
    contracts: int
    tif: str


class Cancel(NamedTuple):
    """Take out the nth order placed, counted round."""

    number: int


class Replace(NamedTuple):
    """Give the nth order placed, counted round, another price and total."""

    number: int
    cents: int
    contracts: int


PLACES = st.builds(
    Place,
    st.integers(0, 1),
    st.booleans(),
    st.integers(45, 55),
    st.integers(1, 9),
    st.sampled_from(["GTC", "GTC", "GTC", "IOC", "FOK"]),
)
NUMBERS = st.integers(0, 30)
STEPS = st.lists(
    PLACES
    | PLACES
    | st.builds(Cancel, NUMBERS)
    | st.builds(Replace, NUMBERS, st.integers(45, 55), st.integers(1, 12)),
    min_size=6,
    max_size=30,
)


class Both:
    """A market reached through its surfaces, and the oracle."""

    def __init__(self) -> None:
        self.world: Connection = connect(Simulation(load_scenario("quickstart")))
        self.instrument = quiet(self.world.simulation, tick=1)
        self.scale = self.instrument.qty_scale
        self.naive = NaiveMatcher()
        self.ids: list[str] = []
        self.owners: list[int] = []
        self.trades: list[Report] = []
        symbol = self.instrument.symbol
        self.copy = rpc_trader(self.world).stream(
            "DropCopyAPI.CreateDropCopySubscription",
            wire.CreateDropCopySubscriptionRequest(symbols=[symbol]),
        )
        request = wire.CreateMarketDataSubscriptionRequest(symbols=[symbol], depth=50)
        self.data = self.world.rpc(firm(self.world.simulation)).stream(
            "MarketDataSubscriptionAPI.CreateMarketDataSubscription", request
        )
        self.observed = self.data.take()[-1].update

    def do(self, step: Place | Cancel | Replace) -> None:
        if isinstance(step, Place):
            side = "buy" if step.buying else "sell"
            body = order(
                self.instrument,
                side,
                step.cents,
                step.contracts,
                timeInForce=f"TIME_IN_FORCE_{TIFS[step.tif]}",
            )
            answer = trader(self.world, step.user).post("/v1/trading/orders", json=body)
            assert answer.status == 200, answer
            number = len(self.ids)
            self.ids.append(answer.json()["orderId"])
            self.owners.append(step.user)
            self.naive.place(Resting(number, step.buying, step.cents, step.contracts, 0, step.tif))
        elif self.ids:
            number = step.number % len(self.ids)
            body = {"orderId": self.ids[number], "symbol": self.instrument.symbol}
            if isinstance(step, Cancel):
                self.naive.cancel(number)
                trader(self.world, self.owners[number]).post("/v1/trading/orders/cancel", json=body)
            else:
                self.naive.replace(number, step.cents, step.contracts)
                body |= {"price": str(step.cents), "orderQty": str(step.contracts * self.scale)}
                trader(self.world, self.owners[number]).post(
                    "/v1/trading/orders/replace", json=body
                )

    def compare(self) -> None:
        reports = [
            Report(
                wire.ExecutionType(execution.type).name.removeprefix("EXECUTION_TYPE_"),
                self.ids.index(execution.order.id),
                execution.last_shares // self.scale,
                execution.last_px,
                execution.aggressor,
            )
            for message in self.copy.take()
            for execution in message.executions
        ]
        expected, self.naive.reports = self.naive.reports, []
        assert reports == expected
        self.trades += [report for report in expected if report.qty and report.aggressor]
        self.observed = (
            [frame.update for frame in self.data.take() if frame.update is not None]
            or [self.observed]
        )[-1]
        for levels, buying in ((self.observed.bids, True), (self.observed.offers, False)):
            assert [(level.px, level.qty // self.scale) for level in levels] == [
                row[:2] for row in self.naive.depth(buying=buying)
            ]
        self.statistics(self.observed.stats)

    def statistics(self, stats: Any) -> None:
        """Statistics of the stream and of the report, from the oracle's trades."""
        prices = [trade.price for trade in self.trades]
        qtys = [trade.qty for trade in self.trades]
        reported = (stats.open_px, stats.high_px, stats.low_px, stats.last_trade_px)
        assert reported == (
            (prices[0], max(prices), min(prices), prices[-1]) if prices else (None,) * 4
        )
        assert stats.shares_traded == sum(qtys) * self.scale
        assert (
            stats.notional_traded
            == sum(price * qty for price, qty in zip(prices, qtys, strict=True)) * self.scale
        )

    def by_rest(self) -> None:
        """At the end, the same once more for who polls."""
        client, symbol = trader(self.world), self.instrument.symbol
        book = client.get(f"/v1/orderbook/{symbol}", params={"depth": "10"}).json()
        for side, buying in (("bids", True), ("offers", False)):
            assert [
                (int(level["px"]), int(level["qty"]) // self.scale) for level in book[side]
            ] == [row[:2] for row in self.naive.depth(buying=buying)][:10]
        now = self.world.simulation.now
        asked = {
            "symbol": symbol,
            "startTime": format_instant(now - 1),
            "endTime": format_instant(now + 1),
        }
        stats = client.post("/v1/report/trades/stats", json=asked).json()["stats"]
        assert int(stats["totalTradeCount"]) == len(self.trades)
        assert int(stats["volume"]) == sum(trade.qty for trade in self.trades) * self.scale
        working = {
            row["id"]: int(row["leavesQty"])
            for user in (0, 1)
            for row in trader(self.world, user).get("/v1/trading/orders/open").json()["orders"]
        }
        assert {
            self.ids[result.number]: result.leaves * self.scale for result in self.naive.resting
        } == working


@settings(max_examples=25)
@given(STEPS)
def test_books_executions_and_statistics_are_those_of_the_naive_matcher(
    steps: list[Place | Cancel | Replace],
) -> None:
    """M1, M9, M16, M17, M31, M32, S9, as a client sees them."""
    both = Both()
    for step in steps:
        both.do(step)
        both.compare()
    both.by_rest()
