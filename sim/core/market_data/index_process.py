"""A seeded index price that can be read for any range without generating the ticks before it.

The process is drawn from the top down. A day's open, high, low and close come first; the day is
split into hours, these into quarters, five minutes and minutes, and a minute into its ticks. Each
split keeps the open and close of the whole at its ends, and reaches its high and low in some part.
So a candle of any width is read from a few nodes of this tree and always agrees with the ticks
inside it. Values are relative: 10^12 is the open of the first day.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_128
from itertools import pairwise
from math import isqrt
from struct import unpack
from typing import NamedTuple

UNIT = 10**12
DAY, MINUTE = 86_400, 60
_LEVELS = (DAY, 3_600, 900, 300, MINUTE)
PART = dict(pairwise(_LEVELS))  # width of a span -> width of its parts
_NODES_KEPT = 20_000
_MINUTES_KEPT = 512
_PROCESSES_KEPT = 64


class Ohlc(NamedTuple):
    """First, highest, lowest and last tick of a span, and the number of ticks."""

    open: int
    high: int
    low: int
    close: int
    ticks: int


class IndexProcess:
    """An endless series from `first_day` on, with a tick every `every` seconds.

    `every` divides 60 and is at most 15. `volatility` is the typical relative move in an hour,
    in millionths. Everything follows from the key; the object only caches at most `nodes_kept`
    spans and `minutes_kept` minutes of ticks. Threads may share it, because they would all cache
    the same values.
    """

    def __init__(
        self,
        key: bytes,
        *,
        first_day: int,
        every: int,
        volatility: int,
        nodes_kept: int = _NODES_KEPT,
        minutes_kept: int = _MINUTES_KEPT,
    ) -> None:
        self._key = key
        self._first_day = first_day
        self._every = every
        self._volatility = volatility
        self._nodes_kept = nodes_kept
        self._minutes_kept = minutes_kept
        self._days: dict[int, Ohlc] = {}
        self._nodes: dict[tuple[int, int], Ohlc] = {}
        self._minutes: dict[int, list[tuple[int, int]]] = {}

    def node(self, width: int, start: int) -> Ohlc:
        """Return the span of `width` seconds (a width of the tree) from unix second `start`."""
        if width == DAY:
            return self._day((start - self._first_day) // DAY)
        cached = self._nodes.get((width, start))
        if cached is None:
            if len(self._nodes) > self._nodes_kept:
                self._nodes.clear()
            wider = next(level for level in _LEVELS if PART.get(level) == width)
            parts = dict(self.split(wider, start // wider * wider))
            self._nodes.update(((width, part), ohlc) for part, ohlc in parts.items())
            cached = parts[start]
        return cached

    def split(self, width: int, start: int) -> list[tuple[int, Ohlc]]:
        """Return the parts of a span wider than a minute, as (start, prices)."""
        part = PART[width]
        count = width // part
        span = self.node(width, start)
        draws = self._draws(width, start, 4 * count)
        spread = span.high - span.low
        step = spread * 16 // isqrt(256 * count)
        gap = spread // (8 * isqrt(width // self._every))
        closes = _bridge(span.open, span.close, span.low, span.high, step, draws[:count])
        parts: list[Ohlc] = []
        opened = span.open
        for index, close in enumerate(closes):
            high = min(span.high, max(opened, close) + step * draws[count + index] // 131_072)
            low = max(span.low, min(opened, close) - step * draws[2 * count + index] // 131_072)
            parts.append(Ohlc(opened, high, low, close, part // self._every))
            move = gap * (draws[3 * count + index] - 32_768) // 32_768
            opened = _clip(close + move, span.low, span.high)
        top = max(range(count), key=lambda index: parts[index].high)
        parts[top] = parts[top]._replace(high=span.high)
        bottom = min(range(count), key=lambda index: parts[index].low)
        parts[bottom] = parts[bottom]._replace(low=span.low)
        return [(start + index * part, ohlc) for index, ohlc in enumerate(parts)]

    def price(self, second: int) -> int:
        """Return the price at a unix second: that of its tick, or of the last tick before it."""
        offset = second % MINUTE
        return self.ticks(second - offset)[offset // self._every][1]

    def ticks(self, minute: int) -> list[tuple[int, int]]:
        """Return the ticks of the minute from unix second `minute`, as (second, price)."""
        cached = self._minutes.get(minute)
        if cached is None:
            if len(self._minutes) > self._minutes_kept:
                self._minutes.clear()
            cached = self._minutes[minute] = self._tick(minute)
        return cached

    def _tick(self, minute: int) -> list[tuple[int, int]]:
        span = self.node(MINUTE, minute)
        count = MINUTE // self._every
        step = (span.high - span.low) * 16 // isqrt(256 * count)
        draws = self._draws(self._every, minute, count)
        path = _bridge(span.open, span.close, span.low, span.high, step, draws[1:])
        prices = [span.open, *path]
        inner = range(1, count - 1)
        top = max(inner, key=prices.__getitem__)
        if max(prices) < span.high:
            prices[top] = span.high
        if min(prices) > span.low:
            bottom = min((index for index in inner if index != top), key=prices.__getitem__)
            prices[bottom] = span.low
        return [(minute + index * self._every, price) for index, price in enumerate(prices)]

    def _day(self, index: int) -> Ohlc:
        days = self._days
        for number in range(len(days), index + 1):
            draws = self._draws(DAY, number, 8)
            opened = days[number - 1].close if number else UNIT
            # The move of an hour times the root of 24. The sum of four uniform draws is close to a
            # normal distribution with standard deviation 37837.
            typical = opened * self._volatility * 49 // 10_000_000
            close = max(opened + typical * (sum(draws[:4]) - 131_070) // 37_837, opened // 4)
            high = max(opened, close) + typical * draws[4] // 65_536
            low = max(min(opened, close) - typical * draws[5] // 65_536, opened // 5)
            days[number] = Ohlc(opened, high, low, close, DAY // self._every)
        return days[index]

    def _draws(self, width: int, start: int, count: int) -> tuple[int, ...]:
        """Return uniform 16-bit integers for a node."""
        node = shake_128(self._key + b"%d:%d" % (width, start))
        return unpack(f">{count}H", node.digest(2 * count))


@lru_cache(maxsize=_PROCESSES_KEPT)
def process_of(key: bytes, first_day: int, every: int, volatility: int) -> IndexProcess:
    """Return the process of a key.

    Runs with the same key, such as forks, share it and its cache.
    """
    return IndexProcess(key, first_day=first_day, every=every, volatility=volatility)


def _bridge(
    start: int, end: int, low: int, high: int, step: int, draws: tuple[int, ...]
) -> list[int]:
    """Return a random path of len(draws) points from `start` to `end`, within the bounds."""
    path = []
    at = start
    for left, draw in zip(range(len(draws), 1, -1), draws[:-1], strict=True):
        at += (end - at) // left + step * (draw - 32_768) // 32_768
        at = low if at < low else high if at > high else at
        path.append(at)
    path.append(end)
    return path


def _clip(value: int, low: int, high: int) -> int:
    return low if value < low else high if value > high else value
