"""What an account can spend, and what its open orders reserve (rules P1-P6, P8)."""

from __future__ import annotations

from fractions import Fraction

from sim.oracle.exchange import NaiveExchange
from sim.oracle.fees import FeeRates, rates
from sim.oracle.fills import rounded, whole_units
from sim.oracle.state import BUY, CANCELED, CASH, SELL, STOP, Market, NaiveAccount, NaiveOrder


def unit(market: Market) -> int:
    """Return the cash of one notional unit."""
    return CASH // (market.price_scale * market.qty_scale)


def margin(exchange: NaiveExchange, account: NaiveAccount) -> int:
    """Return a dollar for each contract that the account is short of (rule P2)."""
    return sum(
        -held.net * CASH // exchange.market(symbol).qty_scale
        for symbol, held in account.positions.items()
        if held.net < 0
    )


def buying_power(exchange: NaiveExchange, account: NaiveAccount) -> int:
    """Return the balance less the margin (rule P2)."""
    return account.cash - margin(exchange, account)


def returns_collateral(exchange: NaiveExchange, account: NaiveAccount) -> bool:
    """Return whether related shorts of the account need less margin (rule P8)."""
    return account.collateral_return or exchange.assumed("collateral_return.enabled") is True


def side_cost(
    exchange: NaiveExchange,
    account: NaiveAccount,
    market: Market,
    orders: list[NaiveOrder],
    entering: NaiveOrder | None = None,
) -> tuple[int, int]:
    """Return what orders of one side reserve, and the taker fee of the one that enters (P3, P4).

    What closes a position costs nothing; the best prices close first.
    """
    held = account.positions.get(market.symbol)
    net = held.net if held else 0
    total = fee = 0
    orders = sorted(orders, key=lambda order: (-order.sign * _worst(market, order), order.queue))
    for order in orders:
        closing = min(order.leaves_qty, max(0, -order.sign * net))
        net += order.sign * closing
        opening = order.leaves_qty - closing
        price = _worst(market, order)
        price = price if order.side == BUY else market.price_scale - price
        total += opening * price * unit(market)
        if order is entering:
            fee = entry_fee(exchange, market, order) * opening // order.leaves_qty
    return total, fee


def _worst(market: Market, order: NaiveOrder) -> int:
    """Return the worst price of an order; without a limit a stop may trade in all the band (P3)."""
    if order.type != STOP:
        return order.price
    bound: int = market.terms["price_high" if order.side == BUY else "price_low"]
    return bound


def entry_fee(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> int:
    """Return the fee of an order at its limit: the taker's, if it may be one (rule P4).

    It counts for the part that opens a position.
    """
    theta = rates(exchange, market.terms)
    p = Fraction(order.price, market.price_scale)
    if order.post_only:
        theta = FeeRates(taker=max(Fraction(0), -theta.maker), maker=Fraction(0))
    exact = theta.taker * p * (1 - p) + theta.tail * p * (1 - p) ** 4
    charge = rounded(market, exact * Fraction(order.leaves_qty, market.qty_scale))
    most = charge if theta.cap is None else whole_units(market, theta.cap)
    return int(min(charge, most) * CASH)


def largest_reserve(exchange: NaiveExchange, account: NaiveAccount) -> int:
    """Return the largest reserve of a single instrument, the worse of its sides (P3, P6)."""
    return max(
        (
            side_cost(exchange, account, market, _orders(market, account.name, side))[0]
            for market in exchange.markets.values()
            if market.orders or market.stops
            for side in (BUY, SELL)
        ),
        default=0,
    )


def _orders(market: Market, account: str, side: int) -> list[NaiveOrder]:
    orders = (*market.orders, *market.stops)
    return [order for order in orders if order.account == account and order.side == side]


def shortage(exchange: NaiveExchange, market: Market, order: NaiveOrder) -> tuple[int, int] | None:
    """Return what an account has and what an order needs, None if it has enough (rules P3, P4).

    It needs the worse side of the instrument's open orders, the new one among them.
    """
    account = exchange.account(order.account)
    orders = [each for each in _orders(market, order.account, order.side) if each.id != order.id]
    cost, fee = side_cost(exchange, account, market, [*orders, order], order)
    others = _orders(market, order.account, BUY + SELL - order.side)
    required = max(cost, side_cost(exchange, account, market, others)[0]) + fee
    available = buying_power(exchange, account)
    return (available, required) if required > available else None


def release_unfunded(exchange: NaiveExchange) -> None:
    """Cancel orders that an account cannot pay for since its last fill (rule P5).

    They are orders of other instruments than the one that was filled, the newest first.
    """
    filled, exchange.filled = exchange.filled, []
    newest_first = exchange.assumed("risk.auto_cancel_order") == "newest_first"
    for name, symbol in dict.fromkeys(filled):
        account = exchange.account(name)
        if returns_collateral(exchange, account):
            continue
        power = buying_power(exchange, account)
        for market in list(exchange.markets.values()):
            if market.symbol == symbol:
                continue
            for side in (BUY, SELL):
                orders = _orders(market, name, side)
                orders.sort(key=lambda order: order.queue, reverse=newest_first)
                while orders and side_cost(exchange, account, market, orders)[0] > power:
                    order = orders.pop(0)
                    exchange.remove(order)
                    order.state = CANCELED
                    exchange.expect(
                        "Executed", order.id, "P5", type=CANCELED, state=CANCELED, leaves_qty=0
                    )
