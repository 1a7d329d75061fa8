"""Positions, cash and instrument states over gRPC."""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState, LedgerEntryType
from sim.core.model.instrument import Instrument
from sim.kernel.instants import parse_instant
from sim.run.client.client import RpcError, Stream
from tests.journeys import firm
from tests.kit import Desk, refused
from tests.kit.streams import instruments, position_changes, twins


def settle(world: Desk, instrument: Instrument, price: str = "1") -> None:
    world.settle(instrument, price)


def changes(stream: Stream) -> list[wire.PositionChange]:
    return [change for frame in stream.take() for change in frame.position_changes]


def ledger(world: Desk, user: int = 0, **fields: Any) -> Stream:
    request = wire.CreateBalanceLedgerSubscriptionRequest(
        **{"account": world.account(user), **fields}
    )
    return world.rpc_trader(user).stream("FundingAPI.CreateBalanceLedgerSubscription", request)


def entries(stream: Stream) -> list[wire.BalanceLedgerEntry]:
    return [entry for frame in stream.take() for entry in frame.entries]


# ---- position changes


@pytest.mark.spec("S4.4-2", "S6.2-2")
def test_a_fill_changes_both_positions_of_the_firm(world: Desk, instrument: Instrument) -> None:
    stream = position_changes(world)
    assert stream.take() == []
    world.trade(instrument, 40, 3)
    result = {
        change.position.account: change.position.net_position
        for change in changes(stream)
        if change.position is not None
    }
    assert result == {
        world.account(0): 3 * instrument.qty_scale,
        world.account(1): -3 * instrument.qty_scale,
    }


@pytest.mark.spec("S6.2-2")
def test_a_settlement_says_the_price_and_that_the_market_has_resolved(
    world: Desk, instrument: Instrument
) -> None:
    world.trade(instrument, 40, 3)
    stream = position_changes(world)
    settle(world, instrument, "1")
    result = changes(stream)
    assert len(result) == 2
    for change in result:
        assert change.position is not None
        assert (change.position.net_position, change.position.expired, change.resolved) == (
            0,
            True,
            True,
        )
        assert (change.settlement_px, change.settlement_preliminary) == (
            instrument.price_scale,
            False,
        )
        assert change.settlement_set_time == change.change_time


@pytest.mark.spec("S6.2-2")
def test_a_settlement_at_zero_is_a_price_and_not_its_absence(
    world: Desk, instrument: Instrument
) -> None:
    world.trade(instrument, 40)
    stream = position_changes(world)
    settle(world, instrument, "0")
    assert [change.settlement_px for change in changes(stream)] == [0, 0]


def test_each_fill_of_an_order_is_a_change_and_they_come_in_one_message(
    world: Desk, instrument: Instrument
) -> None:
    for cents in (40, 41):
        world.place(instrument, "sell", cents, user=1)
    stream = position_changes(world)
    world.place(instrument, "buy", 41, 2)
    (frame,) = stream.take()
    positions = [change.position for change in frame.position_changes]
    item = instrument.qty_scale
    assert sorted(
        (position.net_position, position.qty_bought, position.qty_sold) for position in positions
    ) == [(-2 * item, 0, 2 * item), (-item, 0, item), (item, item, 0), (2 * item, 2 * item, 0)]


@pytest.mark.spec("S6.2-2", "S6.2-6")
def test_a_replay_tells_the_positions_as_they_stood(world: Desk, instrument: Instrument) -> None:
    stream = position_changes(world)
    start = world.now
    world.trade(instrument, 40, 3)
    world.advance("1m")
    world.trade(instrument, 42, 1, buyer=1, seller=0)
    for price in ("1", "0"):  # the second corrects the first
        world.advance("1m")
        settle(world, instrument, price)
    frames = [frame for frame in stream.take() if frame.position_changes]
    live = [change for frame in frames for change in frame.position_changes]
    stream.close()
    assert changes(position_changes(world, resume_time=start)) == live
    assert changes(position_changes(world, resume_token=frames[-2].resume_token)) == list(
        frames[-1].position_changes
    )
    assert changes(position_changes(world, resume_token=frames[-1].resume_token)) == []


@pytest.mark.spec("S6.2-2", "S6.2-6")
@pytest.mark.parametrize("wait", ["2h", "4h", "5h"])
def test_a_replay_from_any_message_over_several_trade_days_tells_what_was_told_live(
    world: Desk, instrument: Instrument, wait: str
) -> None:
    world.trade(instrument, 39, 2)
    world.advance(wait)
    stream = position_changes(world)
    for buyer, seller, contracts in ((0, 1, 3), (1, 0, 1), (0, 1, 2), (1, 0, 7), (0, 1, 1)):
        world.trade(instrument, 40 + contracts, contracts, buyer=buyer, seller=seller)
        world.advance(wait)
    settle(world, instrument, "1")
    frames = [frame for frame in stream.take() if frame.position_changes]
    assert (
        len({change.position.bod_position for frame in frames for change in frame.position_changes})
        > 1
    )
    stream.close()
    for number, frame in enumerate(frames):
        later = [change for after in frames[number + 1 :] for change in after.position_changes]
        assert changes(position_changes(world, resume_token=frame.resume_token)) == later


def test_a_position_that_two_users_share_is_told_once_at_the_beginning() -> None:
    world = twins("assumptions: {stream.position_change_snapshot: true}\n")
    for name, side in (("maker", "sell"), ("firms/twin/users/ann", "buy")):
        world.place_as(name, "one", side, "0.40")
    twin = firm(world.simulation, 1)
    stream = world.rpc(twin, twin.users[0].name).stream(
        "DropCopyAPI.CreatePositionChangeSubscription",
        wire.CreatePositionChangeSubscriptionRequest(),
    )
    (result,) = changes(stream)
    assert result.position is not None
    assert result.position.net_position == 1


# ---- positions with snapshot


def test_positions_begin_with_a_snapshot_and_go_on_with_changes(
    world: Desk, instrument: Instrument
) -> None:
    world.trade(instrument, 40, 2)
    stream = world.rpc_trader().stream(
        "PositionAPI.CreatePositionSubscription", wire.CreatePositionSubscriptionRequest()
    )
    (first,) = stream.take()
    assert [(position.symbol, position.net_position) for position in first.snapshot.positions] == [
        (instrument.symbol, 2 * instrument.qty_scale)
    ]
    world.trade(instrument, 41, 1)
    (update,) = stream.take()
    assert [position.net_position for position in update.update.positions] == [
        3 * instrument.qty_scale
    ]


def test_a_position_is_not_told_again_until_its_instrument_is_over(
    world: Desk, instrument: Instrument
) -> None:
    world.trade(instrument, 40, 2)
    world.trade(instrument, 40, 2, buyer=1, seller=0)  # flat positions expire too
    stream = world.rpc_trader().stream(
        "PositionAPI.CreatePositionSubscription", wire.CreatePositionSubscriptionRequest()
    )
    stream.take()
    for state, reported in (
        ("SUSPENDED", []),
        ("OPEN", []),
        ("HALTED", []),
        ("CLOSED", []),
        ("EXPIRED", [(instrument.symbol, 0, True)]),
    ):
        changed = world.simulation.control("instrument.state", instrument.symbol, {"state": state})
        world.deliver(changed.effects)
        assert [
            (position.symbol, position.net_position, position.expired)
            for frame in stream.take()
            if frame.update
            for position in frame.update.positions
        ] == reported, state


# ---- balance ledger


@pytest.mark.spec("S4.4-3", "S6.2-3", "S4.3-20")
def test_the_ledger_of_one_account_is_replayed_from_a_time_and_goes_on_live(
    world: Desk, instrument: Instrument
) -> None:
    world.trade(instrument, 40, 3)
    world.advance("1m")
    boundary = world.now
    world.trade(instrument, 41, 1)
    stream = ledger(world, resume_time=boundary)
    (old,) = entries(stream)
    world.trade(instrument, 42, 1)
    (new,) = entries(stream)
    assert (old.account, old.entry_type, old.update_time) == (
        world.account(),
        LedgerEntryType.ORDER_EXECUTION,
        boundary,
    )
    assert old.after_balance == new.before_balance
    assert entries(ledger(world)) == []


@pytest.mark.spec("S6.2-3")
def test_a_time_before_the_floor_is_raised_to_it(world: Desk) -> None:
    everything = entries(ledger(world, resume_time=parse_instant("2020-01-01T00:00:00Z")))
    assert everything
    assert all(
        entry.update_time is not None and entry.update_time >= parse_instant("2026-05-01T00:00:00Z")
        for entry in everything
    )


def test_entry_types_filter_and_internal_ones_are_aborted(
    world: Desk, instrument: Instrument
) -> None:
    start = world.simulation.start
    world.trade(instrument, 40)
    deposits = entries(ledger(world, resume_time=start, entry_types=[LedgerEntryType.DEPOSIT]))
    assert {entry.entry_type for entry in deposits} <= {LedgerEntryType.DEPOSIT}
    fills = entries(ledger(world, resume_time=start, entry_types=[LedgerEntryType.ORDER_EXECUTION]))
    assert [entry.symbol for entry in fills] == [instrument.symbol]
    with refused(10):
        ledger(world, entry_types=[LedgerEntryType.NETTING])


@pytest.mark.parametrize(("named", "code"), [("", 3), ("firms/somebody/accounts/else", 7)])
def test_the_account_is_required_and_must_be_the_firms(world: Desk, named: str, code: int) -> None:
    with pytest.raises(RpcError) as refused:
        ledger(world, account=named)
    assert refused.value.code == code


# ---- instrument states


@pytest.mark.spec("S4.4-4", "S6.2-4", "S6.2-6")
def test_instruments_come_as_they_are_and_then_on_each_change_of_state(world: Desk) -> None:
    stream = instruments(world)
    first = {
        instrument.symbol: instrument.state
        for frame in stream.take()
        for instrument in frame.instruments
    }
    exchange = world.core
    assert first == {
        instrument.symbol: exchange.trading.state(instrument.symbol)
        for instrument in exchange.instruments
    }
    pending = next(world.in_state(InstrumentState.PENDING))
    world.deliver(
        world.simulation.control("instrument.state", pending.symbol, {"state": "OPEN"}).effects
    )
    (changed,) = stream.take()
    assert [(instrument.symbol, instrument.state) for instrument in changed.instruments] == [
        (pending.symbol, InstrumentState.OPEN)
    ]
    assert changed.resume_token == b""


@pytest.mark.spec("S6.2-4")
def test_a_resume_field_of_the_instrument_stream_has_no_effect(
    world: Desk, instrument: Instrument
) -> None:
    stream = instruments(
        world, instrument.symbol, resume_token=b"anything", resume_time=world.simulation.start
    )
    (first,) = stream.take()
    assert [result.symbol for result in first.instruments] == [instrument.symbol]
    other = next(world.in_state(InstrumentState.PENDING))
    world.deliver(
        world.simulation.control("instrument.state", other.symbol, {"state": "OPEN"}).effects
    )
    assert stream.take() == []
    world.advance("30s")
    assert stream.take()[0].resume_token == b""


def test_an_instrument_nobody_lists_cannot_be_followed(world: Desk) -> None:
    with refused(5):
        instruments(world, "nobody-lists-this")
