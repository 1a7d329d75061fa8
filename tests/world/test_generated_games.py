"""Generated games: whatever is read of them without creating their markets is what the markets say.

Their dates are held against a list of every date of every instrument.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.contract.messages.gateway_v1 import Event, Market
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.recurring.markets import Slot
from sim.kernel.indexes.ordered_index import MISSING, flagged
from sim.kernel.instants import DAY, HOUR, MINUTE, Instant, parse_instant
from sim.world.format.recurring_entries import WindowsEntry
from sim.world.reference.catalogue import row_of
from sim.world.reference.game_clock import duration
from sim.world.reference.games import FIRST_GAME
from sim.world.reference.generated_games import (
    FIRST_EVENT,
    FIRST_MARKET,
    MARKETS_PER_EVENT,
    GeneratedGames,
)
from sim.world.reference.leagues import Leagues
from sim.world.reference.market_pair import Facts, PairSide, event_texts
from sim.world.reference.recurring_markets import RecurringEvents
from sim.world.reference.reference import Reference
from sim.world.reference.slate import add_topic

NOW = parse_instant("2026-09-08T14:00:00-04:00")


class Season:
    """Forty games, and each of their events, markets and instruments, created one by one."""

    def __init__(self) -> None:
        self.games = GeneratedGames(Leagues(), 40, NOW)
        self.events: list[Event] = [self.games.event(slug) for slug in self.games.slugs]
        self.markets: list[Market] = [item for event in self.events for item in event.markets]
        results = [self.games.find(market.slug) for market in self.markets]
        self.instruments: list[Instrument] = [item for item in results if item is not None]
        assert len(self.instruments) == len(self.markets) > 500

    def game_end(self, event: Event) -> Instant:
        assert event.start_time is not None
        return event.start_time + duration(event.subcategory, event.slug)

    def dates(self) -> dict[str, tuple[Instant, ...]]:
        """When the markets of an event change, ascending."""
        result = {}
        for event in self.events:
            item = next(
                instrument for instrument in self.instruments if instrument.event == event.slug
            )
            opens = () if item.start == item.created else (item.start,)
            result[event.slug] = (*opens, self.game_end(event), item.expiration, item.termination)
        return result


@pytest.fixture(scope="module")
def season() -> Season:
    return Season()


def test_events_and_markets_are_numbered_in_order(season: Season) -> None:
    games = season.games
    assert [event.markets[0].id for event in season.events[:3]] == ["1000001", "1000101", "1000201"]
    assert [event.id for event in season.events[:2]] == [30_001, 30_002]
    for number, event in enumerate(season.events):
        assert event.id == FIRST_EVENT + number
        assert games.slug_numbered(event.id) == games.slug_of_game(event.game_id) == event.slug
        assert event.game_id == str(FIRST_GAME + event.id)
        assert games.has(event.slug)
        first = FIRST_MARKET + number * MARKETS_PER_EVENT
        assert [int(item.id) for item in event.markets] == list(
            range(first, first + len(event.markets))
        )
        for market in event.markets:
            assert games.market_numbered(int(market.id)) == games.market(market.slug) == market
        assert games.market_numbered(first + len(event.markets)) is None
        assert games.bare(event.slug).markets == []
        assert [item.slug for item in event.markets] == games.symbols_of(event.slug)
    assert all(item.sort_order == int(item.id) % 1000 for item in season.markets)
    for nothing in (0, FIRST_EVENT - 1, FIRST_EVENT + 40, FIRST_MARKET - 1, FIRST_MARKET + 4000):
        assert games.slug_numbered(nothing) is None
        assert games.market_numbered(nothing) is None


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "0", "\u0669\u0661\u0660\u0660\u0660\u0661", f"{0:019}", " 910001"]
)
def test_what_is_no_number_of_a_game_is_not_found(season: Season, text: str) -> None:
    assert season.games.slug_of_game(text) is None
    assert season.games.slug_of_game(f"{FIRST_GAME + FIRST_EVENT:018}") == season.events[0].slug
    assert season.games.slug_of_game(f"{FIRST_GAME + FIRST_EVENT:019}") is None


def test_symbols_lead_to_events_and_instruments(season: Season) -> None:
    games = season.games
    assert list(games.symbols()) == [item.slug for item in season.markets]
    assert len(games) == len(season.markets) and games
    for event in season.events:
        mine = [item for item in season.instruments if item.event == event.slug]
        assert list(games.of_event(event.slug)) == mine
        for instrument in mine:
            assert games.event_slug(instrument.symbol) == event.slug
            assert games.find(instrument.symbol) == instrument
            assert instrument.metadata["event_id"] == str(event.id)
        assert games.event_slug(f"xyz-{event.slug}-odd") == event.slug, "without a look at it"
        for nothing in (f"xyz-{event.slug}", f"{event.slug}x", event.slug):
            assert games.find(nothing) is None and games.market(nothing) is None
    assert list(games.of_event("nobody")) == []
    assert games.dates("nobody") is None and games.event_slug("aec-nobody") is None
    assert games.event_slug("aec-nba-aa-bb-2026-09-08") is None
    assert not games.has("nobody")
    nothing_planned = GeneratedGames(Leagues())
    assert not nothing_planned and len(nothing_planned) == 0
    assert nothing_planned.next_edge(0) is None


def test_rows_have_the_values_of_the_markets(season: Season) -> None:
    assert [row for rows in season.games.rows for row in rows] == list(map(row_of, season.markets))
    assert [len(rows) for rows in season.games.rows] == [
        len(event.markets) for event in season.events
    ]


def test_games_of_one_kind_have_the_same_kinds_of_markets(season: Season) -> None:
    games = season.games
    kinds: dict[object, list[str]] = {}
    for kind, event in zip(games.kinds, season.events, strict=True):
        assert kind[0] == event.subcategory
        types = [market.sports_market_type for market in event.markets]
        assert kinds.setdefault(kind, types) == types
        assert games.kinds[games.slugs.index(games.examples[kind])] == kind
    assert set(games.examples) == set(games.kinds)


def test_states_follow_from_dates_and_from_the_end_of_the_game(season: Season) -> None:
    dates = season.dates()
    edges = sorted({at for date in dates.values() for at in date})
    by_symbol = {item.symbol: item for item in season.instruments}
    states = set()
    for at in (edges[0] - 1, *(edge + more for edge in edges[::9] for more in (-1, 0)), edges[-1]):
        result = list(season.games.states(at))
        assert [symbol for symbol, _ in result] == list(by_symbol)
        for symbol, (state, *scales) in result:
            instrument = by_symbol[symbol]
            ends, expires, terminates = dates[instrument.event][-3:]
            assert state is (
                InstrumentState.PENDING
                if at < instrument.start
                else InstrumentState.OPEN
                if at < min(ends, expires)
                else InstrumentState.CLOSED
                if at < expires
                else InstrumentState.EXPIRED
                if at < terminates
                else InstrumentState.TERMINATED
            ), (symbol, at)
            assert scales == [instrument.price_scale, instrument.qty_scale]
            states.add(state)
    assert len(states) == 5


@given(data=st.data())
def test_edges_are_the_dates_at_which_markets_change(season: Season, data: st.DataObject) -> None:
    """In order of date, then of listing; an interval has its end and not its beginning."""
    edges = sorted(
        (at, number) for number, result in enumerate(season.dates().values()) for at in result
    )
    instants = [at for at, _ in edges]
    moments = st.sampled_from(instants).flatmap(
        lambda at: st.sampled_from((at - 1, at, at + 1, at + HOUR))
    )
    first, second = sorted((data.draw(moments), data.draw(moments)))
    assert season.games.next_edge(first) == min((at for at in instants if at > first), default=None)
    expected = [
        market.slug
        for at, number in edges
        if first < at <= second
        for market in season.events[number].markets
    ]
    assert [game.symbol for game in season.games.moving(first, second)] == expected


def test_a_game_that_has_expired_before_the_world_begins_is_over(season: Season) -> None:
    first = season.events[0]
    assert first.end_date is not None
    for late, over in ((-1, False), (0, True), (DAY, True)):
        event = GeneratedGames(Leagues(), 40, first.end_date + late).bare(first.slug)
        assert (event.active, event.closed, bool(event.ended), event.period) == (
            not over,
            over,
            over,
            "FT" if over else "NS",
        )
        finished = event.end_date if over else None
        assert event.finished_timestamp == finished
        assert event.updated_at == (finished or event.created_at)


WORDS = ["vs.", "celtics", "spread", "2026-09-09", "tie-break", "aec", "will", "total", "-1h"]


@given(words=st.lists(st.sampled_from(WORDS), max_size=2))
def test_a_search_is_over_the_texts_of_events_and_markets(season: Season, words: list[str]) -> None:
    holding, titled = season.games.search(tuple(words))

    def named(passes: list[bool]) -> list[int]:
        return [position for position, passed in enumerate(passes) if passed]

    texts = ["\n".join(event_texts(event)).lower() for event in season.events]
    titles = [event.title.lower() for event in season.events]
    for flags, read in ((holding, texts), (titled, titles)):
        assert list(flagged(flags)) == named([all(word in text for word in words) for text in read])


# ---- the catalogue: every event and market by place

SLOTS = [(0, NOW), (0, NOW + 5 * MINUTE), (1, NOW)]
TOPIC: dict[str, Any] = {
    "slug": "rate-{month}",
    "title": "Rate in {Month}",
    "category": "economics",
    "tags": ["economics"],
    "series": "rates",
    "end": "2026-09-16T14:00:00-04:00",
    "created": "2026-03-01",
    "product": "ecc",
    "market_type": "event",
    "outcomes": [["hold", "No change", "0.62"], ["cut", "Cut", "0.38"]],
}


class Listed:
    """Reference data with events of every source: two questions, eight games of which one got
    another market, recurring markets, and a question that was listed later.
    """

    def __init__(self) -> None:
        self.reference = reference = Reference()
        reference.generated = GeneratedGames(reference, 8, NOW)
        add_topic(TOPIC, reference, NOW, 0)
        add_topic(TOPIC | {"slug": "other-{year}", "tags": ["weather"]}, reference, NOW, 0)
        reference.begin()
        series = {"asset": "crypto:btc", "every": 5 * MINUTE}
        entries = [WindowsEntry(name=name, **series) for name in ("btc", "slow")]
        reference.set_recurring(RecurringEvents(entries, reference))
        self.changed = reference.generated.slugs[3]
        event = reference.event_named(self.changed)
        assert event is not None
        facts = Facts(question="Will it rain?", long=PairSide("Yes"), short=PairSide("No"))
        terms = Instrument(symbol="by-hand", event=self.changed, category="sports")
        reference.list_market(terms, facts, reference.own(event), NOW)
        add_topic(TOPIC | {"slug": "later-{day}", "title": "Later"}, reference, NOW, 0)
        self.catalogue = reference.catalogue(3)

    def expected(self, slots: list[tuple[int, Instant]]) -> list[Event]:
        """The events by place; an event without a slug where there is none."""
        reference = self.reference
        results = [reference.event_named(slug) for slug in reference.generated.slugs]
        games = [event for event in results if event is not None]
        recurring = [reference.recurring.event(Slot(*slot)) for slot in slots]
        recurring += [Event()] * (3 - len(slots))
        return [*reference.events[:2], *games, *recurring, *reference.events[2:]]

    def markets(self, events: list[Event]) -> list[Market | None]:
        """The markets by place. What was added to a game comes after everything else listed."""
        results: list[Market | None] = []
        for event in events:
            results += [item for item in event.markets if item.slug != "by-hand"] or [None]
        late = len(results) - len(self.reference.events[2].markets)
        by_hand = self.reference.market("by-hand")
        return [*results[:late], by_hand, *results[late:]]


@pytest.mark.parametrize("slots", [[], SLOTS[:2], SLOTS])
def test_a_catalogue_has_a_place_for_every_event_and_market(
    slots: list[tuple[int, Instant]],
) -> None:
    listed = Listed()
    catalogue, reference = listed.catalogue, listed.reference
    before = [catalogue.event_key("title"), catalogue.market_key("enddate")]
    assert catalogue.show_recurring(SLOTS[2:])
    assert catalogue.show_recurring(slots)
    assert not catalogue.show_recurring(slots)
    events = listed.expected(slots)
    markets = listed.markets(events)
    assert [event.slug for event in catalogue.events] == [event.slug for event in events]
    assert len(catalogue.rows) == len(markets)
    first = sum(len(event.markets) for event in events[:2])
    assert catalogue.dormant_markets == range(first, first + len(reference.generated))
    for position, market in enumerate(markets):
        owner = catalogue.event_of(position)
        assert position in catalogue.markets_of(owner)
        if market is None:
            assert (catalogue.rows[position].slug, events[owner].slug) == ("", "")
            with pytest.raises(LookupError):
                catalogue.market(position)
        else:
            assert catalogue.market(position) == market
            assert catalogue.rows[position] == row_of(market)
            assert catalogue.position_of_market(market.slug) == position
            event = reference.event_of(market.slug)
            assert event is not None and events[owner].slug == event.slug
    for position, event in enumerate(events):
        if event.slug:
            assert catalogue.event_with_markets(position) == event
            assert catalogue.position_of_event(event.slug) == position
            names = [catalogue.rows[item].slug for item in catalogue.markets_of(position)]
            assert names == [market.slug for market in event.markets]
    gone = [reference.recurring.event(Slot(*slot)) for slot in SLOTS if slot not in slots]
    for nothing in ("", "nobody", *(event.slug for event in gone)):
        assert catalogue.position_of_event(nothing) is None
        assert catalogue.position_of_market(nothing) is None
    assert all(catalogue.position_of_market(event.markets[0].slug) is None for event in gone)
    assert catalogue.recurring_markets() == [
        index for index in range(len(markets)) if 10 <= catalogue.event_of(index) < 13
    ]
    again = reference.catalogue(3)  # keys that move are those that are made from the start
    again.show_recurring(slots)
    for kept, fresh in zip(
        before, (again.event_key("title"), again.market_key("enddate")), strict=True
    ):
        assert kept is not None and fresh is not None
        size = len(events) if kept is before[0] else len(markets)
        assert [kept.key(index) for index in range(size)] == [
            fresh.key(index) for index in range(size)
        ]
    title, by_end = before
    assert title is not None and by_end is not None
    for position, event in enumerate(events):
        assert title.key(position) == (event.title if event.slug else MISSING)
    for position, market in enumerate(markets):
        assert by_end.key(position) == (MISSING if market is None else market.end_date)
    assert catalogue.event_key("enddate") is catalogue.event_key("enddate") is not None
    assert catalogue.event_key("eventdate") is not None and catalogue.event_key("luck") is None
    assert catalogue.market_key("eventdate") is None


def test_a_catalogue_tries_filters_on_one_game_of_a_kind() -> None:
    listed = Listed()
    catalogue = listed.catalogue
    catalogue.show_recurring(SLOTS[:2])
    events = listed.expected(SLOTS[:2])
    for test in (
        lambda event: event.category == "sports",
        lambda event: event.category != "sports",
        lambda event: event.category == "crypto",
        lambda event: event.series_slug == "rates",
    ):
        passing = [bool(event.slug) and test(event) for event in events]
        assert list(catalogue.events_where(test)) == passing
        both = [
            passed and bool(event.game_id) for passed, event in zip(passing, events, strict=True)
        ]
        assert list(catalogue.events_where(test, lambda event: bool(event.game_id))) == both
    assert list(catalogue.events_where()) == [bool(event.slug) for event in events]
    markets = listed.markets(events)
    for of_market in (
        lambda market: market.category == "sports",
        lambda market: market.category == "economics",
        lambda market: market.market_type == "totals",
        lambda market: market.slug == "by-hand",
    ):
        fits = [market is not None and of_market(market) for market in markets]
        assert list(catalogue.markets_where(of_market)) == fits
        of_events = [any(map(of_market, event.markets)) for event in events]
        assert list(catalogue.events_with_market(of_market)) == of_events
        dormant = catalogue.dormant_markets
        assert list(catalogue.markets_where(of_market, dormant_only=True)) == [
            passed and position in dormant for position, passed in enumerate(fits)
        ]


@pytest.mark.parametrize(
    "words", [[], ["rate"], ["later"], ["rain"], ["btc"], ["vs."], ["rain", "nfl"], ["nobody"]]
)
def test_a_catalogue_is_searched_by_its_texts(words: list[str]) -> None:
    listed = Listed()
    catalogue = listed.catalogue
    catalogue.show_recurring(SLOTS[:2])
    holding, titled = catalogue.search(words)
    for position, event in enumerate(listed.expected(SLOTS[:2])):
        text = "\n".join(event_texts(event)).lower()
        assert holding[position] == all(word in text for word in words), event.slug
        assert titled[position] == all(word in event.title.lower() for word in words), event.slug
