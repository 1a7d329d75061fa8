"""The incremental market index: values that lists filter and sort by, and that trading, games and
the clock change, for every position of the catalogue.

**Contents.** A `Column` holds one aspect (`market_columns.py`) of every market and of every event.
It is built on first use. Most markets are then dormant, and the dormant markets of an event are
identical: their state and last change follow from the event's dates, and they have no trades. So
building a column computes one value for each event and one for each market that is not dormant.

**Refresh.** On each use a column catches up first. The cost is proportional to the changes since
its last use, not to the size of the world:

- `OrderBooks` keeps the order in which symbols and events last changed. The values of those markets
  and events are computed again, and those of events with a changed market.
- Time changes some values without an event: a game continues or ends by itself, a trade becomes
  older than a day. This affects only games that began and whose markets had not expired, and at a
  full hour markets with trades.
- The values of recurring markets are computed again when other ones are listed, and at their dated
  edges.
- Maintenance suspends or opens every dormant market at once: columns are rebuilt.

**Equivalence with a naive list.** The values are computed by the functions of the views
(`live_views.py`, `event_views.py`). So a column is correct when built, and stays correct if every
change of an input triggers a new computation. The inputs are the book, the trades, the state and
the settlement of the market and the reports of the game, whose changes `OrderBooks` notes, and
virtual now (the second and third case above). `tests/api/test_gateway_lists.py` compares lists with
the naive computation under arbitrary events.

Time travel ends the columns; a manual listing ends the whole index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Any

from sim.api.gateway.market_columns import Aspect
from sim.api.pipeline.answer_cache import spend_builds
from sim.core.exchange import Exchange
from sim.core.model.reference_data import Catalogue
from sim.kernel.instants import DAY, HOUR, Instant


class Column:
    """One aspect of every market, and of every event as its markets and its game make it."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue, aspect: Aspect) -> None:
        self._exchange, self._catalogue, self._aspect = exchange, catalogue, aspect
        self._note_now(0)
        self._dormant_changed = exchange.trading.lifecycle.dormant_changed_at
        self.markets = aspect.index(self._markets_now(range(len(catalogue.rows))))
        self.events = aspect.index(map(self._event_now, range(len(catalogue.events))))

    def _note_now(self, recurring: int) -> None:
        exchange, self._recurring = self._exchange, recurring
        self._read, self._now = exchange.trading.books.version, exchange.now
        self._followed = exchange.trading.lifecycle.followed_to

    @property
    def outdated(self) -> bool:
        """Whether maintenance has suspended or opened all dormant markets since."""
        return self._dormant_changed != self._exchange.trading.lifecycle.dormant_changed_at

    def catch_up(self, recurring: int) -> None:
        """Recompute changed values; those of recurring markets too if `recurring` has changed."""
        exchange, catalogue = self._exchange, self._catalogue
        books, hour = exchange.trading.books, self._now // HOUR
        symbols: list[str] = []
        markets: list[int | None] = []
        events: list[int | None] = []
        if books.version != self._read:
            symbols += books.symbols.since(self._read)
            events += map(catalogue.position_of_event, books.events.since(self._read))
        if self._now != exchange.now:
            events += self._games_since(self._followed)
            if self._aspect.hourly and hour != exchange.now // HOUR:
                symbols += exchange.trading.trades.symbols()
        if recurring != self._recurring:
            markets += catalogue.recurring_markets()
            events += map(catalogue.event_of, catalogue.recurring_markets())
        self._note_now(recurring)
        # Combos are no markets of the gateway, and have no position.
        markets += map(catalogue.position_of_market, symbols)
        self._look(_positions(markets), _positions(events))

    def _look(self, markets: list[int], events: list[int]) -> None:
        """Look at markets and events, at the dormant markets of the events, which may close with
        their game, and at the events of markets that are not what they were.
        """
        catalogue = self._catalogue
        if self._aspect.market is not None:
            besides = chain.from_iterable(map(catalogue.markets_of, events))
            markets = _positions((*markets, *filter(self._is_dormant, besides)))
            changed = list(events)
            for position, value in zip(markets, self._markets_now(markets), strict=True):
                if value != self.markets.key(position):
                    self.markets.move(position, value)
                    changed.append(catalogue.event_of(position))
            events = _positions(changed)
        for event in events:
            self.events.move(event, self._event_now(event))

    def _is_dormant(self, position: int) -> bool:
        if position not in self._catalogue.dormant_markets:
            return False
        slug = self._catalogue.rows[position].slug
        return not self._exchange.trading.lifecycle.is_materialised(slug)

    def _markets_now(self, positions: Iterable[int]) -> Iterator[Any]:
        exchange, catalogue, aspect = self._exchange, self._catalogue, self._aspect
        if aspect.market is None:
            return
        rows, dormant, owner = catalogue.rows, catalogue.dormant_markets, catalogue.event_of
        awake = exchange.trading.lifecycle.is_materialised
        alike = cache(lambda event: aspect.dormant(exchange, catalogue.events[event]))
        for position in positions:
            row = rows[position]
            if position in dormant and not awake(row.slug):
                yield alike(owner(position))
            else:
                listed = row.slug in exchange.instruments
                yield aspect.market(exchange, row) if listed else aspect.absent

    def _event_now(self, event: int) -> Any:
        aspect, markets = self._aspect, self._catalogue.markets_of(event)
        values = map(self.markets.key, () if aspect.market is None else markets)
        present = [value for value in values if value != aspect.absent]
        return aspect.event(self._exchange, self._catalogue.events[event], present)

    def _games_since(self, since: Instant) -> Iterator[int]:
        """Yield the events that began by now and whose markets had not expired at an instant."""
        begun, ending = (self._catalogue.event_key(name) for name in ("starttime", "enddate"))
        if begun is not None and ending is not None:
            now = self._exchange.now
            yield from ending.between(since, now)
            yield from (at for at in begun.between(since - DAY, now) if ending.key(at) > since)


def _positions(positions: Iterable[int | None]) -> list[int]:
    return sorted({position for position in positions if position is not None})


class MarketIndex:
    """The catalogue of an exchange with its columns, each brought up to date on use.

    The catalogue follows from the reference data; time travel only ends the columns.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.reference = exchange.reference
        self.catalogue = self.reference.catalogue(exchange.recurring.most_listed())
        self._loaded = -1
        self._columns: dict[Aspect, Column] = {}
        self._unchanged: tuple[Instant, Instant] = 0, 0  # recurring markets do not change within
        self._planned: tuple[int, int] = 0, 0  # versions of what their dates follow from
        self._recurring = 0  # how often they have changed

    def follow(self) -> None:
        """Forget the columns of another moment, and show the recurring markets listed now."""
        exchange = self.exchange
        if self._loaded != exchange.trading.books.loaded:
            self._loaded = exchange.trading.books.loaded
            self._columns.clear()
        slots = exchange.recurring.listed_slots()
        followed = exchange.trading.lifecycle.followed_to
        planned = exchange.maintenance_calendar.version, exchange.ctx.assumptions.changes
        since, until = self._unchanged
        if (
            self.catalogue.show_recurring(slots)
            or not since <= followed < until
            or planned != self._planned
        ):
            self._recurring += 1
            edges = (at for slot in slots for at in exchange.recurring.edges(slot))
            due = min((at for at in edges if at > followed), default=followed + DAY)
            self._unchanged, self._planned = (followed, due), planned

    def of(self, aspect: Aspect) -> Column:
        """Return the column of an aspect, up to date."""
        column = self._columns.get(aspect)
        if column is None or column.outdated:
            spend_builds(self.exchange, len(self.catalogue.rows))
            column = self._columns[aspect] = Column(self.exchange, self.catalogue, aspect)
        column.catch_up(self._recurring)
        return column


def market_index(exchange: Exchange) -> MarketIndex:
    """Return the index of an exchange; a new one after a manual listing."""
    table = exchange.answer_caches.setdefault(MarketIndex, {})
    index: MarketIndex | None = table.get("")
    if index is None or index.reference is not exchange.reference:
        index = table[""] = MarketIndex(exchange)
    index.follow()
    return index
