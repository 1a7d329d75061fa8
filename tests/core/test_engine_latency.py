"""A slow engine (rules M35-M37, §7.2): what waits shows as pending, cancels are always taken, and
what waited more than five seconds is rejected on retail.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from tests.kit import Desk, order, streams

STOPGAP = "Global Rate Limit Exceeded"


def slow(world: Desk, span: str) -> None:
    world.assume("engine.latency", span)


def told(world: Desk, slug: str) -> Any:
    """A private socket that follows the retail account's orders."""
    socket = world.web_socket(world.keys[0], "/v1/ws/private")
    socket.send(
        b'{"subscribe":{"requestId":"1","subscriptionType":"SUBSCRIPTION_TYPE_ORDER","marketSlugs":["%s"]}}'
        % slug.encode()
    )
    socket.take()
    return socket


def executions(socket: Any) -> list[tuple[str, str]]:
    """(type, text) of the executions told on a private socket."""
    found = []
    for frame in socket.take():
        update = frame.get("orderSubscriptionUpdate") or frame.get("orderUpdate") or {}
        execution = update.get("execution")
        if execution:
            found.append((execution["type"].removeprefix("EXECUTION_TYPE_"), execution["text"]))
    return found


@pytest.mark.spec("S7.2-7")
def test_a_retail_order_that_waited_more_than_five_seconds_is_rejected_by_execution(
    world: Desk, instrument: Instrument
) -> None:
    """M36, M37."""
    client, socket = world.customer(), told(world, instrument.symbol)
    slow(world, "6s")
    placed = world.retail_enter(instrument, "BUY_LONG", 20, 1)
    assert placed.status == 200
    assert world.retail_read(placed.json()["id"])["state"] == "ORDER_STATE_PENDING_NEW"
    assert executions(socket) == []
    world.advance("6s")
    assert executions(socket) == [("REJECTED", STOPGAP)]
    assert world.retail_read(placed.json()["id"])["state"] == "ORDER_STATE_REJECTED"
    assert client.get("/v1/orders/open").json() == {"orders": []}


@pytest.mark.spec("S7.2-7")
@pytest.mark.parametrize("span", ["1s", "5s"])
def test_up_to_five_seconds_an_order_is_only_late(
    world: Desk, instrument: Instrument, span: str
) -> None:
    """M36, M37."""
    client, socket = world.customer(), told(world, instrument.symbol)
    slow(world, span)
    placed = world.retail_place(instrument, "BUY_LONG", 20, 1)
    assert [row["id"] for row in client.get("/v1/orders/open").json()["orders"]] == [placed]
    world.advance(span)
    assert executions(socket) == [("NEW", "")]
    assert world.retail_read(placed)["state"] == "ORDER_STATE_NEW"


@pytest.mark.spec("S7.2-7")
def test_a_late_modification_is_rejected_and_a_late_cancel_is_not(
    world: Desk, instrument: Instrument
) -> None:
    """M36, M37."""
    client, socket = world.customer(), told(world, instrument.symbol)
    placed = world.retail_place(instrument, "BUY_LONG", 20, 1)
    executions(socket)
    slow(world, "8s")
    change = {
        "marketSlug": instrument.symbol,
        "price": {"value": "0.30", "currency": "USD"},
        "quantity": 1,
    }
    assert client.post(f"/v1/order/{placed}/modify", json=change).status == 200
    assert world.retail_read(placed)["state"] == "ORDER_STATE_PENDING_REPLACE"
    world.advance("8s")
    assert executions(socket) == [("REJECTED", STOPGAP)]
    row = world.retail_read(placed)
    assert (row["state"], float(row["price"]["value"])) == ("ORDER_STATE_NEW", 0.2)
    assert (
        client.post(f"/v1/order/{placed}/cancel", json={"marketSlug": instrument.symbol}).status
        == 200
    )
    assert world.retail_read(placed)["state"] == "ORDER_STATE_PENDING_CANCEL"
    world.advance("8s")
    assert executions(socket)[-1][0] == "CANCELED"
    assert world.retail_read(placed)["state"] == "ORDER_STATE_CANCELED"


@pytest.mark.spec("S7.2-7")
def test_a_cancel_before_the_acknowledgement_is_taken_and_waits_behind_the_order(
    world: Desk, instrument: Instrument
) -> None:
    """M35."""
    client, socket = world.customer(), told(world, instrument.symbol)
    slow(world, "3s")
    placed = world.retail_place(instrument, "BUY_LONG", 20, 1)
    world.advance("1s")
    slow(world, "0s")  # the cancel would be quicker, and still does not overtake
    assert (
        client.post(f"/v1/order/{placed}/cancel", json={"marketSlug": instrument.symbol}).status
        == 200
    )
    world.advance("2s")
    assert [kind for kind, _ in executions(socket)] == ["NEW", "CANCELED"]


def test_dollars_wait_like_contracts_do(world: Desk, instrument: Instrument) -> None:
    """M24, M35, M36: an order of dollars has no quantity yet, and is open, holds its client order
    id and can be canceled all the same.
    """
    world.enter(instrument, "sell", 50, 10)
    slow(world, "2s")
    other = world.exchange(world.firm, world.user(1).name)
    two = str(2 * instrument.price_scale)
    dollars = order(
        instrument, "buy", 50, 0, type="ORDER_TYPE_MARKET_TO_LIMIT", cashOrderQty=two, clordId="d"
    )
    del dollars["price"], dollars["orderQty"]
    placed = other.post("/v1/trading/orders", json=dollars).json()["orderId"]
    assert other.post("/v1/trading/orders", json=dollars).status == 409
    world.simulation.snapshot("waiting")
    world.simulation.restore("waiting")
    assert [row["id"] for row in other.get("/v1/trading/orders/open").json()["orders"]] == [placed]
    assert other.post("/v1/trading/orders/cancel", json={"orderId": placed}).status == 200
    world.advance("2s")
    # the cancel came too late
    assert other.get(f"/v1/report/orders/{placed}").json()["order"]["cumQty"] == str(
        4 * instrument.qty_scale
    )


def test_firms_wait_too_but_are_not_stopped(world: Desk, instrument: Instrument) -> None:
    stream = streams.orders(world, symbols=[instrument.symbol])
    stream.take()
    slow(world, "7s")
    client = world.trader()
    placed = world.place(instrument, "buy", 30, 1, clordId="late")
    assert (
        client.get("/v1/trading/orders/open").json()["orders"][0]["state"]
        == "ORDER_STATE_PENDING_NEW"
    )
    assert world.enter(instrument, "buy", 30, 1, clordId="late").status == 409
    world.advance("7s")
    kinds = [
        execution.type
        for message in stream.take()
        if message.update
        for execution in message.update.executions
    ]
    assert kinds == [wire.ExecutionType.EXECUTION_TYPE_NEW]
    assert world.reported(placed)["state"] == "ORDER_STATE_NEW"


def test_the_engine_can_be_late_for_one_market_only(world: Desk, instrument: Instrument) -> None:
    world.operate(
        "fault.add",
        match={"plane": "engine", "operation": "place", "symbol": instrument.symbol},
        act={"delay": "6s"},
    )
    late = world.retail_place(instrument, "BUY_LONG", 20, 1)
    world.advance("6s")
    assert world.retail_read(late)["state"] == "ORDER_STATE_REJECTED"


def test_what_waits_survives_a_snapshot_and_is_in_no_book(
    world: Desk, instrument: Instrument
) -> None:
    slow(world, "4s")
    client = world.trader()
    placed = world.place(instrument, "buy", 30, 5)
    sim = world.simulation
    sim.snapshot("waiting")
    assert client.get(f"/v1/orderbook/{instrument.symbol}").json()["bids"] == []
    world.advance("4s")
    after = client.get(f"/v1/orderbook/{instrument.symbol}").json()["bids"]
    assert len(after) == 1
    sim.restore("waiting")
    assert client.get(f"/v1/orderbook/{instrument.symbol}").json()["bids"] == []
    assert world.reported(placed)["state"] == "ORDER_STATE_PENDING_NEW"
    world.advance("4s")
    assert client.get(f"/v1/orderbook/{instrument.symbol}").json()["bids"] == after


@pytest.mark.spec("S3.4-1", "S7.2-7")
@pytest.mark.parametrize("refused", ["late", "halted"])
def test_a_rejection_changes_an_order_at_the_instant_of_its_execution(
    world: Desk, instrument: Instrument, refused: str
) -> None:
    """M36, M41: on both planes."""
    slow(world, "6s" if refused == "late" else "3s")
    partner = world.trader()
    retail_id = world.retail_place(instrument, "BUY_LONG", 20, 1)
    partner_id = world.place(instrument, "buy", 20, 1)
    world.advance("1s")
    if refused == "halted":
        world.move(instrument, "HALTED")
    world.advance("5s")
    at = f"2026-09-08T18:00:0{6 if refused == 'late' else 3}Z"
    shown = world.retail_read(retail_id)
    assert (shown["state"], shown["createTime"], shown["lastTransactTime"]) == (
        "ORDER_STATE_REJECTED",
        "2026-09-08T18:00:00Z",
        at,
    )
    if refused == "halted":  # firms are not stopped for being late
        (row,) = partner.post("/v1/report/executions/search", json={"orderId": partner_id}).json()[
            "executions"
        ]
        assert (row["type"], row["transactTime"], row["order"]["lastTransactTime"]) == (
            "EXECUTION_TYPE_REJECTED",
            at,
            at,
        )


def test_a_change_that_fails_gives_an_order_back_the_state_its_last_report_told(
    world: Desk, instrument: Instrument
) -> None:
    """M32, M33, M36: REPLACED stays REPLACED."""
    partner = world.trader()
    placed = world.place(instrument, "buy", 20, 3)
    change = lambda cents: partner.post(  # noqa: E731
        "/v1/trading/orders/replace",
        json={
            "orderId": placed,
            "symbol": instrument.symbol,
            "price": str(cents * instrument.price_scale // 100),
        },
    )
    state = lambda: world.reported(placed)["state"]  # noqa: E731
    assert (change(21).status, state()) == (200, "ORDER_STATE_REPLACED")
    slow(world, "2s")
    assert (change(22).status, state()) == (200, "ORDER_STATE_PENDING_REPLACE")
    world.move(instrument, "SUSPENDED")
    world.advance("2s")
    assert state() == "ORDER_STATE_REPLACED"


def test_a_command_does_not_overtake_an_earlier_one_although_others_have_left_the_queue(
    world: Desk, instrument: Instrument
) -> None:
    """M36: the engine takes commands of a participant on an instrument in order of receipt, also
    where it has become faster since.
    """
    other = next(found for found in world.in_state() if found is not instrument)
    slow(world, "6s")
    early = world.place(instrument, "buy", 30, 1)
    slow(world, "1s")
    assert world.enter(other, "buy", 2, 1, user=1).status == 200
    world.advance("2s")
    slow(world, "0s")
    late = world.place(instrument, "buy", 31, 1)

    def states() -> list[str]:
        found = (world.reported(one) for one in (early, late))
        return [one["state"].removeprefix("ORDER_STATE_") for one in found]

    assert states() == ["PENDING_NEW", "PENDING_NEW"]
    world.advance("3999ms")
    assert states() == ["PENDING_NEW", "PENDING_NEW"]
    world.advance("1ms")
    assert states() == ["NEW", "NEW"]
    executions = world.trading.executions
    assert [row.order.id for row in executions if row.order.id in (early, late)] == [early, late]
    free = world.place(instrument, "buy", 32, 1)
    assert world.reported(free)["state"] == "ORDER_STATE_NEW"
