"""Self-match prevention: which resting orders an arriving order must not meet (rules M26-M30)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.matching.book import Book
from sim.core.model.enums import RETAIL
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty

SELF_MATCH_TEXT = "Self Match Prevention"


def has_prevention(order: Order) -> bool:
    """Whether prevention applies to an order at all: it carries a prevention id, or came through
    retail (rule M30).
    """
    return bool(order.smp_id) or order.channel is RETAIL


def would_self_match(order: Order, resting: Order) -> bool:
    """Whether two orders must not trade: same participant and prevention id, or, for a retail
    order, same account.
    """
    if order.channel is RETAIL and order.account == resting.account:
        return True
    return (
        bool(order.smp_id)
        and order.smp_id == resting.smp_id
        and order.participant == resting.participant
    )


def conflicting_orders(book: Book, order: Order) -> list[Order]:
    """Resting orders that clash with an order and that it would reach, were they not taken out:
    they do not use up its quantity.
    """
    found = []
    wanted = order.leaves_qty
    for level in book.opposite(order.side).reached(order.price):
        for resting in level.orders():
            if would_self_match(order, resting):
                found.append(resting)
            else:
                wanted -= resting.leaves_qty
                if wanted <= 0:
                    return found
    return found


def depth_without(book: Book, order: Order, limit: Price) -> Iterator[tuple[Price, Qty]]:
    """(price, quantity) of the levels an order reaches, less what clashes with it."""
    for level in book.opposite(order.side).reached(limit):
        if has_prevention(order):
            yield (
                level.price,
                sum(
                    resting.leaves_qty
                    for resting in level.orders()
                    if not would_self_match(order, resting)
                ),
            )
        else:
            yield level.price, level.qty
