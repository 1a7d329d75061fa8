"""What one trade does to orders, positions and cash (rules P2, P9-P15, P21, M41)."""

from __future__ import annotations

from fractions import Fraction

from sim.kernel.instants import same_trade_date
from sim.oracle.exchange import NaiveExchange
from sim.oracle.fees import FeeRates, rates
from sim.oracle.state import CASH, FILLED, PARTIALLY_FILLED, Market, NaiveOrder, NaivePosition

ORDER_EXECUTION, COMMISSION = 3, 11


def trade(
    exchange: NaiveExchange,
    market: Market,
    taker: NaiveOrder,
    maker: NaiveOrder,
    qty: int,
    price: int,
    *,
    mode: str = "maker_taker",
) -> None:
    """Trade two orders: two reports, a trade, two positions, and cash on both sides (rule M1).

    `mode` is which of them pays as taker and which as maker.
    """
    theta = rates(exchange, market.terms)
    for order, aggressor in ((taker, True), (maker, False)):
        charge = Fraction(0)
        if mode == "none":
            pass
        elif aggressor or mode == "both_taker":
            charge = taker_charge(market, order, theta, qty, price)
        else:
            charge = -rounded(market, fee(market, theta.maker, qty, price))
        commission = int(charge * market.price_scale * market.qty_scale)
        fill(exchange, market, order, qty, price, commission, aggressor=aggressor)
        exchange.position(order.account, market.symbol).fees += commission
        move(exchange, market, order, qty, price)
        pay(exchange, market, order, qty, price, commission)
        exchange.filled.append((order.account, market.symbol))
    exchange.expect("Traded", market.symbol, "M1", price=price, qty=qty, state=1)
    market.reference = price


def fee(market: Market, theta: Fraction, qty: int, price: int) -> Fraction:
    """Return coefficient x contracts x p x (1 - p), in dollars (rule P11)."""
    p = Fraction(price, market.price_scale)
    return theta * Fraction(qty, market.qty_scale) * p * (1 - p)


def rounded(market: Market, dollars: Fraction) -> Fraction:
    """Return dollars rounded to the cent, half to even; to a notional unit where a cent is no
    whole number of these (rule P11).
    """
    units = market.price_scale * market.qty_scale
    steps = units if units % 100 else 100
    return Fraction(round(dollars * steps), steps)


def whole_units(market: Market, dollars: Fraction) -> Fraction:
    """Return dollars cut to whole notional units, in which reports tell a commission (P12)."""
    units = market.price_scale * market.qty_scale
    return Fraction(int(dollars * units), units)


def taker_charge(
    market: Market, order: NaiveOrder, theta: FeeRates, qty: int, price: int
) -> Fraction:
    """Return what a fill costs a taker: no more than the rounded sum leaves (rule P12)."""
    exact = fee(market, theta.taker, qty, price)
    p = Fraction(price, market.price_scale)
    exact += theta.tail * Fraction(qty, market.qty_scale) * p * (1 - p) ** 4
    charge = rounded(market, exact)
    order.taker_fees += exact
    if theta.cumulative:
        left = rounded(market, order.taker_fees) - order.taker_charged
        charge = max(Fraction(0), min(charge, left))
    if theta.cap is not None:
        most = whole_units(market, theta.cap)
        charge = min(charge, max(Fraction(0), most - order.taker_charged))
    order.taker_charged += charge
    return charge


def fill(
    exchange: NaiveExchange,
    market: Market,
    order: NaiveOrder,
    qty: int,
    price: int,
    commission: int,
    *,
    aggressor: bool,
) -> None:
    """Fill an order, and expect the report (rule M41)."""
    order.leaves_qty -= qty
    order.cum_qty += qty
    order.commission += commission
    order.filled_at[price] = order.filled_at.get(price, 0) + qty
    paid = sum(each * filled for each, filled in order.filled_at.items())
    order.avg_px = round(Fraction(paid, order.cum_qty))
    order.state = PARTIALLY_FILLED if order.leaves_qty else FILLED
    exchange.expect(
        "Executed",
        order.id,
        "M1",
        type=order.state,
        state=order.state,
        last_qty=qty,
        last_px=price,
        aggressor=aggressor,
        commission=commission,
        leaves_qty=order.leaves_qty,
        cum_qty=order.cum_qty,
        avg_px=order.avg_px,
        filled_at={str(each): filled for each, filled in sorted(order.filled_at.items())},
    )
    if not order.leaves_qty:
        exchange.remove(order)


def move(exchange: NaiveExchange, market: Market, order: NaiveOrder, qty: int, price: int) -> None:
    """Change a position by a fill, and expect its row (rules P9, P10)."""
    held = exchange.position(order.account, market.symbol)
    before = held.net, held.cost, held.realized
    begin_day(exchange, held)
    apply_fill(held, order.sign, qty, price)
    if order.sign > 0:
        held.bought += qty
    else:
        held.sold += qty
    expect_position(exchange, order.account, market.symbol, held, before, "P9")


def begin_day(exchange: NaiveExchange, held: NaivePosition) -> None:
    """Note the position at the beginning of the trade date, 17:00 Eastern (rules L11, P10)."""
    if not same_trade_date(held.changed, exchange.now):
        held.bod = held.net
    held.changed = exchange.now


def apply_fill(held: NaivePosition, sign: int, qty: int, price: int) -> None:
    """Open at the price, close at the average, and do both through zero (rule P9)."""
    closing = min(qty, abs(held.net)) if held.net * sign < 0 else 0
    if closing:
        average = round(Fraction(held.cost * closing, abs(held.net)))
        held.cost -= average
        held.realized += -sign * closing * price - average
    held.cost += sign * (qty - closing) * price
    held.net += sign * qty


def expect_position(
    exchange: NaiveExchange,
    account: str,
    symbol: str,
    held: NaivePosition,
    before: tuple[int, int, int],
    rule: str,
) -> None:
    """Expect the row of a position that changed (rule P23)."""
    net, cost, realized = before
    exchange.expect(
        "PositionChanged",
        f"{account} {symbol}",
        rule,
        qty_change=held.net - net,
        cost_change=held.cost - cost,
        realized_change=held.realized - realized,
        net=held.net,
        cost=held.cost,
        realized=held.realized,
        bought=held.bought,
        sold=held.sold,
        bod=held.bod,
        fees=held.fees,
    )


def pay(
    exchange: NaiveExchange,
    market: Market,
    order: NaiveOrder,
    qty: int,
    price: int,
    commission: int,
) -> None:
    """Move the cash of a fill: principal and commission, in one entry or two (rules P2, P21)."""
    unit = CASH // (market.price_scale * market.qty_scale)
    principal, fee_paid = -order.sign * qty * price * unit, commission * unit
    owner = order.account, market.symbol
    if exchange.assumed("ledger.commission") == "combined":
        move_cash(exchange, owner, ORDER_EXECUTION, principal - fee_paid, "P21")
        return
    move_cash(exchange, owner, ORDER_EXECUTION, principal, "P21")
    move_cash(exchange, owner, COMMISSION, -fee_paid, "P21")


def move_cash(
    exchange: NaiveExchange, owner: tuple[str, str], entry_type: int, amount: int, rule: str
) -> None:
    """Move cash of an account for an instrument, and expect the entry. Zero makes none (P22)."""
    if not amount:
        return
    account, symbol = owner
    holder = exchange.account(account)
    before = holder.cash
    holder.cash += amount
    fields = {"type": entry_type, "before": before, "after": holder.cash, "symbol": symbol}
    exchange.expect("CashMoved", account, rule, **fields)
