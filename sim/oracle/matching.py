"""Which orders trade, in which order, and at which price (rules M1, M9-M22, M26-M32)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.oracle.exchange import NaiveExchange
from sim.oracle.fills import trade
from sim.oracle.money import release_unfunded
from sim.oracle.state import (
    AUCTION,
    BUY,
    CANCELED,
    FOK,
    IOC,
    LIMIT,
    MARKET_TO_LIMIT,
    NEW,
    OPEN,
    ORDER_EXPIRED,
    PREOPEN,
    REPLACED,
    RETAIL,
    SELL,
    STOP,
    STOP_LIMIT,
    Market,
    NaiveOrder,
)

COLLECTING = (PREOPEN, AUCTION)  # states that collect orders and match nothing (rule L2)
DERIVED = ("best_limit", "immediately_executable_limit")
REJECT_AGGRESSOR, CANCEL_RESTING, REMOVE_BOTH = 1, 2, 3


# ---- which orders an order reaches


def opposite(market: Market, order: NaiveOrder) -> list[NaiveOrder]:
    """Return the resting orders of the other side, in order of priority (rule M1)."""
    return market.side(SELL if order.side == BUY else BUY)


def bounded(market: Market, order: NaiveOrder) -> list[NaiveOrder]:
    """Return the resting orders of the other side up to a limit, all if there is none (M9, M10)."""
    others = opposite(market, order)
    if not order.price:
        return others
    return [other for other in others if order.sign * (order.price - other.price) >= 0]


def within(market: Market, order: NaiveOrder) -> list[NaiveOrder]:
    """Return the resting orders with which an order may trade at its limit (rules M9, M22)."""
    others = bounded(market, order)
    if order.strict_limit:
        exact = [other for other in others if other.price == order.price]
        return exact if exact == others else []
    return others


def conflict(order: NaiveOrder, other: NaiveOrder) -> bool:
    """Return whether two orders must not trade with each other (rules M26, M30)."""
    if order.participant != other.participant:
        return False
    return order.channel == RETAIL or bool(order.smp_id and order.smp_id == other.smp_id)


def reached(market: Market, order: NaiveOrder) -> list[NaiveOrder]:
    """Return the orders that an order reaches before nothing of it is left, its own included."""
    left, orders = order.leaves_qty, []
    for other in bounded(market, order):
        if left <= 0:
            break
        orders.append(other)
        if not (conflict(order, other) and order.smp in (CANCEL_RESTING, REMOVE_BOTH)):
            left -= other.leaves_qty
    return orders


# ---- entry


def enter(exchange: NaiveExchange, order: NaiveOrder) -> None:
    """Let an accepted order trade, rest or wait, with everything that follows from it."""
    market = exchange.market(order.symbol)
    waiting = order.type in (STOP, STOP_LIMIT)
    exchange.admit(order, waiting=waiting)
    if not waiting and market.state not in COLLECTING:
        prices = execute(exchange, market, order)
        settle_down(exchange, market, prices)


def execute(
    exchange: NaiveExchange, market: Market, order: NaiveOrder, *, enters: bool = True
) -> list[int]:
    """Trade an order that is in the book as far as its terms allow. Return the prices.

    A minimum quantity applies where the order enters, not where it is changed (rule M19).
    """
    if not _prevent(exchange, market, order):
        return []
    others = within(market, order)
    available = sum(other.leaves_qty for other in others)
    everything = order.tif == FOK or order.all_or_none
    least = order.leaves_qty if everything else min(order.min_qty, order.leaves_qty)
    if enters and available < least:
        end(exchange, order, ORDER_EXPIRED, "M17" if everything else "M19")
        return []
    prices = []
    for other in others:
        if not order.leaves_qty:
            break
        trade(exchange, market, order, other, min(order.leaves_qty, other.leaves_qty), other.price)
        prices.append(other.price)
    if order.leaves_qty and order.tif in (IOC, FOK):
        end(exchange, order, ORDER_EXPIRED, "M16")
    elif order.strict_limit and exchange.assumed("strict_limit.mode") == "expire":
        best = [order.sign * (order.price - each.price) for each in opposite(market, order)[:1]]
        if order.leaves_qty and best > [0]:
            end(exchange, order, ORDER_EXPIRED, "M22")
    return prices


def _prevent(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> bool:
    """Keep an order from trading with its own (M27-M30). Return whether it may trade."""
    own = [other for other in reached(market, order) if conflict(order, other)]
    if not own:
        return True
    if order.rejects_own:  # a stop order, which was accepted long ago
        end(exchange, order, CANCELED, "M30" if order.channel == RETAIL else "M27")
        return False
    for other in own:
        end(exchange, other, CANCELED, "M28" if order.smp == CANCEL_RESTING else "M29")
    if order.smp == REMOVE_BOTH:
        end(exchange, order, CANCELED, "M29")
    return order.smp == CANCEL_RESTING


def end(exchange: NaiveExchange, order: NaiveOrder, state: int, rule: str) -> None:
    """End an order without a trade, and expect its report."""
    exchange.remove(order)
    order.state = state
    exchange.expect(
        "Executed", order.id, rule, type=state, state=state, leaves_qty=0, cum_qty=order.cum_qty
    )


def cross(exchange: NaiveExchange, first: NaiveOrder, second: NaiveOrder) -> None:
    """Trade the sides of a cross at once, at the price of the first, which has priority (M44)."""
    market, mode = exchange.market(first.symbol), exchange.assumed("orders.cross_fee_mode")
    trade(exchange, market, second, first, first.qty, first.price, mode=mode)
    settle_down(exchange, market, [first.price])


# ---- what follows


def settle_down(exchange: NaiveExchange, market: Market, prices: list[int]) -> None:
    """Trigger stop orders by the prices that were traded (rule M12), until none is left.

    Those that one order triggers enter by time, before those that their own trades trigger. Then
    what the traders can no longer pay for is canceled (rule P5).
    """
    entering: list[NaiveOrder] = []
    while entering := entering + sorted(triggered(market, prices), key=lambda stop: stop.queue):
        prices = trigger(exchange, market, entering.pop(0))
    release_unfunded(exchange)


def triggered(market: Market, prices: Iterable[int]) -> list[NaiveOrder]:
    """Take the stop orders that one of these prices triggers out of the waiting ones."""
    hit = [
        stop
        for stop in market.stops
        if any(stop.sign * (price - stop.stop_price) >= 0 for price in prices)
    ]
    for stop in hit:
        market.stops.remove(stop)
    return hit


def trigger(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> list[int]:
    """Let a triggered stop order enter: a second NEW, with another type and a new place."""
    order.waiting = False
    order.type = LIMIT if order.type == STOP_LIMIT else MARKET_TO_LIMIT
    if order.type == MARKET_TO_LIMIT:
        order.price = 0  # a limit that a change gave it means nothing
        order.price = sweep(market, order)
    exchange.requeue(order)
    market.orders.append(order)
    exchange.expect("Executed", order.id, "M12", type=NEW, order_type=order.type)
    if not order.price:
        end(exchange, order, CANCELED, "M10")
        return []
    return execute(exchange, market, order)


def sweep(market: Market, order: NaiveOrder) -> int:
    """Return the last price at which an order would trade through the book; 0 without any.

    A price of its own is the worst that it accepts (rules M10, M13).
    """
    left, price = order.leaves_qty, 0
    for other in bounded(market, order):
        if left > 0 and not conflict(order, other):
            left, price = left - other.leaves_qty, other.price
    return price


# ---- changes


def replace(exchange: NaiveExchange, order: NaiveOrder, changed: NaiveOrder) -> None:
    """Change an order to the terms that a report shows (rules M31-M33)."""
    market = exchange.market(order.symbol)
    leaves = changed.qty - order.cum_qty
    keeps = changed.price == order.price and leaves <= order.leaves_qty
    for name in ("price", "qty", "tif", "good_till", "stop_price", "min_qty", "post_only"):
        setattr(order, name, getattr(changed, name))
    for name in ("all_or_none", "strict_limit", "clord_id", *DERIVED):
        setattr(order, name, getattr(changed, name))
    order.leaves_qty, order.state = leaves, REPLACED
    if keeps:
        return
    exchange.requeue(order)
    if not order.waiting and market.state == OPEN:
        settle_down(exchange, market, execute(exchange, market, order, enters=False))


# ---- auctions


def auction_price(exchange: NaiveExchange, market: Market) -> int | None:
    """Return the price of an auction, None if nothing crosses (rule L17).

    Candidates are all ticks between the best offer and the best bid.
    """
    bids, offers = _auctioned(market, BUY), _auctioned(market, SELL)
    if not bids or not offers or bids[0].price < offers[0].price:
        return None
    tick = market.terms["tick"]
    candidates = range(offers[0].price, bids[0].price + 1, tick)

    def demand(price: int) -> tuple[int, int]:
        bought = sum(order.leaves_qty for order in bids if order.price >= price)
        sold = sum(order.leaves_qty for order in offers if order.price <= price)
        return bought, sold

    most = max(min(demand(price)) for price in candidates)
    best = [price for price in candidates if min(demand(price)) == most]
    least = min(abs(bought - sold) for bought, sold in map(demand, best))
    best = [price for price in best if abs(demand(price)[0] - demand(price)[1]) == least]
    surplus = {(bought > sold) - (bought < sold) for bought, sold in map(demand, best)}
    if surplus == {1}:
        return max(best)
    if surplus == {-1}:
        return min(best)
    if (choice := exchange.assumed("auction.tiebreak")) != "reference":
        return max(best) if choice == "highest" else min(best)
    reference = (
        2 * market.reference if market.reference is not None else (candidates[0] + candidates[-1])
    )
    return min(best, key=lambda price: (abs(2 * price - reference), price))


def uncross(exchange: NaiveExchange, market: Market) -> list[int]:
    """Trade everything that crosses at one price, by price and time (rules L16, L19, L21).

    Before that, orders are canceled until none would trade with its own.
    """
    _requeue_strict(exchange, market)
    price = auction_price(exchange, market)
    while price is not None and (pair := _first_conflict(market, price)):
        later, earlier = pair
        if later.smp in (CANCEL_RESTING, REMOVE_BOTH):
            end(exchange, earlier, CANCELED, "L19")
        if later.smp != CANCEL_RESTING:
            end(exchange, later, CANCELED, "L19")
        price = auction_price(exchange, market)
    if price is None:
        return []
    for first, second, qty in list(_matches(market, price)):
        mode = exchange.assumed("auction.fee_mode")
        trade(exchange, market, second, first, qty, price, mode=mode)
    return [price]


def _auctioned(market: Market, side: int) -> list[NaiveOrder]:
    """Return the orders of a side that may trade in an auction: strict limits do not (M22)."""
    return [order for order in market.side(side) if not order.strict_limit]


def _requeue_strict(exchange: NaiveExchange, market: Market) -> None:
    """Let strict limits that cross lose their place in time (rule L16)."""
    bids = [each for each in market.side(BUY) if each.strict_limit and bounded(market, each)]
    offers = [each for each in market.side(SELL) if each.strict_limit]
    offers = [each for each in offers if any(bid not in bids for bid in bounded(market, each))]
    for order in (*bids, *offers):
        exchange.requeue(order)


def _matches(market: Market, price: int) -> Iterator[tuple[NaiveOrder, NaiveOrder, int]]:
    """Yield the pairs that trade at a price, the earlier order first, and their quantities."""
    bids = [order for order in _auctioned(market, BUY) if order.price >= price]
    offers = [order for order in _auctioned(market, SELL) if order.price <= price]
    left = {order.id: order.leaves_qty for order in (*bids, *offers)}
    while bids and offers:
        first, second = sorted((bids[0], offers[0]), key=lambda order: order.queue)
        qty = min(left[first.id], left[second.id])
        yield first, second, qty
        for side in (bids, offers):
            left[side[0].id] -= qty
            if not left[side[0].id]:
                side.pop(0)


def _first_conflict(market: Market, price: int) -> tuple[NaiveOrder, NaiveOrder] | None:
    """Return the first pair that would trade and must not, the later one first (rule L19)."""
    return next(
        (
            (later, earlier)
            for earlier, later, _ in _matches(market, price)
            if conflict(later, earlier)
        ),
        None,
    )
