"""Series of recurring markets: what an entry leaves out, what cannot be, and how a market is found
by its number, its symbol and its event, whether it is listed or not.
"""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sim.core.model.index_conditions import IndexObservation
from sim.core.recurring.markets import EPOCH, Slot
from sim.kernel.instants import DAY, HOUR, MINUTE, NS_PER_S, eastern, parse_instant
from sim.world.format.recurring_entries import WindowsEntry
from sim.world.reference.leagues import Leagues
from sim.world.reference.recurring_markets import (
    FIRST_NUMBER,
    NUMBERS,
    RecurringEvents,
    incomplete,
    series_of,
)


def entry(**fields: Any) -> WindowsEntry:
    return WindowsEntry(**{"name": "btc", "asset": "crypto:btc", "every": 5 * MINUTE} | fields)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, ""),
        ({"asset": None}, "btc: a new recurring market needs `asset` and `every`"),
        ({"every": None}, "btc: a new recurring market needs `asset` and `every`"),
        ({"lead": HOUR, "ahead": HOUR}, ""),
        (
            {"lead": HOUR + 1, "ahead": HOUR},
            "btc: lead 1h0.000000001s is longer than ahead 1h, but a market opens after it was"
            " listed",
        ),
        (
            {"lead": 4 * HOUR + MINUTE},
            "btc: lead 4h1m is longer than ahead 4h, but a market opens after it was listed",
        ),
        ({"ahead": 90 * NS_PER_S}, ""),
        (
            {"ahead": 89 * NS_PER_S},
            "btc: lead 1m30s is longer than ahead 1m29s, but a market opens after it was listed",
        ),
        ({"tick_size": "0.005", "fractional_qty_scale": 1000}, ""),
        (
            {"tick_size": "0.0001", "fractional_qty_scale": 100_000},
            "btc: price scale 10000 times fractional_qty_scale 100000 must divide 100000000",
        ),
    ],
)
def test_an_entry_says_what_it_lacks(fields: dict[str, Any], text: str) -> None:
    assert incomplete(entry(**fields)) == text
    if text:
        with pytest.raises(ValueError) as error:
            series_of(entry(**fields))
        assert str(error.value) == text
    else:
        assert series_of(entry(**fields)).every == 5 * MINUTE


def test_what_an_entry_leaves_out_is_usual() -> None:
    usual = series_of(entry())
    assert (usual.ahead, usual.lead, usual.expires, usual.terminates) == (
        4 * HOUR,
        90 * NS_PER_S,
        30 * MINUTE,
        2 * HOUR,
    )
    assert series_of(entry(every=HOUR)).ahead == DAY, "48 intervals, at most a day"
    assert series_of(entry(every=30 * MINUTE)).ahead == DAY
    value = {"ahead": HOUR, "lead": 0, "expires": 0, "terminates": 1}
    result = series_of(entry(**value))
    assert {name: getattr(result, name) for name in value} == value


def test_there_are_at_most_fifty_series() -> None:
    leagues = Leagues(empty=True)
    entries = [entry(name=f"s{number}") for number in range(51)]
    assert len(RecurringEvents(entries[:50], leagues).series) == 50
    with pytest.raises(ValueError) as error:
        RecurringEvents(entries, leagues)
    assert str(error.value) == "at most 50 recurring markets are possible, not 51"


@pytest.fixture(scope="module")
def recurring() -> RecurringEvents:
    entries = [entry(), entry(name="eth", asset="crypto:eth", every=HOUR, title="Ether")]
    return RecurringEvents(entries, Leagues(empty=True))


def test_a_market_is_found_by_number_symbol_and_event(recurring: RecurringEvents) -> None:
    begins = eastern(date(2026, 9, 8), 14)
    for series, every in ((0, 5 * MINUTE), (1, HOUR)):
        slot = Slot(series, begins)
        number = FIRST_NUMBER + series * NUMBERS + (begins - EPOCH) // every
        event = recurring.event(slot)
        (market,) = event.markets
        assert (event.id, market.id, recurring.number(slot)) == (number, str(number), number)
        assert recurring.numbered(number) == event == recurring.event_named(event.slug)
        assert recurring.event_of(market.slug) == event
        assert recurring.market(market.slug) == market
        assert recurring.slot_of_symbol(market.slug) == slot
        assert recurring.numbered(number + 1) == recurring.event(Slot(series, begins + every))
        instrument = recurring.instrument(slot)
        assert (instrument.symbol, instrument.closes) == (market.slug, begins + every)
        assert (instrument.created, instrument.start) == (
            begins - recurring.series[series].ahead,
            begins - 90 * NS_PER_S,
        )
        assert (instrument.expiration, instrument.termination) == (
            begins + every + 30 * MINUTE,
            begins + every + 30 * MINUTE + 2 * HOUR,
        )
        assert (instrument.price_low, instrument.price_high) == (
            instrument.tick,
            instrument.price_scale - instrument.tick,
        )
        assert (market.end_date, market.game_start_time) == (begins + every, None)
        assert (event.start_time, event.end_date) == (begins, begins + every)
    assert (
        recurring.event(Slot(1, begins)).title == "Ether Up or Down - September 8, 2:00PM-3:00PM ET"
    )
    assert (
        recurring.event(Slot(0, begins)).title == "BTC Up or Down - September 8, 2:00PM-2:05PM ET"
    )


def test_what_is_no_market_of_a_series_is_not_found(recurring: RecurringEvents) -> None:
    for number in (FIRST_NUMBER - 1, FIRST_NUMBER + 2 * NUMBERS, 0):
        assert recurring.numbered(number) is None
    for name in ("", "btc", "btc-2026", "aec-nfl-dal-phi-2026-09-10"):
        assert recurring.market(name) is recurring.event_of(name) is None
        assert recurring.event_named(name) is recurring.slot_of_symbol(name) is None


def test_contracts_are_whole_until_partial_ones_begin(recurring: RecurringEvents) -> None:
    edge = parse_instant("2026-05-11")
    series = recurring.series[1]
    for listed, scale in ((edge - HOUR, 1), (edge, 100)):
        assert recurring.instrument(Slot(1, listed + series.ahead)).qty_scale == scale


def test_an_instrument_says_what_of_its_index_was_read(recurring: RecurringEvents) -> None:
    slot = Slot(1, parse_instant("2026-09-08T14:00:00-04:00"))
    plain = recurring.instrument(slot).metadata
    read = IndexObservation(to_beat=6_000_000_000_000, at_end=6_100_050_000_000)
    assert recurring.instrument(slot, read).metadata == plain | {"price_to_beat": "60000.00"}
    settled = {"price_to_beat": "60000.00", "crypto_settlement_price": "61000.50"}
    assert recurring.instrument(slot, read, settled=True).metadata == plain | settled
    assert recurring.instrument(slot, IndexObservation(), settled=True).metadata == plain


def test_series_have_numbers_of_their_own(recurring: RecurringEvents) -> None:
    assert recurring.number(Slot(1, EPOCH)) - recurring.number(Slot(0, EPOCH)) == 40_000_000
    assert [
        (message.id, message.slug, message.title, message.recurrence)
        for message in recurring.messages
    ] == [
        ("10101", "btc", "BTC Up or Down, every 5m", "5m"),
        ("10102", "eth", "Ether Up or Down, every 1h", "1h"),
    ]
    assert all(
        message.active and message.image.endswith(f"/series/{message.slug}.png")
        for message in recurring.messages
    )
