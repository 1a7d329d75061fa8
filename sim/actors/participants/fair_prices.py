"""What instruments are worth to scripted participants, at any instant, without a timer and without
walking through the time before.

A fair price is a base (its start, a path, or what an asset's index says) moved by a seeded walk of
its odds, so it stays between 0 and 1 and drifts nowhere. The walk is the ratio of two index
processes of equal law, keyed by the symbol: who asks, and how often, changes nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from sim.actors.participants.recurring_fair_price import UNIT, RecurringFairPrice, within_bounds
from sim.core.exchange import Exchange
from sim.core.market_data.assets import PRICE_SCALE
from sim.core.market_data.index_process import DAY, MINUTE, IndexProcess
from sim.core.model.quantities import scaled_down
from sim.kernel.instants import NS_PER_S, Instant, parse_span
from sim.scenario.participant_entries import FairEntry, PathPoint

HIGHEST_VOLATILITY = UNIT // 20
_USUAL_VOLATILITY = "0.01"
# At even odds a dollar of the price is four of the odds, and each of two processes moves by the
# root of a half: 4 * 0.7071, in the process's millionths.
_VOLATILITY_OF_EACH = 2_828_427


class FairPrice:
    """The fair price of one instrument, in UNITs of a dollar."""

    __slots__ = (
        "_asset",
        "_base",
        "_exchange",
        "_news",
        "_origin",
        "_path",
        "_start_second",
        "_strike",
        "_walk",
        "_width",
    )

    def __init__(self, exchange: Exchange, entry: FairEntry, start: Instant, base: int) -> None:
        """`base` is its price at the start, where neither a path nor an asset says otherwise."""
        self._exchange = exchange
        self._base = base
        self._path = path_of(entry.path, start)
        self._asset = entry.asset
        self._strike, self._width = (
            scaled_down(entry.strike, PRICE_SCALE),
            max(1, scaled_down(entry.width, PRICE_SCALE)),
        )
        self._start_second = start // NS_PER_S
        usual = "0" if entry.path or entry.asset else _USUAL_VOLATILITY
        volatility = (
            scaled_down(usual if entry.volatility is None else entry.volatility, UNIT)
            * _VOLATILITY_OF_EACH
            // UNIT
        )
        self._walk: tuple[IndexProcess, IndexProcess] | None = None
        if volatility:
            self._walk = (
                self._process(f"fair.{entry.symbol}.up", volatility),
                self._process(f"fair.{entry.symbol}.down", volatility),
            )
        self.turn(None)

    @property
    def news(self) -> tuple[Instant, int] | None:
        """When somebody last said what it is worth, and what; None when nobody did."""
        return self._news

    def turn(self, news: tuple[Instant, int] | None) -> None:
        """Be worth so much from an instant on, and walk from there; None: as at the start."""
        self._news = news
        second = self._start_second if news is None else news[0] // NS_PER_S
        self._origin = (
            (_tick(self._walk[0], second), _tick(self._walk[1], second))
            if self._walk is not None
            else (1, 1)
        )

    def _process(self, name: str, volatility: int) -> IndexProcess:
        day = self._start_second // DAY * DAY
        return IndexProcess(
            self._exchange.ctx.entropy.key(name),
            first_day=day,
            every=1,
            volatility=volatility,
            nodes_kept=120,
            minutes_kept=2,
        )

    def at(self, now: Instant) -> int:
        """The price at an instant, the start or later."""
        base = self._bare(now)
        if self._walk is None:
            return base
        second = max(now // NS_PER_S, self._start_second)
        (up, down), (up_first, down_first) = self._walk, self._origin
        odds = base * _tick(up, second) * down_first
        against = (UNIT - base) * _tick(down, second) * up_first
        return UNIT * odds // (odds + against)

    def _bare(self, now: Instant) -> int:
        if self._news is not None:
            return self._news[1]
        if self._asset:
            price = self._exchange.assets.price(self._asset)
            return (
                self._base
                if price is None
                else within_bounds(UNIT // 2 + UNIT * (price - self._strike) // self._width)
            )
        return along(self._path, now) if self._path else self._base


def path_of(points: tuple[PathPoint, ...], start: Instant) -> list[tuple[Instant, int]]:
    """(instant, price) of a path's points."""
    return [
        (
            start + parse_span(point.at) if isinstance(point.at, str) else point.at,
            within_bounds(scaled_down(point.price, UNIT)),
        )
        for point in points
    ]


def along(path: list[tuple[Instant, int]], now: Instant) -> int:
    """The price on the straight line between the points around an instant; outside the path that of
    its nearest end.
    """
    index = bisect_right(path, now, key=lambda point: point[0])
    if not index or index == len(path):
        return path[0 if not index else -1][1]
    (before, low), (after, high) = path[index - 1], path[index]
    return low + (high - low) * (now - before) // (after - before)


def _tick(process: IndexProcess, second: int) -> int:
    """Value of a process at a second."""
    return process.ticks(second // MINUTE * MINUTE)[second % MINUTE][1]


class FairPrices:
    """Fair prices by symbol, as the entries say, or of defaults. `first` is what instruments are
    worth at the start, looked up when they are first named.
    """

    __slots__ = ("_entries", "_exchange", "_prices", "_start", "first")

    def __init__(
        self,
        exchange: Exchange,
        entries: tuple[FairEntry, ...],
        start: Instant,
        first: Mapping[str, int] | None = None,
    ) -> None:
        self.first = dict(first or {})
        self._exchange = exchange
        self._start = start
        self._entries = {entry.symbol: entry for entry in entries}
        self._prices: dict[str, FairPrice | RecurringFairPrice] = {}

    def forget(self, symbol: str) -> None:
        """Nobody asks for an instrument any more."""
        self._prices.pop(symbol, None)

    def of(self, symbol: str) -> FairPrice | RecurringFairPrice:
        """The fair price of an instrument."""
        found = self._prices.get(symbol)
        if found is None and self._exchange.recurring.slot_of_symbol(symbol) is not None:
            found = self._prices[symbol] = RecurringFairPrice(
                self._exchange, self._exchange.instruments.require(symbol)
            )
        elif found is None:
            entry = self._entries.get(symbol) or FairEntry(symbol=symbol)
            base = self.first.get(symbol)
            if base is None:
                base = self.first[symbol] = within_bounds(
                    scaled_down(entry.start, UNIT) if entry.start else self._seen(symbol)
                )
            found = self._prices[symbol] = FairPrice(self._exchange, entry, self._start, base)
        return found

    def save(self) -> dict[str, tuple[Instant, int]]:
        """What somebody said, by symbol."""
        return {
            symbol: price.news for symbol, price in self._prices.items() if price.news is not None
        }

    def load(self, state: Mapping[str, tuple[Instant, int]]) -> None:
        """Go on from what was saved."""
        for symbol, price in self._prices.items():
            if price.news != state.get(symbol):
                price.turn(state.get(symbol))

    def _seen(self, symbol: str) -> int:
        scale = self._exchange.instruments.require(symbol).price_scale
        return self._exchange.trading.listings.fair_price(symbol) * UNIT // scale
