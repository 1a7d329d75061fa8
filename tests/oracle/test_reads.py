"""What reads answer, under the law: true answers agree, and each altered one is named by its rule."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.oracle.law import Law
from sim.oracle.verdict import Disagreement
from sim.read.observed import ObservedInput, beginning_of
from sim.run.client.client import connect
from tests.journeys import firm, order, quiet, trader

Alter = Callable[[Any], object]


class Reads:
    """A session of trades and reads. `alter` changes the answer of the last read for the law."""

    def __init__(self) -> None:
        self.world = connect(Simulation(load_scenario("quickstart")))
        self.instrument = quiet(self.world.simulation, tick=1)
        self.law = Law(beginning_of(self.world.simulation))
        self.new: list[Disagreement] = []
        self.alter: Alter | None = None
        self.world.simulation.engine.observers.append(self)

    def after_input(self, *outcome: Any) -> None:
        observed = ObservedInput(*outcome)
        if self.alter is not None:
            answer = copy.deepcopy(observed.answer)
            self.alter(answer)
            observed.__dict__["answer"] = answer
        self.new = self.law.judge(observed)

    def after_jump(self) -> None:
        raise AssertionError("nobody travels")

    def place(self, user: int, side: str, cents: int, contracts: int) -> None:
        body = order(self.instrument, side, cents, contracts)
        assert trader(self.world, user).post("/v1/trading/orders", json=body).status == 200
        assert self.new == []

    def read(self, path: str, body: object, alter: Alter | None = None) -> list[str]:
        self.alter = alter
        client = trader(self.world)
        path = path.format(self.instrument.symbol)
        if body is None:
            answer = client.get(path, params={"name": self.account, "account": self.account})
        else:
            answer = client.post(path, json=body)
        self.alter = None
        assert answer.status == 200, answer
        return [each.rule for each in self.new]

    @property
    def account(self) -> str:
        return firm(self.world.simulation).users[0].account


@pytest.fixture(scope="module")
def reads() -> Reads:
    """Three trades of two participants, and a bid that rests."""
    session = Reads()
    for user, side, cents, contracts in (
        *((0, "sell", 52, 5), (1, "buy", 52, 3), (1, "buy", 53, 1)),
        *((0, "buy", 48, 7), (1, "sell", 48, 2), (0, "buy", 47, 1)),
    ):
        session.place(user, side, cents, contracts)
    return session


def _put(*path: Any) -> Alter:
    """Set the value at a path; the last part is the value."""

    def alter(answer: Any) -> None:
        for name in path[:-2]:
            answer = answer[name]
        answer[path[-2]] = path[-1]

    return alter


def _drop(*path: Any) -> Alter:
    def alter(answer: Any) -> None:
        for name in path[:-1]:
            answer = answer[name]
        del answer[path[-1]]

    return alter


BOOK, BEST = "/v1/orderbook/{}", "/v1/orderbook/{}/bbo"
OPEN, STATS = "/v1/trading/orders/open", "/v1/report/trades/stats"
ORDERS, EXECUTIONS = "/v1/report/orders/search", "/v1/report/executions/search"
TRADES, BALANCE = "/v1/report/trades/search", "/v1/positions/balance"
POSITIONS, CASH = "/v1/positions", "/v1/funding/balance-ledger"
LEDGER = "/v1/positions/ledger"
MUTANTS: tuple[tuple[str, Alter, str], ...] = (
    (BOOK, _put("bids", 0, "qty", "1"), "S2.5-1"),
    (BOOK, _drop("offers", 0), "S2.5-1"),
    (BOOK, _put("state", "INSTRUMENT_STATE_CLOSED"), "S2.5-1"),
    (BOOK, _put("stats", "openPx", "53"), "S2.5-3"),
    (BOOK, _put("stats", "openInterest", "9"), "S2.5-3"),
    (BEST, _put("spread", "5"), "S2.5-1"),
    (BEST, _put("midPrice", "51"), "S2.5-1"),
    (OPEN, _drop("orders", 0), "R8"),
    (OPEN, _put("orders", 0, "leavesQty", "1"), "M41"),
    (ORDERS, lambda answer: answer["order"].reverse(), "R7"),
    (ORDERS, _drop("order", 1), "R7"),
    (ORDERS, _put("order", 0, "avgPx", "7"), "M41"),
    (EXECUTIONS, lambda answer: answer["executions"].reverse(), "R7"),
    (EXECUTIONS, _put("executions", 1, "commissionNotionalCollected", "7"), "M41"),
    (EXECUTIONS, _put("executions", 1, "order", "cumQty", "7"), "M41"),
    (TRADES, _put("trade", 0, "state", "TRADE_STATE_BUSTED"), "M42"),
    (TRADES, _put("trade", 0, "aggressor", "order", "account", ""), "R8"),
    (STATS, _put("stats", "volume", "1"), "R11"),
    (STATS, _put("stats", "clearedTradeCount", "2"), "R11"),
    (STATS, _put("bars", 1, "last", "52"), "R11"),
    (STATS, _put("barEndTime", 0, "2026-09-08T18:00:00Z"), "R11"),
    (BALANCE, _put("balance", "1.00"), "P2"),
    (BALANCE, _put("openOrders", "0.01"), "P2"),
    (BALANCE, _put("buyingPower", "1.00"), "P2"),
    (POSITIONS, _put("positions", 0, "cost", "1"), "P9"),
    (POSITIONS, _put("positions", 0, "bodPosition", "1"), "P9"),
    (POSITIONS, _drop("positions", 0), "P9"),
    (CASH, _put("entries", 1, "beforeBalance", "1.00"), "P20"),
    (CASH, _drop("entries", -1), "R7"),
    (LEDGER, _put("entries", 1, "realizedChange", "1"), "P23"),
    (LEDGER, _put("eof", False), "R7"),
)


def _body(reads: Reads, path: str) -> object:
    if path == STATS:
        return {"symbol": reads.instrument.symbol, "bars": 2}
    if path == BALANCE:
        return {"name": reads.account, "currency": "USD"}
    return {"symbol": reads.instrument.symbol} if "search" in path else None


@pytest.mark.parametrize(("path", "alter", "rule"), MUTANTS)
def test_an_answer_agrees_and_an_altered_one_does_not(
    reads: Reads, path: str, alter: Alter, rule: str
) -> None:
    body = _body(reads, path)
    assert reads.read(path, body) == []
    assert rule in reads.read(path, body, alter)


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ({"where_clause": "side = 'BUY'"}, 2),
        ({"where_clause": "price > '47' AND state IN ('PARTIALLY_FILLED', 'NEW')"}, 2),
        ({"side": "SIDE_SELL"}, 1),
        ({"orderStateFilter": "ORDER_STATE_FILTER_OPEN", "pageSize": 1}, 1),
    ],
)
def test_the_law_evaluates_the_filters_of_a_search(
    reads: Reads, body: dict[str, Any], rows: int
) -> None:
    def alter(answer: Any) -> None:
        assert len(answer["order"]) == rows
        answer["order"][0]["id"] = "NOBODY000000"
        answer["order"][0]["createTime"] = "2199-01-01T00:00:00Z"

    body = {"symbol": reads.instrument.symbol, **body}
    reads.world.advance("1m")  # searches are limited
    assert reads.read(ORDERS, body) == []
    assert reads.law.verdict.undecided["a filter that the law does not evaluate"] == 0
    assert "R7" in reads.read(ORDERS, body, alter)
