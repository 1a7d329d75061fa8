"""The fair price of an instrument at any instant, computed without a timer and without computing
earlier instants.

Theory. A fair price is a base price whose odds follow a seeded random walk.

* The base follows the entry: a fixed start, a path of (instant, price) points with straight lines
  between them, or an asset's index (half a dollar at `strike`, 0 or 1 half a `width` away from it).
  A price that an operator sets replaces the base from that instant on.
* The walk multiplies the odds p / (1 - p) of the base by a ratio U / D of two index processes. Odds
  keep the price between 0 and 1, and because U and D have the same distribution the walk has no
  drift. At the origin (the start, or the instant at which a price was set) the ratio is 1.
* `volatility` is the typical move in an hour of a price of half a dollar. There, a change of the
  odds by a factor 1 + x moves the price by x / 4; each of two independent processes contributes the
  root of one half of that. Hence the factor 4 * 0.7071 between the entry and each process.
* The processes are keyed by the symbol and can be evaluated at any second, so the number and order
  of evaluations has no influence.

An instrument of a recurring market pays a dollar if the index ends no lower than it began. Its
price is half a dollar while the index is where it began, and changes with the distance in typical
moves of the remaining time. In a normal distribution 0.4 of the cases are within the first typical
move to one side, so one such move is worth 0.4 dollars.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from math import isqrt

from sim.core.exchange import Exchange
from sim.core.market_data.assets import PRICE_SCALE
from sim.core.market_data.index_process import DAY, IndexProcess
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import scaled_down
from sim.kernel.instants import HOUR, NS_PER_S, Instant, parse_span
from sim.world.format.participant_entries import FairEntry, PathPoint

UNIT = 10**12  # one dollar of a fair price
HIGHEST_VOLATILITY = UNIT // 20
_USUAL_VOLATILITY = "0.01"
# 4 * 0.7071 in millionths: see the theory above.
_VOLATILITY_OF_EACH = 2_828_427
_MILLION = 1_000_000


class FairPrice:
    """The fair price of one instrument, in UNITs of a dollar."""

    def __init__(self, exchange: Exchange, entry: FairEntry, start: Instant, base: int) -> None:
        """`base` is the price at the start, unless the entry has a path or an asset."""
        self._exchange = exchange
        self._base = base
        self._path = path_of(entry.path, start)
        self._asset = entry.asset
        self._strike = scaled_down(entry.strike, PRICE_SCALE)
        self._width = max(1, scaled_down(entry.width, PRICE_SCALE))
        self._start_second = start // NS_PER_S
        usual = "0" if entry.path or entry.asset else _USUAL_VOLATILITY
        stated = usual if entry.volatility is None else entry.volatility
        volatility = scaled_down(stated, UNIT) * _VOLATILITY_OF_EACH // UNIT
        self._walk: tuple[IndexProcess, IndexProcess] | None = None
        if volatility:
            up, down = f"fair.{entry.symbol}.up", f"fair.{entry.symbol}.down"
            self._walk = self._process(up, volatility), self._process(down, volatility)
        self.set_price(None)

    @property
    def price_set(self) -> tuple[Instant, int] | None:
        """When a price was last set, and the price; None if none was."""
        return self._price_set

    def set_price(self, price_set: tuple[Instant, int] | None) -> None:
        """Set the price at an instant, from which it walks; None: follow the entry again."""
        self._price_set = price_set
        second = self._start_second if price_set is None else price_set[0] // NS_PER_S
        self._origin = (1, 1)
        if self._walk is not None:
            up, down = self._walk
            self._origin = up.price(second), down.price(second)

    def _process(self, name: str, volatility: int) -> IndexProcess:
        day = self._start_second // DAY * DAY
        key = self._exchange.ctx.entropy.key(name)
        return IndexProcess(
            key, first_day=day, every=1, volatility=volatility, nodes_kept=120, minutes_kept=2
        )

    def at(self, now: Instant) -> int:
        """The price at an instant, the start or later."""
        base = self._base_at(now)
        if self._walk is None:
            return base
        second = max(now // NS_PER_S, self._start_second)
        (up, down), (up_first, down_first) = self._walk, self._origin
        odds = base * up.price(second) * down_first
        against = (UNIT - base) * down.price(second) * up_first
        return UNIT * odds // (odds + against)

    def _base_at(self, now: Instant) -> int:
        if self._price_set is not None:
            return self._price_set[1]
        if self._asset:
            price = self._exchange.assets.price(self._asset)
            if price is None:
                return self._base
            return within_bounds(UNIT // 2 + UNIT * (price - self._strike) // self._width)
        return along(self._path, now) if self._path else self._base


def path_of(points: tuple[PathPoint, ...], start: Instant) -> list[tuple[Instant, int]]:
    """(instant, price) of a path's points."""
    path = []
    for point in points:
        at = start + parse_span(point.at) if isinstance(point.at, str) else point.at
        path.append((at, within_bounds(scaled_down(point.price, UNIT))))
    return path


def within_bounds(price: int) -> int:
    """The price, at least a tenth of a cent from either end, because no outcome is certain."""
    return min(max(price, UNIT // 1000), UNIT - UNIT // 1000)


def along(path: list[tuple[Instant, int]], now: Instant) -> int:
    """The price on the straight line between the points around an instant; before and after the
    path, that of its first and last point.
    """
    index = bisect_right(path, now, key=lambda point: point[0])
    if not index or index == len(path):
        return path[0 if not index else -1][1]
    (before, low), (after, high) = path[index - 1], path[index]
    return low + (high - low) * (now - before) // (after - before)


class RecurringFairPrice:
    """The fair price of one instrument of a recurring market, in UNITs of a dollar."""

    __slots__ = ("_exchange", "_instrument", "price_set")

    def __init__(self, exchange: Exchange, instrument: Instrument) -> None:
        self._exchange = exchange
        self._instrument = instrument
        self.price_set: tuple[Instant, int] | None = None

    def set_price(self, price_set: tuple[Instant, int] | None) -> None:
        """Set the price from now on, independent of the index; None: follow the index again."""
        self.price_set = price_set

    def at(self, now: Instant) -> int:
        """The price at an instant."""
        if self.price_set is not None:
            return self.price_set[1]
        measure, assets = self._instrument.index_condition, self._exchange.assets
        if measure is None:
            return UNIT // 2
        ticker, price = assets.get(measure.asset), assets.price(measure.asset)
        if ticker is None or price is None:
            return UNIT // 2
        began = assets.observe(measure, now).to_beat
        if began is None:
            return UNIT // 2
        left = max(measure.ends - now, NS_PER_S)
        # An hour's typical move in millionths, times the root of the remaining hours; in a normal
        # distribution 0.4 of the cases are within the first such move.
        root = isqrt(left * _MILLION // HOUR)
        typical = max(1, began * ticker.asset.volatility * root // (_MILLION * 1_000))
        return within_bounds(UNIT // 2 + UNIT * 2 * (price - began) // (5 * typical))


class FairPrices:
    """Fair prices by symbol, from the entries or by default.

    `first` has the start prices of instruments without a given price, which are looked up
    on first use.
    """

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
        """Remove the fair price of an instrument that no longer trades."""
        self._prices.pop(symbol, None)

    def of(self, symbol: str) -> FairPrice | RecurringFairPrice:
        """The fair price of an instrument."""
        if symbol not in self._prices:
            self._prices[symbol] = self._create(symbol)
        return self._prices[symbol]

    def _create(self, symbol: str) -> FairPrice | RecurringFairPrice:
        exchange = self._exchange
        if exchange.recurring.slot_of_symbol(symbol) is not None:
            return RecurringFairPrice(exchange, exchange.instruments.require(symbol))
        entry = self._entries.get(symbol) or FairEntry(symbol=symbol)
        if symbol not in self.first:
            start = scaled_down(entry.start, UNIT) if entry.start else self._market_price(symbol)
            self.first[symbol] = within_bounds(start)
        return FairPrice(exchange, entry, self._start, self.first[symbol])

    def _market_price(self, symbol: str) -> int:
        scale = self._exchange.instruments.require(symbol).price_scale
        return self._exchange.trading.listings.fair_price(symbol) * UNIT // scale

    def save(self) -> dict[str, tuple[Instant, int]]:
        """The prices that were set, by symbol."""
        prices_set = ((symbol, price.price_set) for symbol, price in self._prices.items())
        return {symbol: price_set for symbol, price_set in prices_set if price_set is not None}

    def load(self, state: Mapping[str, tuple[Instant, int]]) -> None:
        """Continue from saved prices."""
        for symbol, price in self._prices.items():
            if price.price_set != state.get(symbol):
                price.set_price(state.get(symbol))
