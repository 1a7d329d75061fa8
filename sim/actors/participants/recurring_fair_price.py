"""What automated windows are worth to scripted participants: what their index says, computed when
somebody asks.
"""

from __future__ import annotations

from math import isqrt

from sim.core.exchange import Exchange
from sim.core.model.instrument import Instrument
from sim.kernel.instants import HOUR, NS_PER_S, Instant

UNIT = 10**12  # one dollar of a fair price
_MILLION = 1_000_000


class RecurringFairPrice:
    """What a window is worth: half a dollar while the index is where it began, and more or less by
    how far it has gone, in typical moves of the time left.
    """

    __slots__ = ("_exchange", "_instrument", "news")

    def __init__(self, exchange: Exchange, instrument: Instrument) -> None:
        self._exchange = exchange
        self._instrument = instrument
        self.news: tuple[Instant, int] | None = None

    def turn(self, news: tuple[Instant, int] | None) -> None:
        """Be worth so much from now on, whatever the index does; None: as the index says."""
        self.news = news

    def at(self, now: Instant) -> int:
        """The price at an instant, in UNITs of a dollar."""
        if self.news is not None:
            return self.news[1]
        measure, assets = self._instrument.index_condition, self._exchange.assets
        ticker = assets.get(measure.asset) if measure is not None else None
        price = assets.price(measure.asset) if measure is not None else None
        if (
            measure is None
            or ticker is None
            or price is None
            or (began := assets.observe(measure, now).to_beat) is None
        ):
            return UNIT // 2
        left = max(measure.ends - now, NS_PER_S)
        # An hour's typical move in millionths, times the root of the hours left; of a bell curve
        # 0.4 lies within the first such move.
        typical = max(
            1,
            began * ticker.asset.volatility * isqrt(left * _MILLION // HOUR) // (_MILLION * 1_000),
        )
        return within_bounds(UNIT // 2 + UNIT * 2 * (price - began) // (5 * typical))


def within_bounds(price: int) -> int:
    """A price that is no certainty: a tenth of a cent from either end at least."""
    return min(max(price, UNIT // 1000), UNIT - UNIT // 1000)
