"""The lifecycle of §3.1 as firms see it: order entry and books by REST, instrument and order
streams by gRPC, moved by the clock and by testers.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.kernel.instants import format_instant
from tests.journeys import enter
from tests.kit import Desk, streams

SYMBOL = "aec-nba-bos-nyk-2026-09-09"
DATES = {
    "start": "2026-09-08T15:00:00-04:00",
    "expiration": "2026-09-08T16:30:00-04:00",
    "termination": "2026-09-08T16:45:00-04:00",
}
OPEN_FOR_AN_HOUR = [{"start": "15:00", "length": "1h", "state": "OPEN"}]


def listed(world: Desk, **terms: Any) -> Instrument:
    """An instrument made by a tester."""
    world.operate("instrument.create", symbol=SYMBOL, tick_size="0.01", **terms)
    return world.instrument(SYMBOL)


def move(world: Desk, state: str) -> None:
    world.move(SYMBOL, state)


def states(world: Desk) -> Any:
    """An instrument state stream on the symbol, its first message taken."""
    stream = streams.instruments(world, SYMBOL)
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


def follow(world: Desk, user: int = 0) -> Any:
    stream = streams.orders(world, user=user, symbols=[SYMBOL])
    stream.take()
    return stream


def book(world: Desk) -> Any:
    return world.partner.get(f"/v1/orderbook/{SYMBOL}")


def open_ids(world: Desk, user: int = 0) -> list[str]:
    return [
        row["clordId"]
        for row in (
            world.trader(user)
            .get("/v1/trading/orders/open", params={"symbols": SYMBOL})
            .json()["orders"]
        )
    ]


# ---- driven by the clock


@pytest.mark.spec("S3.1-1", "S3.1-13")
def test_trading_starts_with_a_notification_and_a_pending_book_never_appears(world: Desk) -> None:
    instrument = listed(world, **DATES)
    stream = states(world)
    assert book(world).status == 404
    assert world.enter(instrument, "buy", 40, 1).status == 422
    world.advance_to(DATES["start"])
    assert told(stream) == ["OPEN"]
    assert book(world).json()["state"] == "INSTRUMENT_STATE_OPEN"
    assert world.enter(instrument, "buy", 40, 1).status == 200


@pytest.mark.spec("S3.1-2", "S3.1-8", "S3.4-1")
def test_closing_expires_day_orders_and_refuses_entry_modification_and_cancel(world: Desk) -> None:
    instrument = listed(world, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    world.enter(instrument, "buy", 40, 2, clordId="day", timeInForce="TIME_IN_FORCE_DAY")
    gtc = world.enter(instrument, "buy", 41, 3, clordId="gtc").json()["orderId"]
    orders, stream = follow(world), states(world)
    account = world.account()
    before = (
        world.trader().get("/v1/positions/ledger", params={"account": account}).json(),
        balance(world),
    )
    world.advance_to("2026-09-08T16:00:00-04:00")
    assert told(stream) == ["CLOSED"]
    assert executions(orders) == [("day", "EXPIRED", 0)]
    assert open_ids(world) == ["gtc"]
    # An expired order yields no fill, no ledger entry, no position change.
    assert (
        world.trader().get("/v1/positions/ledger", params={"account": account}).json(),
        balance(world),
    ) == before
    assert world.enter(instrument, "buy", 40, 1).status == 422
    assert (
        world.trader()
        .post("/v1/trading/orders/replace", json={"orderId": gtc, "symbol": SYMBOL, "price": "42"})
        .status
        == 422
    )
    assert (
        world.trader()
        .post("/v1/trading/orders/cancel", json={"orderId": gtc, "symbol": SYMBOL})
        .status
        == 422
    )
    assert open_ids(world) == ["gtc"]


def balance(world: Desk) -> Any:
    account = world.account()
    return (
        world.trader()
        .post("/v1/positions/balance", json={"name": account, "currency": "USD"})
        .json()["balance"]
    )


@pytest.mark.spec("S3.1-3", "S3.1-12", "S3.1-13")
def test_expiration_expires_what_rests_and_refuses_entry(world: Desk) -> None:
    instrument = listed(world, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    world.enter(instrument, "buy", 41, 3, clordId="gtc")
    world.advance_to("2026-09-08T16:00:00-04:00")
    orders, stream = follow(world), states(world)
    world.advance_to(DATES["expiration"])
    assert told(stream) == ["EXPIRED"]
    assert executions(orders) == [("gtc", "EXPIRED", 0)]
    assert open_ids(world) == []
    assert world.enter(instrument, "buy", 40, 1).status == 422
    assert book(world).json()["bids"] == []


@pytest.mark.spec("S3.1-4")
def test_termination_removes_the_book_closes_positions_and_keeps_history(world: Desk) -> None:
    instrument = listed(world, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    world.enter(instrument, "sell", 40, 5, user=1)
    world.enter(instrument, "buy", 40, 5)
    account = world.account()
    client = world.trader()

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
    assert world.enter(instrument, "buy", 40, 1).status in (404, 422)
    assert held() == []
    history = client.get(
        "/v1/positions/ledger", params={"account": account, "symbol": SYMBOL}
    ).json()["entries"]
    assert len(history) >= 2
    trades = client.post("/v1/report/trades/search", json={"symbol": SYMBOL}).json()
    assert trades["trade"]


@pytest.mark.spec("S3.1-13")
def test_a_schedule_moves_an_instrument_day_by_day(world: Desk) -> None:
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
    world: Desk, state: str, entry: bool, modify: bool, cancel: bool, matching: bool
) -> None:
    instrument = listed(world, state="OPEN")
    first = world.enter(instrument, "buy", 40, 5, clordId="a").json()["orderId"]
    second = world.enter(instrument, "buy", 39, 5, clordId="b").json()["orderId"]
    if state != "OPEN":
        move(world, "CLOSED" if state == "PREOPEN" else state)
        if state == "PREOPEN":
            move(world, state)
    client = world.trader()
    assert (world.enter(instrument, "buy", 38, 1, clordId="c").status == 200) is entry
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
            world.partner.post("/v1/report/trades/search", json={"symbol": SYMBOL})
            .json()
            .get("trade", [])
        )
        world.enter(instrument, "sell", 30, 1, user=1)
        after = world.search("trades", 1, symbol=SYMBOL)
        assert (len(after) > len(before)) is matching
    # Another way in is refused or taken alike.
    reply = world.rpc_trader().raw("/exchange.v1.OrderEntryAPI/InsertOrder", b"")
    assert reply.code == 3
    over_grpc = world.rpc_trader()
    request = wire.InsertOrderRequest(type=2, side=1, symbol=SYMBOL, order_qty=1, price=20)
    if entry:
        assert over_grpc.call("OrderEntryAPI.InsertOrder", request).order_id
    else:
        with pytest.raises(Exception, match=state) as refused:
            over_grpc.call("OrderEntryAPI.InsertOrder", request)
        assert getattr(refused.value, "code", 0) == 9


@pytest.mark.spec("S3.1-9", "S3.1-10", "S3.1-13")
@pytest.mark.parametrize("state", ["SUSPENDED", "HALTED"])
def test_orders_outlive_an_exception_state_and_trade_after_it(world: Desk, state: str) -> None:
    instrument = listed(world, state="OPEN")
    world.enter(instrument, "buy", 40, 5, clordId="rests")
    orders, stream = follow(world), states(world)
    move(world, state)
    move(world, "OPEN")
    assert (told(stream), executions(orders)) == ([state, "OPEN"], [])
    world.enter(instrument, "sell", 40, 5, user=1)
    assert executions(orders) == [("rests", "FILL", 5)]


# ---- auctions


@pytest.mark.spec("S3.1-5")
def test_orders_of_the_pre_open_trade_at_one_price_that_maximises_volume(world: Desk) -> None:
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
    trades = world.search("trades", 2, symbol=SYMBOL)
    prices = {row["aggressor"]["lastPx"] for row in trades}
    assert len(prices) == 1
    assert prices <= {"54", "55"}
    assert world.book(SYMBOL)["stats"]["openPx"] in prices


@pytest.mark.spec("S3.1-6")
@pytest.mark.parametrize("target", ["OPEN", "CLOSED", "SUSPENDED", "HALTED"])
def test_leaving_the_closing_auction_matches_whatever_comes_next(world: Desk, target: str) -> None:
    instrument = listed(world, state="OPEN")
    move(world, "MATCH_AND_CLOSE_AUCTION")
    world.enter(instrument, "buy", 50, 5, clordId="crosses")
    world.enter(instrument, "sell", 45, 3, user=1)
    orders = follow(world)
    assert executions(orders) == []
    move(world, target)
    assert executions(orders)[0] == ("crosses", "PARTIAL_FILL", 3)
    assert book(world).json()["state"] == f"INSTRUMENT_STATE_{target}"


@pytest.mark.spec("S3.1-13")
def test_edges_that_do_not_exist_are_refused_and_say_where_one_can_go(world: Desk) -> None:
    listed(world, state="OPEN")
    for illegal in ("PENDING", "TERMINATED"):
        with pytest.raises(Exception, match="cannot become") as refused:
            move(world, illegal)
        assert "SUSPENDED" in getattr(refused.value, "remedy", "")
    assert book(world).json()["state"] == "INSTRUMENT_STATE_OPEN"
    assert format_instant(world.now) == "2026-09-08T18:00:00Z"


def test_l27_a_correction_is_read_from_book_and_quote_at_the_instant_it_is_made(
    world: Desk,
) -> None:
    symbol, client = world.quiet().symbol, world.trader()
    for price, shown in (("1", "100"), ("0.4", "40"), ("0", "0")):
        world.settle(symbol, price)
        for path in (f"/v1/orderbook/{symbol}", f"/v1/orderbook/{symbol}/bbo"):
            assert client.get(path).json()["stats"]["settlementPx"] == shown
