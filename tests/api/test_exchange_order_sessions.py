"""session_id of InsertOrder: the order stream an order belongs to, and what its end does to it."""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import Response, Stream
from tests.journeys import order
from tests.kit import Desk, refused


def choose(world: Desk, value: str) -> None:
    world.assume("orders.session_id", value)


def follow(world: Desk, user: int = 0) -> tuple[Stream, str]:
    stream = world.rpc_trader(user).stream(
        "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()
    )
    return stream, stream.take()[0].session_id


def enter(world: Desk, session: str, cents: int = 30, user: int = 0) -> Response:
    return world.trader(user).post(
        "/v1/trading/orders",
        json=order(quiet_instrument(world), "buy", cents, 1, sessionId=session),
    )


def quiet_instrument(world: Desk) -> Any:
    symbol = getattr(world, "symbol", None) or world.quiet().symbol
    world.symbol = symbol  # type: ignore[attr-defined]
    return world.instrument(symbol)


def open_ids(world: Desk, user: int = 0) -> list[str]:
    return [row["id"] for row in world.trader(user).read("/v1/trading/orders/open", "orders")]


@pytest.mark.parametrize("rule", ["check", "cancel_on_end"])
def test_a_session_that_is_no_stream_of_the_account_is_refused(world: Desk, rule: str) -> None:
    choose(world, rule)
    _, mine = follow(world)
    _, others = follow(world, 1)
    for session in ("nonsense", others):
        answer = enter(world, session)
        assert answer.status == 400 and answer.json()["message"].startswith("session_id")
    body = order(quiet_instrument(world), "buy", 30, 1, sessionId="nonsense")
    answer = world.trader().post("/v1/trading/orders/list", json={"requests": [body]})
    assert answer.json()["message"].startswith("requests[0].session_id")
    assert world.trader().post("/v1/trading/orders/preview", json={"request": body}).status == 400
    request = wire.InsertOrderRequest(
        type=2, side=1, symbol=str(body["symbol"]), order_qty=1, price=1, session_id="nonsense"
    )
    with refused(3):
        world.rpc_trader().call("OrderEntryAPI.InsertOrder", request)
    assert open_ids(world) == []
    assert enter(world, mine).status == 200
    choose(world, "ignore")
    assert enter(world, "nonsense", 31).status == 200


def test_by_default_the_end_of_a_stream_leaves_its_orders_alone(world: Desk) -> None:
    stream, session = follow(world)
    order_id = enter(world, session).json()["orderId"]
    stream.close()
    world.advance("1h")
    assert open_ids(world) == [order_id]
    assert enter(world, session, 31).status == 200


@pytest.mark.parametrize("how", ["hangs up", "is taken over", "is ended"])
def test_an_order_may_end_with_its_stream(world: Desk, how: str) -> None:
    choose(world, "cancel_on_end")
    world.assume("orders.session_cancel_after", "5s")
    stream, session = follow(world)
    enter(world, session)
    kept = enter(world, "", 31).json()["orderId"]
    copy = world.rpc_trader().stream(
        "DropCopyAPI.CreateDropCopySubscription", wire.CreateDropCopySubscriptionRequest()
    )
    if how == "hangs up":
        stream.close()
    elif how == "is taken over":
        follow(world)
    else:
        world.operate("stream.close", str(stream.number))
    assert len(open_ids(world)) == 2
    assert enter(world, session, 32).status == 400
    copy.take()
    world.advance("5s")
    assert open_ids(world) == [kept]
    reported = [execution for frame in copy.take() for execution in frame.executions]
    assert [execution.unsolicited_cancel_reason for execution in reported] == [
        wire.UnsolicitedCxlReason.UNSOLICITED_CXL_REASON_CONNECTION_LOSS
    ]


def test_a_rewind_leads_to_where_sessions_had_ended_their_orders(world: Desk) -> None:
    """However a run is cut: with streams that were open before a moment that is kept, and ended
    after it.
    """
    sim = world.simulation
    choose(world, "cancel_on_end")
    observed = []
    for step in range(40):
        stream, session = follow(world)
        assert enter(world, session, 20 + step % 20).status == 200
        for _ in range(15):
            enter(world, "", 10)
            world.trader().post("/v1/trading/orders/cancel", json={"clordId": "none"})
        if step % 3:
            stream.close()
        world.advance("1s")
        observed.append((sim.seq, sim.digest, read_view(sim.engine, "orders")))
    assert sim.seq > 1200
    for seq, digest, orders in observed[::-7]:
        sim.rewind(seq=seq)
        assert (sim.digest, read_view(sim.engine, "orders")) == (digest, orders)


@pytest.mark.parametrize("journey", ["rewind", "restore", "reset"])
def test_time_travel_forgets_open_sessions_so_that_snapshots_are_taken_again(
    world: Desk, journey: str
) -> None:
    """None is taken while the end of a session would cancel orders."""
    sim = world.simulation
    choose(world, "cancel_on_end")
    sim.snapshot("before")
    _, mine = follow(world)
    assert enter(world, mine).status == 200

    def kept(inputs: int) -> list[int]:
        shelf = sim.engine.snapshots
        shelf._next = shelf._distance = 1
        for _ in range(inputs):
            world.gateway.get("/v1/health")
        return [result.checkpoint.seq for result in shelf._kept]

    assert kept(3) == [0]
    if journey == "rewind":
        sim.rewind(seq=sim.seq)
        assert len(open_ids(world)) == 1, "a journey cancels nothing"
    elif journey == "restore":
        sim.restore("before")
    else:
        sim.reset()
    assert len(kept(3)) > 1
