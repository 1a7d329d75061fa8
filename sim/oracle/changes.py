"""Whether a cancel or a change is granted, and what a change makes of an order.

Realises rules M4, M5, M12, M18, M20, M21, M27, M31-M34, M43, P4, §3.1. A field that is left out of
a change keeps its value (M33).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sim.oracle.entry import (
    CLOSED_BY,
    EXCHANGE_CLOSED,
    EXCHANGE_OPTION,
    INCORRECT_QUANTITY,
    crossed_stop,
    lot_refusals,
    meets,
    not_tradable,
    price_refusals,
    size_refusals,
    unfunded,
)
from sim.oracle.exchange import NaiveExchange
from sim.oracle.matching import COLLECTING, DERIVED, opposite
from sim.oracle.order_requests import QTY_MAX, OrderRefusal, invalid
from sim.oracle.state import FOK, GTT, IOC, LIMIT, OPEN, SUSPENDED, Document, Market, NaiveOrder

UNKNOWN_ORDER = 1
SHAPE = ("M18",)  # the shape of a request is looked at before its order (M2)


@dataclass(slots=True)
class OrderChange:
    """A cancel or a change that an account asked for; the order by its id or the client's.

    `terms` has what a change names, with the names of an order; None is a cancel.
    """

    account: str
    order_id: str = ""
    clord_id: str = ""
    symbol: str = ""
    terms: Document | None = None
    problem: OrderRefusal | None = None


def order_of(exchange: NaiveExchange, change: OrderChange) -> NaiveOrder | None:
    """Return the order of a request: of the account, in the symbol that it names (rule M34)."""
    every = exchange.orders | exchange.received
    order = every.get(change.order_id)
    if not change.order_id:
        for other in every.values():
            if (other.account, other.clord_id) == (change.account, change.clord_id):
                order = other
    if order is None or order.account != change.account:
        return None
    return order if change.symbol in ("", order.symbol) else None


def change_refusal(exchange: NaiveExchange, change: OrderChange) -> OrderRefusal | None:
    """Return why a cancel or a change is refused now, None if it is granted."""
    return next(_refusals(exchange, change), None)


def _refusals(exchange: NaiveExchange, change: OrderChange) -> Iterator[OrderRefusal]:
    if change.problem:
        yield change.problem
    if not change.order_id and not change.clord_id:
        yield invalid("M34")
    order = order_of(exchange, change)
    if order is None:
        yield OrderRefusal("M34", "unknown", UNKNOWN_ORDER, SHAPE)
        return
    if not order.leaves_qty:
        yield OrderRefusal("M34", "done", UNKNOWN_ORDER, SHAPE)
    market = exchange.market(order.symbol)
    if change.terms is None:
        if market.state in CLOSED_BY and market.state != SUSPENDED:
            yield OrderRefusal(CLOSED_BY[market.state], reason=EXCHANGE_CLOSED)
        return
    for refusal in not_tradable(exchange, market):
        yield refusal._replace(reason=EXCHANGE_CLOSED)
    yield from _change_refusals(exchange, market, order, change.terms)


def _change_refusals(
    exchange: NaiveExchange, market: Market, order: NaiveOrder, terms: Document
) -> Iterator[OrderRefusal]:
    changed = after(exchange, order, terms)
    if terms.get("tif") in (IOC, FOK) or terms.get("all_or_none"):
        yield invalid("M31")
    if changed.tif == GTT and (changed.good_till or 0) <= exchange.now:
        yield invalid("M18")
    if terms.get("stop_price") and not order.stops:
        yield invalid("M12")
    derived = [bool(terms.get(name)) for name in DERIVED]
    if all(derived) or (any(derived) and order.type != LIMIT):
        yield invalid("M21")
    numbers = [terms.get(name) or 0 for name in ("qty", "price", "stop_price", "min_qty")]
    if min(numbers) < 0:
        yield invalid("M31")
    if max(numbers[0], numbers[3]) > QTY_MAX:
        yield invalid("T3")
    if market.state in COLLECTING and (terms.get("strict_limit") or any(derived)):
        yield OrderRefusal("L18", reason=EXCHANGE_CLOSED)
    if any(derived) and not changed.price:
        yield OrderRefusal("M21", reason=EXCHANGE_OPTION)
    if changed.qty != order.qty:
        if changed.qty <= order.cum_qty:
            yield OrderRefusal("M31", reason=INCORRECT_QUANTITY)
        yield from lot_refusals(exchange, market, changed.qty)
    for name in ("price", "stop_price"):
        if getattr(changed, name) != getattr(order, name):
            yield from price_refusals(exchange, market, changed, getattr(changed, name))
    yield from crossed_stop(changed)
    yield from size_refusals(market, changed.qty, changed.price or changed.stop_price)
    changed.leaves_qty = changed.qty - order.cum_qty
    if changed.leaves_qty > order.leaves_qty or changed.price != order.price:
        yield from unfunded(exchange, market, changed)
    if market.state == OPEN and not order.waiting:
        if changed.price != order.price or changed.post_only != order.post_only:
            yield from meets(market, changed)


def after(exchange: NaiveExchange, order: NaiveOrder, terms: Document) -> NaiveOrder:
    """Return an order as a change makes it (M31, M33); a derived limit is 0 without a side."""
    named: dict[str, Any] = {name: each for name, each in terms.items() if each or each is False}
    changed = replace(order, **named)
    if terms.get("price") or any(terms.get(name) for name in DERIVED):
        for name in DERIVED:
            setattr(changed, name, bool(terms.get(name)))
    if changed.tif != GTT and terms.get("good_till") is None:
        changed.good_till = None
    if any(terms.get(name) for name in DERIVED):
        market = exchange.market(order.symbol)
        own = market.side(order.side) if terms.get("best_limit") else opposite(market, order)
        changed.price = own[0].price if own else 0
    return changed
