"""Books over gRPC: the server stream and the bidirectional one."""

from __future__ import annotations

from itertools import groupby

import pytest
from msgspec.structs import replace

from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.run.client.client import RpcError, Stream
from tests.kit import Desk, begin, refused
from tests.kit.streams import BIDIRECTIONAL, books, talk


@pytest.fixture
def pair(world: Desk) -> tuple[str, str]:
    """Symbols of two open instruments."""
    result = world.in_state()
    return next(result).symbol, next(result).symbol


def updates(stream: Stream) -> list[wire.MarketDataUpdate]:
    return [frame.update for frame in stream.take() if frame.update is not None]


def cents(instrument: Instrument, price: int) -> int:
    return price * instrument.price_scale // 100


# ---- the server stream


@pytest.mark.spec("S4.4-5", "S6.2-6", "S6.2-5")
def test_a_snapshot_of_each_symbol_comes_first_and_the_whole_book_on_each_change(
    world: Desk, instrument: Instrument
) -> None:
    """S9."""
    world.place(instrument, "buy", 30, 2)
    stream = books(world, instrument.symbol)
    (snapshot,) = updates(stream)
    assert [(level.px, level.qty) for level in snapshot.bids] == [
        (cents(instrument, 30), 2 * instrument.qty_scale)
    ]
    world.place(instrument, "buy", 29, 1)
    (changed,) = updates(stream)
    assert [level.px for level in changed.bids] == [cents(instrument, 30), cents(instrument, 29)]
    again = updates(books(world, instrument.symbol))
    assert [[level.px for level in update.bids] for update in again] == [
        [cents(instrument, 30), cents(instrument, 29)]
    ]


@pytest.mark.spec("S2.5-3")
def test_a_trade_shows_in_the_statistics_with_its_quantity(
    world: Desk, instrument: Instrument
) -> None:
    stream = books(world, instrument.symbol)
    world.trade(instrument, 40, 3)
    stats = updates(stream)[-1].stats
    assert stats is not None
    assert (stats.last_trade_px, stats.last_trade_qty) == (
        cents(instrument, 40),
        3 * instrument.qty_scale,
    )
    assert stats.settlement_set_time is None


def test_depth_defaults_to_ten_levels_and_can_be_asked_for(
    world: Desk, instrument: Instrument
) -> None:
    """S8."""
    for price in range(10, 23):
        world.place(instrument, "buy", price)
    usual, deep, shallow = (books(world, instrument.symbol, depth=depth) for depth in (0, 12, 1))
    assert [len(updates(stream)[0].bids) for stream in (usual, deep, shallow)] == [10, 12, 1]
    with refused(3):
        books(world, instrument.symbol, depth=-1)


def test_unaggregated_books_show_single_orders(world: Desk, instrument: Instrument) -> None:
    world.place(instrument, "buy", 30, 2)
    world.place(instrument, "buy", 30, 1)
    (update,) = updates(books(world, instrument.symbol, unaggregated=True))
    assert [level.qty for level in update.bids] == [2 * instrument.qty_scale, instrument.qty_scale]


def test_an_empty_list_means_every_instrument_and_brings_the_scales(
    world: Desk, instrument: Instrument
) -> None:
    exchange = world.core
    displayed = updates(books(world))
    silent = (InstrumentState.PENDING, InstrumentState.TERMINATED)
    assert {update.symbol: (update.price_scale, update.quantity_scale) for update in displayed} == {
        each.symbol: (each.price_scale, each.qty_scale)
        for each in exchange.instruments
        if exchange.trading.state(each.symbol) not in silent
    }
    (item,) = updates(books(world, instrument.symbol))
    assert (item.price_scale, item.quantity_scale) == (None, None)


def test_more_than_a_thousand_symbols_are_refused(world: Desk) -> None:
    """S8."""
    with pytest.raises(RpcError) as refused:
        books(world, *(f"s{number}" for number in range(1001)))
    assert (refused.value.code, refused.value.message) == (
        3,
        "at most 1000 symbols per subscription",
    )


def test_an_unknown_symbol_is_refused(world: Desk) -> None:
    with refused(5):
        books(world, "nobody-lists-this")


def test_a_snapshot_only_stream_ends_ok(world: Desk, instrument: Instrument) -> None:
    """S11."""
    stream = books(world, instrument.symbol, snapshot_only=True)
    assert len(updates(stream)) == 1
    assert stream.end == (0, "")


def test_a_pending_instrument_is_silent_until_it_opens(world: Desk) -> None:
    pending = next(world.in_state(InstrumentState.PENDING))
    stream = books(world, pending.symbol)
    assert updates(stream) == []
    world.move(pending, "OPEN")
    assert [update.state for update in updates(stream)] == [InstrumentState.OPEN]


def test_a_terminated_instrument_is_shown_once_more_and_then_never_again(world: Desk) -> None:
    expired = next(world.in_state(InstrumentState.EXPIRED))
    stream = books(world, expired.symbol)
    stream.take()
    world.move(expired, "TERMINATED")
    assert [update.state for update in updates(stream)] == [InstrumentState.TERMINATED]
    world.advance("10m")
    assert updates(stream) == []
    assert updates(books(world, expired.symbol)) == []


def test_an_instrument_that_nobody_has_touched_is_told_to_be_suspended_and_open_again(
    world: Desk,
) -> None:
    """W2, W9: a window that is called off after its lead began."""
    exchange = world.core
    lifecycle = exchange.trading.lifecycle
    dormant = next(
        symbol
        for symbol in exchange.instruments.symbols()
        if not lifecycle.is_materialised(symbol) and lifecycle.state(symbol) is InstrumentState.OPEN
    )
    named, every = books(world, dormant), books(world)
    assert [update.state for update in updates(named)] == [InstrumentState.OPEN]
    every.take()
    added = world.operate("maintenance.add", begins="+1h", length="1h")
    world.advance("59m30s")
    world.operate("maintenance.cancel", added.value["name"])
    states = [update.state for update in updates(named)]
    assert [state for state, _ in groupby(states)][-2:] == [
        InstrumentState.SUSPENDED,
        InstrumentState.OPEN,
    ]
    of_dormant = {update.state for update in updates(every) if update.symbol == dormant}
    assert of_dormant == {InstrumentState.SUSPENDED, InstrumentState.OPEN}


@pytest.mark.spec("S4.4-5", "S6.2-6")
def test_everything_begins_with_the_books_that_naming_each_would_bring(
    world: Desk, instrument: Instrument
) -> None:
    """Most of them are of instruments that nobody has made yet."""
    world.place(instrument, "buy", 30, 2)
    exchange = world.core
    together = [frame.update for frame in books(world).take()]
    symbols = list(exchange.instruments.symbols())
    named = [
        frame.update
        for first in range(0, len(symbols), 1000)
        for frame in books(world, *symbols[first : first + 1000]).take()
    ]
    assert len(together) > 4000
    assert [replace(update, price_scale=None, quantity_scale=None) for update in together] == named
    terms = [exchange.instruments.require(update.symbol) for update in together]
    assert [(update.price_scale, update.quantity_scale) for update in together] == [
        (term.price_scale, term.qty_scale) for term in terms
    ]


def test_a_quiet_book_is_sent_again_every_minute(world: Desk, instrument: Instrument) -> None:
    """S9."""
    world.place(instrument, "buy", 30)
    stream = books(world, instrument.symbol)
    (snapshot,) = updates(stream)
    world.advance("3m")
    assert updates(stream) == [snapshot] * 3


def test_who_reads_a_book_changes_nothing_for_those_who_follow_it(world: Desk) -> None:
    exchange = world.core
    untouched = (
        instrument.symbol
        for instrument in exchange.instruments
        if exchange.trading.books.touched(instrument.symbol) is None
        and exchange.trading.state(instrument.symbol) is InstrumentState.OPEN
    )
    symbol = next(untouched)
    stream = books(world, symbol)
    (snapshot,) = updates(stream)
    world.advance("1m")
    assert world.gateway.get(f"/v1/markets/{symbol}/book").status == 200
    exchange.trading.book(symbol)
    world.advance("2m")
    assert updates(stream) == [snapshot] * 3


@pytest.mark.spec("S6.2-6")
@pytest.mark.parametrize("refresh_all", [False, True])
def test_who_has_every_book_is_spared_those_that_do_not_change_where_the_switch_says_so(
    refresh_all: bool,
) -> None:
    """Signs of life come either way, and a book that is named besides is refreshed."""
    text = (
        "name: idle\nextends: quickstart\nworld: {automated_windows: false}\nassumptions:"
        f" {{md.refresh_everything: {str(refresh_all).lower()}}}\n"
    )
    world = begin(text)
    instrument = world.quiet()
    every, named = books(world), books(world, instrument.symbol)
    begun = {update.symbol: update for update in updates(every)}
    named.take()
    world.advance("3m")
    idle = every.take()
    assert sum(frame.heartbeat is not None for frame in idle) >= (0 if refresh_all else 5)
    again = [frame.update for frame in idle if frame.update is not None]
    assert all(begun[update.symbol] == update for update in again)
    assert len(again) > 300 if refresh_all else not again
    assert len(updates(named)) == 3
    world.place(instrument, "buy", 30)
    assert [update.symbol for update in updates(every)] == [instrument.symbol]


def test_equal_subscriptions_share_one_frame(world: Desk, instrument: Instrument) -> None:
    for _ in range(5):
        books(world, instrument.symbol)
    books(world, instrument.symbol, depth=1)
    outcome = world.place_as("maker", instrument, "buy", "0.30")
    frames = [effect.frame for effect in outcome.effects if hasattr(effect, "frame")]
    assert len(frames) == 6
    assert len({id(frame) for frame in frames}) == 2


@pytest.mark.spec("S4.4-5")
def test_market_data_needs_its_scope_and_no_participant(
    world: Desk, instrument: Instrument
) -> None:
    assert updates(books(world, instrument.symbol, client=world.rpc_partner))
    with refused(16):
        books(world, instrument.symbol, client=world.rpc(None))


# ---- the bidirectional stream


@pytest.fixture
def talker(world: Desk) -> Stream:
    return world.rpc_trader().stream(BIDIRECTIONAL)


def test_nothing_comes_before_the_first_subscribe(talker: Stream) -> None:
    assert talker.take() == []


@pytest.mark.spec("S4.4-6")
def test_subscribing_is_acknowledged_with_scales_and_then_answered_with_snapshots(
    world: Desk, talker: Stream, pair: tuple[str, str]
) -> None:
    """S10."""
    ack, first, second = talk(talker, subscribe=wire.SubscribeCommand(symbols=list(pair)))
    assert ack.subscription_ack.symbols_added == list(pair)
    assert ack.subscription_ack.active_symbols == list(pair)
    assert (ack.subscription_ack.active_symbol_count, ack.subscription_ack.symbols_added_count) == (
        2,
        2,
    )
    assert [scales.symbol for scales in ack.subscription_ack.symbol_scales] == list(pair)
    assert [first.update.symbol, second.update.symbol] == list(pair)
    terms = world.instrument(pair[1])
    assert ack.subscription_ack.symbol_scales[1] == wire.SymbolScales(
        symbol=pair[1], price_scale=terms.price_scale, quantity_scale=terms.qty_scale
    )


def test_unsubscribing_is_acknowledged_and_silences_the_symbol(
    world: Desk, talker: Stream, pair: tuple[str, str]
) -> None:
    talk(talker, subscribe=wire.SubscribeCommand(symbols=list(pair)))
    (ack,) = talk(talker, unsubscribe=wire.UnsubscribeCommand(symbols=[pair[0]]))
    assert (ack.subscription_ack.symbols_removed, ack.subscription_ack.active_symbols) == (
        [pair[0]],
        [pair[1]],
    )
    require = world.core.instruments.require
    world.place(require(pair[0]), "buy", 20)
    world.place(require(pair[1]), "buy", 20)
    assert [update.symbol for update in updates(talker)] == [pair[1]]


def test_mistakes_are_answered_by_name_and_change_nothing(
    talker: Stream, pair: tuple[str, str]
) -> None:
    """S10."""
    talk(talker, subscribe=wire.SubscribeCommand(symbols=[pair[0]]))
    for command, code, symbols in (
        (
            {"subscribe": wire.SubscribeCommand(symbols=[pair[1], "nothing"])},
            "INVALID_SYMBOL",
            ["nothing"],
        ),
        ({"subscribe": wire.SubscribeCommand(symbols=list(pair))}, "ALREADY_SUBSCRIBED", [pair[0]]),
        ({"unsubscribe": wire.UnsubscribeCommand(symbols=list(pair))}, "NOT_SUBSCRIBED", [pair[1]]),
    ):
        (answer,) = talk(talker, **command)
        assert (answer.subscription_error.error_code, answer.subscription_error.symbols) == (
            code,
            symbols,
        )
    ack, _ = talk(talker, subscribe=wire.SubscribeCommand(symbols=[pair[1]]))
    assert ack.subscription_ack.active_symbols == list(pair)


@pytest.mark.spec("S4.4-6", "S9-5")
def test_keepalive_changes_nothing_and_gets_no_answer(
    world: Desk, talker: Stream, pair: tuple[str, str]
) -> None:
    """S10."""
    talk(talker, subscribe=wire.SubscribeCommand(symbols=[pair[0]]))
    assert talk(talker, keepalive=wire.KeepAliveCommand()) == []
    world.place(world.instrument(pair[0]), "buy", 20)
    assert [update.symbol for update in updates(talker)] == [pair[0]]


@pytest.mark.spec("S9-5", "S9-3")
@pytest.mark.parametrize(("day", "kept"), [("2026-04-30", False), ("2026-05-01", True)])
def test_keepalive_is_known_since_the_release_that_added_it(day: str, kept: bool) -> None:
    """v0.0.32; before it, the frame holds no command."""
    world = begin(start=f"{day}T12:00:00-04:00")
    stream = world.rpc_trader().stream(BIDIRECTIONAL)
    talk(stream, subscribe=wire.SubscribeCommand(symbols=[next(world.in_state()).symbol]))
    talk(stream, keepalive=wire.KeepAliveCommand())
    assert (stream.end is None) is kept


@pytest.mark.parametrize("command", [{"keepalive": wire.KeepAliveCommand()}, {}])
def test_a_frame_that_means_nothing_ends_the_stream(
    talker: Stream, command: dict[str, object]
) -> None:
    talk(talker, **command)
    assert talker.end is not None
    assert talker.end[0] == 3


def test_bytes_that_are_no_message_end_the_stream(talker: Stream) -> None:
    talker.send(b"\xff\xff\xff")
    assert talker.end is not None
    assert talker.end[0] == 3


def test_a_firm_may_send_a_hundred_frames_a_second_over_all_its_streams(
    world: Desk, pair: tuple[str, str]
) -> None:
    """S15: averaged over a minute, so that a burst may use all of it; the frame too many ends its
    stream, and the other lives.
    """
    streams = [world.rpc_trader().stream(BIDIRECTIONAL) for _ in range(2)]
    for stream in streams:
        talk(stream, subscribe=wire.SubscribeCommand(symbols=[pair[0]]))
    for count in range(5998):
        talk(streams[count % 2], keepalive=wire.KeepAliveCommand())
    assert [stream.end for stream in streams] == [None, None]
    talk(streams[0], keepalive=wire.KeepAliveCommand())
    assert streams[0].end == (8, "rate limit exceeded")
    assert streams[1].end is None
    world.advance("59s")  # nothing comes back before the minute is over
    over = world.rpc_trader().stream(BIDIRECTIONAL)
    talk(over, keepalive=wire.KeepAliveCommand())
    assert over.end == (8, "rate limit exceeded")
    world.advance("2s")
    talk(streams[1], keepalive=wire.KeepAliveCommand())
    assert streams[1].end is None


def test_options_are_read_from_the_first_frame_only(
    world: Desk, talker: Stream, pair: tuple[str, str]
) -> None:
    for symbol in pair:
        for price in (20, 21, 22):
            world.place(world.instrument(symbol), "buy", price)
    _, first = talk(talker, subscribe=wire.SubscribeCommand(symbols=[pair[0]]), depth=2)
    _, second = talk(talker, subscribe=wire.SubscribeCommand(symbols=[pair[1]]), depth=1)
    assert [len(frame.update.bids) for frame in (first, second)] == [2, 2]


def test_subscribing_to_everything_covers_what_was_there_and_can_be_narrowed(
    world: Desk, talker: Stream, pair: tuple[str, str]
) -> None:
    every = [each.symbol for each in world.core.instruments]
    talk(talker, subscribe=wire.SubscribeCommand(symbols=[pair[0]]))
    ack, *rest = talk(talker, subscribe=wire.SubscribeCommand())
    result = ack.subscription_ack
    assert (result.active_symbol_count, result.symbols_added_count) == (len(every), len(every) - 1)
    # more than a thousand are counted only
    assert (result.active_symbols_truncated, result.active_symbols, result.symbols_added) == (
        True,
        [],
        [],
    )
    silent = (InstrumentState.PENDING, InstrumentState.TERMINATED)
    state = world.trading.state
    assert [frame.update.symbol for frame in rest] == [
        symbol for symbol in every if symbol != pair[0] and state(symbol) not in silent
    ]
    assert all(frame.update.price_scale for frame in rest)
    (again,) = talk(talker, subscribe=wire.SubscribeCommand())
    assert again.subscription_error.error_code == "ALREADY_SUBSCRIBED"
    (narrowed,) = talk(talker, unsubscribe=wire.UnsubscribeCommand(symbols=[pair[0]]))
    assert narrowed.subscription_ack.active_symbol_count == len(every) - 1
    require = world.core.instruments.require
    world.place(require(pair[0]), "buy", 20)
    world.place(require(pair[1]), "buy", 20)
    assert [update.symbol for update in updates(talker)] == [pair[1]]


def test_a_snapshot_only_stream_ends_after_the_first_snapshots(
    talker: Stream, pair: tuple[str, str]
) -> None:
    ack, snapshot = talk(
        talker, subscribe=wire.SubscribeCommand(symbols=[pair[0]]), snapshot_only=True
    )
    assert ack.subscription_ack is not None
    assert snapshot.update.symbol == pair[0]
    assert talker.end == (0, "")


@pytest.mark.spec("S8-5", "S9-5")
def test_an_hour_without_a_client_frame_ends_the_stream_and_keepalive_prevents_it(
    world: Desk, pair: tuple[str, str]
) -> None:
    """S13."""
    kept, quiet_one = (world.rpc_trader().stream(BIDIRECTIONAL) for _ in range(2))
    for stream in (kept, quiet_one):
        talk(stream, subscribe=wire.SubscribeCommand(symbols=[pair[0]]))
    world.advance("45m")
    talk(kept, keepalive=wire.KeepAliveCommand())
    world.advance("14m59s")
    assert (kept.end, quiet_one.end) == (None, None)
    world.advance("1s")
    assert kept.end is None
    assert quiet_one.end is not None
    assert quiet_one.end[0] == 14
    world.advance("45m")
    assert kept.end is not None


@pytest.mark.spec("S8-5")
def test_the_hour_does_not_count_for_server_streams(world: Desk, instrument: Instrument) -> None:
    stream = books(world, instrument.symbol)
    world.advance("3h")
    assert stream.end is None


def test_both_streams_carry_the_same_bytes(
    world: Desk, talker: Stream, instrument: Instrument
) -> None:
    talk(talker, subscribe=wire.SubscribeCommand(symbols=[instrument.symbol]))
    books(world, instrument.symbol)
    outcome = world.place_as("maker", instrument, "buy", "0.30")
    first, second = (effect.frame for effect in outcome.effects if hasattr(effect, "frame"))
    assert first is second


@pytest.mark.parametrize("everything", [False, True])
def test_a_book_keeps_its_instant_for_those_who_follow_it_when_another_stream_ends(
    world: Desk, instrument: Instrument, everything: bool
) -> None:
    """A book is encoded once and sent again each minute, with the instant of its last change."""
    world.place(instrument, "buy", 30, 2)
    staying, leaving = books(world, instrument.symbol), books(world, instrument.symbol)
    if everything:
        staying = world.rpc_trader().stream(
            "MarketDataSubscriptionAPI.CreateMarketDataSubscription",
            wire.CreateMarketDataSubscriptionRequest(),
        )
    began = {
        update.transact_time for update in updates(staying) if update.symbol == instrument.symbol
    }
    world.advance("20s")
    leaving.close()
    observed = set()
    for _ in range(3):
        world.advance("1m")
        observed |= {
            update.transact_time
            for update in updates(staying)
            if update.symbol == instrument.symbol
        }
    assert observed == began


@pytest.mark.parametrize("skips", [True, False])
def test_a_slow_reader_may_skip_to_the_head_and_gets_its_answers_and_the_present_book(
    world: Desk, instrument: Instrument, talker: Stream, skips: bool
) -> None:
    subscribe = wire.SubscribeCommand(symbols=[instrument.symbol])
    waiting = talk(talker, subscribe=subscribe, slow_consumer_skip_to_head=skips)
    for price in (40, 41):
        world.place(instrument, "buy", price)
    waiting += talker.take()
    kind = wire.BiDirectionalStreamMarketDataResponse
    encoded = [protobuf_encoder(kind)(frame) for frame in waiting]
    frames = world.simulation.skip_to_head(talker.number, encoded)
    if not skips:
        assert frames is None
        return
    assert frames is not None
    acknowledged, present = map(protobuf_decoder(kind), frames)
    assert acknowledged.subscription_ack == waiting[0].subscription_ack
    assert present.update == waiting[-1].update
