"""Checks of prices against the terms of their instrument: the tick and the band."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sim.core.catalogue.bounds import ORDER_QUANTITY
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import NotADecimal, decimal_text, scaled
from sim.loader.nodes import text_at
from sim.scenario.yaml_tree import Mapping as MappingNode
from sim.scenario.yaml_tree import Node, Problem, problem


def price_problems(entry: Node, terms: Mapping[str, Instrument]) -> Iterator[Problem]:
    """Problems of the prices of an order entry that the exchange would reject (rules M4, M5)."""
    symbol = text_at(entry, "symbol")
    instrument = terms.get(symbol.text) if symbol is not None else None
    if instrument is None:
        return
    scale, low, high = instrument.price_scale, instrument.price_low, instrument.price_high
    tick = decimal_text(instrument.tick, scale)
    band = f"{decimal_text(low, scale)} to {decimal_text(high, scale)}"
    yield from _quantity(entry, instrument)
    kind = text_at(entry, "type")
    if isinstance(entry, MappingNode) and "price" not in entry.items:
        if (kind is None or kind.text.lower() == "limit") and "cash" not in entry.items:
            yield problem(
                entry.at, "a limit order needs a price; only an order with `type: market` has none"
            )
    for key in ("price", "stop_price"):
        price = text_at(entry, key)
        if price is None:
            continue
        try:
            units = scaled(price.text, scale)
        except NotADecimal:  # finer than the scale
            units = None
        if units is None or units % instrument.tick:
            yield problem(price.at, f"{key} {price.text} is not a multiple of the tick {tick}")
        elif units and not low <= units <= high:
            yield problem(price.at, f"{key} {price.text} is outside the price band, {band}")


def _quantity(entry: Node, instrument: Instrument) -> Iterator[Problem]:
    """A quantity with too many decimals, below the instrument's minimum, or above the largest
    order.
    """
    symbol, scale = instrument.symbol, instrument.qty_scale
    for key in ("qty", "min_qty"):
        qty = text_at(entry, key)
        if qty is None:
            continue
        subject = f"{key} {qty.text} is"
        try:
            units = scaled(qty.text, scale)
        except NotADecimal:
            step = f"not a multiple of {decimal_text(1, scale)}, the smallest quantity of {symbol}"
            hint = "set `fractional_qty_scale` in its entry to trade fractions"
            yield problem(qty.at, f"{subject} {step}; {hint}")
            continue
        if key == "qty" and 0 < units < instrument.min_qty:
            least = decimal_text(instrument.min_qty, scale)
            yield problem(qty.at, f"{subject} below the minimum of {symbol}, {least}")
        elif units > ORDER_QUANTITY.high:
            most = decimal_text(ORDER_QUANTITY.high, scale)
            yield problem(qty.at, f"{subject} more than an order of {symbol} can have, {most}")
