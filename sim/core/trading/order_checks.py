"""Checks of an order that need neither book nor money: shape, combinations, tick, lot, band, sizes
(rules M2-M5, M9-M24, L18).

Each function returns if the order passes, and raises a refusal otherwise. The table in
`admission.py` determines their order.
"""

from __future__ import annotations

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.assumptions import BAND_REASON, CASH_QTY_LIMIT, LOT_STEP_IS_MIN_QTY
from sim.core.catalogue.bounds import CONTRACTS, MONEY, ORDER_QUANTITY
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import (
    AT_ONCE,
    BUY,
    GTT,
    LIMIT,
    MARKET_TO_LIMIT,
    RETAIL,
    SELL,
    STOP_LIMIT,
    STOP_TYPES,
    Channel,
    InstrumentState,
    RejectReason,
)
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty, decimal_text
from sim.core.model.refusals import InstrumentNotTradable, InvalidRequest, OrderRefused
from sim.kernel.instants import Instant

DERIVED_NAMES = "best_limit and immediately_executable_limit"
_LIMIT_TYPES = frozenset({LIMIT, STOP_LIMIT})
_OUT_OF_BOUNDS = RejectReason.PRICE_OUT_OF_BOUNDS
_AUCTION_NAMES = {
    InstrumentState.PREOPEN: "PRE_OPEN",
    InstrumentState.MATCH_AND_CLOSE_AUCTION: "MATCH_AND_CLOSE_AUCTION",
}


def check_shape(command: PlaceOrder) -> None:
    """Refuse a command that no instrument in any state would accept."""
    if not (command.side and command.type and command.symbol and command.account):
        names = ("side", "type", "symbol", "account")
        name = next(name for name in names if not getattr(command, name))
        raise InvalidRequest(f"{name} is required", rule="M2")
    amounts = command.qty, command.price, command.stop_price, command.min_qty, command.cash_qty
    if min(amounts) < 0:
        fields = "order_qty", "price", "stop_price", "min_qty", "cash_order_qty"
        name = next(name for name, value in zip(fields, amounts, strict=True) if value < 0)
        raise InvalidRequest(f"{name} must not be negative", rule="M2")
    if command.qty > ORDER_QUANTITY.high or command.min_qty > ORDER_QUANTITY.high:
        raise beyond_quantity("order_qty" if command.qty > ORDER_QUANTITY.high else "min_qty")
    if not command.qty and not command.cash_qty and command.channel is not RETAIL:
        # A retail quantity below one unit is a reject, not an error (rule M4).
        raise InvalidRequest("order_qty is required", rule="M2")


def beyond_quantity(name: str) -> InvalidRequest:
    """Return the refusal of a quantity that no order may have."""
    remedy = f"send a quantity up to {ORDER_QUANTITY.high}, or several orders"
    return InvalidRequest(f"{name} is out of range", rule="T3", remedy=remedy)


def check_cash(command: PlaceOrder, instrument: Instrument) -> None:
    """Refuse an amount of cash that exceeds the range of money."""
    if command.cash_qty > MONEY.high * instrument.price_scale:
        remedy = f"send at most {MONEY.high} dollars"
        raise InvalidRequest("cash_order_qty is out of range", rule="T3", remedy=remedy)


def check_volume(instrument: Instrument, traded: Qty, qty: Qty) -> None:
    """Refuse an order whose trades would exceed the volume that can be counted (`bounds.py`)."""
    limit = CONTRACTS.high * instrument.qty_scale
    if traded + qty > limit:
        text = _beyond_text("High traded volume", limit, traded + qty, instrument.qty_scale)
        remedy = "use another instrument: this one has reached the maximum volume"
        raise OrderRefused(text, rule="T3", remedy=remedy)


def check_combination(command: PlaceOrder, now: Instant, assumptions: Assumptions) -> None:
    """Refuse fields that cannot be combined (rules M9, M12, M18, M20, M21, M23, M24).

    That is an error of the request, not a reject of the order (rule M7).
    """
    derived = command.best_limit or command.immediately_executable_limit
    priced = command.price or derived or command.channel is RETAIL
    if command.type in _LIMIT_TYPES and not priced:
        raise InvalidRequest("price is required for a limit order", rule="M9")
    if command.type in STOP_TYPES and not command.stop_price:
        raise InvalidRequest("stop_price is required for a stop order", rule="M12")
    if command.stop_price and command.type not in STOP_TYPES:
        raise InvalidRequest("stop_price needs a stop order", rule="M12")
    if command.tif is GTT and (command.good_till is None or command.good_till <= now):
        raise InvalidRequest("good_till_time must be in the future", rule="M18")
    if command.best_limit and command.immediately_executable_limit:
        raise InvalidRequest(f"{DERIVED_NAMES} are mutually exclusive", rule="M21")
    if derived and command.type is not LIMIT:
        raise InvalidRequest(f"{DERIVED_NAMES} need a limit order", rule="M21")
    if command.post_only:
        _check_post_only_combination(command)
    market_sell = command.type is MARKET_TO_LIMIT and command.side is SELL
    if command.ignore_price_checks and not market_sell:
        problem = "ignore_price_validity_checks is for market-to-limit sells"
        raise InvalidRequest(problem, rule="M23")
    if command.cash_qty:
        _check_cash_combination(command, assumptions)


def _check_post_only_combination(command: PlaceOrder) -> None:
    must_trade = command.tif in AT_ONCE or command.all_or_none or command.min_qty
    if must_trade or command.type is MARKET_TO_LIMIT:
        excluded = "IOC, FOK, all_or_none, min_qty and market orders"
        raise InvalidRequest(
            f"participate_dont_initiate cannot be combined with {excluded}", rule="M20"
        )


def _check_cash_combination(command: PlaceOrder, assumptions: Assumptions) -> None:
    if command.qty:
        raise InvalidRequest("order_qty and cash_order_qty are mutually exclusive", rule="M24")
    if command.type is MARKET_TO_LIMIT:
        return
    if command.type is not LIMIT or not assumptions.flag(CASH_QTY_LIMIT):
        raise InvalidRequest("For cash_order_qty order_type must be MARKET_TO_LIMIT", rule="M24")


def check_precision(command: PlaceOrder, instrument: Instrument) -> None:
    """Refuse a retail price or quantity that became 0 at the market's precision (rules M4, M5).

    Other planes send integers, so this cannot happen there.
    """
    if command.type is LIMIT and not command.price:
        low = decimal_text(instrument.price_low, instrument.price_scale)
        text, reason = f"Low price limit is {low}, given less than a tick", _OUT_OF_BOUNDS
        raise OrderRefused(text, rule="M5", reason=reason)
    if not command.qty and not command.cash_qty:
        raise _below_lot(instrument, 0)


def check_auction_entry(command: PlaceOrder, state: InstrumentState) -> None:
    """Refuse terms that need continuous trading while an auction collects orders (rule L18)."""
    if (
        command.type is MARKET_TO_LIMIT
        or command.tif in AT_ONCE
        or command.all_or_none
        or command.min_qty
        or command.strict_limit
        or command.best_limit
        or command.immediately_executable_limit
        or command.cash_qty
    ):
        check_continuous(state)


def check_continuous(state: InstrumentState) -> None:
    """Refuse an operation that needs continuous trading while an auction collects orders (L18)."""
    name = _AUCTION_NAMES.get(state)
    if name is not None:
        raise InstrumentNotTradable(
            f"Order has attributes that cannot be placed in {name}",
            rule="L18",
            remedy="send a plain limit or stop order, or wait for OPEN",
            reason=RejectReason.EXCHANGE_CLOSED,
        )


def check_price(
    instrument: Instrument, price: Price, channel: Channel, assumptions: Assumptions
) -> None:
    """Refuse a price off the tick or outside the band (rules M4, M5)."""
    scale, low = instrument.price_scale, instrument.price_low
    if price % instrument.tick:
        tick = decimal_text(instrument.tick, scale)
        text = f"Price must be a multiple of {tick}, given {decimal_text(price, scale)}"
        raise OrderRefused(text, rule="M4", reason=RejectReason.INVALID_PRICE_INCREMENT)
    if low <= price <= instrument.price_high:
        return
    side, limit = ("Low", low) if price < low else ("High", instrument.price_high)
    band = assumptions.text(BAND_REASON)
    if band != "by_plane":
        reason = RejectReason[band]
    else:
        reason = _OUT_OF_BOUNDS if channel is RETAIL else RejectReason.EXCHANGE_OPTION
    raise OrderRefused(_beyond_text(f"{side} price", limit, price, scale), rule="M5", reason=reason)


def check_stop(order: Order) -> None:
    """Refuse a stop-limit order that could not trade at its limit once it triggers (rule M12)."""
    if order.type is STOP_LIMIT and (
        order.stop_price < order.price if order.side is BUY else order.stop_price > order.price
    ):
        limits = "at or above the limit of a buy, at or below the limit of a sell"
        raise OrderRefused(f"Stop price must be {limits}", rule="M12")


def check_lot(instrument: Instrument, qty: Qty, assumptions: Assumptions) -> None:
    """Refuse a quantity below the minimum, or off its step if the assumption says so (M4)."""
    minimum = instrument.min_qty
    if qty < minimum or (qty % minimum and assumptions.flag(LOT_STEP_IS_MIN_QTY)):
        raise _below_lot(instrument, qty)


def _below_lot(instrument: Instrument, qty: Qty) -> OrderRefused:
    minimum = decimal_text(instrument.min_qty, instrument.qty_scale)
    text = f"Minimum trade quantity is {minimum}, given {decimal_text(qty, instrument.qty_scale)}"
    return OrderRefused(text, rule="M4", reason=RejectReason.INCORRECT_QUANTITY)


def check_size(instrument: Instrument, qty: Qty, price: Price) -> None:
    """Refuse an order outside the instrument's size and notional limits (rule M5)."""
    if instrument.size_low is not None and qty < instrument.size_low:
        raise _limit_exceeded("Low order size", instrument.size_low, qty, instrument.qty_scale)
    if instrument.size_high is not None and qty > instrument.size_high:
        raise _limit_exceeded("High order size", instrument.size_high, qty, instrument.qty_scale)
    notional, scale = qty * price, instrument.notional_scale
    if instrument.notional_low is not None and notional < instrument.notional_low:
        raise _limit_exceeded("Low total notional size", instrument.notional_low, notional, scale)
    if instrument.notional_high is not None and notional > instrument.notional_high:
        raise _limit_exceeded("High total notional size", instrument.notional_high, notional, scale)


def _limit_exceeded(which: str, limit: int, value: int, scale: int) -> OrderRefused:
    return OrderRefused(_beyond_text(which, limit, value, scale), rule="M5")


def _beyond_text(which: str, limit: int, value: int, scale: int) -> str:
    return f"{which} limit is {decimal_text(limit, scale)}, given {decimal_text(value, scale)}"
