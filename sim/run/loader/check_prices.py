"""Checks of prices and quantities against the terms of their instrument."""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.catalogue.bounds import ORDER_QUANTITY
from sim.core.lifecycle.states import ENTRY_STATES
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import NotADecimal, decimal_text, scaled
from sim.run.loader.nodes import items_of, text_at
from sim.world.format.struct_types import record
from sim.world.format.world_entries import BookEntry
from sim.world.format.yaml_tree import Mapping as MappingNode
from sim.world.format.yaml_tree import Node, Problem, Scalar, problem
from sim.world.start.orders import levels_of
from sim.world.start.world import World


def price_problems(entry: Node, world: World) -> Iterator[Problem]:
    """Problems of the prices of an order entry that the exchange would reject (rules M4, M5)."""
    instrument = _terms(entry, world)
    if instrument is None:
        return
    scale, low, high = instrument.price_scale, instrument.price_low, instrument.price_high
    tick = decimal_text(instrument.tick, scale)
    band = f"{decimal_text(low, scale)} to {decimal_text(high, scale)}"
    for key in ("qty", "min_qty"):
        if (qty := text_at(entry, key)) is not None:
            yield from _quantity(key, qty, instrument)
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


def book_problems(entry: Node, world: World) -> Iterator[Problem]:
    """Problems of an entry of `world.books`, whose orders the exchange would reject."""
    instrument = _terms(entry, world)
    if instrument is None:
        return
    state, symbol = instrument.opening_state, instrument.symbol
    if state is not None and state not in ENTRY_STATES:
        yield problem(entry.at, f"{symbol} is {state.name} at the start and accepts no orders")
    book = record(BookEntry).read(entry, [])
    if isinstance(book, BookEntry):
        scale, low, high = instrument.price_scale, instrument.price_low, instrument.price_high
        prices = [price for _, *pair in levels_of(book, instrument) for price in pair]
        if not any(low <= price <= high for price in prices):
            band = f"{decimal_text(low, scale)} to {decimal_text(high, scale)}"
            text = (
                f"mid {book.mid} with spread {book.spread} makes no price in the band of {symbol}"
            )
            yield problem(entry.at, f"{text}, {band}")
    for size in items_of(entry, "sizes"):
        if (qty := text_at(size)) is not None:
            yield from _quantity("size", qty, instrument)


def inherited_problems(symbol: Scalar, world: World) -> Iterator[Problem]:
    """Numbers of inherited books and orders that are too fine for an instrument."""
    instrument = world.terms(symbol.text)
    if instrument is None:
        return
    sizes = [
        ("size", size) for book in world.books if book.symbol == symbol.text for size in book.sizes
    ]
    orders = [order for order in world.orders if order.symbol == symbol.text]
    sizes += [(key, getattr(order, key)) for order in orders for key in ("qty", "min_qty")]
    prices = [(key, getattr(order, key)) for order in orders for key in ("price", "stop_price")]
    for numbers, scale in ((sizes, instrument.qty_scale), (prices, instrument.price_scale)):
        for key, number in numbers:
            try:
                scaled(number or "0", scale)
            except NotADecimal as error:
                yield problem(symbol.at, f"{symbol.text} inherits an order: {key} {error}")


def _terms(entry: Node, world: World) -> Instrument | None:
    symbol = text_at(entry, "symbol")
    return world.terms(symbol.text) if symbol is not None else None


def _quantity(key: str, qty: Scalar, instrument: Instrument) -> Iterator[Problem]:
    """A quantity with too many decimals, below the instrument's minimum, or above the largest
    order.
    """
    symbol, scale = instrument.symbol, instrument.qty_scale
    subject = f"{key} {qty.text} is"
    try:
        units = scaled(qty.text, scale)
    except NotADecimal:
        step = f"not a multiple of {decimal_text(1, scale)}, the smallest quantity of {symbol}"
        hint = "set `fractional_qty_scale` in its entry to trade fractions"
        yield problem(qty.at, f"{subject} {step}; {hint}")
        return
    if key != "min_qty" and 0 < units < instrument.min_qty:
        least = decimal_text(instrument.min_qty, scale)
        yield problem(qty.at, f"{subject} below the minimum of {symbol}, {least}")
    elif units > ORDER_QUANTITY.high:
        most = decimal_text(ORDER_QUANTITY.high, scale)
        yield problem(qty.at, f"{subject} more than an order of {symbol} can have, {most}")
