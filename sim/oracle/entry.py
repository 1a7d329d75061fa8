"""Whether an order may enter, in the order of rule M2: the first check that fails decides.

Realises rules M2-M6, M9-M12, M17-M30, L18, P3, P4, §3.1 and what an order gets from the book on
the way: the price of a derived limit (M21) or of a sweep (M10), the quantity that cash buys (M24).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from sim.oracle.exchange import NaiveExchange
from sim.oracle.matching import COLLECTING, bounded, conflict, opposite, reached, sweep
from sim.oracle.money import shortage
from sim.oracle.order_requests import OrderRefusal, OrderRequest, invalid, shape
from sim.oracle.state import (
    BUY,
    CLOSED,
    EXPIRED,
    FOK,
    GTT,
    HALTED,
    IOC,
    LIMIT,
    MARKET_TO_LIMIT,
    OPEN,
    PENDING,
    RETAIL,
    SELL,
    STOP,
    STOP_LIMIT,
    SUSPENDED,
    TERMINATED,
    Market,
    NaiveOrder,
)

EXCHANGE_OPTION, UNKNOWN_SYMBOL, EXCHANGE_CLOSED, INCORRECT_QUANTITY = range(4)
INVALID_INCREMENT, _, PRICE_OUT_OF_BOUNDS, NO_LIQUIDITY = range(4, 8)
ALL_OR_NONE = 1  # the only type of a cross
# The statement by which a state accepts no orders (§3.1).
CLOSED_BY = {
    PENDING: "S3.1-1",
    TERMINATED: "S3.1-4",
    CLOSED: "S3.1-8",
    SUSPENDED: "S3.1-9",
    HALTED: "S3.1-10",
    EXPIRED: "S3.1-12",
}


def entry_refusal(exchange: NaiveExchange, request: OrderRequest) -> OrderRefusal | None:
    """Return why an order is refused now, None if it enters.

    The order gets its price and quantity as far as the checks come.
    """
    return next(_refusals(exchange, request), None)


# What a limit order of a cross, which meets no book, cannot ask for (rule M44).
_NOT_CROSSED = (
    *("stop_price", "min_qty", "cash_qty", "post_only", "strict_limit", "best_limit"),
    *("immediately_executable_limit", "ignore_price_checks"),
)


def reception_refusal(exchange: NaiveExchange, request: OrderRequest) -> OrderRefusal | None:
    """Return why a late engine's order is refused at once: the checks that need no engine (M36)."""
    refusals = (*_received(exchange, request), None)
    return refusals[0]


def cross_refusal(
    exchange: NaiveExchange, requests: list[OrderRequest], cross_type: int
) -> OrderRefusal | None:
    """Return why a cross is refused now; the first request is the side with priority (M44)."""
    return next(_cross_refusals(exchange, requests, cross_type), None)


def _cross_refusals(
    exchange: NaiveExchange, requests: list[OrderRequest], cross_type: int
) -> Iterator[OrderRefusal]:
    if len(requests) != 2 or cross_type != ALL_OR_NONE:
        yield invalid("M44")
        return
    first, second = (request.order for request in requests)
    for request in requests:
        market = exchange.listed(request.order.symbol)
        for refusal in shape(request.order, market.price_scale if market else 1):
            yield refusal._replace(others=("M44",))
    firm = exchange.assumed("orders.cross_accounts") == "firm"
    if firm and first.account == second.account:
        yield invalid("M44")
    if first.side == second.side or (first.symbol, first.qty) != (second.symbol, second.qty):
        yield invalid("M44")
    if any(getattr(each, name) for each in (first, second) for name in _NOT_CROSSED):
        yield invalid("M44")
    if not first.type == second.type == LIMIT or first.sign * (first.price - second.price) < 0:
        yield invalid("M44")
    if first.clord_id and (first.participant, first.clord_id) == (
        second.participant,
        second.clord_id,
    ):
        yield OrderRefusal("M6", "duplicate")
    for request in requests:
        yield from _refusals(exchange, request)
    market = exchange.market(first.symbol)
    if market.state != OPEN or conflict(first, second) or conflict(second, first):
        yield OrderRefusal("M44", reason=EXCHANGE_CLOSED, others=("M26",))
    if _worse_than_book(exchange.assumed("orders.cross_price"), market, first.price):
        yield OrderRefusal("M44", reason=EXCHANGE_OPTION)


def _worse_than_book(mode: str, market: Market, price: int) -> bool:
    """Return whether a cross at a price would be worse for somebody than the book (rule M44)."""
    better = [each.price - price for each in market.side(BUY)[:1]]
    better += [price - each.price for each in market.side(SELL)[:1]]
    return mode != "any" and any(room > (-1 if mode == "inside" else 0) for room in better)


def _refusals(exchange: NaiveExchange, request: OrderRequest) -> Iterator[OrderRefusal]:
    order = request.order
    yield from _before_funds(exchange, request)
    market = exchange.market(order.symbol)
    yield from unfunded(exchange, market, order)
    if market.state == OPEN and not order.stops:
        yield from meets(market, order)


def _received(exchange: NaiveExchange, request: OrderRequest) -> Iterator[OrderRefusal]:
    """Yield what is wrong with an order whatever the state of its market is."""
    order = request.order
    if request.problem:
        yield request.problem
    market = exchange.listed(order.symbol)
    yield from shape(order, market.price_scale if market else 1)
    if market is None:
        yield OrderRefusal("M2", "unknown")
    if exchange.account(order.account).kind != "trading":
        yield OrderRefusal("P26", "forbidden")
    if order.clord_id and in_use(exchange, order):
        yield OrderRefusal("M6", "duplicate")


def _before_funds(exchange: NaiveExchange, request: OrderRequest) -> Iterator[OrderRefusal]:
    order = request.order
    market = exchange.listed(order.symbol)
    for refusal in _received(exchange, request):
        if refusal.kind in ("forbidden", "duplicate") and market is not None:
            yield from not_tradable(exchange, market)
        yield refusal
    market = exchange.market(order.symbol)
    yield from not_tradable(exchange, market)
    yield from combination(exchange, order)
    yield from barred(market, order)
    if order.type == STOP:
        order.price = 0  # it has no limit
    if request.cut:
        yield OrderRefusal("M5", reason=PRICE_OUT_OF_BOUNDS, others=("M4",))
    if order.channel == RETAIL and not (order.qty or order.cash_qty):
        yield from lot_refusals(exchange, market, order.qty)
    yield from priced(exchange, market, order)
    yield from sized(exchange, market, order)


def not_tradable(exchange: NaiveExchange, market: Market) -> Iterator[OrderRefusal]:
    """Yield why the state of an instrument permits no entry and no change (§3.1)."""
    if market.state in CLOSED_BY:
        reason = UNKNOWN_SYMBOL if market.state == TERMINATED else EXCHANGE_CLOSED
        yield OrderRefusal(CLOSED_BY[market.state], reason=reason)
    if exchange.maintenance:
        yield OrderRefusal("W2", reason=EXCHANGE_CLOSED)


def in_use(exchange: NaiveExchange, order: NaiveOrder) -> bool:
    """Return whether an open order of the participant has the client order id (rule M6)."""
    return any(
        other.clord_id == order.clord_id and other.participant == order.participant
        for other in (*exchange.open_orders(order.account), *exchange.received.values())
    )


def combination(exchange: NaiveExchange, order: NaiveOrder) -> Iterator[OrderRefusal]:
    """Yield terms that contradict each other (rules M9, M12, M18, M20, M21, M23, M24)."""
    market_type = order.type == MARKET_TO_LIMIT
    if order.type in (LIMIT, STOP_LIMIT) and order.channel != RETAIL:
        if not order.price and not order.derived:
            yield invalid("M9")
    if order.stops != bool(order.stop_price):
        yield invalid("M12")
    if order.tif == GTT and (order.good_till or 0) <= exchange.now:
        yield invalid("M18")
    if order.derived and (
        order.type != LIMIT or (order.best_limit and order.immediately_executable_limit)
    ):
        yield invalid("M21")
    at_once = order.tif in (IOC, FOK) or order.all_or_none or order.min_qty
    if order.post_only and (at_once or market_type):
        yield invalid("M20")
    if order.ignore_price_checks and not (market_type and order.side == SELL):
        yield invalid("M23")
    if order.cash_qty:
        limit = order.type == LIMIT and exchange.assumed("cash_qty.allow_limit")
        if order.qty or not (market_type or limit):
            yield invalid("M24")


def barred(market: Market, order: NaiveOrder) -> Iterator[OrderRefusal]:
    """Yield that a collecting state accepts no order that must trade at once (rule L18)."""
    at_once = (
        order.type == MARKET_TO_LIMIT
        or order.tif in (IOC, FOK)
        or order.all_or_none
        or order.min_qty
        or order.strict_limit
        or order.cash_qty
        or order.derived
    )
    if market.state in COLLECTING and at_once:
        yield OrderRefusal("L18", reason=EXCHANGE_CLOSED)


def priced(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> Iterator[OrderRefusal]:
    """Derive a limit, and yield what is wrong with the prices (rules M4, M5, M12, M21, M23)."""
    if order.derived:
        others = market.side(order.side) if order.best_limit else opposite(market, order)
        if not others:
            yield OrderRefusal("M21", reason=NO_LIQUIDITY)
            return
        order.price = others[0].price
    if not order.ignore_price_checks:
        for price in filter(None, (order.price, order.stop_price)):
            yield from price_refusals(exchange, market, order, price)
    yield from crossed_stop(order)


def price_refusals(
    exchange: NaiveExchange, market: Market, order: NaiveOrder, price: int
) -> Iterator[OrderRefusal]:
    """Yield that a price is no tick (rule M4) or outside the band (rule M5)."""
    terms = market.terms
    if price % terms["tick"]:
        yield OrderRefusal("M4", reason=INVALID_INCREMENT)
    if not terms["price_low"] <= price <= terms["price_high"]:
        by = exchange.assumed("price_band.reject_reason")
        bounds = by == "PRICE_OUT_OF_BOUNDS" or (by == "by_plane" and order.channel == RETAIL)
        yield OrderRefusal("M5", reason=PRICE_OUT_OF_BOUNDS if bounds else EXCHANGE_OPTION)


def crossed_stop(order: NaiveOrder) -> Iterator[OrderRefusal]:
    """Yield that a stop price is on the wrong side of its limit (rule M12)."""
    if order.type == STOP_LIMIT and order.sign * (order.stop_price - order.price) < 0:
        yield OrderRefusal("M12")


def sized(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> Iterator[OrderRefusal]:
    """Size an order by the book, and yield what is wrong with that (rules M4, M5, M10, M24)."""
    market_type = order.type == MARKET_TO_LIMIT
    if market_type and exchange.assumed("risk.require_reference_price"):
        if market.reference is None and not market.settlement:
            yield OrderRefusal("M11", reason=EXCHANGE_OPTION)
    if order.cash_qty:
        order.qty, swept = bought(market, order)
        order.price = swept if market_type else order.price
        if order.price and not order.qty:
            yield OrderRefusal("M24", reason=INCORRECT_QUANTITY)
    order.leaves_qty = order.qty
    if market_type and not order.cash_qty:
        order.price = sweep(market, order)
    if market_type and not order.price:
        yield OrderRefusal("M10", reason=NO_LIQUIDITY)
    yield from lot_refusals(exchange, market, order.qty)
    if order.min_qty > order.qty:
        yield OrderRefusal("M19", reason=INCORRECT_QUANTITY)
    if not order.ignore_price_checks:
        yield from size_refusals(market, order.qty, order.price or order.stop_price)


def lot_refusals(exchange: NaiveExchange, market: Market, qty: int) -> Iterator[OrderRefusal]:
    """Yield that a quantity is below the minimum, or no multiple of it (rule M4)."""
    least = market.terms["min_qty"]
    if qty < least or (exchange.assumed("lot.step_is_min_qty") and qty % least):
        yield OrderRefusal("M4", reason=INCORRECT_QUANTITY)


def size_refusals(market: Market, qty: int, price: int) -> Iterator[OrderRefusal]:
    """Yield that a quantity or its notional is outside the limits of the market (rule M5)."""
    for name, amount in (("size", qty), ("notional", qty * price)):
        low, high = market.terms[f"{name}_low"], market.terms[f"{name}_high"]
        if (low is not None and amount < low) or (high is not None and amount > high):
            yield OrderRefusal("M5", reason=EXCHANGE_OPTION)


def bought(market: Market, order: NaiveOrder) -> tuple[int, int]:
    """Return what an amount of cash trades, and the last price of that (rule M24).

    What the book leaves of the cash buys at the limit, or at the last price of the book.
    """
    units, cash, last = 0, order.cash_qty * market.qty_scale, 0
    for other in bounded(market, order):
        if conflict(order, other):
            continue
        last = other.price
        fits = cash // _cost(market, order, last)
        units += min(fits, other.leaves_qty)
        cash -= min(fits, other.leaves_qty) * _cost(market, order, last)
        if fits < other.leaves_qty:
            break
    limit = order.price or last
    return (units + cash // _cost(market, order, limit) if limit else 0), last


def _cost(market: Market, order: NaiveOrder, price: int) -> int:
    return price if order.side == BUY else market.price_scale - price


def unfunded(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> Iterator[OrderRefusal]:
    """Yield that the account cannot pay for the order with its others (rules P3, P4).

    A retail order may be trimmed to what the account can pay for (`retail.shortfall`).
    """
    lacking = bool(shortage(exchange, market, order))
    if lacking and order.channel == RETAIL and exchange.assumed("retail.shortfall") == "trim":
        lacking = not _trims(exchange, market, order)
    if lacking:
        calls = exchange.assumed("retail.funds_refusal") == "400" and order.channel == RETAIL
        yield invalid("P4") if calls else OrderRefusal("P4")


def _trims(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> bool:
    """Trim an order to the largest quantity that can be paid for; False if there is none."""
    least = int(market.terms["min_qty"])
    step, asked = gcd(least, market.qty_scale), order.qty
    least = max(least, order.min_qty)
    low, high = -(-least // step), asked // step
    while low <= high:
        middle = (low + high) // 2
        order.qty = order.leaves_qty = middle * step
        low, high = (low, middle - 1) if shortage(exchange, market, order) else (middle + 1, high)
    fits = high * step >= least
    order.qty = order.leaves_qty = high * step if fits else asked
    return fits


def meets(market: Market, order: NaiveOrder) -> Iterator[OrderRefusal]:
    """Yield that an order would trade with its own, or at all if it must not (M20, M27, M30)."""
    others = reached(market, order)
    if order.rejects_own and any(conflict(order, other) for other in others):
        yield OrderRefusal("M30" if order.channel == RETAIL else "M27")
    if order.post_only and bounded(market, order):
        yield OrderRefusal("M20")
