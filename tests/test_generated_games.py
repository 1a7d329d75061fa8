"""Generated games: whatever is read of them without creating their markets is what the markets say.

Their dates are held against a list of every date of every instrument.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.indexes.ordered_index import flagged
from sim.kernel.instants import DAY, HOUR, Instant, parse_instant
from sim.messages.gateway_v1 import Event, Market
from sim.reference.catalogue import row_of
from sim.reference.event_texts import event_texts
from sim.reference.game_clock import duration
from sim.reference.games import FIRST_GAME
from sim.reference.generated_games import (
    FIRST_EVENT,
    FIRST_MARKET,
    MARKETS_PER_EVENT,
    GeneratedGames,
)
from sim.reference.leagues import Leagues

NOW = parse_instant("2026-09-08T14:00:00-04:00")


class Season:
    """Forty games, and each of their events, markets and instruments, created one by one."""

    def __init__(self) -> None:
        self.games = GeneratedGames(Leagues(), 40, NOW)
        self.events: list[Event] = [self.games.event(slug) for slug in self.games.slugs]
        self.markets: list[Market] = [one for event in self.events for one in event.markets]
        found = [self.games.find(market.slug) for market in self.markets]
        self.instruments: list[Instrument] = [one for one in found if one is not None]
        assert len(self.instruments) == len(self.markets) > 500

    def game_end(self, event: Event) -> Instant:
        assert event.start_time is not None
        return event.start_time + duration(event.subcategory, event.slug)

    def dates(self) -> dict[str, tuple[Instant, ...]]:
        """When the markets of an event change, ascending."""
        found = {}
        for event in self.events:
            one = next(one for one in self.instruments if one.event == event.slug)
            opens = () if one.start == one.created else (one.start,)
            found[event.slug] = (*opens, self.game_end(event), one.expiration, one.termination)
        return found


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
        assert [int(one.id) for one in event.markets] == list(
            range(first, first + len(event.markets))
        )
        for market in event.markets:
            assert games.market_numbered(int(market.id)) == games.market(market.slug) == market
        assert games.market_numbered(first + len(event.markets)) is None
        assert games.bare(event.slug).markets == []
        assert [one.slug for one in event.markets] == games.symbols_of(event.slug)
    assert all(one.sort_order == int(one.id) % 1000 for one in season.markets)
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
    assert list(games.symbols()) == [one.slug for one in season.markets]
    assert len(games) == len(season.markets) and games
    for event in season.events:
        mine = [one for one in season.instruments if one.event == event.slug]
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
    assert [len(rows) for rows in season.games.rows] == [len(one.markets) for one in season.events]


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
    edges = sorted({at for found in dates.values() for at in found})
    by_symbol = {one.symbol: one for one in season.instruments}
    states = set()
    for at in (edges[0] - 1, *(edge + more for edge in edges[::9] for more in (-1, 0)), edges[-1]):
        found = list(season.games.states(at))
        assert [one.symbol for one in found] == list(by_symbol)
        for one in found:
            instrument = by_symbol[one.symbol]
            ends, expires, terminates = dates[instrument.event][-3:]
            assert one.state is (
                InstrumentState.PENDING
                if at < instrument.start
                else InstrumentState.OPEN
                if at < min(ends, expires)
                else InstrumentState.CLOSED
                if at < expires
                else InstrumentState.EXPIRED
                if at < terminates
                else InstrumentState.TERMINATED
            ), (one.symbol, at)
            assert (one.price_scale, one.qty_scale) == (
                instrument.price_scale,
                instrument.qty_scale,
            )
            states.add(one.state)
    assert len(states) == 5


@given(data=st.data())
def test_edges_are_the_dates_at_which_markets_change(season: Season, data: st.DataObject) -> None:
    """In order of date, then of listing; an interval has its end and not its beginning."""
    edges = sorted(
        (at, number) for number, found in enumerate(season.dates().values()) for at in found
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
    assert [one.symbol for one in season.games.moving(first, second)] == expected


def test_a_game_that_has_expired_before_the_world_begins_is_over(season: Season) -> None:
    first = season.events[0]
    assert first.end_date is not None
    for late, over in ((-1, False), (0, True), (DAY, True)):
        event = GeneratedGames(Leagues(), 40, first.end_date + late).bare(first.slug)
        assert (event.active, event.closed, event.ended, event.period) == (
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
        return [place for place, passed in enumerate(passes) if passed]

    texts = ["\n".join(event_texts(event)).lower() for event in season.events]
    titles = [event.title.lower() for event in season.events]
    for flags, read in ((holding, texts), (titled, titles)):
        assert list(flagged(flags)) == named([all(word in text for word in words) for text in read])
