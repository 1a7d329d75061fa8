"""Candles of an asset's index ticks (§2.2, §4.1): the range for a request, and its candles.

Ranges are in whole unix seconds; ticks come from `assets.py`. The cost depends on the range alone,
not on the length of the history.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from sim.core.market_data.assets import Ticker
from sim.core.model.index_conditions import Price

CANDLES_MAX = 3600


class Bucket(IntEnum):
    """Width of a candle. Values are the numbers of the wire format."""

    S1 = 1
    S5 = 2
    S15 = 3
    M1 = 4
    M5 = 5
    M15 = 6
    H1 = 7
    D1 = 8

    @property
    def width(self) -> int:
        """The width in seconds."""
        return _WIDTHS[self]


_WIDTHS = {
    Bucket.S1: 1,
    Bucket.S5: 5,
    Bucket.S15: 15,
    Bucket.M1: 60,
    Bucket.M5: 300,
    Bucket.M15: 900,
    Bucket.H1: 3600,
    Bucket.D1: 86_400,
}
_SUB_MINUTE_ALIGNMENT = 10


class CandleRange(NamedTuple):
    """An effective range in unix seconds: the buckets from `start` to `last`, inclusive.

    `end` is the end that the answer shows.
    """

    start: int
    end: int
    last: int


class Candle(NamedTuple):
    """One bucket. With 0 `ticks` it fills a gap, and every price is the previous one."""

    start: int
    open: Price
    high: Price
    low: Price
    close: Price
    ticks: int


def align_window(start: int, end: int, bucket: Bucket, now: int) -> CandleRange:
    """Return the effective range of a request (§4.1, rules of `from` and `to`), in unix seconds.

    An `end` of 0, or not before now, means now, including the running bucket. An earlier one is
    aligned up: to 10 s for buckets below a minute, else to the bucket. The range is clamped, never
    refused: the start is aligned down to the bucket, raised until at most `CANDLES_MAX` buckets are
    left, and lowered to the last bucket if it is after it.
    """
    width = bucket.width
    running = end <= 0 or end >= now
    if not running:
        step = _SUB_MINUTE_ALIGNMENT if width < _WIDTHS[Bucket.M1] else width
        end = -(-end // step) * step
        running = end > now
    if running:
        end = now
    last = (end if running else end - 1) // width * width
    start = max(start // width * width, last - (CANDLES_MAX - 1) * width, 0)
    return CandleRange(min(start, last), end, last)


def candles(ticker: Ticker, window: CandleRange, bucket: Bucket, now: int) -> list[Candle]:
    """Return the candles of a range, ascending, without gaps from the first tick on.

    Empty if there was no tick before the end of the range.
    """
    width = bucket.width
    series: list[Candle] = []
    close = ticker.last(window.start)
    for start in range(window.start, window.last + 1, width):
        ohlc = ticker.summary(start, width, now)
        if ohlc is not None:
            series.append(Candle(start, *ohlc))
            close = ohlc.close
        elif close is not None:
            series.append(Candle(start, close, close, close, close, 0))
    return series
