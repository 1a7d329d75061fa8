"""A slow engine (rules M35-M37, §7.2): what waits shows as pending, cancels are always taken, and
what waited more than five seconds is rejected on retail.
"""

from __future__ import annotations

import pytest

from sim.core.model.instrument import Instrument
from sim.run.client.client import Response, Stream
from tests.kit import Desk, streams, usd

STOPGAP = "Global Rate Limit Exceeded"


def slow(world: Desk, span: str) -> None:
    world.assume("engine.latency", span)


def followed(world: Desk, instrument: Instrument) -> Stream:
    """A private socket that follows the customer's orders."""
    socket = streams.socket(world, streams.PRIVATE)
    streams.subscribe(socket, "1", "ORDER", [instrument.symbol])
    return socket


def executions(socket: Stream) -> list[tuple[str, str]]:
    """(type, text) of the executions told on a private socket."""
    updates = (frame.get("orderSubscriptionUpdate") for frame in socket.take())
    rows = [update["execution"] for update in updates if update]
    return [(row["type"].removeprefix("EXECUTION_TYPE_"), row["text"]) for row in rows]


def state(world: Desk, order_id: str) -> str:
    """The state of a customer's order."""
    return str(world.retail_read(order_id)["state"]).removeprefix("ORDER_STATE_")


def states(world: Desk, *order_ids: str, user: int = 0) -> list[str]:
    """The states of a participant's orders."""
    rows = [world.reported(order_id, user) for order_id in order_ids]
    return [str(row["state"]).removeprefix("ORDER_STATE_") for row in rows]


def open_ids(world: Desk) -> list[str]:
    """The customer's open orders."""
    return [row["id"] for row in world.customer().get("/v1/orders/open").json()["orders"]]


def canceled(world: Desk, order_id: str, instrument: Instrument) -> Response:
    """The answer to a customer's cancel."""
    body = {"marketSlug": instrument.symbol}
    return world.customer().post(f"/v1/order/{order_id}/cancel", json=body)


@pytest.mark.spec("S7.2-7")
def test_a_retail_order_that_waited_more_than_five_seconds_is_rejected_by_execution(
    world: Desk, instrument: Instrument
) -> None:
    """M36, M37."""
    socket = followed(world, instrument)
    slow(world, "6s")
    placed = world.retail_place(instrument, "BUY_LONG", 20)
    assert state(world, placed) == "PENDING_NEW"
    assert executions(socket) == []
    world.advance("6s")
    assert executions(socket) == [("REJECTED", STOPGAP)]
    assert (state(world, placed), open_ids(world)) == ("REJECTED", [])


@pytest.mark.spec("S7.2-7")
@pytest.mark.parametrize("span", ["1s", "5s"])
def test_up_to_five_seconds_an_order_is_only_late(
    world: Desk, instrument: Instrument, span: str
) -> None:
    """M36, M37."""
    socket = followed(world, instrument)
    slow(world, span)
    placed = world.retail_place(instrument, "BUY_LONG", 20)
    assert open_ids(world) == [placed]
    world.advance(span)
    assert executions(socket) == [("NEW", "")]
    assert state(world, placed) == "NEW"


@pytest.mark.spec("S7.2-7")
def test_a_late_modification_is_rejected_and_a_late_cancel_is_not(
    world: Desk, instrument: Instrument
) -> None:
    """M36, M37."""
    socket = followed(world, instrument)
    placed = world.retail_place(instrument, "BUY_LONG", 20)
    executions(socket)
    slow(world, "8s")
    change = {"marketSlug": instrument.symbol, "price": usd("0.30"), "quantity": 1}
    assert world.customer().post(f"/v1/order/{placed}/modify", json=change).status == 200
    assert state(world, placed) == "PENDING_REPLACE"
    world.advance("8s")
    assert executions(socket) == [("REJECTED", STOPGAP)]
    assert state(world, placed) == "NEW"
    assert float(world.retail_read(placed)["price"]["value"]) == 0.2
    assert canceled(world, placed, instrument).status == 200
    assert state(world, placed) == "PENDING_CANCEL"
    world.advance("8s")
    assert executions(socket)[-1][0] == "CANCELED"
    assert state(world, placed) == "CANCELED"


@pytest.mark.spec("S7.2-7")
def test_a_cancel_before_the_acknowledgement_is_taken_and_waits_behind_the_order(
    world: Desk, instrument: Instrument
) -> None:
    """M35."""
    socket = followed(world, instrument)
    slow(world, "3s")
    placed = world.retail_place(instrument, "BUY_LONG", 20)
    world.advance("1s")
    slow(world, "0s")  # the cancel would be quicker, and still does not overtake
    assert canceled(world, placed, instrument).status == 200
    world.advance("2s")
    assert [kind for kind, _ in executions(socket)] == ["NEW", "CANCELED"]


def test_dollars_wait_like_contracts_do(world: Desk, instrument: Instrument) -> None:
    """M24, M35, M36: an order of dollars has no quantity yet, and is open, holds its client order
    id and can be canceled all the same.
    """
    world.place(instrument, "sell", 50, 10)
    slow(world, "2s")
    dollars = {"cashOrderQty": str(2 * instrument.price_scale), "price": None, "orderQty": None}
    dollars |= {"type": "ORDER_TYPE_MARKET_TO_LIMIT", "clordId": "d"}
    placed = world.place(instrument, "buy", 50, user=1, **dollars)
    assert world.enter(instrument, "buy", 50, user=1, **dollars).status == 409
    world.simulation.snapshot("waiting")
    world.simulation.restore("waiting")
    assert [row["id"] for row in world.open_orders(1)] == [placed]
    assert world.cancel(placed, 1).status == 200
    world.advance("2s")
    # the cancel came too late
    assert world.reported(placed, 1)["cumQty"] == str(4 * instrument.qty_scale)


def test_firms_wait_too_but_are_not_stopped(world: Desk, instrument: Instrument) -> None:
    stream = streams.orders(world, symbols=[instrument.symbol])
    stream.take()
    slow(world, "7s")
    placed = world.place(instrument, "buy", 30, clordId="late")
    assert world.open_orders()[0]["state"] == "ORDER_STATE_PENDING_NEW"
    assert world.enter(instrument, "buy", 30, clordId="late").status == 409
    world.advance("7s")
    assert [kind for _, kind, _ in streams.kinds_on(stream)] == ["NEW"]
    assert states(world, placed) == ["NEW"]


def test_the_engine_can_be_late_for_one_market_only(world: Desk, instrument: Instrument) -> None:
    match = {"plane": "engine", "operation": "place", "symbol": instrument.symbol}
    world.operate("fault.add", match=match, act={"delay": "6s"})
    late = world.retail_place(instrument, "BUY_LONG", 20)
    world.advance("6s")
    assert state(world, late) == "REJECTED"


def test_what_waits_survives_a_snapshot_and_is_in_no_book(
    world: Desk, instrument: Instrument
) -> None:
    slow(world, "4s")
    placed = world.place(instrument, "buy", 30, 5)
    world.simulation.snapshot("waiting")
    assert world.book(instrument)["bids"] == []
    world.advance("4s")
    after = world.book(instrument)["bids"]
    assert len(after) == 1
    world.simulation.restore("waiting")
    assert world.book(instrument)["bids"] == []
    assert states(world, placed) == ["PENDING_NEW"]
    world.advance("4s")
    assert world.book(instrument)["bids"] == after


@pytest.mark.spec("S3.4-1", "S7.2-7")
@pytest.mark.parametrize("refused", ["late", "halted"])
def test_a_rejection_changes_an_order_at_the_instant_of_its_execution(
    world: Desk, instrument: Instrument, refused: str
) -> None:
    """M36, M41: on both planes."""
    slow(world, "6s" if refused == "late" else "3s")
    retail_id = world.retail_place(instrument, "BUY_LONG", 20)
    partner_id = world.place(instrument, "buy", 20)
    world.advance("1s")
    if refused == "halted":
        world.move(instrument, "HALTED")
    world.advance("5s")
    at = f"2026-09-08T18:00:0{6 if refused == 'late' else 3}Z"
    row = world.retail_read(retail_id)
    assert (row["state"], row["createTime"], row["lastTransactTime"]) == (
        "ORDER_STATE_REJECTED",
        "2026-09-08T18:00:00Z",
        at,
    )
    if refused == "halted":  # firms are not stopped for being late
        (execution,) = world.search("executions", orderId=partner_id)
        assert execution["type"] == "EXECUTION_TYPE_REJECTED"
        assert execution["transactTime"] == execution["order"]["lastTransactTime"] == at


def test_a_change_that_fails_gives_an_order_back_the_state_its_last_report_told(
    world: Desk, instrument: Instrument
) -> None:
    """M32, M33, M36: REPLACED stays REPLACED."""
    placed = world.place(instrument, "buy", 20, 3)

    def change(cents: int) -> list[str]:
        price = str(cents * instrument.price_scale // 100)
        body = {"orderId": placed, "symbol": instrument.symbol, "price": price}
        assert world.trader().post("/v1/trading/orders/replace", json=body).status == 200
        return states(world, placed)

    assert change(21) == ["REPLACED"]
    slow(world, "2s")
    assert change(22) == ["PENDING_REPLACE"]
    world.move(instrument, "SUSPENDED")
    world.advance("2s")
    assert states(world, placed) == ["REPLACED"]


def test_a_command_does_not_overtake_an_earlier_one_although_others_have_left_the_queue(
    world: Desk, instrument: Instrument
) -> None:
    """M36: the engine takes commands of a participant on an instrument in order of receipt, also
    where it has become faster since.
    """
    other = next(row for row in world.in_state() if row is not instrument)
    slow(world, "6s")
    early = world.place(instrument, "buy", 30)
    slow(world, "1s")
    world.place(other, "buy", 2, user=1)
    world.advance("2s")
    slow(world, "0s")
    late = world.place(instrument, "buy", 31)
    assert states(world, early, late) == ["PENDING_NEW", "PENDING_NEW"]
    world.advance("3999ms")
    assert states(world, early, late) == ["PENDING_NEW", "PENDING_NEW"]
    world.advance("1ms")
    assert states(world, early, late) == ["NEW", "NEW"]
    ids = [row.order.id for row in world.trading.executions if row.order.id in (early, late)]
    assert ids == [early, late]
    assert states(world, world.place(instrument, "buy", 32)) == ["NEW"]
