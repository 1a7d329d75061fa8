"""CreateOrderSubscription: a snapshot of what works, then everything that happens to it."""

from __future__ import annotations

import pytest

from sim.api.codecs.codecs import protobuf_encoder
from sim.core.model.enums import CancelRejectReason, ExecutionType, InstrumentState
from sim.core.model.instrument import Instrument
from tests.kit import Desk, refused
from tests.kit.streams import orders


def other(world: Desk, instrument: Instrument) -> Instrument:
    """Another open instrument."""
    exchange = world.core
    return next(
        result
        for result in exchange.instruments
        if result.symbol != instrument.symbol
        and exchange.trading.state(result.symbol) is InstrumentState.OPEN
    )


@pytest.mark.spec("S6.2-6", "S4.4-1")
def test_the_snapshot_of_open_orders_comes_first_and_executions_follow(
    world: Desk, instrument: Instrument
) -> None:
    resting = world.place(instrument, "buy", 30, 2)
    stream = orders(world)
    (snapshot,) = stream.take()
    assert [order.id for order in snapshot.snapshot.orders] == [resting]
    placed = world.place(instrument, "buy", 29, 1)
    (update,) = stream.take()
    assert [(execution.type, execution.order.id) for execution in update.update.executions] == [
        (ExecutionType.NEW, placed)
    ]


def test_an_account_without_open_orders_gets_an_empty_snapshot(world: Desk) -> None:
    (snapshot,) = orders(world).take()
    assert snapshot.snapshot is not None
    assert snapshot.snapshot.orders == []


def test_every_message_carries_the_session_id_and_the_instant_of_sending(
    world: Desk, instrument: Instrument
) -> None:
    stream, resolve_relative = orders(world), orders(world, user=1)
    world.advance("30s")
    world.place(instrument, "buy", 30)
    frames = stream.take()
    start = world.simulation.start
    assert [frame.processed_sent_time - start for frame in frames] == [
        0,
        30_000_000_000,
        30_000_000_000,
    ]
    assert len({frame.session_id for frame in frames}) == 1
    assert frames[1].heartbeat is not None
    assert resolve_relative.take()[0].session_id not in ("", frames[0].session_id)


def test_executions_of_one_input_come_in_one_message_in_order(
    world: Desk, instrument: Instrument
) -> None:
    for cents in (40, 41, 42):
        world.place(instrument, "sell", cents, 1, user=1)
    stream = orders(world)
    stream.take()
    world.place(instrument, "buy", 42, 3)
    (update,) = stream.take()
    kinds = [execution.type for execution in update.update.executions]
    assert kinds == [
        ExecutionType.NEW,
        ExecutionType.PARTIAL_FILL,
        ExecutionType.PARTIAL_FILL,
        ExecutionType.FILL,
    ]
    assert [execution.last_px for execution in update.update.executions[1:]] == [
        cents * instrument.price_scale // 100 for cents in (40, 41, 42)
    ]


def test_a_refused_cancel_is_told_on_the_stream(world: Desk, instrument: Instrument) -> None:
    done = world.place(instrument, "buy", 30)
    user = world.trader()
    assert (
        user.post(
            "/v1/trading/orders/cancel", json={"orderId": done, "symbol": instrument.symbol}
        ).status
        == 200
    )
    stream = orders(world)
    stream.take()
    assert (
        user.post(
            "/v1/trading/orders/cancel", json={"orderId": done, "symbol": instrument.symbol}
        ).status
        == 409
    )
    (update,) = stream.take()
    assert update.update.executions == []
    assert (update.update.cancel_reject.order_id, update.update.cancel_reject.is_replace) == (
        done,
        False,
    )


@pytest.mark.spec("S6.2-1")
def test_a_cancel_or_replace_of_an_unknown_order_is_told_too_but_not_that_of_a_list(
    world: Desk, instrument: Instrument
) -> None:
    """M34, M38."""
    foreign = world.place(instrument, "buy", 30, user=1)
    stream, user = orders(world), world.trader()
    stream.take()
    replaced = ("replace", {"orderId": foreign, "price": "9"}, True)
    for path, body, is_replace in (
        ("cancel", {"orderId": "NOSUCH"}, False),
        ("cancel", {"clordId": "mine"}, False),
        replaced,
    ):
        assert user.post(f"/v1/trading/orders/{path}", json=body).status == 404
        (update,) = stream.take()
        rejected = update.update.cancel_reject
        assert (rejected.order_id, rejected.clord_id) == (
            body.get("orderId", ""),
            body.get("clordId", ""),
        )
        assert (rejected.reject_reason, rejected.text, rejected.is_replace) == (
            CancelRejectReason.UNKNOWN_ORDER,
            "Unknown order",
            is_replace,
        )
    assert user.send("/v1/trading/orders/cancel/list", {"requests": [{"orderId": "NOSUCH"}]}) == {
        "responses": [{}]
    }
    assert stream.take() == []


def test_a_snapshot_only_stream_ends_ok_after_the_snapshot(
    world: Desk, instrument: Instrument
) -> None:
    world.place(instrument, "buy", 30)
    stream = orders(world, snapshot_only=True)
    assert [len(frame.snapshot.orders) for frame in stream.take()] == [1]
    assert stream.end == (0, "")
    assert world.simulation.streams() == []


@pytest.mark.spec("S4.4-1")
def test_symbols_filter_the_snapshot_and_what_follows(world: Desk, instrument: Instrument) -> None:
    elsewhere = other(world, instrument)
    world.place(elsewhere, "buy", 10)
    stream = orders(world, symbols=[instrument.symbol])
    (snapshot,) = stream.take()
    assert snapshot.snapshot.orders == []
    world.place(elsewhere, "buy", 11)
    assert stream.take() == []
    world.place(instrument, "buy", 30)
    assert len(stream.take()) == 1


@pytest.mark.spec("S0-5")
def test_a_list_of_symbols_has_no_cap(world: Desk, instrument: Instrument) -> None:
    """S8."""
    stream = orders(
        world, symbols=[instrument.symbol, *(f"none-{number}" for number in range(2000))]
    )
    stream.take()
    world.place(instrument, "buy", 30)
    assert len(stream.take()) == 1


def test_without_accounts_the_stream_covers_the_participant_and_with_them_others_of_the_firm(
    world: Desk, instrument: Instrument
) -> None:
    own = orders(world)
    colleague = world.firm.users[1]
    both = orders(world, user=2, accounts=[colleague.account, world.firm.users[0].account])
    own.take(), both.take()
    world.place(instrument, "buy", 30, user=1)
    assert own.take() == []
    assert [
        execution.order.account for frame in both.take() for execution in frame.update.executions
    ] == [colleague.account]


def test_a_foreign_account_is_refused(world: Desk) -> None:
    foreign = (
        next(
            result for result in world.core.firms.all() if result is not world.firm and result.users
        )
        .users[0]
        .account
    )
    with refused(7):
        orders(world, accounts=[foreign])
    assert world.simulation.streams() == []


def test_a_long_snapshot_comes_in_several_messages(world: Desk, instrument: Instrument) -> None:
    placed = [world.place(instrument, "buy", 1 + number % 20) for number in range(501)]
    frames = orders(world).take()
    assert [len(frame.snapshot.orders) for frame in frames] == [500, 1]
    assert sorted(order.id for frame in frames for order in frame.snapshot.orders) == sorted(placed)


def test_parts_of_a_frame_are_read_as_they_were_written_whatever_their_length(
    world: Desk, instrument: Instrument
) -> None:
    """A length takes one byte up to 127, and two from 128 on."""
    world.preset("ideal")
    stream = orders(world)
    stream.take()
    lengths = set()
    for count in range(1, 130):
        cancel = {"clordId": "c" * count, "symbol": instrument.symbol}
        assert world.trader().post("/v1/trading/orders/cancel", json=cancel).status == 404
        (frame,) = stream.take()
        reject = frame.update.cancel_reject
        lengths.add(len(protobuf_encoder(type(reject))(reject)))
        assert (reject.clord_id, reject.text) == ("c" * count, "Unknown order")
    assert lengths >= set(range(120, 140))
