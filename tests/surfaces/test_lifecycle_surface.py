"""The lifecycle of §3.1 as firms see it: order entry and books by REST, instrument and order
streams by gRPC, moved by the clock and by testers.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.kernel.instants import format_instant
from sim.run.client.client import Connection
from tests.journeys import enter, firm, operate, quiet, rpc_trader, trader

SYMBOL = "aec-nba-bos-nyk-2026-09-09"
DATES = {
    "start": "2026-09-08T15:00:00-04:00",
    "expiration": "2026-09-08T16:30:00-04:00",
    "termination": "2026-09-08T16:45:00-04:00",
}
OPEN_FOR_AN_HOUR = [{"start": "15:00", "length": "1h", "state": "OPEN"}]


def listed(world: Connection, **terms: Any) -> Instrument:
    """An instrument made by a tester."""
    world.simulation.control(
        "instrument.create", "", {"symbol": SYMBOL, "tick_size": "0.01", **terms}
    )
    return world.simulation.exchange.instruments.require(SYMBOL)


def move(world: Connection, state: str) -> None:
    operate(world, "instrument.state", SYMBOL, state=state)


def states(world: Connection) -> Any:
    """An instrument state stream on the symbol, its first message taken."""
    request = wire.CreateInstrumentStateChangeSubscriptionRequest(symbols=[SYMBOL])
    stream = world.rpc(firm(world.simulation)).stream(
        "DropCopyAPI.CreateInstrumentStateChangeSubscription", request
    )
    stream.take()
    return stream


def told(stream: Any) -> list[str]:
    """States in the messages of an instrument state stream."""
    return [
        wire.InstrumentState(instrument.state).name.removeprefix("INSTRUMENT_STATE_")
        for message in stream.take()
        for instrument in message.instruments
    ]


def executions(stream: Any) -> list[tuple[str, str, int]]:
    """(client order id, type, quantity filled by it) of each execution on an order stream."""
    return [
        (
            execution.order.clord_id,
            wire.ExecutionType(execution.type).name.removeprefix("EXECUTION_TYPE_"),
            execution.last_shares,
        )
        for message in stream.take()
        if message.update is not None
        for execution in message.update.executions
    ]


def follow(world: Connection, user: int = 0) -> Any:
    stream = rpc_trader(world, user).stream(
        "OrderEntryAPI.CreateOrderSubscription",
        wire.CreateOrderSubscriptionRequest(symbols=[SYMBOL]),
    )
    stream.take()
    return stream


def book(world: Connection) -> Any:
    return world.exchange(firm(world.simulation)).get(f"/v1/orderbook/{SYMBOL}")


def open_ids(world: Connection, user: int = 0) -> list[str]:
    return [
        row["clordId"]
        for row in (
            trader(world, user)
            .get("/v1/trading/orders/open", params={"symbols": SYMBOL})
            .json()["orders"]
        )
    ]


# ---- driven by the clock


@pytest.mark.spec("S3.1-1", "S3.1-13")
def test_trading_starts_with_a_notification_and_a_pending_book_never_appears(
    world: Connection,
) -> None:
    instrument = listed(world, **DATES)
    stream = states(world)
    assert book(world).status == 404
    assert enter(world, instrument, "buy", 40, 1).status == 422
    world.advance_to(DATES["start"])
    assert told(stream) == ["OPEN"]
    assert book(world).json()["state"] == "INSTRUMENT_STATE_OPEN"
    assert enter(world, instrument, "buy", 40, 1).status == 200


@pytest.mark.spec("S3.1-2", "S3.1-8", "S3.4-1")
def test_closing_expires_day_orders_and_refuses_entry_modification_and_cancel(
    world: Connection,
) -> None:
    instrument = listed(world, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    enter(world, instrument, "buy", 40, 2, clordId="day", timeInForce="TIME_IN_FORCE_DAY")
    gtc = enter(world, instrument, "buy", 41, 3, clordId="gtc").json()["orderId"]
    orders, stream = follow(world), states(world)
    account = firm(world.simulation).users[0].account
    before = (
        trader(world).get("/v1/positions/ledger", params={"account": account}).json(),
        balance(world),
    )
    world.advance_to("2026-09-08T16:00:00-04:00")
    assert told(stream) == ["CLOSED"]
    assert executions(orders) == [("day", "EXPIRED", 0)]
    assert open_ids(world) == ["gtc"]
    # An expired order yields no fill, no ledger entry, no position change.
    assert (
        trader(world).get("/v1/positions/ledger", params={"account": account}).json(),
        balance(world),
    ) == before
    assert enter(world, instrument, "buy", 40, 1).status == 422
    assert (
        trader(world)
        .post("/v1/trading/orders/replace", json={"orderId": gtc, "symbol": SYMBOL, "price": "42"})
        .status
        == 422
    )
    assert (
        trader(world)
        .post("/v1/trading/orders/cancel", json={"orderId": gtc, "symbol": SYMBOL})
        .status
        == 422
    )
    assert open_ids(world) == ["gtc"]


def balance(world: Connection) -> Any:
    account = firm(world.simulation).users[0].account
    return (
        trader(world)
        .post("/v1/positions/balance", json={"name": account, "currency": "USD"})
        .json()["balance"]
    )


@pytest.mark.spec("S3.1-3", "S3.1-12", "S3.1-13")
def test_expiration_expires_what_rests_and_refuses_entry(world: Connection) -> None:
    instrument = listed(world, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    enter(world, instrument, "buy", 41, 3, clordId="gtc")
    world.advance_to("2026-09-08T16:00:00-04:00")
    orders, stream = follow(world), states(world)
    world.advance_to(DATES["expiration"])
    assert told(stream) == ["EXPIRED"]
    assert executions(orders) == [("gtc", "EXPIRED", 0)]
    assert open_ids(world) == []
    assert enter(world, instrument, "buy", 40, 1).status == 422
    assert book(world).json()["bids"] == []


@pytest.mark.spec("S3.1-4")
def test_termination_removes_the_book_closes_positions_and_keeps_history(world: Connection) -> None:
    instrument = listed(world, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    enter(world, instrument, "sell", 40, 5, user=1)
    enter(world, instrument, "buy", 40, 5)
    account = firm(world.simulation).users[0].account
    client = trader(world)

    def held() -> list[Any]:
        rows = client.get("/v1/positions", params={"name": account, "symbol": SYMBOL}).json()[
            "positions"
        ]
        return [row["netPosition"] for row in rows if row["netPosition"] not in ("0", 0)]

    assert len(held()) == 1
    stream = states(world)
    world.advance_to(DATES["termination"])
    assert told(stream) == ["CLOSED", "EXPIRED", "TERMINATED"]
    assert book(world).status == 404
    assert enter(world, instrument, "buy", 40, 1).status in (404, 422)
    assert held() == []
    history = client.get(
        "/v1/positions/ledger", params={"account": account, "symbol": SYMBOL}
    ).json()["entries"]
    assert len(history) >= 2
    trades = client.post("/v1/report/trades/search", json={"symbol": SYMBOL}).json()
    assert trades["trade"]


@pytest.mark.spec("S3.1-13")
def test_a_schedule_moves_an_instrument_day_by_day(world: Connection) -> None:
    listed(
        world,
        schedule=[
            {"start": "15:00", "length": "30m", "state": "PREOPEN"},
            {"start": "15:30", "length": "30m", "state": "OPEN"},
        ],
    )
    stream = states(world)
    world.advance("50h")
    assert told(stream)[:6] == ["PREOPEN", "OPEN", "CLOSED"] * 2


# ---- what each state permits, moved by a tester

PERMITS = [
    ("OPEN", True, True, True, True),
    ("PREOPEN", True, True, True, False),
    ("SUSPENDED", False, False, True, False),
    ("HALTED", False, False, False, False),
    ("CLOSED", False, False, False, False),
]


@pytest.mark.spec("S3.1-7", "S3.1-8", "S3.1-9", "S3.1-10", "S3.1-11", "S3.1-13")
@pytest.mark.parametrize(("state", "entry", "modify", "cancel", "matching"), PERMITS)
def test_what_a_state_permits(
    world: Connection, state: str, entry: bool, modify: bool, cancel: bool, matching: bool
) -> None:
    instrument = listed(world, state="OPEN")
    first = enter(world, instrument, "buy", 40, 5, clordId="a").json()["orderId"]
    second = enter(world, instrument, "buy", 39, 5, clordId="b").json()["orderId"]
    if state != "OPEN":
        move(world, "CLOSED" if state == "PREOPEN" else state)
        if state == "PREOPEN":
            move(world, state)
    client = trader(world)
    assert (enter(world, instrument, "buy", 38, 1, clordId="c").status == 200) is entry
    replaced = client.post(
        "/v1/trading/orders/replace", json={"orderId": first, "symbol": SYMBOL, "price": "41"}
    )
    assert (replaced.status == 200) is modify, replaced
    canceled = client.post("/v1/trading/orders/cancel", json={"orderId": second, "symbol": SYMBOL})
    assert (canceled.status == 200) is cancel, canceled
    left = {"a": True, "b": not cancel, "c": entry}
    assert sorted(open_ids(world)) == [name for name, there in left.items() if there]
    assert book(world).json()["state"] == f"INSTRUMENT_STATE_{state}"
    if entry:
        before = (
            world.exchange(firm(world.simulation))
            .post("/v1/report/trades/search", json={"symbol": SYMBOL})
            .json()
            .get("trade", [])
        )
        enter(world, instrument, "sell", 30, 1, user=1)
        after = (
            trader(world, 1)
            .post("/v1/report/trades/search", json={"symbol": SYMBOL})
            .json()
            .get("trade", [])
        )
        assert (len(after) > len(before)) is matching
    # Another way in is refused or taken alike.
    reply = rpc_trader(world).raw("/exchange.v1.OrderEntryAPI/InsertOrder", b"")
    assert reply.code == 3
    over_grpc = rpc_trader(world)
    request = wire.InsertOrderRequest(type=2, side=1, symbol=SYMBOL, order_qty=1, price=20)
    if entry:
        assert over_grpc.call("OrderEntryAPI.InsertOrder", request).order_id
    else:
        with pytest.raises(Exception, match=state) as refused:
            over_grpc.call("OrderEntryAPI.InsertOrder", request)
        assert getattr(refused.value, "code", 0) == 9


@pytest.mark.spec("S3.1-9", "S3.1-10", "S3.1-13")
@pytest.mark.parametrize("state", ["SUSPENDED", "HALTED"])
def test_orders_outlive_an_exception_state_and_trade_after_it(
    world: Connection, state: str
) -> None:
    instrument = listed(world, state="OPEN")
    enter(world, instrument, "buy", 40, 5, clordId="rests")
    orders, stream = follow(world), states(world)
    move(world, state)
    move(world, "OPEN")
    assert (told(stream), executions(orders)) == ([state, "OPEN"], [])
    enter(world, instrument, "sell", 40, 5, user=1)
    assert executions(orders) == [("rests", "FILL", 5)]


# ---- auctions


@pytest.mark.spec("S3.1-5")
def test_orders_of_the_pre_open_trade_at_one_price_that_maximises_volume(world: Connection) -> None:
    instrument = listed(world, state="PREOPEN")
    for number, (side, cents, contracts) in enumerate(
        [("buy", 60, 10), ("buy", 55, 10), ("sell", 50, 8), ("sell", 54, 8), ("sell", 58, 10)]
    ):
        enter(
            world,
            instrument,
            side,
            cents,
            contracts,
            user=number % 2 if side == "buy" else 2,
            clordId=f"o{number}",
        )
    orders = follow(world, 2)
    assert book(world).json()["state"] == "INSTRUMENT_STATE_PREOPEN"
    move(world, "OPEN")
    filled = executions(orders)
    # at 54 or 55; no other price trades more
    assert sum(shares for _, kind, shares in filled if kind in ("FILL", "PARTIAL_FILL")) == 16
    trades = (
        trader(world, 2).post("/v1/report/trades/search", json={"symbol": SYMBOL}).json()["trade"]
    )
    prices = {row["aggressor"]["lastPx"] for row in trades}
    assert len(prices) == 1
    assert prices <= {"54", "55"}
    assert (
        world.exchange(firm(world.simulation))
        .get(f"/v1/orderbook/{SYMBOL}")
        .json()["stats"]["openPx"]
        in prices
    )


@pytest.mark.spec("S3.1-6")
@pytest.mark.parametrize("target", ["OPEN", "CLOSED", "SUSPENDED", "HALTED"])
def test_leaving_the_closing_auction_matches_whatever_comes_next(
    world: Connection, target: str
) -> None:
    instrument = listed(world, state="OPEN")
    move(world, "MATCH_AND_CLOSE_AUCTION")
    enter(world, instrument, "buy", 50, 5, clordId="crosses")
    enter(world, instrument, "sell", 45, 3, user=1)
    orders = follow(world)
    assert executions(orders) == []
    move(world, target)
    assert executions(orders)[0] == ("crosses", "PARTIAL_FILL", 3)
    assert book(world).json()["state"] == f"INSTRUMENT_STATE_{target}"


@pytest.mark.spec("S3.1-13")
def test_edges_that_do_not_exist_are_refused_and_say_where_one_can_go(world: Connection) -> None:
    listed(world, state="OPEN")
    for illegal in ("PENDING", "TERMINATED"):
        with pytest.raises(Exception, match="cannot become") as refused:
            move(world, illegal)
        assert "SUSPENDED" in getattr(refused.value, "remedy", "")
    assert book(world).json()["state"] == "INSTRUMENT_STATE_OPEN"
    assert format_instant(world.simulation.now) == "2026-09-08T18:00:00Z"


def test_l27_a_correction_is_read_from_book_and_quote_at_the_instant_it_is_made(
    world: Connection,
) -> None:
    symbol, client = quiet(world.simulation).symbol, trader(world)
    for price, shown in (("1", "100"), ("0.4", "40"), ("0", "0")):
        operate(world, "instrument.settle", symbol, price=price)
        for path in (f"/v1/orderbook/{symbol}", f"/v1/orderbook/{symbol}/bbo"):
            assert client.get(path).json()["stats"]["settlementPx"] == shown
