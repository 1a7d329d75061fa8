"""Columns of the market index: one aspect each of every market and of every event.

`market_index.py` says what is kept, when it is refreshed, and why it equals a naive list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain

from sim.api.gateway import live_views
from sim.api.gateway.game_views import whole_seconds
from sim.api.gateway.volume import NO_VOLUME, Volumes, fades, volumes
from sim.core.exchange import Exchange
from sim.core.lifecycle.states import OVER_STATES, SESSION_STATES
from sim.core.model.enums import InstrumentState
from sim.core.model.games import UNKNOWN_GAME
from sim.core.model.reference_data import Catalogue, Flags
from sim.indexes.ordered_index import MISSING, KeyIndex, SparseAmounts
from sim.kernel.instants import DAY, Instant

# Added to the state of a dormant market: maintenance may suspend it without a note.
_DORMANT = 16
_FINAL = 32  # added to the state of a market that has paid and is not closed
_ABSENT = 64  # the code of a place where no instrument is listed


class Column:
    """One aspect of every market, and of every event as its markets and its game make it."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        self.exchange = exchange
        self.catalogue = catalogue
        self._read = exchange.trading.books.version
        self._followed, self._now = exchange.trading.lifecycle.followed_to, exchange.now
        self._recurring = 0

    @property
    def outdated(self) -> bool:
        """Whether the column must be made anew."""
        return False

    def catch_up(self, recurring: int) -> None:
        """Look again at what has changed; at recurring markets too if `recurring` has changed."""
        exchange, catalogue = self.exchange, self.catalogue
        books, read = exchange.trading.books, self._read
        self._read = books.version
        if books.version != read:
            self.refresh_symbols(books.symbols.since(read))
            events = map(catalogue.place_of_event, books.events.since(read))
            self.on_events(place for place in events if place is not None)
        if self._now != exchange.now:
            followed, self._now = self._followed, exchange.now
            self._followed = exchange.trading.lifecycle.followed_to
            self.time_passed(followed)
        if recurring != self._recurring:
            self._recurring = recurring
            places = catalogue.recurring_markets()
            self.refresh_all((place, catalogue.symbol(place)) for place in places)
            self.on_events(map(catalogue.event_of, places))

    def refresh_symbols(self, symbols: Iterable[str]) -> None:
        """Look at the markets of some symbols; combos, for one, are no markets of the gateway."""
        places = ((self.catalogue.place_of_market(symbol), symbol) for symbol in symbols)
        self.refresh_all((place, symbol) for place, symbol in places if place is not None)

    def refresh_all(self, markets: Iterable[tuple[int, str]]) -> None:
        """Look at some markets, then at the events of those that are not what they were."""
        changed = [place for place, symbol in markets if self.refresh(place, symbol)]
        for event in dict.fromkeys(map(self.catalogue.event_of, changed)):
            self.aggregate(event)

    def refresh(self, place: int, symbol: str) -> bool:
        """Look at a market; `symbol` is "" for an empty place. Return whether it changed."""
        return False

    def aggregate(self, event: int) -> None:
        """Look at an event whose markets have been looked at."""

    def on_events(self, events: Iterable[int]) -> None:
        """Note that something about events has changed, perhaps only reports of their games."""

    def time_passed(self, since: Instant) -> None:
        """Note that it is later; dates had been followed up to an instant."""

    # ---- what columns look at

    def games_since(self, since: Instant) -> list[int]:
        """Return the events that began by now and whose markets had not expired at an instant."""
        begun, ending = (self.catalogue.event_key(name) for name in ("starttime", "enddate"))
        if begun is None or ending is None:
            return []
        now = self.exchange.now
        playing = (place for place in begun.between(since - DAY, now) if ending.key(place) > since)
        return list(dict.fromkeys(chain(ending.between(since, now), playing)))

    def reported_games(self) -> Iterator[int]:
        """Yield the events of whose games somebody has reported something."""
        for slug in self.exchange.games.reported():
            if (place := self.catalogue.place_of_event(slug)) is not None:
                yield place

    def awake_markets(self) -> Iterator[tuple[int, str]]:
        """Yield the markets that are not dormant."""
        catalogue = self.catalogue
        yield from ((place, catalogue.symbol(place)) for place in catalogue.listed_markets())
        for symbol in self.exchange.trading.lifecycle.symbols():
            place = catalogue.place_of_market(symbol)
            if place is not None and place in catalogue.dormant_markets:
                yield place, symbol


class States(Column):
    """Which markets and events are there, are active, are closed.

    `codes` has the state of each market and what is added to it.
    """

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        count, dormant = len(catalogue.events), catalogue.dormant_events
        self.codes = bytearray(bytes((_ABSENT,)) * catalogue.market_count)
        self.active, self.closed = bytearray(count), bytearray(count)
        for event in dormant:
            state, places = self._dormant_state(event), catalogue.dormant_markets_of(event)
            self.codes[places.start : places.stop] = bytes((_DORMANT + state,)) * len(places)
            self.active[event], self.closed[event] = state in SESSION_STATES, state in OVER_STATES
        for place in catalogue.listed_events():
            self.aggregate(place)
        self.refresh_all(self.awake_markets())

    def _dormant_state(self, event: int) -> InstrumentState:
        """Return the state of an event's dormant markets, maintenance apart."""
        return live_views.dormant_state(self.exchange, self.catalogue.events[event].slug)

    def on_events(self, events: Iterable[int]) -> None:
        """Look at dormant markets: they may close with their game."""
        for event in events:
            if event in self.catalogue.dormant_events:
                places = self.catalogue.dormant_markets_of(event)
                codes = self.codes[places.start : places.stop]
                if any(code & _DORMANT for code in codes):
                    now = _DORMANT + self._dormant_state(event)
                    changed = bytes(now if code & _DORMANT else code for code in codes)
                    self.codes[places.start : places.stop] = changed
                    self.aggregate(event)

    def time_passed(self, since: Instant) -> None:
        """Look at games that may be over."""
        self.on_events(self.games_since(since))

    def refresh(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        code, trading = _ABSENT, self.exchange.trading
        awake = trading.lifecycle.is_materialised(symbol)
        if place in self.catalogue.dormant_markets and not awake:
            code = _DORMANT + self._dormant_state(self.catalogue.event_of(place))
        elif symbol and (awake or symbol in self.exchange.instruments):
            state = trading.lifecycle.state(symbol)
            final = state not in OVER_STATES and trading.settlements.final(symbol)
            code = state + (_FINAL if final else 0)
        changed = self.codes[place] != code
        self.codes[place] = code
        return changed

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        codes = [self.codes[place] for place in self.catalogue.markets_of(event)]
        codes = [code for code in codes if code != _ABSENT]
        shown = self.catalogue.events[event]
        self.active[event] = any(_ACTIVE[code] for code in codes) if codes else shown.active
        self.closed[event] = all(_CLOSED[code] for code in codes) if codes else shown.closed

    def listed(self) -> Flags:
        """Flag the markets that are there."""
        return self.codes.translate(_LISTED)

    def active_markets(self) -> Flags:
        """Flag the active markets."""
        return self.codes.translate(_ACTIVE)

    def closed_markets(self) -> Flags:
        """Flag the closed markets."""
        return self.codes.translate(_CLOSED)

    def markets_in(self, states: frozenset[int]) -> Flags:
        """Flag the markets that are in some states now."""
        now = self.exchange.trading.lifecycle.unless_suspended
        awake = {state + added for state in states for added in (0, _FINAL)}
        dormant = {_DORMANT + state for state in InstrumentState if now(state) in states}
        return self.codes.translate(_table(awake | dormant))


def _table(codes: Iterable[int]) -> bytes:
    """Return a table that translates these codes to 1 and others to 0."""
    flagged = frozenset(codes)
    return bytes(code in flagged for code in range(256))


_ACTIVE = _table(state + added for state in SESSION_STATES for added in (0, _DORMANT))
_OVER = {state + added for state in OVER_STATES for added in (0, _DORMANT)}
_CLOSED = _table(_OVER | {_FINAL + state for state in InstrumentState})
_LISTED = bytes(code != _ABSENT for code in range(256))


class Updates(Column):
    """When markets and events last changed."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        self._dormant_changed = exchange.trading.lifecycle.dormant_changed_at
        events = [catalogue.events[event] for event in catalogue.dormant_events]
        changes = [live_views.dormant_change(exchange, event.slug) for event in events]
        self.markets = KeyIndex(catalogue.market_runs(changes))
        listed = (whole_seconds(event.updated_at or 0) for event in events)
        self.events = KeyIndex(catalogue.event_runs(map(max, changes, listed)))
        self.refresh_all(self.awake_markets())
        self.on_events((*catalogue.listed_events(), *self.reported_games()))
        self.time_passed(0)

    @property
    def outdated(self) -> bool:
        """Whether maintenance has suspended or opened all dormant markets since."""
        return self._dormant_changed != self.exchange.trading.lifecycle.dormant_changed_at

    def refresh(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        if not symbol:
            return False
        exchange, catalogue = self.exchange, self.catalogue
        changed_at = 0
        if place in catalogue.dormant_markets:
            listed_at = catalogue.events[catalogue.event_of(place)].created_at
            changed_at = live_views.last_change(exchange, symbol, listed_at)
        elif symbol in exchange.instruments:
            listed_at = catalogue.market(place).updated_at
            changed_at = live_views.last_change(exchange, symbol, listed_at)
        self.markets.move(place, changed_at)
        return True

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        shown = self.catalogue.events[event]
        reported = whole_seconds(live_views.how_it_stands(self.exchange, shown).at)
        markets = map(self.markets.key, self.catalogue.markets_of(event))
        changes = (shown.updated_at, reported, *(at for at in markets if at > 0))
        self.events.move(event, max((at for at in changes if at), default=MISSING))

    def on_events(self, events: Iterable[int]) -> None:
        """Look at events."""
        for event in events:
            self.aggregate(event)

    def time_passed(self, since: Instant) -> None:
        """Look at games that go on, and at dormant markets that settle with their games."""
        catalogue, exchange = self.catalogue, self.exchange
        games = self.games_since(since)
        for event in games:
            slug = catalogue.events[event].slug
            if (
                event in catalogue.dormant_events
                and not exchange.trading.lifecycle.has_materialised(slug)
                and 0 < exchange.games.event_end(slug) <= exchange.now
            ):
                places = catalogue.dormant_markets_of(event)
                self.refresh_all((place, catalogue.symbol(place)) for place in places)
        self.on_events(games)


class Trades(Column):
    """What was traded, in dollars, ever and in windows of time that end now; contracts open."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        self._volumes: dict[int, Volumes] = {}
        self._interest: dict[int, float] = {}
        self._fades: dict[int, Instant | None] = {}
        self._fading: list[tuple[Instant, int, str]] = []
        self.markets = [SparseAmounts(catalogue.market_count) for _ in NO_VOLUME]
        self.events = [SparseAmounts(len(catalogue.events)) for _ in NO_VOLUME]
        self.interest = SparseAmounts(len(catalogue.events))
        trading = exchange.trading
        traded = dict.fromkeys((*trading.trades.symbols(), *trading.positions.open_interest))
        self.refresh_symbols(traded)

    def refresh(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        exchange, trading = self.exchange, self.exchange.trading
        known = place in self._volumes
        traded = trading.trades.of_symbol(symbol) or symbol in trading.positions.open_interest
        if not symbol or not (known or traded):
            if known:
                self._set(place, NO_VOLUME, 0.0)
            return known
        volume = volumes(exchange, exchange.instruments.require(symbol))
        interest, fades_at = live_views.open_interest(exchange, symbol), fades(exchange, symbol)
        if fades_at is not None and self._fades.get(place) != fades_at:
            heappush(self._fading, (fades_at, place, symbol))
        self._fades[place] = fades_at
        if known and volume == self._volumes[place] and interest == self._interest[place]:
            return False
        self._set(place, volume, interest)
        return True

    def _set(self, place: int, volume: Volumes, interest: float) -> None:
        self._volumes[place], self._interest[place] = volume, interest
        for key, amount in zip(self.markets, volume, strict=True):
            key.move(place, amount)

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        places = [place for place in self.catalogue.markets_of(event) if place in self._volumes]
        amounts = zip(*(self._volumes[place] for place in places), strict=True)
        for key, of_markets in zip(self.events, amounts, strict=True):
            key.move(event, sum(of_markets))
        self.interest.move(event, sum(self._interest[place] for place in places))

    def time_passed(self, since: Instant) -> None:
        """Look at markets of which old trades have left a window of time."""
        due = []
        while self._fading and self._fading[0][0] <= self.exchange.now:
            at, place, symbol = heappop(self._fading)
            if self._fades.get(place) == at and self.catalogue.place_of_market(symbol) == place:
                due.append((place, symbol))
        self.refresh_all(due)


class Resting(Column):
    """What resting orders would cost, in dollars."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        self.markets = SparseAmounts(catalogue.market_count)
        self.events = SparseAmounts(len(catalogue.events))
        self.refresh_symbols(list(exchange.trading.books.symbols_with_book()))

    def refresh(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        before = self.markets.key(place)
        self.markets.move(place, live_views.liquidity(self.exchange, symbol))
        return self.markets.key(place) != before

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        self.events.move(event, sum(map(self.markets.key, self.catalogue.markets_of(event))))


class Plays(Column):
    """How games stand: `live` and `ended` are flags, `period` and `finished` keys."""

    # the period of a generated game as long as nobody reports it and it has not begun
    NOT_BEGUN = "NS"

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        count, dormant = len(catalogue.events), catalogue.dormant_events
        self.live, self.ended = bytearray(count), bytearray(count)
        self.period = KeyIndex(((self.NOT_BEGUN, count),))
        self.finished = KeyIndex(((MISSING, count),))
        due = set(self.reported_games())
        for place in dormant:
            event = catalogue.events[place]
            if (event.start_time or 0) <= exchange.now or exchange.reference.is_changed(event.slug):
                due.add(place)
        self.on_events(catalogue.listed_events())
        self.on_events(sorted(due))

    def on_events(self, events: Iterable[int]) -> None:
        """Look at events."""
        for place in events:
            event = self.catalogue.events[place]
            game = live_views.how_it_stands(self.exchange, event) if event.game_id else UNKNOWN_GAME
            self.live[place] = event.live if game.live is None else game.live
            ended = self.ended[place] = event.ended if game.ended is None else game.ended
            self.period.move(place, event.period if game.period is None else game.period)
            at = whole_seconds(game.at) if ended and game.at else event.finished_timestamp
            self.finished.move(place, MISSING if at is None else at)

    def time_passed(self, since: Instant) -> None:
        """Look at games that go on."""
        self.on_events(self.games_since(since))
