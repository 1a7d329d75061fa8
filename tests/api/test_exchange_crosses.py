"""Crosses over REST and gRPC: two accounts of a firm trade with each other, past the book, wholly
or not at all.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState, OrderType, TimeInForce
from sim.run.client.client import Response
from tests.journeys import order
from tests.kit import Desk, refused

AON = "CROSS_TYPE_ALL_OR_NONE"


def sides(
    world: Desk, buy: int = 50, sell: int = 50, qty: int = 10, **fields: Any
) -> list[dict[str, Any]]:
    instrument = world.quiet()
    return [
        order(instrument, "buy", buy, qty, account=world.account(0), clordId="b", **fields),
        order(instrument, "sell", sell, qty, account=world.account(1), clordId="s", **fields),
    ]


def cross(world: Desk, requests: list[dict[str, Any]], **fields: Any) -> Response:
    return world.trader().post(
        "/v1/trading/orders/cross",
        json={"requests": requests, "crossType": AON, "crossId": "x-1"} | fields,
    )


def hits(world: Desk, user: int = 0, **filters: Any) -> list[dict[str, Any]]:
    return world.trader(user).send("/v1/report/orders/search", filters, "order")


def kept(world: Desk) -> bytes:
    state = world.core.save()
    return msgspec.msgpack.encode(
        [
            state.trading.orders,
            state.trading.ledger,
            state.trading.positions,
            state.trading.execution_log,
        ]
    )


def test_both_sides_fill_each_other_in_one_trade_and_leave_the_book_alone(world: Desk) -> None:
    requests = sides(world)
    symbol = requests[0]["symbol"]
    created = cross(world, requests)
    assert created.status == 200, created
    ids = [row["orderId"] for row in created.json()["responses"]]
    rows = [hits(world, user, crossId="x-1")[0] for user in (0, 1)]
    assert [row["id"] for row in rows] == ids
    assert [(row["state"], row["cumQty"], row["crossId"]) for row in rows] == [
        ("ORDER_STATE_FILLED", requests[0]["orderQty"], "x-1")
    ] * 2
    assert rows[0]["hostCrossId"] and rows[0]["hostCrossId"] == rows[1]["hostCrossId"]
    assert [row["id"] for row in hits(world, 1, hostCrossId=rows[0]["hostCrossId"])] == ids[1:]
    assert hits(world, crossId="x-2") == hits(world, hostCrossId="nope") == []
    # The side for another participant says who sent it.
    assert (rows[0]["submittingParticipant"], rows[1]["submittingParticipant"]) == (
        "",
        world.firm.users[0].name,
    )
    book = world.trader().read(f"/v1/orderbook/{symbol}")
    assert book["bids"] == book["offers"] == []
    trade = world.trader().send("/v1/report/trades/search", {"symbol": symbol}, "trade", 0)
    assert (trade["tradeType"], trade["aggressor"]["lastPx"]) == (
        "TRADE_TYPE_CROSS",
        requests[0]["price"],
    )
    nets = [
        world.trader(user).read("/v1/positions", name=world.account(user), symbol=symbol)
        for user in (0, 1)
    ]
    assert [net["positions"][0]["netPosition"] for net in nets] == [
        requests[0]["orderQty"],
        f"-{requests[0]['orderQty']}",
    ]
    assert world.trading.ledger.total() == 0


@pytest.mark.parametrize(
    ("priority", "cents"), [("SIDE_UNDEFINED", 60), ("SIDE_BUY", 60), ("SIDE_SELL", 40)]
)
def test_the_side_with_priority_makes_the_price_and_the_other_is_the_aggressor(
    world: Desk, priority: str, cents: int
) -> None:
    requests = sides(world, buy=60, sell=40)
    assert cross(world, requests, crossPrioritizedSide=priority).status == 200
    trade = world.trading.trades[-1]
    assert trade.price * 100 == cents * world.quiet().price_scale
    assert trade.passive.order.side.name == ("SELL" if cents == 40 else "BUY")


@pytest.mark.parametrize(
    ("mode", "taker", "maker"), [("maker_taker", 1, -1), ("both_taker", 1, 1), ("none", 0, 0)]
)
def test_fees_are_those_of_the_mode(world: Desk, mode: str, taker: int, maker: int) -> None:
    for name in ("fees.taker_theta", "fees.maker_theta"):
        world.assume(name, 500)
    world.assume("orders.cross_fee_mode", mode)
    cross(world, sides(world))
    trade = world.trading.trades[-1]
    assert [_sign(side.commission) for side in (trade.aggressor, trade.passive)] == [taker, maker]


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


@pytest.mark.parametrize(
    ("rule", "cents", "status"),
    [
        ("at_or_inside", 45, 200),
        ("at_or_inside", 55, 200),
        ("at_or_inside", 44, 422),
        ("at_or_inside", 56, 422),
        ("inside", 45, 422),
        ("inside", 46, 200),
        ("inside", 55, 422),
        ("any", 30, 200),
    ],
)
def test_nobody_in_the_book_is_passed_over(world: Desk, rule: str, cents: int, status: int) -> None:
    world.assume("orders.cross_price", rule)
    instrument = world.quiet()
    requests = sides(world, cents, cents)
    maker = world.trader(2)
    for side, price in (("buy", 45), ("sell", 55)):
        assert (
            maker.post("/v1/trading/orders", json=order(instrument, side, price, 5)).status == 200
        )
    before = kept(world)
    answer = cross(world, requests)
    assert answer.status == status, answer
    assert (kept(world) == before) is (status != 200)
    assert len(maker.read("/v1/trading/orders/open", "orders")) == 2


def _change(index: int, **fields: Any) -> Any:
    return lambda requests: requests[index].update(fields)


@pytest.mark.parametrize(
    ("change", "status", "text"),
    [
        (lambda requests: requests.pop(), 400, "two sides"),
        (lambda requests: requests.append(requests[0]), 400, "two sides"),
        (_change(1, side="SIDE_BUY"), 400, "the other must sell"),
        (_change(1, orderQty="1"), 400, "same order_qty"),
        (_change(1, price="99"), 400, "below the selling price"),
        (_change(1, type="ORDER_TYPE_MARKET_TO_LIMIT"), 400, "limit orders"),
        (_change(0, participateDontInitiate=True), 400, "requests[0].participate_dont_initiate"),
        (_change(0, timeInForce=99), 400, "requests[0].time_in_force"),
        (_change(0, orderQty="-5"), 400, "same order_qty"),
        (_change(1, account=""), 400, "different accounts"),
        (_change(1, account="firms/nobody/accounts/x"), 403, "permission denied"),
        (_change(1, symbol="nope"), 400, "same symbol"),
    ],
)
def test_what_is_no_cross_is_refused_and_changes_nothing(
    world: Desk, change: Any, status: int, text: str
) -> None:
    requests = sides(world)
    change(requests)
    before = kept(world)
    answer = cross(world, requests)
    assert (answer.status, text in answer.json()["message"]) == (status, True), answer
    assert cross(world, sides(world), crossType="CROSS_TYPE_UNDEFINED").status == 400
    assert kept(world) == before


def test_a_business_reject_of_one_side_is_one_of_both(world: Desk) -> None:
    before = kept(world)
    dear = sides(world, 99, 99, qty=10_000_000)
    assert cross(world, dear).status == 422
    assert kept(world) == before
    world.assume("orders.sync_reject", "async")
    created = cross(world, dear)
    assert created.status == 200
    assert [hits(world, user, crossId="x-1")[0]["state"] for user in (0, 1)] == [
        "ORDER_STATE_REJECTED"
    ] * 2
    assert not world.trading.trades


def test_crosses_need_an_open_instrument_and_sides_that_may_meet(world: Desk) -> None:
    for state in (InstrumentState.PREOPEN, InstrumentState.SUSPENDED, InstrumentState.CLOSED):
        instrument = next(world.in_state(state))
        requests = [side | {"symbol": instrument.symbol} for side in sides(world)]
        assert cross(world, requests).status in (404, 409, 422), state
    world.assume("orders.cross_accounts", "participant")
    mine = [side | {"account": ""} for side in sides(world)]
    assert cross(world, [side | {"selfMatchPreventionId": "me"} for side in mine]).status == 422
    assert cross(world, sides(world)).status == 403
    mine[1]["clordId"] = "other"
    assert cross(world, mine).status == 200


def test_a_cross_reaches_stops_and_both_order_streams(world: Desk) -> None:
    requests = sides(world)
    instrument = world.quiet()
    streams = [
        world.rpc_trader(user).stream(
            "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()
        )
        for user in (0, 1)
    ]
    stop = order(instrument, "buy", 0, 1) | {
        "type": "ORDER_TYPE_STOP",
        "stopPrice": requests[0]["price"],
    }
    held = world.trader(2).post("/v1/trading/orders", json=stop)
    assert held.status == 200, held
    for stream in streams:
        stream.take()
    assert cross(world, requests).status == 200
    for stream in streams:
        types = [
            execution.type
            for frame in stream.take()
            if frame.update
            for execution in frame.update.executions
        ]
        assert types == [
            wire.ExecutionType.EXECUTION_TYPE_NEW,
            wire.ExecutionType.EXECUTION_TYPE_FILL,
        ]
    assert (
        world.trader(2).read(f"/v1/report/orders/{held.json()['orderId']}", "order", "state")
        == "ORDER_STATE_CANCELED"
    )


def test_grpc_does_the_same_and_needs_a_participant(world: Desk) -> None:
    instrument = world.quiet()
    item, other = (
        wire.InsertOrderRequest(
            type=OrderType.LIMIT,
            side=side,
            symbol=instrument.symbol,
            order_qty=instrument.qty_scale,
            price=instrument.price_scale // 2,
            time_in_force=TimeInForce.DAY,
            account=world.account(user),
        )
        for user, side in enumerate((wire.Side.SIDE_BUY, wire.Side.SIDE_SELL))
    )
    request = wire.InsertOrderCrossRequest(
        requests=[item, other], cross_type=wire.CrossType.CROSS_TYPE_ALL_OR_NONE
    )
    assert len(world.rpc_trader().call("OrderEntryAPI.InsertOrderCross", request).responses) == 2
    with refused(7):
        world.rpc_partner.call("OrderEntryAPI.InsertOrderCross", request)


# ---- a slow engine (rules M35, M36)


def test_a_cross_waits_for_a_slow_engine_like_any_order(world: Desk) -> None:
    world.assume("engine.latency", "7s")
    requests = sides(world)
    order_ids = [row["orderId"] for row in cross(world, requests).json()["responses"]]
    rows = [world.trader(user).read("/v1/trading/orders/open", "orders", 0) for user in (0, 1)]
    assert [(row["id"], row["state"], row["crossId"]) for row in rows] == [
        (order_id, "ORDER_STATE_PENDING_NEW", "x-1") for order_id in order_ids
    ]
    assert cross(world, requests).status == 409  # the client order ids are taken
    assert len(world.trading.trades) == 0
    sim = world.simulation
    sim.snapshot("waiting")
    for _ in range(2):
        world.advance("7s")
        assert [hits(world, user, crossId="x-1")[0]["state"] for user in (0, 1)] == [
            "ORDER_STATE_FILLED"
        ] * 2
        assert hits(world, 0)[0]["hostCrossId"] == hits(world, 1)[0]["hostCrossId"] != ""
        assert [trade.type.name for trade in sim.exchange.trading.trades] == ["CROSS"]
        sim.restore("waiting")
    assert len(sim.exchange.trading.trades) == 0


def test_what_the_book_has_become_when_the_engine_takes_a_cross_may_reject_both_sides(
    world: Desk,
) -> None:
    requests = sides(world, 45, 45)
    world.assume("engine.latency", "2s")
    assert cross(world, requests).status == 200
    world.assume("engine.latency", "1s")
    assert world.enter(world.quiet(), "buy", 50, 5, user=2).status == 200
    world.advance("2s")
    rows = [hits(world, user, crossId="x-1")[0] for user in (0, 1)]
    assert [row["state"] for row in rows] == ["ORDER_STATE_REJECTED"] * 2
    assert all(
        world.trader(user).read("/v1/trading/orders/open", "orders") == [] for user in (0, 1)
    )


def test_a_cancel_before_the_engine_takes_a_cross_comes_too_late(world: Desk) -> None:
    """M35: nothing of a participant is overtaken on an instrument, so the cross is done first."""
    world.assume("engine.latency", "2s")
    order_ids = [row["orderId"] for row in cross(world, sides(world)).json()["responses"]]
    world.assume("engine.latency", "0s")
    assert (
        world.trader().post("/v1/trading/orders/cancel", json={"orderId": order_ids[0]}).status
        == 200
    )
    world.advance("2s")
    assert [hits(world, user)[0]["state"] for user in (0, 1)] == ["ORDER_STATE_FILLED"] * 2


def test_two_sides_cannot_share_a_client_order_id(world: Desk) -> None:
    world.assume("orders.cross_accounts", "participant")
    requests = [
        side | {"account": "", "clordId": "same", "selfMatchPreventionId": ""}
        for side in sides(world)
    ]
    assert cross(world, requests).status == 409
