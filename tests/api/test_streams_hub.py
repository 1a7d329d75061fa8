"""What holds for every stream: pool, sessions, signs of life, maintenance, faults, and their
listing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import STREAM_HEARTBEAT
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import Refusal
from sim.kernel.instants import format_instant
from sim.run.client.client import RpcError, Stream
from tests.journeys import FEW_GAMES, quiet
from tests.kit import Desk, begin
from tests.kit.streams import (
    BIDIRECTIONAL,
    MARKETS,
    PRIVATE,
    books,
    drop_copy,
    instruments,
    orders,
    position_changes,
    socket,
    subscribe,
    talk,
    trades,
)

REVOKED = (13, "Subscription manager revoked session")


@pytest.fixture
def quickstart() -> Simulation:
    """With few games: who follows every instrument is told of each of them."""
    return Simulation(load_scenario(FEW_GAMES))


# ---- pool


@pytest.mark.spec("S8-4")
def test_the_21st_stream_of_a_firm_is_refused_and_the_twenty_stay(
    world: Desk, instrument: Instrument
) -> None:
    """S7."""
    streams = [books(world, instrument.symbol) for _ in range(10)] + [
        instruments(world) for _ in range(10)
    ]
    with pytest.raises(RpcError) as refused:
        books(world, instrument.symbol)
    assert refused.value.code == 8
    assert "20" in refused.value.message
    assert [stream.end for stream in streams] == [None] * 20
    streams[3].close()
    assert books(world, instrument.symbol).end is None


@pytest.mark.spec("S8-4")
def test_the_pool_is_a_firms_own_and_web_sockets_are_outside_of_it(
    world: Desk, instrument: Instrument
) -> None:
    for _ in range(20):
        books(world, instrument.symbol)
    assert books(world, instrument.symbol, client=world.rpc(world.other_firm)).end is None
    assert socket(world, MARKETS).end is None


def test_taking_over_a_session_needs_no_free_place_in_the_pool(
    world: Desk, instrument: Instrument
) -> None:
    first = orders(world)
    for _ in range(19):
        books(world, instrument.symbol)
    second = orders(world)
    assert (first.end, second.end) == (REVOKED, None)


# ---- sessions


def positions(world: Desk) -> Stream:
    request = wire.CreatePositionSubscriptionRequest()
    return world.rpc_trader().stream("PositionAPI.CreatePositionSubscription", request)


def ledger(world: Desk) -> Stream:
    account = world.firm.users[0].account
    request = wire.CreateBalanceLedgerSubscriptionRequest(account=account)
    return world.rpc_trader().stream("FundingAPI.CreateBalanceLedgerSubscription", request)


def transactions(world: Desk) -> Stream:
    request = wire.CreateFundingTransactionSubscriptionRequest()
    return world.rpc_trader().stream("FundingAPI.CreateFundingTransactionSubscription", request)


@pytest.mark.spec("S6.2-7", "S7.2-6")
@pytest.mark.parametrize(
    "kind", [orders, drop_copy, trades, position_changes, positions, ledger, transactions]
)
def test_a_second_stream_of_one_identity_ends_the_first(world: Desk, kind: object) -> None:
    """S6."""
    assert callable(kind)
    first: Stream = kind(world)
    second: Stream = kind(world)
    assert first.end == REVOKED
    assert second.end is None


@pytest.mark.spec("S6.2-7")
def test_another_participant_another_rpc_or_a_list_of_markets_keeps_its_session(
    world: Desk, instrument: Instrument
) -> None:
    first = orders(world)
    others = [
        orders(world, user=1),
        drop_copy(world),
        orders(world, symbols=[instrument.symbol]),
        orders(world, symbols=[instrument.symbol]),
    ]
    assert first.end is None
    assert [stream.end for stream in others] == [None] * 4


@pytest.mark.spec("S6.2-7", "S4.4-1")
@pytest.mark.parametrize("kind", [drop_copy, trades, position_changes])
def test_a_list_of_markets_spares_order_streams_only(
    world: Desk, instrument: Instrument, kind: Callable[..., Stream]
) -> None:
    """§6.2 names the workaround for CreateOrderSubscription; assumption stream.symbols_spare
    extends it.
    """
    first, second = (
        kind(world, symbols=[instrument.symbol]),
        kind(world, symbols=[instrument.symbol]),
    )
    assert (first.end, second.end) == (REVOKED, None)
    world.assume("stream.symbols_spare", "all")
    third, fourth = (
        kind(world, symbols=[instrument.symbol]),
        kind(world, symbols=[instrument.symbol]),
    )
    assert [stream.end for stream in (second, third, fourth)] == [None] * 3


@pytest.mark.spec("S6.2-7")
def test_market_data_and_instrument_streams_take_no_session(
    world: Desk, instrument: Instrument
) -> None:
    streams = [books(world), books(world), instruments(world), instruments(world)]
    assert [stream.end for stream in streams] == [None] * 4


def test_with_the_quirk_off_both_streams_live(world: Desk, instrument: Instrument) -> None:
    world.quirk("session_revocation", "never")
    first, second = orders(world), orders(world)
    first.take(), second.take()
    world.place(instrument, "buy", 30)
    assert (len(first.take()), len(second.take())) == (1, 1)


def test_a_refused_request_takes_no_session(world: Desk) -> None:
    first = drop_copy(world)
    with pytest.raises(RpcError):
        drop_copy(world, resume_token=b"wrong")
    assert first.end is None


def test_an_ended_stream_does_not_come_back_when_its_successor_ends(world: Desk) -> None:
    first, second = orders(world), orders(world)
    second.close()
    third = orders(world)
    assert (first.end, third.end) == (REVOKED, None)


# ---- signs of life


def test_every_kind_of_stream_shows_a_sign_of_life_in_its_own_form(
    world: Desk, instrument: Instrument
) -> None:
    """S5."""
    bidirectional = world.rpc_trader().stream(BIDIRECTIONAL)
    with_heartbeat = [
        orders(world),
        books(world, instrument.symbol),
        bidirectional,
        positions(world),
    ]
    with_token = [drop_copy(world), trades(world), position_changes(world)]
    state, market_socket, private_socket = (
        instruments(world),
        socket(world, MARKETS),
        socket(world, PRIVATE),
    )
    cash = ledger(world)
    everything = [*with_heartbeat, *with_token, state, cash, market_socket, private_socket]
    for stream in everything:
        stream.take()
    world.advance("29s")
    assert [stream.take() for stream in everything] == [[]] * len(everything)
    world.advance("1s")
    assert all(stream.take()[0].heartbeat is not None for stream in with_heartbeat)
    assert all(len(stream.take()[0].resume_token) == 576 for stream in with_token)
    assert state.take() == [wire.CreateInstrumentStateChangeSubscriptionResponse()]
    assert cash.take() == [wire.CreateBalanceLedgerSubscriptionResponse()]
    assert [market_socket.take(), private_socket.take()] == [[{"heartbeat": {}}]] * 2


def test_a_stream_opened_between_two_rounds_keeps_its_own_rhythm(
    world: Desk, instrument: Instrument
) -> None:
    first = instruments(world)
    world.advance("12s")
    second = instruments(world)
    first.take(), second.take()
    world.advance("60s")
    assert (len(first.take()), len(second.take())) == (2, 2)
    world.advance("29s")
    assert (len(first.take()), len(second.take())) == (1, 0)


def test_without_streams_nothing_ticks(world: Desk, instrument: Instrument) -> None:
    before = world.simulation.next_due()
    stream, market, bidirectional = (
        orders(world),
        books(world),
        world.rpc_trader().stream(BIDIRECTIONAL),
    )
    assert world.simulation.next_due() == world.now + STREAM_HEARTBEAT.default
    for opened in (stream, market, bidirectional):
        opened.close()
    assert world.simulation.next_due() == before
    assert not any(timer.kind.startswith("stream.") for timer in world.core.ctx.timers.pending())


# ---- ends


@pytest.mark.spec("S8-5")
def test_the_edge_ends_a_stream_on_which_nothing_was_sent_for_ten_minutes(
    world: Desk, instrument: Instrument
) -> None:
    """S13."""
    world.assume("stream.heartbeat", "0s")
    quiet, busy = orders(world), books(world)
    for _ in range(3):
        world.advance("4m")
        world.place(instrument, "buy", 30, user=1)
    assert quiet.end == (14, "idle timeout: nothing was sent for 10m")
    assert busy.end is None
    world.advance("10m")
    assert busy.end is None  # its books are sent again every minute


def test_an_idle_stream_ends_at_the_full_second_after_its_ten_minutes(world: Desk) -> None:
    world.assume("stream.heartbeat", "0s")
    world.advance("300ms")
    quiet = orders(world)
    world.advance("10m")  # 0.3 s past a full second
    assert quiet.end is None
    world.advance("699ms")
    assert quiet.end is None
    world.advance("1ms")
    assert quiet.end == (14, "idle timeout: nothing was sent for 10m")


@pytest.mark.parametrize(("scope", "lost"), [("rpc", False), ("identity", True)])
def test_which_subscriptions_take_a_session_is_an_assumption(
    world: Desk, instrument: Instrument, scope: str, lost: bool
) -> None:
    """S6."""
    world.assume("stream.revocation_scope", scope)
    first = orders(world)
    position_changes(world)
    assert (first.end == (13, "Subscription manager revoked session")) is lost


@pytest.mark.spec("S6.2-6")
@pytest.mark.parametrize(("odds", "times"), [("always", 2), ("never", 1)])
def test_delivery_at_least_once_is_a_quirk(
    world: Desk, instrument: Instrument, odds: str, times: int
) -> None:
    """S1."""
    stream = orders(world)
    stream.take()
    world.quirk("stream_duplicates", odds)
    world.place(instrument, "buy", 30)
    frames = stream.take()
    assert len(frames) == times
    assert all(frame == frames[0] for frame in frames)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stream.heartbeat", "-1s"),
        ("md.refresh", "0s"),
        ("webhook.attempts", "-2"),
        ("fees.taker_theta", "-2"),
    ],
)
def test_a_value_below_what_makes_sense_is_refused(world: Desk, name: str, value: str) -> None:
    with pytest.raises(Refusal, match=f"{name} accepts"):
        world.assume(name, value)


def test_maintenance_ends_every_stream_after_it_has_heard_of_the_cancels(
    world: Desk, instrument: Instrument
) -> None:
    world.place(instrument, "buy", 30)
    stream, market = orders(world), socket(world, MARKETS)
    stream.take()
    begins = next(window.begins for window in world.core.maintenance.upcoming())
    world.advance_to(begins)
    assert stream.end is not None
    assert stream.end[0] == 14
    assert market.end is not None
    assert [
        execution.type
        for frame in stream.take()
        if frame.update
        for execution in frame.update.executions
    ] == [3]
    assert world.simulation.streams() == []


def test_a_tester_ends_a_stream_by_its_id(world: Desk) -> None:
    stream = orders(world)
    (displayed,) = world.simulation.streams()
    world.operate("stream.close", str(displayed["id"]))
    assert stream.end == (14, "closed by the tester")
    assert world.simulation.streams() == []


def test_the_listing_says_whose_streams_are_open_since_when_and_how_much_was_sent(
    world: Desk, instrument: Instrument
) -> None:
    stream = orders(world)
    world.advance("5s")
    socket(world, PRIVATE)
    world.place(instrument, "buy", 30)
    mine, reference = world.simulation.streams()
    user = world.firm.users[0]
    assert (mine["rpc"], mine["firm"], mine["participant"], mine["sent"]) == (
        "CreateOrderSubscription",
        world.firm.name,
        user.name,
        2,
    )
    assert mine["since"] == format_instant(world.simulation.start)
    assert (reference["rpc"], reference["sent"], reference["id"]) == (
        "PrivateStream",
        0,
        mine["id"] + 1,
    )
    assert len(stream.take()) == 2


def test_frames_after_the_end_of_a_stream_are_ignored(world: Desk) -> None:
    stream = socket(world, MARKETS)
    number = stream.number
    stream.close()
    assert world.simulation.frame(number, b"{}").effects == []


# ---- injected faults


@pytest.mark.parametrize(
    ("effect", "kinds"), [("drop", [1, 2]), ("duplicate", [0, 0, 1, 2]), ("reorder", [1, 0, 2])]
)
def test_an_injected_fault_befalls_one_message(
    world: Desk, instrument: Instrument, effect: str, kinds: list[int]
) -> None:
    stream = orders(world)
    stream.take()
    fault = {
        "match": {"plane": "stream", "operation": "CreateOrderSubscription"},
        "act": {effect: True},
        "times": 1,
    }
    world.simulation.control("fault.add", "", fault)
    placed = [world.place(instrument, "buy", 30 + number) for number in range(3)]
    assert [
        placed.index(execution.order.id)
        for frame in stream.take()
        for execution in frame.update.executions
    ] == kinds


def test_a_late_frame_holds_up_those_behind_it_until_it_is_due(
    world: Desk, instrument: Instrument
) -> None:
    stream = orders(world)
    stream.take()
    placed: list[str] = []

    def delay(span: str) -> None:
        fault = {"match": {"plane": "stream"}, "act": {"delay": span}, "times": 1}
        world.simulation.control("fault.add", "", fault)
        placed.append(world.place(instrument, "buy", 30))

    def arrived() -> list[int]:
        return [
            placed.index(execution.order.id)
            for frame in stream.take()
            if frame.update
            for execution in frame.update.executions
        ]

    delay("3s")
    delay("1s")  # due before the frame ahead of it, behind which it waits
    placed.append(world.place(instrument, "buy", 30))
    delay("4s")
    world.advance("2999ms")
    assert arrived() == []
    world.advance("1ms")
    assert arrived() == [0, 1, 2]
    placed.append(world.place(instrument, "buy", 30))
    world.advance("999ms")
    assert arrived() == []
    world.advance("1ms")
    assert arrived() == [3, 4]
    placed.append(world.place(instrument, "buy", 30))
    assert arrived() == [5]


@pytest.mark.parametrize("ending", [{"revoke": True}, {"code": 14}, {"reset": True}])
def test_late_frames_come_before_the_end_of_their_stream(
    world: Desk, instrument: Instrument, ending: dict[str, object]
) -> None:
    stream = orders(world)
    stream.take()
    placed = []
    for act in ({"delay": "1h"}, ending):
        fault = {"match": {"plane": "stream"}, "act": act, "times": 1}
        world.simulation.control("fault.add", "", fault)
        placed.append(world.place(instrument, "buy", 30))
    assert stream.end is not None
    (frame,) = stream.take()
    assert [execution.order.id for execution in frame.update.executions] == placed[:1]


@pytest.mark.spec("S7.2-6")
def test_an_injected_fault_revokes_or_drops_a_stream(world: Desk, instrument: Instrument) -> None:
    first = orders(world)
    world.operate("fault.add", match={"plane": "stream"}, act={"revoke": True}, times=1)
    world.place(instrument, "buy", 30)
    assert first.end == REVOKED
    second = orders(world)
    world.operate(
        "fault.add",
        match={"plane": "stream"},
        act={"code": 14, "message": "stream dropped"},
        times=1,
    )
    world.place(instrument, "buy", 31)
    assert second.end == (14, "stream dropped")


def test_two_runs_send_the_same_bytes() -> None:
    def run(sim: Simulation) -> list[bytes]:
        connection = Desk(sim)
        instrument = quiet(sim)
        stream, copy, market = (
            orders(connection),
            drop_copy(connection),
            socket(connection, MARKETS),
        )
        subscribe(market, "a", "MARKET_DATA", [instrument.symbol])
        connection.trade(instrument)
        connection.advance("31s")
        return [repr(result.frames).encode() for result in (stream, copy, market)]

    first, second = (run(Simulation(load_scenario("quickstart"))) for _ in range(2))
    assert first == second


# ---- what joins while others watch


@pytest.mark.spec("S6.2-4", "S6.2-5", "S3.1-1")
@pytest.mark.parametrize("state", ["OPEN", "SUSPENDED", "PENDING"])
def test_who_follows_everything_hears_of_an_instrument_that_is_listed(state: str) -> None:
    world = begin(FEW_GAMES)
    every, item, book = (instruments(world), instruments(world, world.quiet().symbol), books(world))
    both = world.rpc_trader().stream(BIDIRECTIONAL)
    talk(both, subscribe=wire.SubscribeCommand())
    for stream in (every, item, book, both):
        stream.take()
    terms = {
        "symbol": "late-comer",
        "tick_size": "0.01",
        "state": state,
        **({"start": "2026-09-08T18:05:00Z"} if state == "PENDING" else {}),
    }
    world.operate("instrument.create", **terms)
    (listed,) = [row for message in every.take() for row in message.instruments]
    assert (listed.symbol, wire.InstrumentState(listed.state).name, listed.price_scale) == (
        "late-comer",
        f"INSTRUMENT_STATE_{state}",
        100,
    )
    assert item.take() == []
    displayed = [
        [
            (message.update.symbol, message.update.price_scale)
            for message in stream.take()
            if message.update
        ]
        for stream in (book, both)
    ]
    # PENDING never appears in a book
    assert displayed == [[] if state == "PENDING" else [("late-comer", 100)]] * 2
    world.advance("5m")
    opened = [
        row.state
        for message in every.take()
        for row in message.instruments
        if row.symbol == "late-comer"
    ]
    assert opened == ([wire.InstrumentState.INSTRUMENT_STATE_OPEN] if state == "PENDING" else [])
