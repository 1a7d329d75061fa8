"""Builds an order from its command, before anything is checked."""

from __future__ import annotations

from operator import attrgetter

from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import DAY_ORDER, EXCHANGE, REJECT_AGGRESSOR, RETAIL, STOP, UNPREVENTED
from sim.core.model.instrument import Instrument
from sim.core.model.orders import NOTHING_FILLED, Order
from sim.kernel.instants import Instant

# Terms that most orders leave at their defaults. A Struct looks up each keyword among all its
# fields, so creating an order with forty keywords takes three times as long as matching it.
_RARE = (
    "stop_price",
    "min_qty",
    "cash_qty",
    "all_or_none",
    "post_only",
    "strict_limit",
    "best_limit",
    "immediately_executable_limit",
    "ignore_price_checks",
    "order_capacity",
    "client_account_id",
    "client_participant_id",
    "parent_id",
    "price_text",
    "quote_id",
)
_rare_terms = attrgetter(*_RARE)


def draft_order(command: PlaceOrder, instrument: Instrument, now: Instant) -> Order:
    """Return the order that a command describes, before any check. It has no id."""
    order = Order(
        id="",
        symbol=instrument.symbol,  # the same text object for all its orders
        account=command.account,
        participant=command.participant,
        side=command.side,
        type=command.type,
        tif=command.tif or DAY_ORDER,
        price=0 if command.type is STOP else command.price,
        qty=command.qty,
        leaves_qty=command.qty,
        price_scale=instrument.price_scale,
        qty_scale=instrument.qty_scale,
        filled_at=NOTHING_FILLED,
    )
    order.created = order.changed = now
    if command.clord_id:
        order.clord_id = command.clord_id
    if command.submitter:
        order.submitter = command.submitter
    if command.intent:
        order.intent = command.intent
    if command.manual_indicator:
        order.manual_indicator = command.manual_indicator
    if command.smp_id:
        order.smp_id = command.smp_id
    if command.session_id:
        order.session_id = command.session_id
    if command.good_till is not None:
        order.good_till = command.good_till
    if command.channel is not EXCHANGE:
        order.channel = command.channel
    if command.channel is RETAIL or (command.smp is UNPREVENTED and command.smp_id):
        order.smp = REJECT_AGGRESSOR  # rules M30, M26
    elif command.smp:
        order.smp = command.smp
    if any(rare := _rare_terms(command)):
        for name, value in zip(_RARE, rare, strict=True):
            if value:
                setattr(order, name, value)
    return order
