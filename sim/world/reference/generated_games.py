"""Generated games, as many as a scenario asks for, and their instruments.

Events, markets and instruments are created lazily, on first access. Only the plan exists from the
start (`season_plan.py`): the teams and the dates, from which every symbol and number follows. From
it

- an *event* without markets is created when a list first needs events, and kept; - the *markets*
and *instruments* of an event are created when one of them is shown or traded. Only
  the most recently used ones are kept, because creating them again gives equal ones: they do not
  depend on the time of their creation, and what changes (states, books, settlements) is stored
  elsewhere.

So a world of 40,000 markets starts as fast as one of 4,000 and needs memory only for what was used.
Lists do not create markets either: the values by which they filter and sort follow from the plan
and from the templates that all games of a league share (`market_templates.py`).

Numbers follow the order of the plan: event n has the number `FIRST_EVENT + n`, and its markets are
numbered from `FIRST_MARKET + n * MARKETS_PER_EVENT`. Only this package relies on that.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator
from functools import cache, cached_property, lru_cache, reduce
from itertools import repeat
from operator import mod

from msgspec.structs import replace

from sim.contract.messages.gateway_v1 import Event, Market, Team
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.model.reference_data import MarketDates, MarketRow
from sim.kernel.indexes.ordered_index import both
from sim.kernel.indexes.text_index import TextIndex
from sim.kernel.instants import Instant, Span
from sim.world.reference.game_clock import duration
from sim.world.reference.games import FIRST_GAME, ScheduledGame, game_event, game_markets, terms_of
from sim.world.reference.leagues import Leagues
from sim.world.reference.market_pair import (
    SORT_ORDERS,
    Facts,
    event_texts,
    market_of,
    with_metadata,
)
from sim.world.reference.market_templates import era_of, filled, ordered
from sim.world.reference.season_plan import plan

FIRST_EVENT = 30_001
FIRST_MARKET = 1_000_001
MARKETS_PER_EVENT = 100
_KEPT = 384  # events whose markets are kept
_KEPT_INSTRUMENTS = 2_048
_KEPT_SEARCHES = 256
_DATE = re.compile(r"-\d{4}-\d\d-\d\d", re.ASCII)

Kind = tuple[str, frozenset[str]]  # league and era: games of one kind have the same templates


class GeneratedGames:
    """The planned games of a world: its dormant instruments, and their events and markets."""

    def __init__(
        self,
        leagues: Leagues,
        games: int = 0,
        now: Instant = 0,
        shift: Span = 0,
        taken: Container[str] = (),
    ) -> None:
        self._plan = plan(leagues, games, taken, shift, now)
        self.slugs = tuple(self._plan)
        self._leagues = leagues
        self._now = now
        self._numbers = {slug: number for number, slug in enumerate(self.slugs)}
        self.bare = cache(self._make_bare)
        self.event = lru_cache(maxsize=_KEPT)(self._make_event)
        self._made = lru_cache(maxsize=_KEPT)(self._make_pairs)
        self.find = lru_cache(maxsize=_KEPT_INSTRUMENTS)(self._find)
        self.search = lru_cache(maxsize=_KEPT_SEARCHES)(self._search)

    # ---- values that follow from the plan

    def dates(self, slug: str) -> MarketDates | None:
        """Return the dates of the markets of an event, or None if there is no such event."""
        planned = self._plan.get(slug)
        return None if planned is None else planned.dates

    def event_slug(self, symbol: str) -> str | None:
        """Return the event of a symbol; whether it has such a market is not checked."""
        end = _DATE.search(symbol)
        slug = None if end is None else symbol[symbol.find("-") + 1 : end.end()]
        return slug if slug in self._plan else None

    def slug_numbered(self, event_id: int) -> str | None:
        """Return the slug of the event with a number, or None."""
        number = event_id - FIRST_EVENT
        return self.slugs[number] if 0 <= number < len(self.slugs) else None

    def has(self, slug: str) -> bool:
        """Return whether an event is one of these."""
        return slug in self._plan

    def slug_of_game(self, game_id: str) -> str | None:
        """Return the slug of the event with a game's number, or None."""
        if not game_id.isdecimal() or not game_id.isascii() or len(game_id) > 18:
            return None
        return self.slug_numbered(int(game_id) - FIRST_GAME)

    @cached_property
    def kinds(self) -> list[Kind]:
        """League and era of each event, in order of the plan."""
        return [(game.league, era_of(game.created)) for game in self._plan.values()]

    @cached_property
    def examples(self) -> dict[Kind, str]:
        """One event of each kind."""
        return dict(zip(self.kinds, self.slugs, strict=True))

    def symbols_of(self, slug: str) -> list[str]:
        """Return the symbols of an event's markets, in order, without creating them."""
        return self._plan[slug].symbols

    @cached_property
    def rows(self) -> list[list[MarketRow]]:
        """The rows of each event's markets for lists, in order, without creating any."""
        rows = []
        for slug, game in self._plan.items():
            dates, symbols = game.dates, game.symbols
            first = self._first_market(slug)
            numbers = range(first, first + len(symbols))
            orders = map(mod, numbers, repeat(SORT_ORDERS))
            alike = map(repeat, (dates.start, dates.expiration, dates.created))
            rows.append(list(map(MarketRow, numbers, symbols, orders, *alike)))
        return rows

    def _first_market(self, slug: str) -> int:
        return FIRST_MARKET + self._numbers[slug] * MARKETS_PER_EVENT

    # ---- events and markets

    def _make_bare(self, slug: str) -> Event:
        """Return an event without its markets. Callers must copy it before they change it."""
        event = game_event(self._plan[slug], self._leagues, FIRST_EVENT + self._numbers[slug])
        if event.end_date is not None and event.end_date <= self._now:
            event.active, event.closed, event.ended, event.period = False, True, True, "FT"
            event.updated_at = event.finished_timestamp = event.end_date
        return event

    def _make_pairs(self, slug: str) -> dict[str, tuple[Instrument, Facts]]:
        """Create an event's instruments, without metadata, and their facts, by symbol."""
        pairs = game_markets(self._plan[slug], self.bare(slug), self._leagues, self._now)
        return {instrument.symbol: (instrument, facts) for instrument, facts in pairs}

    def _make_event(self, slug: str) -> Event:
        """Create an event with its markets."""
        pairs = enumerate(self._made(slug).values(), self._first_market(slug))
        markets = [market_of(number, *pair, self._now) for number, pair in pairs]
        return replace(self.bare(slug), markets=markets)

    def market(self, symbol: str) -> Market | None:
        """Return the market of a symbol, or None."""
        slug = self.event_slug(symbol)
        markets = () if slug is None else self.event(slug).markets
        return next((market for market in markets if market.slug == symbol), None)

    def market_numbered(self, market_id: int) -> Market | None:
        """Return the market with a number, or None."""
        number, index = divmod(market_id - FIRST_MARKET, MARKETS_PER_EVENT)
        slug = self.slug_numbered(FIRST_EVENT + number)
        markets = [] if slug is None else self.event(slug).markets
        return markets[index] if index < len(markets) else None

    def _search(self, words: tuple[str, ...]) -> tuple[bytes, bytes]:
        """Return flags of the events whose texts contain every word, and of those whose titles do.

        Words are in lower case and contain no blank.
        """
        everything = b"\1" * len(self.slugs)
        texts, titles = (
            reduce(both, map(index.holding, words), everything) for index in self._texts
        )
        return texts, titles

    @cached_property
    def _texts(self) -> tuple[TextIndex, TextIndex]:
        """The text that a search uses: all texts of each event, and its title."""
        patterns: dict[Kind, str] = {}
        texts, titles = [], []
        for (slug, game), kind in zip(self._plan.items(), self.kinds, strict=True):
            if kind not in patterns:
                patterns[kind] = _text_pattern(self._leagues, game)
            title = self.bare(slug).title.lower()
            first, _, second = title.partition(" vs. ")
            short = dict(zip(("first_short", "second_short"), game.short_names, strict=True))
            names = {"slug": slug, "first": first, "second": second}
            texts.append(filled(patterns[kind], names | short))
            titles.append(title)
        return TextIndex(texts), TextIndex(titles)

    # ---- dormant instruments

    def __bool__(self) -> bool:
        return bool(self.slugs)

    def __len__(self) -> int:
        return self._size

    @cached_property
    def _size(self) -> int:
        return sum(len(game.templates) for game in self._plan.values())

    def _find(self, symbol: str) -> Instrument | None:
        """Return the instrument of a symbol, or None."""
        slug = self.event_slug(symbol)
        if slug is None or (pair := self._made(slug).get(symbol)) is None:
            return None
        return with_metadata(*pair, self.bare(slug))

    def symbols(self) -> Iterator[str]:
        """Yield every symbol, in order of listing."""
        for slug in self.slugs:
            yield from self.symbols_of(slug)

    def states(self, now: Instant) -> Iterator[tuple[str, tuple[InstrumentState, int, int]]]:
        """Yield each symbol with the state by its dates and its scales, in listing order."""
        for game in self._plan.values():
            state = game.dates.state(now)
            if state is InstrumentState.OPEN and now >= self._planned_end(game):
                state = InstrumentState.CLOSED
            for symbol, template in zip(game.symbols, game.templates, strict=True):
                price_scale, _, qty_scale, _ = terms_of(symbol, self._now, cents=template.cents)
                yield symbol, (state, price_scale, qty_scale)

    def of_event(self, event: str) -> Iterable[Instrument]:
        """Return the instruments of an event, in order of listing."""
        if event not in self._plan:
            return ()
        instruments = map(self.find, self._made(event))
        return [instrument for instrument in instruments if instrument is not None]

    def next_edge(self, after: Instant) -> Instant | None:
        """Return the first date after an instant at which the state of a market
        changes, or None.
        """
        index = bisect_right(self._edges, (after, len(self.slugs)))
        return self._edges[index][0] if index < len(self._edges) else None

    def moving(self, after: Instant, until: Instant) -> Iterator[Instrument]:
        """Yield the instruments with a date after the one instant and up to the other."""
        last = len(self.slugs)
        first, stop = (bisect_right(self._edges, (at, last)) for at in (after, until))
        for _, number in self._edges[first:stop]:
            yield from (instrument for instrument, _ in self._made(self.slugs[number]).values())

    @cached_property
    def _edges(self) -> list[tuple[Instant, int]]:
        """The dates of events, ascending."""
        instants = []
        for number, game in enumerate(self._plan.values()):
            dates = game.dates
            edges = [self._planned_end(game), dates.expiration, dates.termination]
            if dates.start != dates.created:
                edges.append(dates.start)
            instants += [(at, number) for at in edges]
        return sorted(instants)

    def _planned_end(self, game: ScheduledGame) -> Instant:
        """Return when a game ends if nobody reports it."""
        return game.start + duration(game.league, game.stem)


def _text_pattern(leagues: Leagues, game: ScheduledGame) -> str:
    """Return the text of an event and its markets for searches, with placeholders for names.

    Each token of the texts occurs once. A word of a search contains no blank, so it lies
    within one token.
    """
    first, second = (
        Team(abbreviation=f"{{{side}_short}}", name=f"{{{side}}}") for side in ("first", "second")
    )
    home, away = ordered(game.league, first, second)
    anyone = game._replace(home=home, away=away, stem="{slug}")
    texts = [*event_texts(game_event(anyone, leagues, 0))]
    for template in game.templates:
        texts += [template.question, f"{template.product}-{{slug}}{template.tail}"]
    return " ".join(dict.fromkeys(" ".join(texts).lower().split()))
