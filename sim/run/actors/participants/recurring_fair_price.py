"""The fair price of an instrument of a recurring market, computed from its index on request.

The instrument pays a dollar if the index ends no lower than it began. The price is half a dollar
while the index is where it began, and changes with the distance in typical moves of the remaining
time. In a normal distribution 0.4 of the cases are within the first typical move to one side, so
one such move is worth 0.4 dollars.
"""

from __future__ import annotations

from math import isqrt

from sim.core.exchange import Exchange
from sim.core.model.instrument import Instrument
from sim.kernel.instants import HOUR, NS_PER_S, Instant

UNIT = 10**12  # one dollar of a fair price
_MILLION = 1_000_000


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


def within_bounds(price: int) -> int:
    """The price, at least a tenth of a cent from either end, because no outcome is certain."""
    return min(max(price, UNIT // 1000), UNIT - UNIT // 1000)
