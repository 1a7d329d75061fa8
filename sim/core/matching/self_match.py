"""Self-match prevention: which resting orders an arriving order must not meet (rules M26-M30)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.matching.book import Book
from sim.core.model.enums import RETAIL, SelfMatchPrevention
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty
from sim.core.model.why import Why

SELF_MATCH_TEXT = "Self Match Prevention"
_RETAIL_RULE = Why("M30")
_RULES = {
    SelfMatchPrevention.UNDEFINED: Why("M26"),
    SelfMatchPrevention.REJECT_AGGRESSOR: Why("M27"),
    SelfMatchPrevention.CANCEL_RESTING: Why("M28"),
    SelfMatchPrevention.REMOVE_BOTH: Why("M29"),
}


def has_prevention(order: Order) -> bool:
    """Return whether an order carries a prevention id or came through retail (rule M30)."""
    return bool(order.smp_id) or order.channel is RETAIL


def would_self_match(order: Order, resting: Order) -> bool:
    """Return whether two orders must not trade with each other.

    They must not if they share participant and prevention id or, if `order` came through
    retail, the account.
    """
    if order.channel is RETAIL and order.account == resting.account:
        return True
    return (
        bool(order.smp_id)
        and order.smp_id == resting.smp_id
        and order.participant == resting.participant
    )


def prevention_rule(order: Order, resting: Order) -> Why:
    """Return the rule by which an order does not trade with a resting one: that of its mode."""
    if order.channel is RETAIL and order.account == resting.account:
        return _RETAIL_RULE
    return _RULES[order.smp]


def conflicting_orders(book: Book, order: Order) -> list[Order]:
    """Return the resting orders that an order would reach but must not meet.

    They do not use up the order's quantity, because they are canceled before it trades.
    """
    conflicting = []
    leaves = order.leaves_qty
    for level in book.opposite(order.side).reached(order.price):
        for resting in level.orders():
            if would_self_match(order, resting):
                conflicting.append(resting)
            else:
                leaves -= resting.leaves_qty
                if leaves <= 0:
                    return conflicting
    return conflicting


def depth_without_conflicts(book: Book, order: Order, limit: Price) -> Iterator[tuple[Price, Qty]]:
    """Yield (price, quantity) of the levels within a limit, without conflicting orders."""
    for level in book.opposite(order.side).reached(limit):
        if has_prevention(order):
            others = (resting for resting in level.orders() if not would_self_match(order, resting))
            yield level.price, sum(resting.leaves_qty for resting in others)
        else:
            yield level.price, level.qty
