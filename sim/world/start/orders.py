"""Converts orders of a scenario to commands of the core: the orders of a world, of steps, of order
flow and of the control plane.

An entry has decimal text; this module converts it to integers, because the scales depend on the
instrument.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.core.exchange import Exchange
from sim.core.identity.firms import User
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import Channel, OrderType, Side
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import NotADecimal, Price, scaled, scaled_down
from sim.core.model.refusals import InvalidRequest
from sim.world.format.world_entries import BookEntry, OrderEntry
from sim.world.start.accounts import SANDBOX_FIRM

if TYPE_CHECKING:
    from sim.world.start.accounts import Parties


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


def order_command(exchange: Exchange, parties: Parties, entry: OrderEntry) -> PlaceOrder:
    """The command that places an order entry."""
    user = parties.require_user(entry.as_, exchange.firms)
    return command_of(exchange.instruments.require(entry.symbol), user, entry)


def command_of(instrument: Instrument, user: User, entry: OrderEntry) -> PlaceOrder:
    """The same for a user, at the scales of an instrument."""

    def units(text: str | None, scale: int, field: str) -> int:
        return in_units(text, scale, field) if text else 0

    price_scale, qty_scale = instrument.price_scale, instrument.qty_scale
    return PlaceOrder(
        symbol=entry.symbol,
        account=user.account,
        participant=user.name,
        side=Side(entry.side),
        qty=units(entry.qty, qty_scale, "qty"),
        price=units(entry.price, price_scale, "price"),
        type=OrderType(entry.type),
        tif=entry.tif,
        clord_id=entry.clord_id,
        channel=Channel.SCRIPT,
        deferred=True,
        stop_price=units(entry.stop_price, price_scale, "stop_price"),
        min_qty=units(entry.min_qty, qty_scale, "min_qty"),
        cash_qty=units(entry.cash, price_scale, "cash"),
        all_or_none=entry.all_or_none,
        post_only=entry.post_only,
        good_till=entry.good_till,
        # Scripted participants never trade with themselves.
        smp_id=user.name if user.name.startswith(f"{SANDBOX_FIRM}/") else "",
        submitter=user.name,
    )
