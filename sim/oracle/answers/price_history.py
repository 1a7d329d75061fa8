"""Candles of asset prices (S2.2-*, S4.1-1 to S4.1-7, rule R13).

The ticks of an index are drawn, so the law judges windows, gaps and the relations of candles, and
that a finished bucket never changes.
"""

from __future__ import annotations

import re
from fractions import Fraction

from sim.oracle.answers.history import NaiveHistory
from sim.oracle.answers.reading import Reading, integer, listed, pairs
from sim.oracle.hearing import Hearing
from sim.oracle.state import Document

CANDLES_MAX, ASSETS_MAX = 3600, 10
WIDTHS = {"1S": 1, "5S": 5, "15S": 15, "1M": 60, "5M": 300, "15M": 900, "1H": 3600, "1D": 86_400}
_ASSET = re.compile(r"crypto:[a-z0-9-]{1,64}")
_SECOND = 1_000_000_000


def _width(request: Document) -> int:
    return WIDTHS.get(str(request.get("bucket", "")).removeprefix("ASSET_PRICE_BUCKET_"), 0)


def is_refused(request: Document) -> bool:
    """Return whether the specification refuses a request (S4.1-7)."""
    assets = set(listed(request.get("assets")))
    valid = 1 <= len(assets) <= ASSETS_MAX and all(map(_ASSET.fullmatch, assets))
    return not valid or not _width(request) or "from" not in request


class PriceHistoryRules(Reading):
    """The part of the law about asset prices."""

    answers = pairs("GatewayAssetPricesAPI.GetAssetPriceHistory:_prices")

    def __init__(self, hearing: Hearing, history: NaiveHistory) -> None:
        super().__init__(hearing, history)
        self._finished: dict[tuple[str, int, int], Document] = {}

    def _prices(self, answer: Document) -> None:
        """Judge the series: one of each distinct asset, by symbol (S4.1-4)."""
        assets = sorted(set(listed(self._request.get("assets"))))
        symbols = [f"crypto:{series['asset']['symbol']}" for series in answer["series"]]
        if self._agree("S4.1-4", "the series", assets, symbols):
            for series in answer["series"]:
                self._series(series)

    def _window(self, width: int) -> tuple[int, int]:
        """Return the effective window in seconds, after alignment and clamping (S4.1-2, S4.1-3)."""
        now = self._hearing.observed.at // _SECOND
        start, end = (integer(self._request.get(name)) for name in ("from", "to"))
        step = 10 if width < 60 else width
        running = not 0 < end < now
        end = now if running else -(-end // step) * step
        if running or end > now:
            end, beyond = now, now // width * width + width
        else:
            beyond = -(-end // width) * width
        start = min(start // width * width, beyond - width)
        return max(start, beyond - CANDLES_MAX * width), end

    def _series(self, series: Document) -> None:
        """Judge a series: its window, and candles that are dense and ascending (S2.2-2, S2.2-3)."""
        candles, width, subject = series["candles"], _width(self._request), "prices of an asset"
        if not candles:
            return
        start, end = self._window(width)
        times = [candle["timestamp"] for candle in candles]
        dense = list(range(times[0], times[0] + width * len(times), width))
        self._agree("R13", f"{subject}: the window", (start, end), (series["from"], series["to"]))
        self._agree("S2.2-3", f"{subject}: the times", dense, times)
        inside = start <= times[0] and times[0] % width == 0 and times[-1] + width >= end
        self._agree("S2.2-3", f"{subject}: the candles fill the window", True, inside)
        close = ""
        for candle in candles:
            self._candle(series["asset"]["symbol"], width, candle, close)
            close = candle["close"]

    def _candle(self, symbol: str, width: int, candle: Document, before: str) -> None:
        """Judge a candle; without ticks it carries the close before it forward (S2.2-4)."""
        names = ("low", "open", "close", "high")
        low, opened, close, high = (Fraction(candle[name]) for name in names)
        fits = low <= min(opened, close) and max(opened, close) <= high
        if not candle["tickCount"]:
            fits = low == high and (not before or close == Fraction(before))
        self._agree("S2.2-4", f"{candle} of {symbol} is a candle after {before}", True, fits)
        if (candle["timestamp"] + width) * _SECOND <= self._hearing.observed.at:
            key = symbol, width, candle["timestamp"]
            earlier = self._finished.setdefault(key, candle)
            self._agree("S2.2-3", f"a candle of {symbol}", earlier, candle)
