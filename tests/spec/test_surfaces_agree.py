"""One fact on every surface that shows it: statistics after a bust, and balances before and after a
movement of money.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.core.model.instrument import Instrument
from sim.run.client.client import Stream
from tests.kit import Desk, streams

SYMBOL = "agreed"


@pytest.fixture
def agreed(world: Desk) -> Instrument:
    return world.listed(SYMBOL)


def market(world: Desk) -> dict[str, dict[str, Any]]:
    """Return the trades of the market from the book, reports, retail API and gateway."""
    window = {"startTime": "2026-09-08T00:00:00Z", "endTime": "2026-09-09T00:00:00Z"}
    points = {"symbol": SYMBOL, "fidelity": 1, "fixedInterval": "INTERVAL_1H"}
    stats = world.trader().post("/v1/report/trades/stats", json={"symbol": SYMBOL, **window})
    return {
        "book": world.book(SYMBOL)["stats"],
        "report": stats.json()["stats"],
        "bbo": world.customer().get(f"/v1/markets/{SYMBOL}/bbo").json()["marketData"],
        "gateway": world.gateway.get(f"/v1/market/slug/{SYMBOL}").json()["market"],
        "history": world.gateway.get("/v1/price-history", params=points).json().get("history", []),
    }


def expected(prices: list[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What book and report say of trades of two contracts each at these prices, in this order."""
    marks = (prices[0], prices[-1], max(prices), min(prices)) if prices else (None,) * 4
    words = [None if price is None else str(price) for price in marks]
    qty = str(2 * len(prices))
    book = dict(zip(("openPx", "lastTradePx", "highPx", "lowPx"), words, strict=True))
    report = {
        name: word or "0"
        for name, word in zip(("first", "last", "high", "low"), words, strict=True)
    }
    amounts = {"sharesTraded": qty, "openInterest": qty, "notionalTraded": str(2 * sum(prices))}
    return book | amounts, report | {"volume": qty, "totalTradeCount": str(len(prices))}


@pytest.mark.spec("S2.4-1", "S2.5-1")
def test_m42_an_undone_trade_counts_nowhere(world: Desk, agreed: Instrument) -> None:
    """This holds for the first trade, the highest, the last, and the last of a session that is
    over.
    """
    standing = [50, 45, 60, 55]
    for price in standing:
        world.trade(agreed, price, 2)
        world.advance("1m")
    ids = {
        int(row["aggressor"]["lastPx"]): row["id"] for row in world.search("trades", symbol=SYMBOL)
    }
    for undone in (None, 50, 60, 55, 45):
        if undone == 55:
            world.move(agreed, "CLOSED")
        if undone is not None:
            world.operate("trade.bust", ids[undone])
            standing.remove(undone)
        result, qty, dollars = market(world), 2 * len(standing), sum(standing) * 2 / 100
        book, report = expected(standing)
        assert {name: result["book"].get(name) for name in book} == book
        assert {name: result["report"][name] for name in report} == report
        bbo, gateway = result["bbo"], result["gateway"]
        last = f"0.{standing[-1]}00" if standing else None
        assert (bbo["lastTradePx"] or {}).get("value") == last
        assert [float(bbo[name] or 0) for name in ("sharesTraded", "openInterest")] == [qty, qty]
        assert (gateway["volume"], gateway["volume24hr"]) == (dollars, dollars)
        points = [point["longPrice"] for point in result["history"]] or [None]
        assert points[-1] == (standing[-1] / 100 if standing else None)


def balance_changes(socket: Stream) -> list[dict[str, Any]]:
    """The changes of a balance that came on a socket."""
    updates = (frame.get("accountBalancesUpdate") for frame in socket.take())
    return [update["balanceChange"] for update in updates if update]


@pytest.mark.spec("S4.2-14", "S4.2-7")
def test_p20_a_balance_frame_begins_where_the_last_one_ended_and_ends_where_the_account_is(
    world: Desk, agreed: Instrument
) -> None:
    """P2, P22: money, margin, reservations and time of change, over orders, fills, a settlement and
    its correction.
    """
    socket = streams.socket(world, streams.PRIVATE)
    begun = streams.subscribe(socket, "money", "ACCOUNT_BALANCE")
    held = world.retail_balance()
    assert begun[0]["accountBalancesSnapshot"]["balances"] == [held]
    world.place(agreed, "buy", 40, 3, user=1)
    world.place(agreed, "buy", 39, 4, user=1)
    for act, moves in (
        (lambda: world.retail_place(agreed, "BUY_SHORT", 39, 10), 2),
        (lambda: world.place(agreed, "buy", 39), 1),
        (lambda: world.settle(agreed, "0.25"), 1),
        (lambda: world.settle(agreed, "1"), 1),
    ):
        world.advance("1s")
        act()
        changes = balance_changes(socket)
        assert len(changes) == moves
        for change in changes:
            assert change["beforeBalance"] == held
            held = change["afterBalance"]
        assert held == world.retail_balance()
    assert held["marginRequirement"] == 0


@pytest.mark.spec("S4.2-14")
def test_p20_the_balance_before_a_fill_is_that_with_the_order_still_open(
    world: Desk, agreed: Instrument
) -> None:
    socket = streams.socket(world, streams.PRIVATE)
    streams.subscribe(socket, "money", "ACCOUNT_BALANCE")
    world.retail_place(agreed, "BUY_LONG", 40, 10)
    before = world.retail_balance()
    assert before["openOrders"] == 4
    socket.take()
    world.place(agreed, "sell", 40, 6)
    (change,) = balance_changes(socket)
    assert (change["beforeBalance"], change["afterBalance"]) == (before, world.retail_balance())
