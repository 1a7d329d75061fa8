"""Checks of prices against the terms of their instrument: the tick and the band."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sim.core.model.instrument import Instrument
from sim.core.model.quantities import NotADecimal, decimal_text, scaled
from sim.loader.nodes import text_at
from sim.scenario.yaml_tree import Node, Problem, problem


def price_problems(entry: Node, terms: Mapping[str, Instrument]) -> Iterator[Problem]:
    """What the exchange would reject about the prices of an order entry (rules M4, M5)."""
    symbol = text_at(entry, "symbol")
    instrument = terms.get(symbol.text) if symbol is not None else None
    if instrument is None:
        return
    scale, low, high = instrument.price_scale, instrument.price_low, instrument.price_high
    tick = decimal_text(instrument.tick, scale)
    band = f"{decimal_text(low, scale)} to {decimal_text(high, scale)}"
    for key in ("price", "stop_price"):
        price = text_at(entry, key)
        if price is None:
            continue
        try:
            units = scaled(price.text, scale)
        except NotADecimal:  # finer than the scale
            units = None
        if units is None or units % instrument.tick:
            yield problem(price.at, f"{key} {price.text} is no multiple of the tick {tick}")
        elif units and not low <= units <= high:
            yield problem(price.at, f"{key} {price.text} is outside the band, {band}")
