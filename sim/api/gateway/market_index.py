"""What trading, games and the clock change of events and markets, kept for every place of the
catalogue and followed change by change.

A facet is made when a list first asks for it: untouched markets of the season stand as their dates
say, which takes one look at each event; the others are looked at one by one. From then on it looks
again at those alone that have changed since somebody last asked (`Books.symbols`, `Books.events`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from heapq import heappop, heappush

from sim.api.gateway.live_views import (
    ACTIVE,
    CLOSED,
    how_it_stands,
    last_change,
    liquidity,
    open_interest,
    season_moved,
    season_state,
    whole_seconds,
)
from sim.api.gateway.place_index import Catalogue, known_key
from sim.api.gateway.volume import NO_VOLUME, Volumes, fades, volumes
from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.model.games import UNKNOWN_GAME
from sim.indexes.ordered_index import KeyIndex, SparseAmounts
from sim.kernel.instants import DAY, Instant

# added to the state of a market that has none of its own: maintenance may suspend it without
# telling
_RESTING = 16
_FINAL = 32  # added to the state of a market that has paid and is not closed
_UNLISTED = 64


class Facet:
    """Something about every market, and about every event as its markets and its game make it."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        self.exchange = exchange
        self.catalogue = catalogue
        self._read = exchange.trading.books.version
        self._since, self._now = exchange.trading.lifecycle.followed_to, exchange.now

    def follow(self, windows: Iterable[int]) -> None:
        """Look again at what has changed, and at windows' places."""
        exchange, catalogue = self.exchange, self.catalogue
        books, since = exchange.trading.books, self._read
        self._read = books.version
        if books.version != since:
            changed = [
                (place, symbol)
                for symbol in books.symbols.since(since)
                if (place := catalogue.place_of(symbol)) is not None
            ]
            self.look_at(changed)
            self.hear(
                place
                for slug in books.events.since(since)
                if (place := catalogue.place_of_event(slug)) is not None
            )
        if self._now != exchange.now:
            passed, self._since, self._now = (
                self._since,
                exchange.trading.lifecycle.followed_to,
                exchange.now,
            )
            self.time_passed(passed)
        places = [catalogue.markets.windows + number for number in windows]
        self.look_at((place, catalogue.slug(place)) for place in places)
        self.hear(catalogue.event_of(place) for place in places)

    def look_at(self, markets: Iterable[tuple[int, str]]) -> None:
        """Look at some markets, then at the events of those that are not what they were."""
        events = {
            self.catalogue.event_of(place): None
            for place, symbol in markets
            if self.look(place, symbol)
        }
        for event in events:
            self.aggregate(event)

    def look(self, place: int, symbol: str) -> bool:
        """Look at a market, "" where there is none; whether it is not what it was."""
        return False

    def aggregate(self, event: int) -> None:
        """Look at an event whose markets have been looked at."""

    def hear(self, events: Iterable[int]) -> None:
        """Something about events has changed, perhaps only what is said of their games."""

    def time_passed(self, since: Instant) -> None:
        """It is later; dates had been followed up to an instant."""

    def games_since(self, since: Instant) -> list[int]:
        """Places of the events that began by now and whose markets had not expired at an instant:
        their games may stand otherwise than they did.
        """
        begun, ending = (self.catalogue.event_key(name) for name in ("starttime", "enddate"))
        if not isinstance(begun, KeyIndex) or not isinstance(ending, KeyIndex):
            return []
        ended = ending.between(since, self.exchange.now)
        return list(
            dict.fromkeys(
                (
                    *ended,
                    *(
                        place
                        for place in begun.between(since - DAY, self.exchange.now)
                        if ending.key(place) > since
                    ),
                )
            )
        )

    def told(self) -> list[int]:
        """Events of whose games somebody has told."""
        return [
            place
            for slug in self.exchange.games.reported()
            if (place := self.catalogue.place_of_event(slug)) is not None
        ]

    def listed_markets(self) -> Iterator[tuple[int, str]]:
        """Markets that are there by themselves, and windows."""
        catalogue = self.catalogue
        return (
            (place, catalogue.market(place).slug) for place in catalogue.singles(catalogue.markets)
        )

    def owned_markets(self) -> Iterator[tuple[int, str]]:
        """Markets of the season that have a state of their own."""
        catalogue = self.catalogue
        first, last = catalogue.markets.season, catalogue.markets.windows
        found = (
            (catalogue.place_of(symbol), symbol)
            for symbol in self.exchange.trading.lifecycle.symbols()
        )
        return (
            (place, symbol)
            for place, symbol in found
            if place is not None and first <= place < last
        )


class States(Facet):
    """Which markets and events are there, are active, are closed. `codes`: the state of each
    market, and what is added to it.
    """

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        self.codes = bytearray(bytes((_UNLISTED,)) * catalogue.markets.count)
        self.active = bytearray(catalogue.events.count)
        self.closed = bytearray(catalogue.events.count)
        self._begin_season()
        for place in catalogue.singles(catalogue.events):
            self.aggregate(place)
        self.look_at(self.listed_markets())
        self.look_at(self.owned_markets())

    def _begin_season(self) -> None:
        catalogue = self.catalogue
        firsts, start = catalogue.first_markets, catalogue.events.season
        states = list(map(self._rests, range(len(firsts) - 1)))
        codes = [bytes((_RESTING + state,)) for state in range(len(InstrumentState))]
        sizes = map(int.__sub__, firsts[1:], firsts)
        self.codes[catalogue.markets.season : catalogue.markets.windows] = b"".join(
            [codes[state] * size for state, size in zip(states, sizes, strict=True)]
        )
        self.active[start : catalogue.events.windows] = bytes(state in ACTIVE for state in states)
        self.closed[start : catalogue.events.windows] = bytes(state in CLOSED for state in states)

    def _rests(self, number: int) -> InstrumentState:
        """The state of an event's markets on the shelf, maintenance apart."""
        season, exchange = self.catalogue.season, self.exchange
        asked = season.state(number, self._since)
        if asked in CLOSED or season.timing(number)[1] > self._since:
            return asked
        return exchange.trading.lifecycle.state_by_dates(
            asked, exchange.event_end(season.slug(number)), season.dates_of(number)[2], self._since
        )

    def hear(self, events: Iterable[int]) -> None:
        """Look at what is on the shelf: it may close with its game."""
        places, first = self.catalogue.events, self.catalogue.markets.season
        for event in events:
            if places.season <= event < places.windows:
                number = event - places.season
                mine = slice(
                    first + self.catalogue.first_markets[number],
                    first + self.catalogue.first_markets[number + 1],
                )
                if any(code & _RESTING for code in self.codes[mine]):
                    resting = _RESTING + self._rests(number)
                    self.codes[mine] = bytes(
                        resting if code & _RESTING else code for code in self.codes[mine]
                    )
                    self.aggregate(event)

    def time_passed(self, since: Instant) -> None:
        """Games may be over."""
        self.hear(self.games_since(since))

    def look(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        code, trading, places = _UNLISTED, self.exchange.trading, self.catalogue.markets
        if places.season <= place < places.windows and not trading.lifecycle.is_materialised(
            symbol
        ):
            code = _RESTING + self._rests(self.catalogue.split(place)[0])
        elif symbol and (
            trading.lifecycle.is_materialised(symbol) or symbol in self.exchange.instruments
        ):
            state = trading.lifecycle.state(symbol)
            code = state + (
                _FINAL if state not in CLOSED and trading.settlements.final(symbol) else 0
            )
        if self.codes[place] == code:
            return False
        self.codes[place] = code
        return True

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        codes = [
            code
            for code in map(self.codes.__getitem__, self.catalogue.markets_of(event))
            if code != _UNLISTED
        ]
        if codes:
            self.active[event], self.closed[event] = (
                any(map(_ACTIVE.__getitem__, codes)),
                all(map(_CLOSED.__getitem__, codes)),
            )
        else:
            shown = self.catalogue.event(event)
            self.active[event], self.closed[event] = shown.active, shown.closed

    def listed(self) -> bytearray:
        """Flags of the markets that are there."""
        return self.codes.translate(_LISTED)

    def markets(
        self, *, active: bool | None = None, closed: bool | None = None
    ) -> Iterator[bytearray]:
        """Flags of the markets that are as asked."""
        for table, asked in ((_ACTIVE, active), (_CLOSED, closed)):
            if asked is not None:
                yield self.codes.translate(table if asked else bytes(not flag for flag in table))

    def season_in(self, states: frozenset[int]) -> bytearray:
        """Flags of the season's markets that are in some states now."""
        on_shelf = self.exchange.trading.lifecycle.unless_suspended
        wanted = {
            *states,
            *(state + _FINAL for state in states),
            *(_RESTING + state for state in InstrumentState if on_shelf(state) in states),
        }
        places = self.catalogue.markets
        return self.codes[places.season : places.windows].translate(_table(wanted))


def _table(codes: Iterable[int]) -> bytes:
    wanted = frozenset(codes)
    return bytes(code in wanted for code in range(256))


_ACTIVE = _table(state + added for state in ACTIVE for added in (0, _RESTING))
_CLOSED = _table(
    (
        *(state + added for state in CLOSED for added in (0, _RESTING)),
        *(_FINAL + state for state in InstrumentState),
    )
)
_LISTED = bytes(code != _UNLISTED for code in range(256))


class Updates(Facet):
    """When markets and events last changed. True until maintenance suspends or opens the shelf,
    which moves all that is open there (`shelf_moved`).
    """

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        self.shelf_moved = exchange.trading.lifecycle.dormant_changed_at
        firsts, season = catalogue.first_markets, catalogue.reference.season
        moved = (
            []
            if season is None
            else [
                season_moved(exchange, season, number, season_state(exchange, season, number))
                for number in range(season.games)
            ]
        )
        self.markets = KeyIndex(
            catalogue.runs(
                catalogue.markets, {}, zip(moved, map(int.__sub__, firsts[1:], firsts), strict=True)
            )
        )
        updated = (
            max(at, whole_seconds(season.updated(number)))
            for number, at in enumerate(moved)
            if season is not None
        )
        self.events = KeyIndex(catalogue.runs(catalogue.events, {}, ((at, 1) for at in updated)))
        self.look_at(self.listed_markets())
        self.look_at(self.owned_markets())
        self.hear((*catalogue.singles(catalogue.events), *self.told()))
        self.time_passed(0)

    def look(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        if not symbol:
            return False
        self.markets.move(place, self._changed(place, symbol))
        return True

    def _changed(self, place: int, symbol: str) -> Instant:
        catalogue = self.catalogue
        if not catalogue.markets.season <= place < catalogue.markets.windows:
            return (
                last_change(self.exchange, symbol, catalogue.market(place).updated_at)
                if symbol in self.exchange.instruments
                else 0
            )
        return last_change(
            self.exchange, symbol, catalogue.season.created(catalogue.split(place)[0])
        )

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        shown = self.catalogue.event(event)
        game = how_it_stands(self.exchange, shown)
        listed = [
            at
            for market in self.catalogue.markets_of(event)
            if (at := self.markets.key(market)) > 0
        ]
        self.events.move(
            event,
            max(
                (at for at in (shown.updated_at, whole_seconds(game.at), *listed) if at),
                default=known_key(None),
            ),
        )

    def hear(self, events: Iterable[int]) -> None:
        """Look at events."""
        for event in events:
            self.aggregate(event)

    def time_passed(self, since: Instant) -> None:
        """Games go on, and what was over before the world began settles on the shelf."""
        places, lifecycle = self.catalogue.events, self.exchange.trading.lifecycle
        games = self.games_since(since)
        for event in games:
            if places.season <= event < places.windows and not lifecycle.has_materialised(
                slug := self.catalogue.season.slug(event - places.season)
            ):
                if 0 < self.exchange.event_end(slug) <= self.exchange.now:
                    self.look_at(
                        zip(
                            self.catalogue.markets_of(event),
                            self.catalogue.season.symbols_of(event - places.season),
                            strict=False,
                        )
                    )
        self.hear(games)


class Trades(Facet):
    """What was traded, in dollars, over life and over windows that end now, and how many contracts
    are open.
    """

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        self._volumes: dict[int, Volumes] = {}
        self._interest: dict[int, float] = {}
        self._fades: dict[int, Instant | None] = {}
        self._fading: list[tuple[Instant, int, str]] = []
        self.markets = [SparseAmounts(catalogue.markets.count) for _ in NO_VOLUME]
        self.events = [SparseAmounts(catalogue.events.count) for _ in NO_VOLUME]
        self.interest = SparseAmounts(catalogue.events.count)
        traded = dict.fromkeys(
            (*exchange.trading.trades.symbols(), *exchange.trading.positions.open_interest)
        )
        self.look_at(
            (place, symbol)
            for symbol in traded
            if (place := catalogue.place_of(symbol)) is not None
        )

    def look(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        exchange = self.exchange
        known = place in self._volumes
        if not symbol or not (
            known
            or exchange.trading.trades.of_symbol(symbol)
            or symbol in exchange.trading.positions.open_interest
        ):
            if known:
                self._set(place, NO_VOLUME, 0.0)
            return known
        found, interest = (
            volumes(exchange, exchange.instruments.require(symbol)),
            open_interest(exchange, symbol),
        )
        fades_at = fades(exchange, symbol)
        if fades_at is not None and self._fades.get(place) != fades_at:
            heappush(self._fading, (fades_at, place, symbol))
        self._fades[place] = fades_at
        if known and found == self._volumes[place] and interest == self._interest[place]:
            return False
        self._set(place, found, interest)
        return True

    def _set(self, place: int, found: Volumes, interest: float) -> None:
        self._volumes[place], self._interest[place] = found, interest
        for key, amount in zip(self.markets, found, strict=True):
            key.move(place, amount)

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        places = [place for place in self.catalogue.markets_of(event) if place in self._volumes]
        for key, amounts in zip(
            self.events, zip(*(self._volumes[place] for place in places), strict=True), strict=True
        ):
            key.move(event, sum(amounts))
        self.interest.move(event, sum(self._interest[place] for place in places))

    def time_passed(self, since: Instant) -> None:
        """Old trades have left windows."""
        due = []
        while self._fading and self._fading[0][0] <= self.exchange.now:
            at, place, symbol = heappop(self._fading)
            if self._fades.get(place) == at and self.catalogue.place_of(symbol) == place:
                due.append((place, symbol))
        self.look_at(due)


class Resting(Facet):
    """What resting orders would cost, in dollars."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        self.markets = SparseAmounts(catalogue.markets.count)
        self.events = SparseAmounts(catalogue.events.count)
        booked = list(exchange.trading.books.symbols_with_book())
        self.look_at(
            (place, symbol)
            for symbol in booked
            if (place := catalogue.place_of(symbol)) is not None
        )

    def look(self, place: int, symbol: str) -> bool:
        """Look at a market."""
        was = self.markets.key(place)
        self.markets.move(place, liquidity(self.exchange, symbol))
        return self.markets.key(place) != was

    def aggregate(self, event: int) -> None:
        """Look at an event."""
        self.events.move(event, sum(map(self.markets.key, self.catalogue.markets_of(event))))


class Plays(Facet):
    """How games stand: `live` and `ended` are flags, `period` and `finished` keys."""

    def __init__(self, exchange: Exchange, catalogue: Catalogue) -> None:
        super().__init__(exchange, catalogue)
        count, season = catalogue.events.count, catalogue.reference.season
        self.live, self.ended = bytearray(count), bytearray(count)
        self.period, self.finished = (
            KeyIndex(((NOT_BEGUN, count),)),
            KeyIndex(((known_key(None), count),)),
        )
        self.hear(catalogue.singles(catalogue.events))
        if season is not None:
            begun = [
                number for number in range(season.games) if season.timing(number)[1] <= exchange.now
            ]
            self.hear(
                sorted(
                    {
                        *self.told(),
                        *(
                            catalogue.events.season + number
                            for number in (*begun, *catalogue.reference.grown)
                        ),
                    }
                )
            )

    def hear(self, events: Iterable[int]) -> None:
        """Look at events."""
        for place in events:
            event = self.catalogue.event(place)
            game = how_it_stands(self.exchange, event) if event.game_id else UNKNOWN_GAME
            self.live[place] = event.live if game.live is None else game.live
            ended = self.ended[place] = event.ended if game.ended is None else game.ended
            self.period.move(place, event.period if game.period is None else game.period)
            self.finished.move(
                place,
                (
                    whole_seconds(game.at)
                    if ended and game.at
                    else known_key(event.finished_timestamp)
                ),
            )

    def time_passed(self, since: Instant) -> None:
        """Games go on."""
        self.hear(self.games_since(since))


# the period of a game of the season as long as nobody tells of it and it is not over
NOT_BEGUN = "NS"


class Facets:
    """The catalogue of an exchange with its facets, each up to date when it is asked for."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.loaded = exchange.trading.books.loaded
        self.catalogue = Catalogue(exchange)
        self._due: Instant = 0  # when windows next change by themselves
        self._windows = 0  # how often they have
        self._seen: dict[str, int] = {}
        self.refresh()

    def refresh(self) -> None:
        """Follow the windows."""
        exchange = self.exchange
        changed = self.catalogue.deal(list(exchange.recurring.listed_slots()))
        followed = exchange.trading.lifecycle.followed_to
        if changed or followed >= self._due:
            self._windows += 1
            edges = (at for place in self.catalogue.shown for at in exchange.recurring.edges(place))
            self._due = min((at for at in edges if at > followed), default=followed + DAY)

    def _current(self, name: str, facet: Facet) -> None:
        places = self.catalogue.markets
        stale = self._seen.get(name) != self._windows
        self._seen[name] = self._windows
        facet.follow(range(places.added - places.windows) if stale else ())

    @property
    def states(self) -> States:
        """Which are there, active, closed."""
        self._current("states", self._states)
        return self._states

    @property
    def updates(self) -> Updates:
        """When they last changed."""
        if (
            "_updates" in vars(self)
            and self._updates.shelf_moved != self.exchange.trading.lifecycle.dormant_changed_at
        ):
            del self._updates
        self._current("updates", self._updates)
        return self._updates

    @property
    def trades(self) -> Trades:
        """What was traded."""
        self._current("trades", self._trades)
        return self._trades

    @property
    def resting(self) -> Resting:
        """What rests."""
        self._current("resting", self._resting)
        return self._resting

    @property
    def plays(self) -> Plays:
        """How games stand."""
        self._current("plays", self._plays)
        return self._plays

    @cached_property
    def _states(self) -> States:
        return States(self.exchange, self.catalogue)

    @cached_property
    def _updates(self) -> Updates:
        return Updates(self.exchange, self.catalogue)

    @cached_property
    def _trades(self) -> Trades:
        return Trades(self.exchange, self.catalogue)

    @cached_property
    def _resting(self) -> Resting:
        return Resting(self.exchange, self.catalogue)

    @cached_property
    def _plays(self) -> Plays:
        return Plays(self.exchange, self.catalogue)


def facets(exchange: Exchange) -> Facets:
    """The facets of an exchange; new ones after a journey in time, and once something was listed by
    hand.
    """
    table = exchange.answer_caches.setdefault(Facets, {})
    found: Facets | None = table.get("")
    if (
        found is None
        or found.loaded != exchange.trading.books.loaded
        or found.catalogue.reference is not exchange.reference
    ):
        found = table[""] = Facets(exchange)
    else:
        found.refresh()
    return found
