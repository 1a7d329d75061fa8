"""The season: games made by code from a seed, as many as a scenario asks for, on the shelf until
somebody wants one.

Planning a season says who plays whom and when, and nothing else; that is all that a start pays for.
An event is made when a list or a look-up comes to it, its markets and instruments when it is shown
or traded, and the least recently used ones are forgotten again: what they are follows from the
plan.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec.structs import replace

from sim.core.model.dormant import DormantState
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.kernel.instants import DAY, Instant, Span
from sim.messages.gateway_v1 import Event, Market, Team
from sim.reference.default_games import (
    FIRST_GAME,
    PLAYED_FOR,
    game_event,
    game_market,
    terms_of,
    title_of,
)
from sim.reference.game_clock import lasts
from sim.reference.market_layout import TWO_SIDED_SETS, TWO_SIDED_SOCCER, Game, ordered, slots_of
from sim.reference.market_pair import SORT_ORDERS, Facts, market_of, with_metadata
from sim.reference.market_templates import Kind, Spelling, kinds_of, questions, spelling_of
from sim.reference.reference import Reference
from sim.reference.season_index import Indexes
from sim.reference.season_plan import plan

FIRST_EVENT = 30_001
FIRST_MARKET = 1_000_001
# numbers kept free for each event, so that a market's number tells its event
MARKETS_PER_EVENT = 100
_FOUND = 2_048  # instruments that a look-up finds at once
_KEPT = 384  # events whose markets are remembered
_TERMINATES = 7 * DAY
_DATE = re.compile(r"-\d{4}-\d\d-\d\d", re.ASCII)


class Season:
    """The planned games of a world at its beginning: a shelf of instruments, and the events and
    markets that the gateway shows of them.
    """

    def __init__(self, count: int, reference: Reference, now: Instant, shift: Span) -> None:
        teams: dict[str, list[str]] = {}
        for team in reference.teams:
            teams.setdefault(team.league, []).append(team.abbreviation)
        sides = tuple((league, tuple(names)) for league, names in teams.items())
        self._plan = plan(count, sides, frozenset(reference.event_by_slug))
        self._stems = list(self._plan)
        self._fixtures = list(self._plan.values())
        self._numbers = {stem: number for number, stem in enumerate(self._stems)}
        self._reference = reference
        self._now = now
        self._shift = shift
        self._events: list[Event | None] = [None] * len(self._stems)
        self._parts: OrderedDict[int, dict[str, tuple[Instrument, Facts]]] = OrderedDict()
        self._shown: OrderedDict[int, Event] = OrderedDict()
        self._found: dict[str, Instrument] = {}  # those asked for lately, by symbol
        self._kinds: dict[tuple[object, ...], tuple[Kind, ...]] = {}
        self._spellings: dict[tuple[object, ...], Spelling] = {}
        self.index = Indexes(self)

    # ---- which there are

    @property
    def games(self) -> int:
        """How many games there are."""
        return len(self._stems)

    def numbered(self, event_id: int) -> int | None:
        """Place of the event with a number, or None."""
        number = event_id - FIRST_EVENT
        return number if 0 <= number < len(self._stems) else None

    def slug(self, number: int) -> str:
        """The slug of an event."""
        return self._stems[number]

    def league_of(self, number: int) -> str:
        """The slug of an event's league."""
        return self._fixtures[number].league.slug

    def opens(self, number: int) -> Instant:
        """When an event's markets open."""
        fixture = self._fixtures[number]
        return (fixture.created if fixture.opens is None else fixture.opens) + self._shift

    def over(self, number: int) -> Instant:
        """When a game is over if nobody tells of it."""
        fixture = self._fixtures[number]
        return fixture.start + self._shift + lasts(fixture.league.slug, self._stems[number])

    def created(self, number: int) -> Instant:
        """When an event's markets were made."""
        return self._fixtures[number].created + self._shift

    def dates_of(self, number: int) -> tuple[Instant, Instant, Instant]:
        """When an event's markets start, expire and terminate."""
        expires = self._fixtures[number].start + self._shift + PLAYED_FOR
        return self.opens(number), expires, expires + _TERMINATES

    def playing(self, at: Instant) -> list[int]:
        """Places of the events whose games have started by an instant and whose markets have not
        expired.
        """
        starts = self._starts
        return [
            number
            for _, number in starts[
                bisect_right(starts, (at - PLAYED_FOR, len(starts))) : bisect_right(
                    starts, (at, len(starts))
                )
            ]
        ]

    @cached_property
    def _starts(self) -> list[tuple[Instant, int]]:
        """When games start, ascending, and the places of their events."""
        return sorted(
            (fixture.start + self._shift, number) for number, fixture in enumerate(self._fixtures)
        )

    def short_names(self, number: int) -> tuple[str, str]:
        """The abbreviations of an event's teams in lower case, in the order of its symbols."""
        fixture = self._fixtures[number]
        return ordered(fixture.league.slug, fixture.home.lower(), fixture.away.lower())

    def teams(self, number: int) -> tuple[Team, Team]:
        """The teams of an event, in the order of its symbols."""
        fixture, named = self._fixtures[number], self._reference.team_by_name
        league = fixture.league.slug
        return ordered(league, named[league, fixture.home], named[league, fixture.away])

    def names(self, number: int) -> tuple[str, str]:
        """The names of an event's teams, in the order of its symbols."""
        first, second = self.teams(number)
        return first.name, second.name

    def title(self, number: int) -> str:
        """The title of an event."""
        return title_of(*self.names(number))

    def timing(self, number: int) -> tuple[Instant, Instant, Instant]:
        """When an event was listed, when it starts, and when its markets expire."""
        fixture, shift = self._fixtures[number], self._shift
        return fixture.created + shift, fixture.start + shift, fixture.start + shift + PLAYED_FOR

    def market_id(self, number: int, place: int) -> int:
        """The number of the market at a place of an event."""
        return FIRST_MARKET + number * MARKETS_PER_EVENT + place

    def sort_order(self, number: int, place: int) -> int:
        """The sort order of the market at a place of an event."""
        return self.market_id(number, place) % SORT_ORDERS

    def event_of_market(self, market_id: int) -> int | None:
        """Place of the event that a market's number lies in; whether it has such a market is
        another question.
        """
        number = (market_id - FIRST_MARKET) // MARKETS_PER_EVENT
        return number if 0 <= number < len(self._stems) else None

    def numbered_game(self, game_id: str) -> int | None:
        """Place of the event with a game's number, or None."""
        return (
            self.numbered(int(game_id) - FIRST_GAME)
            if game_id.isdecimal() and game_id.isascii() and len(game_id) < 19
            else None
        )

    def symbols_of(self, number: int) -> list[str]:
        """The symbols of an event's markets, in order, without making them."""
        return self._spelling(number).symbols(self._stems[number], self.short_names(number))

    def symbol(self, number: int, place: int) -> str:
        """The symbol of the market at a place of an event."""
        named = self._spelling(number)
        return Spelling(named.parts[place : place + 1], named.named).symbols(
            self._stems[number], self.short_names(number)
        )[0]

    def event_id(self, number: int) -> int:
        """The number of an event."""
        return FIRST_EVENT + number

    def updated(self, number: int) -> Instant:
        """When an event last changed before the world began: when it was over, or listed."""
        created, _, over = self.timing(number)
        return over if over <= self._now else created

    def market_at(self, number: int, place: int) -> Market:
        """The market at a place of an event."""
        return self.event(number).markets[place]

    def state(self, number: int, now: Instant) -> InstrumentState:
        """The state that dates ask for in an event's markets."""
        fixture = self._fixtures[number]
        at = now - self._shift
        over = fixture.start + PLAYED_FOR
        if at >= over:
            return (
                InstrumentState.EXPIRED if at < over + _TERMINATES else InstrumentState.TERMINATED
            )
        return (
            InstrumentState.PENDING
            if at < (fixture.created if fixture.opens is None else fixture.opens)
            else InstrumentState.OPEN
        )

    # ---- events and markets

    def number(self, stem: str) -> int | None:
        """Place of an event among the season's, by its slug; None when it is not of the season."""
        return self._numbers.get(stem)

    def bare(self, number: int) -> Event:
        """An event without its markets. Whoever changes one must copy it."""
        found = self._events[number]
        if found is None:
            found = self._events[number] = game_event(
                self._game(number), self._reference, FIRST_EVENT + number
            )
            if found.start_time is not None and found.start_time + PLAYED_FOR <= self._now:
                found.active, found.closed, found.ended, found.period = False, True, True, "FT"
                found.updated_at = found.finished_timestamp = found.end_date
        return found

    def event(self, number: int) -> Event:
        """An event with its markets."""
        found = self._shown.get(number)
        if found is not None:
            self._shown.move_to_end(number)
            return found
        parts = enumerate(self._made(number).values())
        markets: list[Market] = [
            market_of(self.market_id(number, place), terms, facts, self._now)
            for place, (terms, facts) in parts
        ]
        found = self._shown[number] = replace(self.bare(number), markets=markets)
        if len(self._shown) > _KEPT:
            self._shown.popitem(last=False)
        return found

    @cached_property
    def kind_keys(self) -> list[tuple[object, ...]]:
        """What decides which markets an event has, by place."""
        created = [fixture.created + self._shift for fixture in self._fixtures]
        leagues = [fixture.league.slug for fixture in self._fixtures]
        return [
            (league, at >= TWO_SIDED_SETS, at >= TWO_SIDED_SOCCER)
            for league, at in zip(leagues, created, strict=True)
        ]

    def questions(self, number: int) -> Iterator[str]:
        """Questions of an event's markets, in order, without making them."""
        return questions(self.kinds(number), self.names(number))

    def kinds(self, number: int) -> tuple[Kind, ...]:
        """What the markets of an event are, in their order, without making them."""
        key = self.kind_keys[number]
        found = self._kinds.get(key)
        if found is None:
            found = self._kinds[key] = kinds_of(*self.shape(number)[:3])
        return found

    def shape(self, number: int) -> tuple[str, tuple[str, ...], Instant, Reference]:
        """What decides which markets an event has: league, sets of markets and listing; and the
        reference data they are of.
        """
        fixture = self._fixtures[number]
        return (
            fixture.league.slug,
            fixture.league.sets,
            fixture.created + self._shift,
            self._reference,
        )

    def _spelling(self, number: int) -> Spelling:
        key = self.kind_keys[number]
        found = self._spellings.get(key)
        if found is None:
            found = self._spellings[key] = spelling_of(self.kinds(number))
        return found

    def event_of(self, symbol: str) -> int | None:
        """Place of the event that a symbol names; whether it has such a market is another question."""
        end = _DATE.search(symbol)
        return None if end is None else self._numbers.get(symbol[symbol.find("-") + 1 : end.end()])

    def market(self, symbol: str) -> Market | None:
        """The market of a symbol, or None."""
        number = self.event_of(symbol)
        return (
            None
            if number is None
            else next(
                (market for market in self.event(number).markets if market.slug == symbol), None
            )
        )

    def market_numbered(self, market_id: int) -> Market | None:
        """The market with a number, or None."""
        number = self.event_of_market(market_id)
        if number is None:
            return None
        markets, place = self.event(number).markets, (market_id - FIRST_MARKET) % MARKETS_PER_EVENT
        return markets[place] if place < len(markets) else None

    # ---- the shelf

    @cached_property
    def _size(self) -> int:
        return sum(len(self.kinds(number)) for number in range(len(self._stems)))

    def __bool__(self) -> bool:
        return bool(self._stems)

    def __len__(self) -> int:
        return self._size

    def find(self, symbol: str) -> Instrument | None:
        """The instrument of a symbol, or None."""
        known = self._found.get(symbol)
        if known is not None:
            return known
        number = self.event_of(symbol)
        if number is None:
            return None
        parts = self._made(number)
        found = parts.get(symbol)
        if found is None:
            return None
        terms, facts = found
        if not terms.metadata:
            terms = with_metadata(terms, facts, self.bare(number))
            parts[symbol] = (terms, facts)
        if len(self._found) >= _FOUND:
            self._found.clear()
        self._found[symbol] = terms
        return terms

    def symbols(self) -> Iterator[str]:
        """Every symbol, in order of listing."""
        for number in range(len(self._stems)):
            yield from self.symbols_of(number)

    def states(self, now: Instant) -> Iterator[DormantState]:
        """How each instrument stands by its dates, in order of listing, without making it."""
        for number, stem in enumerate(self._stems):
            state, kinds = self.state(number, now), self.kinds(number)
            if state is InstrumentState.OPEN and now >= self.over(number):
                state = InstrumentState.CLOSED
            for symbol, kind in zip(
                self._spelling(number).symbols(stem, self.short_names(number)), kinds, strict=True
            ):
                price_scale, _, qty_scale, _ = terms_of(symbol, cents=kind.cents)
                yield DormantState(symbol, state, price_scale, qty_scale)

    def of_event(self, event: str) -> Iterable[Instrument]:
        """The instruments of an event, in order of listing."""
        number = self._numbers.get(event)
        if number is None:
            return ()
        return [
            found for symbol in list(self._made(number)) if (found := self.find(symbol)) is not None
        ]

    def next_edge(self, after: Instant) -> Instant | None:
        """First date after an instant at which a market opens, expires or terminates."""
        dates = self.dates
        place = bisect_right(dates, (after, len(self._stems)))
        return dates[place][0] if place < len(dates) else None

    def moving(self, after: Instant, until: Instant) -> Iterator[Instrument]:
        """Those with a date after the one instant and up to the other."""
        dates, last = self.dates, len(self._stems)
        for _, number in dates[
            bisect_right(dates, (after, last)) : bisect_right(dates, (until, last))
        ]:
            yield from [terms for terms, _ in self._made(number).values()]

    @cached_property
    def dates(self) -> list[tuple[Instant, int]]:
        """When what moves, ascending: instants and places of events."""
        found = []
        for number, fixture in enumerate(self._fixtures):
            over = fixture.start + self._shift + PLAYED_FOR
            found += [(self.over(number), number), (over, number), (over + _TERMINATES, number)]
            if fixture.opens is not None:
                found.append((fixture.opens + self._shift, number))
        return sorted(found)

    # ---- making

    def _game(self, number: int) -> Game:
        stem = self._stems[number]
        fixture = self._plan[stem]
        league = fixture.league.slug
        home, away = (
            self._reference.team(league, fixture.home),
            self._reference.team(league, fixture.away),
        )
        first, second = ordered(league, home, away)
        opens = None if fixture.opens is None else fixture.opens + self._shift
        return Game(
            league=league,
            home=home,
            away=away,
            first=first,
            second=second,
            stem=stem,
            start=fixture.start + self._shift,
            created=fixture.created + self._shift,
            sets=fixture.league.sets,
            fee_class=fixture.league.fee_class,
            opens=opens,
        )

    def _made(self, number: int) -> dict[str, tuple[Instrument, Facts]]:
        """An event's instruments by symbol, without metadata as long as nobody asked for them, and
        what the gateway says of them.
        """
        found = self._parts.get(number)
        if found is not None:
            self._parts.move_to_end(number)
            return found
        game, event = self._game(number), self.bare(number)
        made = (
            game_market(game, slot, event, self._reference, self._now)
            for slot in slots_of(game, ())
        )
        found = self._parts[number] = {terms.symbol: (terms, facts) for terms, facts in made}
        if len(self._parts) > _KEPT:
            self._parts.popitem(last=False)
        return found
