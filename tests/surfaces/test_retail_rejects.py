"""Business rejects of the retail API are told, whatever asked for them: a new order, a change, a
cancel (§7.1, §7.2, retail facts §5.2).
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.core.model.instrument import Instrument
from tests.kit import Desk, retail_order, streams


@pytest.mark.spec("S4.2-10", "S2.8-6")
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"price": {"value": "0", "currency": "USD"}}, "PRICE_OUT_OF_BOUNDS"),
        ({"price": {"value": "0.0001", "currency": "USD"}}, "PRICE_OUT_OF_BOUNDS"),
        ({"price": {"value": "1.00", "currency": "USD"}}, "PRICE_OUT_OF_BOUNDS"),
        ({"quantity": 0.000001}, "INCORRECT_QUANTITY"),
        ({"quantity": 0.000001, "type": "ORDER_TYPE_MARKET", "price": None}, "INCORRECT_QUANTITY"),
    ],
)
def test_a_price_or_quantity_cut_down_to_nothing_is_rejected_by_execution(
    world: Desk, instrument: Instrument, fields: dict[str, Any], reason: str
) -> None:
    """M4, M5."""
    body = retail_order(instrument, "BUY_LONG", 30, 5, synchronousExecution=True)
    body = {name: value for name, value in {**body, **fields}.items() if value is not None}
    answer = world.customer().post("/v1/orders", json=body)
    assert answer.status == 200, answer
    (execution,) = answer.json()["executions"]
    assert (execution["type"], execution["orderRejectReason"]) == (
        "EXECUTION_TYPE_REJECTED",
        f"ORD_REJECT_REASON_{reason}",
    )
    assert execution["order"]["state"] == "ORDER_STATE_REJECTED" and execution["text"]


@pytest.mark.spec("S7.1-1")
@pytest.mark.parametrize("quantity", [0, -1])
def test_no_quantity_at_all_is_a_bad_request_in_the_words_of_the_plane(
    world: Desk, instrument: Instrument, quantity: int
) -> None:
    answer = world.retail_enter(instrument, "BUY_LONG", 30, quantity)
    message = answer.json()["message"]
    assert (answer.status, "quantity" in message, "order_qty" in message) == (400, True, False)


@pytest.mark.spec("S7.2-7", "S4.2-12")
def test_a_change_that_fails_is_told_and_leaves_the_order_as_it_was(
    world: Desk, instrument: Instrument
) -> None:
    """M33: the REST answer says only that the change was passed on."""
    client, socket = world.customer(), streams.socket(world, streams.PRIVATE)
    placed = world.retail_place(instrument, "BUY_LONG", 20, 1)
    streams.subscribe(socket, "1", "ORDER")
    too_dear = {"marketSlug": instrument.symbol, "price": {"value": "3.00", "currency": "USD"}}
    assert client.post(f"/v1/order/{placed}/modify", json=too_dear).status == 200
    (frame,) = socket.take()
    execution = frame["orderSubscriptionUpdate"]["execution"]
    assert (execution["type"], execution["orderRejectReason"]) == (
        "EXECUTION_TYPE_REJECTED",
        "ORD_REJECT_REASON_PRICE_OUT_OF_BOUNDS",
    )
    assert execution["text"] and execution["traceId"]
    assert (execution["lastShares"], execution["aggressor"]) == ("0", False)
    now = world.retail_read(placed)
    assert (execution["order"], now["state"]) == (now, "ORDER_STATE_NEW")
    assert float(now["price"]["value"]) == 0.2
    world.assume("retail.change_rejects", "silent")
    assert client.post(f"/v1/order/{placed}/modify", json=too_dear).status == 200
    assert socket.take() == []


@pytest.mark.spec("S7.1-5")
@pytest.mark.parametrize("verb", ["modify", "cancel"])
def test_an_order_that_is_done_conflicts_with_any_further_wish(
    world: Desk, instrument: Instrument, verb: str
) -> None:
    client = world.customer()
    placed = world.retail_place(instrument, "BUY_LONG", 20, 1)
    body = {"marketSlug": instrument.symbol}
    assert client.post(f"/v1/order/{placed}/cancel", json=body).status == 200
    wish = {**body, "quantity": 2} if verb == "modify" else body
    again = client.post(f"/v1/order/{placed}/{verb}", json=wish)
    assert (again.status, again.json()["code"]) == (409, 9)


def test_a_cancel_of_an_order_that_nobody_knows_leaves_sockets_alone(world: Desk) -> None:
    socket = streams.socket(world, streams.PRIVATE)
    body = {"symbol": world.quiet().symbol, "clordId": "nobody-knows-it"}
    assert world.trader().post("/v1/trading/orders/cancel", json=body).status == 404
    assert world.trader().get("/v1/trading/orders/open").status == 200
    assert socket.end is None
