"""Priced assets and their index ticks.

Ticks come from a seeded process (`index_process.py`), which is silent during outages. From the
first manual tick on, an asset has manual ticks only, because whoever scripts prices wants to know
them all. The first manual tick of an unknown asset creates it. Reading a tick changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort_right
from functools import reduce

from msgspec import Struct, field
from msgspec.structs import replace

from sim.core.catalogue.bounds import INDEX_PRICE
from sim.core.market_data.index_process import DAY, MINUTE, PART, Ohlc, process_of
from sim.core.model.context import Context
from sim.core.model.index_conditions import Family, IndexCondition, IndexObservation, Price
from sim.core.model.quantities import NotADecimal, decimal_text, scaled
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import NS_PER_S, Instant

PRICE_SCALE = 100_000_000
CRYPTO = "crypto"

HOUR = 3_600
_MEANS_KEPT = 1_024
_ID = re.compile(r"crypto:[a-z0-9-]{1,64}", re.ASCII)


class Asset(Struct, kw_only=True):
    """One asset, `crypto:<symbol>`.

    Prices are divided by PRICE_SCALE; `since`, `every` and outages are unix seconds. `price` is the
    price at `price_at` (0: at the first tick), or None for an asset with manual ticks only.
    `volatility` is the typical relative move in an hour, in millionths.
    """

    id: str
    currency: str = "USD"
    price: Price | None = None
    price_at: int = 0
    since: int = 0
    every: int = 1
    volatility: int = 4_000
    places: int = 2
    outages: tuple[tuple[int, int], ...] = ()
    by_hand: list[tuple[Instant, Price]] = field(default_factory=list)

    @property
    def symbol(self) -> str:
        """The id without its class."""
        return self.id.partition(":")[2]

    def problems(self) -> list[str]:
        """Return the problems of these terms; empty if they are valid."""
        problems = []
        if not _ID.fullmatch(self.id):
            problems.append("id must be crypto:<symbol>, at most 64 of a-z, 0-9 and -")
        if self.every < 1 or MINUTE % self.every or self.every > 15:
            problems.append("every must be whole seconds that divide a minute, at most 15s")
        if not 0 <= self.places <= 8:
            problems.append("places must be between 0 and 8")
        if not 0 <= self.volatility <= 200_000:
            problems.append("volatility must be between 0 and 0.2")
        return problems

    def show(self, price: Price) -> str:
        """Return a price as decimal text with at least two places."""
        return decimal_text(price, PRICE_SCALE, 2)


class Ticker:
    """Reads the ticks of one asset."""

    __slots__ = ("_asset", "_base", "_means", "_process")

    def __init__(self, asset: Asset, key: bytes) -> None:
        self._asset = asset
        self._process = process_of(key, asset.since // DAY * DAY, asset.every, asset.volatility)
        # Relative value of the tick at which `price` applies; computed on first use.
        self._base = 0
        self._means: dict[tuple[Instant, int], Price | None] = {}

    @property
    def asset(self) -> Asset:
        """The asset whose ticks it reads."""
        return self._asset

    def summary(self, start: int, width: int, now: int) -> Ohlc | None:
        """Return the prices of `width` seconds from `start`, up to `now`.

        None if there are no ticks.
        """
        bucket = self._seeded(start, width, now)
        for price in self._by_hand(start, min(start + width, now + 1)):
            bucket = _joined(bucket, Ohlc(price, price, price, price, 1))
        return bucket

    def last(self, end: int) -> Price | None:
        """Return the price of the last tick before a second; None before the first."""
        return self.at(end * NS_PER_S - 1)

    def at(self, instant: Instant) -> Price | None:
        """Return the price of the last tick at or before an instant; None before the first."""
        by_hand = self._asset.by_hand
        index = bisect_left(by_hand, (instant + 1,))
        if index:
            return by_hand[index - 1][1]
        second = self._last_seeded(instant // NS_PER_S + 1)
        return None if second is None else self._price(self._raw(second))

    def mean(self, instant: Instant) -> Price | None:
        """Return the mean of the index prices of the minute that ends at an instant.

        It averages one price per second, from 59 seconds before on, each that of the last tick so
        far, and is rounded half up to the asset's places. None before the first tick.
        """
        version = instant, len(self._asset.by_hand)
        if version not in self._means:
            if len(self._means) >= _MEANS_KEPT:
                self._means.clear()
            seconds = (instant - age * NS_PER_S for age in range(MINUTE))
            prices = [price for price in map(self.at, seconds) if price is not None]
            unit = 10 ** (8 - self._asset.places)
            per_unit = unit * len(prices)
            self._means[version] = (
                (sum(prices) + per_unit // 2) // per_unit * unit if prices else None
            )
        return self._means[version]

    def hits(self, condition: IndexCondition, until: Instant) -> bool:
        """Return whether the mean of a whole minute between `begins` and `until` reached a level.

        Hours in which no tick reached it are skipped.
        """
        first, stop = -(-condition.begins // NS_PER_S), until // NS_PER_S
        for hour in range(first // HOUR * HOUR, stop, HOUR):
            traded = self.summary(hour, HOUR, stop)
            carried = self.at(hour * NS_PER_S)
            prices = (carried, *(() if traded is None else traded[1:3]))
            if any(price is not None and condition.met(price) for price in prices):
                minutes = range(max(hour, first + MINUTE), min(hour + HOUR, stop) + 1)
                for second in minutes:
                    if second % MINUTE == 0:
                        mean = self.mean(second * NS_PER_S)
                        if mean is not None and condition.met(mean):
                            return True
        return False

    def _raw(self, second: int) -> int:
        """Return the relative value of the seeded tick at a second."""
        return self._process.price(second)

    def _by_hand(self, start: int, end: int) -> list[Price]:
        ticks = self._asset.by_hand
        first = bisect_left(ticks, (start * NS_PER_S,))
        last = bisect_left(ticks, (end * NS_PER_S,))
        return [price for _, price in ticks[first:last]]

    def _seeded(self, start: int, width: int, now: int) -> Ohlc | None:
        if self._asset.price is None:
            return None
        silent = self._silences(now + 1)
        if width >= MINUTE:
            raw = self._node(width, start, silent)
        else:
            raw = _of_ticks(self._minute(start, silent), start, start + width)
        if raw is None:
            return None
        opened, high, low, close = map(self._price, raw[:4])
        return Ohlc(opened, high, low, close, raw.ticks)

    def _node(self, width: int, start: int, silent: list[tuple[int, int]]) -> Ohlc | None:
        """Return a span of the tree without its silent parts."""
        end = start + width
        if any(low <= start and end <= high for low, high in silent):
            return None
        if not any(low < end and start < high for low, high in silent):
            return self._process.node(width, start)
        if width == MINUTE:
            return _of_ticks(self._minute(start, silent), start, end)
        part = PART[width]
        parts = (self._node(part, begin, silent) for begin in range(start, end, part))
        return reduce(_joined, parts, None)

    def _minute(self, second: int, silent: list[tuple[int, int]]) -> list[tuple[int, Price]]:
        minute = second // MINUTE * MINUTE
        ticks = self._process.ticks(minute) if minute >= self._asset.since // DAY * DAY else []
        if not any(low < minute + MINUTE and minute < high for low, high in silent):
            return ticks
        return [tick for tick in ticks if not any(low <= tick[0] < high for low, high in silent)]

    def _silences(self, stop: int) -> list[tuple[int, int]]:
        """Return the spans [from, to) without seeded ticks. The last one begins at `stop`."""
        asset = self._asset
        if asset.by_hand:
            stop = min(stop, -(-asset.by_hand[0][0] // NS_PER_S))
        return [(_DAWN, asset.since), *asset.outages, (stop, _DUSK)]

    def _last_seeded(self, end: int) -> int | None:
        """Return the second of the last seeded tick before `end`."""
        asset = self._asset
        if asset.price is None:
            return None
        second = end  # in the last silent span, which begins there at the latest
        for low, high in sorted(self._silences(end), reverse=True):
            if low <= second < high:
                second = (low - 1) // asset.every * asset.every
        return second if second >= asset.since else None

    def _price(self, raw: int) -> Price:
        """Return the price of a relative value, cut to the asset's places.

        The mapping is monotonic.
        """
        asset = self._asset
        if not self._base:
            first = -(-max(asset.since, asset.price_at) // asset.every) * asset.every
            self._base = self._raw(first)
        unit: int = 10 ** (8 - asset.places)
        return max(raw * (asset.price or 0) // self._base // unit * unit, unit)


_DAWN, _DUSK = -(2**62), 2**62


class Assets:
    """Every priced asset by id."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._assets: dict[str, Asset] = {}
        self._tickers: dict[str, Ticker] = {}

    def add(self, asset: Asset) -> None:
        """Add a copy of an asset. Raises ValueError with the problems of its terms."""
        problems = asset.problems()
        if problems:
            raise ValueError("; ".join(problems))
        asset = replace(asset, by_hand=list(asset.by_hand))
        self._assets[asset.id] = asset
        self._tickers.pop(asset.id, None)

    def get(self, asset_id: str) -> Ticker | None:
        """Return the ticker of an asset, or None for an unknown one."""
        ticker = self._tickers.get(asset_id)
        if ticker is None and (asset := self._assets.get(asset_id)) is not None:
            key = self._ctx.entropy.key(f"asset.{asset_id}")
            ticker = self._tickers[asset_id] = Ticker(asset, key)
        return ticker

    def all(self) -> list[Asset]:
        """Return the assets in the order in which they were added."""
        return list(self._assets.values())

    def price(self, asset_id: str) -> Price | None:
        """Return the price of the last tick up to now; None if there was none."""
        ticker = self.get(asset_id)
        return ticker.last(self._ctx.now // NS_PER_S + 1) if ticker is not None else None

    def observe(self, condition: IndexCondition, now: Instant) -> IndexObservation:
        """Return what a market's condition needs to know about the index, as far as it is known."""
        ticker = self.get(condition.asset)
        if ticker is None:
            return IndexObservation()
        compares, hits = condition.family is Family.UPDOWN, condition.family is Family.HIT
        return IndexObservation(
            ticker.mean(condition.begins) if compares and now >= condition.begins else None,
            ticker.mean(condition.ends) if now >= condition.ends else None,
            hits and ticker.hits(condition, min(now, condition.ends)),
        )

    def tick(self, asset_id: str, price: str, at: Instant | None = None) -> Asset:
        """Add a manual tick, now or at an earlier instant. Creates the asset if it is new."""
        try:
            units = scaled(price, PRICE_SCALE)
        except NotADecimal as wrong:
            remedy = 'send decimal text such as "63000.5"'
            raise InvalidRequest(f"price: {wrong}", remedy=remedy) from None
        if units > INDEX_PRICE.high * PRICE_SCALE:
            raise InvalidRequest(INDEX_PRICE.text(), rule="T3")
        when = self._ctx.now if at is None else at
        if units <= 0 or when > self._ctx.now:
            text = "a tick needs a price above zero and an instant that is not in the future"
            raise InvalidRequest(text, remedy="advance the clock first")
        asset = self._assets.get(asset_id)
        if asset is None:
            try:
                self.add(Asset(id=asset_id))
            except ValueError as wrong:
                raise InvalidRequest(str(wrong), remedy="use a name such as crypto:btc") from None
            asset = self._assets[asset_id]
        insort_right(asset.by_hand, (when, units), key=lambda tick: tick[0])
        return asset

    def save(self) -> list[Asset]:
        """Return the assets themselves."""
        return self.all()

    def load(self, state: list[Asset]) -> None:
        """Restore saved assets."""
        self._assets.clear()
        self._tickers.clear()
        for asset in state:
            self.add(asset)


def _of_ticks(ticks: list[tuple[int, Price]], start: int, end: int) -> Ohlc | None:
    prices = [price for second, price in ticks if start <= second < end]
    return Ohlc(prices[0], max(prices), min(prices), prices[-1], len(prices)) if prices else None


def _joined(first: Ohlc | None, second: Ohlc | None) -> Ohlc | None:
    """Return two consecutive spans as one."""
    if first is None or second is None:
        return second if first is None else first
    return Ohlc(
        first.open,
        max(first.high, second.high),
        min(first.low, second.low),
        second.close,
        first.ticks + second.ticks,
    )
