"""One fact on every surface that shows it: statistics after a bust, and balances before and after a
movement of money.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.run.client.client import Connection, connect
from tests.journeys import key, operate, retail_order, trader
from tests.kit.streams import subscribe

SYMBOL = "agreed"


@pytest.fixture
def world() -> Connection:
    world = connect(Simulation(load_scenario("quickstart")))
    operate(world, "instrument.create", symbol=SYMBOL, tick_size="0.01", state="OPEN")
    return world


def enter(world: Connection, user: int, side: str, price: int, qty: int) -> None:
    body = {
        "type": "ORDER_TYPE_LIMIT",
        "side": f"SIDE_{side}",
        "symbol": SYMBOL,
        "price": str(price),
        "orderQty": str(qty),
    }
    assert trader(world, user).post("/v1/trading/orders", json=body).status == 200


def market(world: Connection) -> dict[str, dict[str, Any]]:
    """Return the trades of the market from the book, reports, retail API and gateway."""
    window = {"startTime": "2026-09-08T00:00:00Z", "endTime": "2026-09-09T00:00:00Z"}
    points = {"symbol": SYMBOL, "fidelity": 1, "fixedInterval": "INTERVAL_1H"}
    return {
        "book": trader(world).get(f"/v1/orderbook/{SYMBOL}").json()["stats"],
        "report": (
            trader(world)
            .post("/v1/report/trades/stats", json={"symbol": SYMBOL, **window})
            .json()["stats"]
        ),
        "bbo": (
            world.retail(key(world.simulation))
            .get(f"/v1/markets/{SYMBOL}/bbo")
            .json()["marketData"]
        ),
        "gateway": world.gateway.get(f"/v1/market/slug/{SYMBOL}").json()["market"],
        "history": world.gateway.get("/v1/price-history", params=points).json().get("history", []),
    }


@pytest.mark.spec("S2.4-1", "S2.5-1")
def test_m42_an_undone_trade_counts_nowhere(world: Connection) -> None:
    """This holds for the first trade, the highest, the last, and the last of a session that is
    over.
    """
    standing = []
    for price in (50, 45, 60, 55):
        enter(world, 1, "SELL", price, 2)
        enter(world, 0, "BUY", price, 2)
        standing.append(price)
        world.advance("1m")
    ids = {
        int(row["aggressor"]["lastPx"]): row["id"]
        for row in (
            trader(world).post("/v1/report/trades/search", json={"symbol": SYMBOL}).json()["trade"]
        )
    }
    for undone in (None, 50, 60, 55, 45):
        if undone == 55:
            operate(world, "instrument.state", SYMBOL, state="CLOSED")
        if undone is not None:
            operate(world, "trade.bust", ids[undone])
            standing.remove(undone)
        seen, qty, dollars = market(world), 2 * len(standing), sum(standing) * 2 / 100
        wanted = (
            [str(found) for found in (standing[0], standing[-1], max(standing), min(standing))]
            if standing
            else [None] * 4
        )
        assert [
            seen["book"].get(name) for name in ("openPx", "lastTradePx", "highPx", "lowPx")
        ] == wanted
        assert (
            seen["book"]["sharesTraded"],
            seen["book"]["openInterest"],
            seen["book"]["notionalTraded"],
        ) == (str(qty), str(qty), str(round(dollars * 100)))
        assert [seen["report"][name] for name in ("first", "last", "high", "low")] == [
            found or "0" for found in wanted
        ]
        assert (seen["report"]["volume"], seen["report"]["totalTradeCount"]) == (
            str(qty),
            str(len(standing)),
        )
        assert (seen["bbo"]["lastTradePx"] or {}).get("value") == (
            f"0.{standing[-1]}00" if standing else None
        )
        assert (
            float(seen["bbo"]["sharesTraded"] or 0),
            float(seen["bbo"]["openInterest"] or 0),
        ) == (qty, qty)
        assert (seen["gateway"]["volume"], seen["gateway"]["volume24hr"]) == (dollars, dollars)
        assert ([point["longPrice"] for point in seen["history"]] or [None])[-1] == (
            standing[-1] / 100 if standing else None
        )


@pytest.mark.spec("S4.2-14", "S4.2-7")
def test_p20_a_balance_frame_begins_where_the_last_one_ended_and_ends_where_the_account_is(
    world: Connection,
) -> None:
    """P2, P22: money, margin, reservations and time of change, over orders, fills, a settlement and
    its correction.
    """
    mine = world.retail(key(world.simulation))
    socket = world.web_socket(key(world.simulation), "/v1/ws/private")
    begun = subscribe(socket, "money", "ACCOUNT_BALANCE")
    held = mine.get("/v1/account/balances").json()["balances"][0]
    assert begun[0]["accountBalancesSnapshot"]["balances"] == [held]
    instrument = world.simulation.exchange.instruments.require(SYMBOL)
    enter(world, 1, "BUY", 40, 3)
    enter(world, 1, "BUY", 39, 4)

    def settle(price: str) -> None:
        operate(world, "instrument.settle", SYMBOL, price=price)

    def sell() -> None:
        assert (
            mine.post("/v1/orders", json=retail_order(instrument, "BUY_SHORT", 39, 10)).status
            == 200
        )

    for act, moves in (
        (sell, 2),
        (lambda: enter(world, 0, "BUY", 39, 1), 1),
        (lambda: settle("0.25"), 1),
        (lambda: settle("1"), 1),
    ):
        world.advance("1s")
        act()
        changes = [
            frame["accountBalancesUpdate"]["balanceChange"]
            for frame in socket.take()
            if "accountBalancesUpdate" in frame
        ]
        assert len(changes) == moves
        for change in changes:
            assert change["beforeBalance"] == held
            held = change["afterBalance"]
        assert held == mine.get("/v1/account/balances").json()["balances"][0]
    assert held["marginRequirement"] == 0


@pytest.mark.spec("S4.2-14")
def test_p20_the_balance_before_a_fill_is_that_with_the_order_still_open(world: Connection) -> None:
    mine = world.retail(key(world.simulation))
    socket = world.web_socket(key(world.simulation), "/v1/ws/private")
    subscribe(socket, "money", "ACCOUNT_BALANCE")
    instrument = world.simulation.exchange.instruments.require(SYMBOL)
    assert mine.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 40, 10)).status == 200
    before = mine.get("/v1/account/balances").json()["balances"][0]
    assert before["openOrders"] == 4
    socket.take()
    enter(world, 0, "SELL", 40, 6)
    (change,) = [
        frame["accountBalancesUpdate"]["balanceChange"]
        for frame in socket.take()
        if "accountBalancesUpdate" in frame
    ]
    assert (change["beforeBalance"], change["afterBalance"]) == (
        before,
        mine.get("/v1/account/balances").json()["balances"][0],
    )
