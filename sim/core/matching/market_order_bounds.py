"""How far an order would reach into the book before it does: the price of a market order, the
quantity that cash buys (rules M10, M24).
"""

from __future__ import annotations

from sim.core.matching.book import Book
from sim.core.matching.self_match import depth_without
from sim.core.model.enums import BUY
from sim.core.model.orders import Order
from sim.core.model.quantities import Notional, Price, Qty


def market_price(book: Book, order: Order, bound: Price) -> Price:
    """Price of the last fill of a sweep for the order's quantity, not beyond a bound (0 = none); 0
    when nothing would trade.
    """
    wanted = order.leaves_qty
    reached = 0
    for price, qty in depth_without(book, order, bound):
        if qty:
            reached = price
            wanted -= qty
            if wanted <= 0:
                break
    return reached


def cash_quantity(book: Book, order: Order, limit: Price) -> tuple[Qty, Price]:
    """Quantity that the order's principal trades from the best price on, plus what the rest of it
    is worth at the limit (0: at the last price reached).

    A buy spends price per unit; a sale posts the short side's collateral, one dollar less price.
    Returns (quantity, last price reached).
    """
    principal: Notional = order.cash_qty * order.qty_scale
    total = reached = 0
    for price, qty in depth_without(book, order, limit):
        if not qty:
            continue
        unit = unit_price(order, price)
        reached = price
        bought = min(qty, principal // unit)
        total += bought
        principal -= bought * unit
        if bought < qty:
            break
    rest_price = limit or reached
    return (total + principal // unit_price(order, rest_price) if rest_price else 0), reached


def unit_price(order: Order, price: Price) -> Price:
    """What a unit costs its order at a price."""
    return price if order.side is BUY else order.price_scale - price
