"""Reference data of a market on an index: its metadata on the exchange and its terms on the
gateway, from the same condition.
"""

from __future__ import annotations

from sim.contract.messages import gateway_v1 as wire
from sim.core.market_data.assets import PRICE_SCALE
from sim.core.model.index_conditions import Direction, Family, IndexCondition, IndexObservation
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import decimal_text
from sim.kernel.instants import NS_PER_S

_TYPE, _KIND, _WAY = (wire.AssetPriceMarketType, wire.AssetPriceRangeKind, wire.AssetPriceDirection)
_TYPES = {
    Family.UPDOWN: _TYPE.ASSET_PRICE_MARKET_TYPE_UP_DOWN,
    Family.STRIKE: _TYPE.ASSET_PRICE_MARKET_TYPE_ABOVE_BELOW,
    Family.RANGE: _TYPE.ASSET_PRICE_MARKET_TYPE_RANGE,
    Family.HIT: _TYPE.ASSET_PRICE_MARKET_TYPE_ONE_TOUCH,
}
_DIRECTIONS = {
    Direction.UP: _WAY.ASSET_PRICE_DIRECTION_UP,
    Direction.DOWN: _WAY.ASSET_PRICE_DIRECTION_DOWN,
}


def index_metadata(instrument: Instrument, horizon: str) -> dict[str, str]:
    """Return the metadata of an instrument on an index at its listing.

    Instants are unix seconds; `event_id` is the slug of the event.
    """
    condition = _condition(instrument)
    symbol, product = condition.asset.partition(":")[2], instrument.product_id
    metadata = {
        "clearing_sym": f"{product}-{symbol}".upper(),
        "crypto_asset_slug": symbol,
        "crypto_horizon": horizon,
        "crypto_index_symbol": index_symbol(condition),
        "crypto_market_type": condition.family.value,
        "event_id": instrument.event,
        "event_product_id": f"{product}-{instrument.series}",
        "event_series": instrument.series,
        "event_subcategory": symbol.upper(),
        "instrument_product": product,
        "instrument_product_series": instrument.series,
        "interval_end": str(condition.ends // NS_PER_S),
        "outcome_strike": price_text(condition.strike) if condition.strike else "0.0",
        "product_id": f"{product}-{instrument.event}",
    }
    if condition.begins:
        metadata["interval_start"] = str(condition.begins // NS_PER_S)
    if condition.lower:
        metadata["crypto_range_lower"] = price_text(condition.lower)
    if condition.upper:
        metadata["crypto_range_upper"] = price_text(condition.upper)
    if condition.family is Family.HIT:
        metadata["crypto_hit_direction"] = condition.direction.value
    return metadata


def read_metadata(reading: IndexObservation, settled: bool) -> dict[str, str]:
    """Return the metadata with the observations of the index so far."""
    metadata = {"price_to_beat": reading.to_beat}
    if settled:
        metadata["crypto_settlement_price"] = reading.at_end
    return {name: price_text(price) for name, price in metadata.items() if price is not None}


def asset_terms(condition: IndexCondition, horizon: str) -> wire.AssetPriceTerms:
    """Return the terms of a market on an index, without later observations."""
    ranged, hit = condition.family is Family.RANGE, condition.family is Family.HIT
    return wire.AssetPriceTerms(
        market_type=_TYPES[condition.family],
        asset=crypto_asset(condition.asset),
        index_symbol=index_symbol(condition),
        horizon=horizon,
        window_start=condition.begins or None,
        window_end=condition.ends,
        strike=price_text(condition.strike) if condition.strike else "",
        range_lower=price_text(condition.lower) if condition.lower else "",
        range_upper=price_text(condition.upper) if condition.upper else "",
        range_kind=_range_kind(condition) if ranged else _KIND(0),
        direction=_DIRECTIONS[condition.direction] if hit else _WAY(0),
    )


def _range_kind(condition: IndexCondition) -> wire.AssetPriceRangeKind:
    if not condition.lower:
        return _KIND.ASSET_PRICE_RANGE_KIND_BELOW
    if not condition.upper:
        return _KIND.ASSET_PRICE_RANGE_KIND_ABOVE
    return _KIND.ASSET_PRICE_RANGE_KIND_INTERIOR


def index_symbol(condition: IndexCondition) -> str:
    """Return the name of an asset's index: BTCUSD."""
    return f"{condition.asset.partition(':')[2]}usd".upper()


def price_text(price: int) -> str:
    """Return an index price in dollars."""
    return decimal_text(price, PRICE_SCALE, 2)


def crypto_asset(asset: str) -> wire.AssetId:
    """Return an asset, `crypto:btc`, in the form of the gateway."""
    kind = wire.AssetClass.ASSET_CLASS_CRYPTO
    return wire.AssetId(asset_class=kind, symbol=asset.partition(":")[2])


def _condition(instrument: Instrument) -> IndexCondition:
    if instrument.index_condition is None:
        raise ValueError(f"{instrument.symbol} is not on an index")
    return instrument.index_condition
