"""How far a market order or a cash order would reach in the book, before it does (rules M10, M24).

That is the price at which a market order stops, and the quantity that an amount of cash buys.
"""

from __future__ import annotations

from sim.core.matching.book import Book
from sim.core.matching.self_match import depth_without_conflicts
from sim.core.model.enums import BUY
from sim.core.model.orders import Order
from sim.core.model.quantities import Notional, Price, Qty


def market_price(book: Book, order: Order, bound: Price) -> Price:
    """Return the price of the last fill of the order's quantity, at most `bound` (0: no bound).

    0 if nothing would trade.
    """
    leaves = order.leaves_qty
    reached = 0
    for price, qty in depth_without_conflicts(book, order, bound):
        if qty:
            reached = price
            leaves -= qty
            if leaves <= 0:
                break
    return reached


def cash_quantity(book: Book, order: Order, limit: Price) -> tuple[Qty, Price]:
    """Return the quantity that `cash_qty` trades, and the last price reached.

    Cash is spent from the best price on; the rest is converted at the limit (0: at the last price
    reached). A purchase spends the price per unit. A sale posts the collateral of the short side,
    one dollar less the price.
    """
    principal: Notional = order.cash_qty * order.qty_scale
    total = reached = 0
    for price, qty in depth_without_conflicts(book, order, limit):
        if not qty:
            continue
        unit = _unit_price(order, price)
        reached = price
        traded = min(qty, principal // unit)
        total += traded
        principal -= traded * unit
        if traded < qty:
            break
    rest_price = limit or reached
    return (total + principal // _unit_price(order, rest_price) if rest_price else 0), reached


def _unit_price(order: Order, price: Price) -> Price:
    return price if order.side is BUY else order.price_scale - price
