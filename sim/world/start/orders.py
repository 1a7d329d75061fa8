"""Converts orders of a scenario to commands of the core: the orders of a world, of steps, of order
flow and of the control plane.

An entry has decimal text; this module converts it to integers, because the scales depend
on the instrument.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.core.catalogue.bounds import ORDER_QUANTITY
from sim.core.exchange import Exchange
from sim.core.identity.firms import User
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import BUY, SELL, Channel, OrderType, Side, TimeInForce
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import NotADecimal, Price, decimal_text, scaled, scaled_down
from sim.core.model.refusals import InvalidRequest
from sim.world.format.world_entries import BookEntry, OrderEntry
from sim.world.start.accounts import SANDBOX_FIRM

if TYPE_CHECKING:
    from sim.world.start.accounts import OpeningParties

_GTC = TimeInForce.GOOD_TILL_CANCEL
# Keys of an order entry by their names in refusals.
_KEYS = {
    "cash_order_qty": "cash",
    "order_qty": "qty",
    "good_till_time": "good_till",
    "participate_dont_initiate": "post_only",
}


def in_units(text: str, scale: int, name: str) -> int:
    """Decimal text as an integer number of 1/scale. InvalidRequest names the field."""
    try:
        return scaled(text, scale)
    except NotADecimal as error:
        raise InvalidRequest(f"{name}: {error}", rule="M3") from error


def levels_of(book: BookEntry, instrument: Instrument) -> Iterator[tuple[str, Price, Price]]:
    """Yield size, bid and offer of each level of a book, the best one first. Prices may be outside
    the price band.
    """
    tick, scale = instrument.tick, instrument.price_scale
    middle, half = scaled_down(book.mid, scale), scaled_down(book.spread, scale) // 2
    bid, offer = (middle - half) // tick * tick, -(-(middle + half) // tick) * tick
    for level, size in enumerate(book.sizes):
        yield size, bid - level * tick, offer + level * tick


def order_command(exchange: Exchange, parties: OpeningParties, entry: OrderEntry) -> PlaceOrder:
    """The command that places an order entry."""
    user = parties.require_user(entry.as_, exchange.firms)
    return command_of(exchange.instruments.require(entry.symbol), user, entry)


def command_of(instrument: Instrument, user: User, entry: OrderEntry) -> PlaceOrder:
    """The same for a user, at the scales of an instrument."""

    def units(field: str) -> int:
        text: str | None = getattr(entry, field)
        return _exact(instrument, field, text) if text else 0

    return PlaceOrder(
        symbol=entry.symbol,
        account=user.account,
        participant=user.name,
        side=Side(entry.side),
        qty=units("qty"),
        price=units("price"),
        type=OrderType(entry.type),
        tif=entry.tif,
        clord_id=entry.clord_id,
        channel=Channel.SCRIPT,
        deferred=True,
        stop_price=units("stop_price"),
        min_qty=units("min_qty"),
        cash_qty=units("cash"),
        all_or_none=entry.all_or_none,
        post_only=entry.post_only,
        good_till=entry.good_till,
        # Scripted participants never trade with themselves.
        smp_id=user.name if user.name.startswith(f"{SANDBOX_FIRM}/") else "",
        submitter=user.name,
    )


def book_commands(instrument: Instrument, user: User, book: BookEntry) -> Iterator[PlaceOrder]:
    """The commands that place the resting orders of a book: on each side one for each size, one
    tick apart, as far as prices are in the band.
    """
    for size, bid, offer in levels_of(book, instrument):
        qty = _exact(instrument, "size", size)
        for side, price in ((BUY, bid), (SELL, offer)):
            if instrument.price_low <= price <= instrument.price_high:
                yield PlaceOrder(
                    symbol=book.symbol,
                    account=user.account,
                    participant=user.name,
                    side=side,
                    qty=qty,
                    price=price,
                    tif=_GTC,
                    channel=Channel.SCRIPT,
                    deferred=True,
                    submitter=user.name,
                )


def in_keys(refusal: str) -> str:
    """The text of a refusal with the keys of an order entry instead of the fields of a request."""
    for field, key in _KEYS.items():
        refusal = refusal.replace(field, key)
    return refusal


_QUANTITIES = ("qty", "min_qty", "size")


def _exact(instrument: Instrument, field: str, text: str) -> int:
    """A price, a quantity or an amount of cash at the scale of an instrument. InvalidRequest if it
    has too many decimals, or is more than an order can have.
    """
    scale = instrument.qty_scale if field in _QUANTITIES else instrument.price_scale
    try:
        units = scaled(text, scale)
    except NotADecimal:
        raise _too_fine(instrument, field, text) from None
    if field in _QUANTITIES and units > ORDER_QUANTITY.high:
        most = decimal_text(ORDER_QUANTITY.high, scale)
        message = f"{field} {text} is more than an order of {instrument.symbol} can have, {most}"
        raise InvalidRequest(message, rule="T3")
    return units


def _too_fine(instrument: Instrument, field: str, text: str) -> InvalidRequest:
    remedy = ""
    if field == "cash":
        step = f"{decimal_text(1, instrument.price_scale)} dollars"
    elif field not in _QUANTITIES:
        step = f"the tick {decimal_text(instrument.tick, instrument.price_scale)}"
    else:
        least = decimal_text(1, instrument.qty_scale)
        step = f"{least}, the smallest quantity of {instrument.symbol}"
        remedy = "set `fractional_qty_scale` in its entry to trade fractions"
    message = f"{field} {text} is not a multiple of {step}"
    return InvalidRequest(message, rule="M3", remedy=remedy)
