"""Drop copy and trade capture: what a firm did, resumable by token or time."""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import ExecutionType, TradeState
from sim.core.model.instrument import Instrument
from sim.run.client.client import Stream
from tests.journeys import firm, order
from tests.kit import Desk, refused
from tests.kit.streams import drop_copy, position_changes, trades, twins


def executions(stream: Stream) -> list[str]:
    return [execution.id for frame in stream.take() for execution in frame.executions]


def reports(stream: Stream) -> list[tuple[str, int]]:
    return [
        (report.id, report.state)
        for frame in stream.take()
        for report in frame.trade_capture_reports
    ]


def token_of(stream: Stream) -> bytes:
    return stream.take()[-1].resume_token


@pytest.mark.spec("S6.2-1", "S6.2-6")
def test_drop_copy_begins_without_a_snapshot_and_reports_every_execution_of_the_firm(
    world: Desk, instrument: Instrument
) -> None:
    world.place(instrument, "buy", 30)
    stream = drop_copy(world)
    assert stream.take() == []
    world.trade(instrument, buyer=1, seller=2)
    frames = stream.take()
    assert [execution.type for frame in frames for execution in frame.executions] == [
        ExecutionType.NEW,
        ExecutionType.NEW,
        ExecutionType.FILL,
        ExecutionType.FILL,
    ]
    accounts = [execution.order.account for frame in frames for execution in frame.executions]
    users = world.firm.users
    assert set(accounts) == {users[1].account, users[2].account}


@pytest.mark.spec("S6.2-1")
def test_every_message_carries_a_token_of_576_bytes_that_moves_on(
    world: Desk, instrument: Instrument
) -> None:
    """S2, S4."""
    stream = drop_copy(world)
    world.place(instrument, "buy", 30)
    world.place(instrument, "buy", 31)
    world.advance("30s")
    tokens = [frame.resume_token for frame in stream.take()]
    assert [len(token) for token in tokens] == [576] * 3
    assert len(set(tokens)) == 3


@pytest.mark.spec("S6.2-1", "S6.2-6")
def test_a_token_resumes_strictly_after_its_message_and_goes_on_live(
    world: Desk, instrument: Instrument
) -> None:
    """S2."""
    stream = drop_copy(world)
    world.place(instrument, "buy", 30)
    token = token_of(stream)
    stream.close()
    missed = [world.place(instrument, "buy", 31), world.place(instrument, "buy", 32)]
    resumed = drop_copy(world, resume_token=token)
    live = world.place(instrument, "buy", 33)
    frames = resumed.take()
    assert [execution.order.id for frame in frames for execution in frame.executions] == [
        *missed,
        live,
    ]
    resumed.close()
    assert executions(drop_copy(world, resume_token=frames[-1].resume_token)) == []


def test_a_heartbeats_token_resumes_too(world: Desk, instrument: Instrument) -> None:
    stream = drop_copy(world)
    world.place(instrument, "buy", 30)
    world.advance("30s")
    token = token_of(stream)
    stream.close()
    world.place(instrument, "buy", 31)
    assert len(executions(drop_copy(world, resume_token=token))) == 1


def test_a_resume_time_replays_from_that_instant_on(world: Desk, instrument: Instrument) -> None:
    world.place(instrument, "buy", 30)
    world.advance("1m")
    boundary = world.now
    kept = [world.place(instrument, "buy", 31)]
    world.advance("1m")
    kept.append(world.place(instrument, "buy", 32))
    stream = drop_copy(world, resume_time=boundary)
    assert [execution.order.id for frame in stream.take() for execution in frame.executions] == kept


def test_a_long_replay_comes_in_batches_each_of_which_can_be_resumed(
    world: Desk, instrument: Instrument
) -> None:
    start = world.now
    for number in range(600):
        world.place(instrument, "buy", 1 + number % 20)
    first, second = drop_copy(world, resume_time=start).take()
    assert (len(first.executions), len(second.executions)) == (500, 100)
    again = drop_copy(world, resume_token=first.resume_token)
    assert executions(again) == [execution.id for execution in second.executions]


def test_symbols_filter_the_replay_and_what_follows(world: Desk, instrument: Instrument) -> None:
    exchange = world.core
    elsewhere = next(
        result
        for result in exchange.instruments
        if result.symbol != instrument.symbol and exchange.trading.state(result.symbol) == 1
    )
    start = world.now
    world.place(elsewhere, "buy", 10)
    expected = [world.place(instrument, "buy", 30)]
    stream = drop_copy(world, symbols=[instrument.symbol], resume_time=start)
    world.place(elsewhere, "buy", 11)
    expected.append(world.place(instrument, "buy", 31))
    assert [
        execution.order.id for frame in stream.take() for execution in frame.executions
    ] == expected


def test_each_row_since_the_first_is_replayed_once_to_a_firm_whose_users_share_an_account() -> None:
    world = twins()
    start, item = world.now, world.instrument("one")
    twin = firm(world.simulation, 1)
    for user in twin.users:
        answer = world.exchange(twin, user.name).post(
            "/v1/trading/orders", json=order(item, "buy", 30, 1)
        )
        assert answer.status == 200
    request = wire.CreateDropCopySubscriptionRequest(resume_time=start)
    stream = world.rpc(twin, twin.users[0].name).stream(
        "DropCopyAPI.CreateDropCopySubscription", request
    )
    ids = [execution.id for frame in stream.take() for execution in frame.executions]
    assert ids == [row.id for row in world.trading.executions]
    assert len(ids) == 2


def test_symbols_filter_trades_and_positions_too(world: Desk, instrument: Instrument) -> None:
    elsewhere = next(result for result in world.in_state() if result.symbol != instrument.symbol)
    start = world.now
    for when in ("live", "replay"):
        fields: dict[str, Any] = {"resume_time": start} if when == "replay" else {}
        for symbols in ([instrument.symbol], [elsewhere.symbol, instrument.symbol]):
            fields["symbols"] = symbols
            captured, positions = trades(world, **fields), position_changes(world, **fields)
            if when == "live":
                for traded, cents in ((elsewhere, 10), (instrument, 40)):
                    world.trade(traded, cents)
            reported = [row for frame in captured.take() for row in frame.trade_capture_reports]
            changed = [row for frame in positions.take() for row in frame.position_changes]
            captured.close(), positions.close()
            assert {row.aggressor.order.symbol for row in reported} == set(symbols)
            assert {row.position.symbol for row in changed} == set(symbols)


def test_a_token_and_a_time_together_are_refused(world: Desk, instrument: Instrument) -> None:
    """S3."""
    stream = drop_copy(world)
    world.place(instrument, "buy", 30)
    with refused(3):
        drop_copy(world, resume_token=token_of(stream), resume_time=world.simulation.start)


def test_a_token_of_another_stream_firm_or_filter_or_a_changed_one_is_refused(
    world: Desk, instrument: Instrument
) -> None:
    """S3, S4."""
    stream = drop_copy(world)
    world.place(instrument, "buy", 30)
    token = token_of(stream)
    changed = bytes((token[0] ^ 1,)) + token[1:]
    foreigner = world.other_firm
    request = wire.CreateDropCopySubscriptionRequest(resume_token=token)
    attempts = [
        lambda: drop_copy(world, resume_token=changed),
        lambda: drop_copy(world, resume_token=token[:-1]),
        lambda: drop_copy(world, resume_token=token, symbols=[instrument.symbol]),
        lambda: trades(world, resume_token=token),
        lambda: world.rpc(foreigner, foreigner.users[0].name).stream(
            "DropCopyAPI.CreateDropCopySubscription", request
        ),
    ]
    for attempt in attempts:
        with refused(3):
            attempt()


def test_a_token_older_than_executions_are_kept_is_refused(
    world: Desk, instrument: Instrument
) -> None:
    """S3."""
    stream = drop_copy(world)
    world.place(instrument, "buy", 30)
    token = token_of(stream)
    stream.close()
    world.advance("7d")
    assert drop_copy(world, resume_token=token).end is None
    world.advance("1s")
    with refused(3):
        drop_copy(world, resume_token=token)


def test_another_firm_cannot_be_followed_and_the_own_one_may_be_named(
    world: Desk, instrument: Instrument
) -> None:
    own = world.firm
    stream = drop_copy(world, firms=[own.id])
    world.place(instrument, "buy", 30)
    assert len(executions(stream)) == 1
    with refused(7):
        drop_copy(world, firms=["firms/somebody-else"])


# ---- trade capture


@pytest.mark.spec("S6.2-1")
def test_a_trade_is_captured_once_and_again_when_it_clears(
    world: Desk, instrument: Instrument
) -> None:
    stream = trades(world)
    world.trade(instrument)
    world.advance("1m")
    result = reports(stream)
    assert [state for _, state in result] == [TradeState.NEW, TradeState.CLEARED]
    assert len({name for name, _ in result}) == 1


def test_the_other_side_of_a_trade_stays_anonymous(world: Desk, instrument: Instrument) -> None:
    stream = trades(world)
    world.place(instrument, "buy", 40)
    world.place_as("taker", instrument, "sell", "0.40")
    (report,) = stream.take()[0].trade_capture_reports
    assert report.passive.order.account == world.firm.users[0].account
    assert report.aggressor.order.account == ""
    assert report.aggressor.last_px == report.passive.last_px > 0


def test_resuming_trades_brings_missed_ones_and_missed_changes_of_state(
    world: Desk, instrument: Instrument
) -> None:
    stream = trades(world)
    world.trade(instrument, 40)
    token = token_of(stream)
    stream.close()
    world.advance("1m")
    world.trade(instrument, 41)
    resumed = trades(world, resume_token=token)
    result = reports(resumed)
    assert [state for _, state in result] == [TradeState.CLEARED, TradeState.NEW]
    world.advance("1m")
    assert reports(resumed) == [(result[1][0], TradeState.CLEARED)]


def test_a_replay_of_trades_from_any_instant_is_the_rest_of_what_a_stream_told(
    world: Desk, instrument: Instrument
) -> None:
    """Each change of state stands at its own instant: a trade, its clearing, a bust before it and
    one long after it.
    """
    stream, reported = trades(world), list[tuple[int, tuple[str, int]]]()

    def listen() -> None:
        reported.extend((world.now, row) for row in reports(stream))

    def bust(number: int) -> None:
        world.operate("trade.bust", reported[number][1][0])
        listen()

    for cents in (40, 41, 42):
        world.trade(instrument, cents)
        listen()
        world.advance("8s")
    bust(1)
    for _ in range(15):
        world.advance("2s")
        listen()
    bust(0)
    states = [TradeState(state) for _, (_, state) in reported]
    assert (states.count(TradeState.NEW), states.count(TradeState.CLEARED)) == (3, 2)
    assert states.count(TradeState.BUSTED) == 2
    assert len({at for at, _ in reported}) == len(reported)
    for at, _ in reported:
        for start in (at, at + 1):
            rest = [row for when, row in reported if when >= start]
            assert reports(trades(world, resume_time=start)) == rest, start


def test_a_replay_of_trades_leaves_out_those_between_others(
    world: Desk, instrument: Instrument
) -> None:
    start = world.now
    for name, side in (("maker", "buy"), ("taker", "sell")):
        world.place_as(name, instrument, side, "0.40", 2)
    world.place(instrument, "buy", 40, user=0)
    world.place_as("taker", instrument, "sell", "0.40")
    _, own = world.trading.trades
    assert reports(trades(world, resume_time=start)) == [(own.id, TradeState.NEW)]


def test_replaying_trades_from_a_time_tells_their_whole_story(
    world: Desk, instrument: Instrument
) -> None:
    start = world.now
    world.trade(instrument, 40)
    world.advance("1m")
    assert [state for _, state in reports(trades(world, resume_time=start))] == [
        TradeState.NEW,
        TradeState.CLEARED,
    ]
