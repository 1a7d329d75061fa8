"""Price history of assets (§2.1, §2.2, §4.1)."""

from __future__ import annotations

import re

from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.market_data.assets import Ticker
from sim.core.market_data.candles import Bucket, align_window, candles
from sim.core.model.refusals import InvalidRequest, cut
from sim.core.model.why import because
from sim.kernel.instants import NS_PER_S

ASSETS_MAX = 10
_CLASSES = {"crypto": wire.AssetClass.ASSET_CLASS_CRYPTO}
_ID = re.compile(r"([^:]+):([a-z0-9-]{1,64})", re.ASCII)
_FORM = "crypto:<symbol>, a symbol being 1 to 64 of a-z, 0-9 and -"


@handles("GatewayAssetPricesAPI.GetAssetPriceHistory")
def get_asset_price_history(
    exchange: Exchange, request: wire.GetAssetPriceHistoryRequest
) -> wire.GetAssetPriceHistoryResponse:
    """Return candles of up to ten assets, one series each, by symbol. The window is clamped, never
    refused, and every series states the window that it covers.
    """
    symbols = _symbols(request.assets)
    bucket = _bucket(request.bucket)
    if request.from_ is None:
        remedy = "send the first second of the window"
        raise InvalidRequest("from is required", rule="S4.1-1", remedy=remedy)
    start, end = request.from_, request.to or 0
    series = [_series(exchange, symbol, start, end, bucket) for symbol in symbols]
    return wire.GetAssetPriceHistoryResponse(series=series)


def _symbols(texts: list[str]) -> list[str]:
    """Distinct symbols, sorted."""
    symbols = sorted({_symbol(text) for text in texts})
    if not symbols:
        raise _invalid("assets is required", f"name 1 to {ASSETS_MAX} assets, each {_FORM}")
    if len(symbols) > ASSETS_MAX:
        raise _invalid(f"at most {ASSETS_MAX} assets, not {len(symbols)}", "split the request")
    return symbols


def _symbol(text: str) -> str:
    """Symbol of an asset in its canonical form (§2.1)."""
    match = _ID.fullmatch(text)
    if match is None:
        raise _invalid(f"not an asset: {cut(text)!r}", f"the form is {_FORM}")
    if match[1] not in _CLASSES:
        raise _invalid(f"unknown asset class: {cut(match[1])!r}", "the only class is crypto")
    return match[2]


def _bucket(number: int) -> Bucket:
    try:
        return Bucket(number)
    except ValueError:
        remedy = "ASSET_PRICE_BUCKET_1S to ASSET_PRICE_BUCKET_1D"
        raise _invalid("bucket is required", remedy) from None


def _invalid(problem: str, remedy: str) -> InvalidRequest:
    return InvalidRequest(problem, rule="S4.1-7", remedy=remedy)


def _series(
    exchange: Exchange, symbol: str, start: int, end: int, bucket: Bucket
) -> wire.AssetPriceSeries:
    now = exchange.now // NS_PER_S
    window = align_window(start, end, bucket, now)
    if window.start > start:
        exchange.ctx.apply(because("R13", asked=start, answered=window.start), f"crypto:{symbol}")
    ticker = exchange.assets.get(f"crypto:{symbol}")
    return wire.AssetPriceSeries(
        asset=wire.AssetId(asset_class=wire.AssetClass.ASSET_CLASS_CRYPTO, symbol=symbol),
        currency="USD" if ticker is None else ticker.asset.currency,
        bucket=bucket,
        from_=window.start,
        to=window.end,
        candles=(
            []
            if ticker is None
            else [_candle(ticker, *candle) for candle in candles(ticker, window, bucket, now)]
        ),
    )


def _candle(
    ticker: Ticker, start: int, opened: int, high: int, low: int, close: int, ticks: int
) -> wire.AssetPriceCandle:
    show = ticker.asset.show
    return wire.AssetPriceCandle(
        timestamp=start,
        open=show(opened),
        high=show(high),
        low=show(low),
        close=show(close),
        tick_count=ticks,
    )
