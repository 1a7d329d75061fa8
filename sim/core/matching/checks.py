"""Checks of an order that need neither book nor money: shape, combinations, tick, lot, band, sizes
(rules M2-M5, M14-M24, L18).
"""

from __future__ import annotations

from sim.core.catalogue.assumptions import (
    BAND_REASON,
    CASH_QTY_LIMIT,
    LOT_STEP_IS_MIN_QTY,
    Assumptions,
)
from sim.core.model.commands import PlaceOrder
from sim.core.model.enums import (
    FOK,
    GTT,
    IOC,
    LIMIT,
    MARKET_TO_LIMIT,
    RETAIL,
    SELL,
    STOP,
    STOP_LIMIT,
    Channel,
    InstrumentState,
    RejectReason,
)
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Price, Qty, decimal_text
from sim.core.model.refusals import InstrumentNotTradable, InvalidRequest, OrderRefused
from sim.kernel.instants import Instant

AT_ONCE = frozenset({IOC, FOK})
STOP_TYPES = frozenset({STOP, STOP_LIMIT})
_LIMIT_TYPES = frozenset({LIMIT, STOP_LIMIT})
_AUCTION_NAMES = {
    InstrumentState.PREOPEN: "PRE_OPEN",
    InstrumentState.MATCH_AND_CLOSE_AUCTION: "MATCH_AND_CLOSE_AUCTION",
}


def check_shape(command: PlaceOrder) -> None:
    """Refuse what no instrument in any state would take."""
    if not command.side:
        raise InvalidRequest("side is required", rule="M2")
    if not command.type:
        raise InvalidRequest("type is required", rule="M2")
    if not command.symbol:
        raise InvalidRequest("symbol is required", rule="M2")
    if not command.account:
        raise InvalidRequest("account is required", rule="M2")
    if (
        command.qty < 0
        or command.price < 0
        or command.stop_price < 0
        or command.min_qty < 0
        or command.cash_qty < 0
    ):
        named = {
            "order_qty": command.qty,
            "price": command.price,
            "stop_price": command.stop_price,
            "min_qty": command.min_qty,
        }
        name = next((name for name, value in named.items() if value < 0), "cash_order_qty")
        raise InvalidRequest(f"{name} must not be negative", rule="M2")
    if not command.qty and not command.cash_qty and command.channel is not RETAIL:
        # a retail quantity below one unit is a reject, not an error (rule M4)
        raise InvalidRequest("order_qty is required", rule="M2")


def check_combination(command: PlaceOrder, now: Instant, assumptions: Assumptions) -> None:
    """Refuse fields that do not go together: 400, not a reject (rules M12, M18, M20, M21, M23,
    M24).
    """
    derived = command.best_limit or command.immediately_executable_limit
    if (
        command.type in _LIMIT_TYPES
        and not command.price
        and not derived
        and command.channel is not RETAIL
    ):
        raise InvalidRequest("price is required for a limit order", rule="M9")
    if command.type in STOP_TYPES and not command.stop_price:
        raise InvalidRequest("stop_price is required for a stop order", rule="M12")
    if command.stop_price and command.type not in STOP_TYPES:
        raise InvalidRequest("stop_price needs a stop order", rule="M12")
    if command.tif is GTT and (command.good_till is None or command.good_till <= now):
        raise InvalidRequest("good_till_time must be in the future", rule="M18")
    if command.best_limit and command.immediately_executable_limit:
        raise InvalidRequest(
            "best_limit and immediately_executable_limit exclude each other", rule="M21"
        )
    if derived and command.type is not LIMIT:
        raise InvalidRequest(
            "best_limit and immediately_executable_limit need a limit order", rule="M21"
        )
    if command.post_only and (
        command.tif in AT_ONCE
        or command.all_or_none
        or command.min_qty
        or command.type is MARKET_TO_LIMIT
    ):
        raise InvalidRequest(
            "participate_dont_initiate excludes IOC, FOK, all_or_none, min_qty and market orders",
            rule="M20",
        )
    if command.ignore_price_checks and (
        command.type is not MARKET_TO_LIMIT or command.side is not SELL
    ):
        raise InvalidRequest(
            "ignore_price_validity_checks is for market-to-limit sells", rule="M23"
        )
    if command.cash_qty:
        if command.qty:
            raise InvalidRequest("order_qty and cash_order_qty exclude each other", rule="M24")
        if command.type is not MARKET_TO_LIMIT and not (
            command.type is LIMIT and assumptions.flag(CASH_QTY_LIMIT)
        ):
            raise InvalidRequest(
                "For cash_order_qty order_type must be MARKET_TO_LIMIT", rule="M24"
            )


def check_precision(command: PlaceOrder, instrument: Instrument) -> None:
    """Refuse a retail price or quantity of which nothing was left when it was cut down to the
    market's precision; other planes send integers (rules M4, M5).
    """
    if command.channel is not RETAIL:
        return
    if command.type is LIMIT and not command.price:
        low = decimal_text(instrument.price_low, instrument.price_scale)
        raise OrderRefused(
            f"Low price limit is {low}, given less than a tick",
            rule="M5",
            reason=RejectReason.PRICE_OUT_OF_BOUNDS,
        )
    if not command.qty and not command.cash_qty:
        raise _below_lot(instrument, 0)


def check_auction_entry(command: PlaceOrder, state: InstrumentState) -> None:
    """Refuse attributes that need continuous trading while an auction collects orders (rule L18)."""
    if state not in _AUCTION_NAMES:
        return
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
    """Refuse what needs continuous trading while an auction collects orders (rule L18)."""
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
    scale = instrument.price_scale
    if price % instrument.tick:
        raise OrderRefused(
            f"Price must be a multiple of {decimal_text(instrument.tick, scale)}, given"
            f" {decimal_text(price, scale)}",
            rule="M4",
            reason=RejectReason.INVALID_PRICE_INCREMENT,
        )
    if instrument.price_low <= price <= instrument.price_high:
        return
    side, limit = (
        ("Low", instrument.price_low)
        if price < instrument.price_low
        else ("High", instrument.price_high)
    )
    band = assumptions.text(BAND_REASON)
    if band == "by_plane":
        reason = (
            RejectReason.PRICE_OUT_OF_BOUNDS if channel is RETAIL else RejectReason.EXCHANGE_OPTION
        )
    else:
        reason = RejectReason[band]
    raise OrderRefused(
        f"{side} price limit is {decimal_text(limit, scale)}, given {decimal_text(price, scale)}",
        rule="M5",
        reason=reason,
    )


def check_lot(instrument: Instrument, qty: Qty, assumptions: Assumptions) -> None:
    """Refuse a quantity below the minimum, or off its step where `lot.step_is_min_qty` says so
    (rule M4).
    """
    least = instrument.min_qty
    if qty < least or (qty % least and assumptions.flag(LOT_STEP_IS_MIN_QTY)):
        raise _below_lot(instrument, qty)


def _below_lot(instrument: Instrument, qty: Qty) -> OrderRefused:
    return OrderRefused(
        f"Minimum trade quantity is {decimal_text(instrument.min_qty, instrument.qty_scale)}, given"
        f" {decimal_text(qty, instrument.qty_scale)}",
        rule="M4",
        reason=RejectReason.INCORRECT_QUANTITY,
    )


def check_size(instrument: Instrument, qty: Qty, price: Price) -> None:
    """Refuse an order outside the instrument's size and notional limits (rule M5)."""
    if instrument.size_low is not None and qty < instrument.size_low:
        raise OrderRefused(
            f"Low order size limit is {decimal_text(instrument.size_low, instrument.qty_scale)},"
            f" given {decimal_text(qty, instrument.qty_scale)}",
            rule="M5",
        )
    if instrument.size_high is not None and qty > instrument.size_high:
        raise OrderRefused(
            f"High order size limit is {decimal_text(instrument.size_high, instrument.qty_scale)},"
            f" given {decimal_text(qty, instrument.qty_scale)}",
            rule="M5",
        )
    notional = qty * price
    if instrument.notional_low is not None and notional < instrument.notional_low:
        raise OrderRefused(
            _notional_text("Low", instrument, instrument.notional_low, notional), rule="M5"
        )
    if instrument.notional_high is not None and notional > instrument.notional_high:
        raise OrderRefused(
            _notional_text("High", instrument, instrument.notional_high, notional), rule="M5"
        )


def _notional_text(which: str, instrument: Instrument, limit: int, given: int) -> str:
    scale = instrument.notional_scale
    return (
        f"{which} total notional size limit is {decimal_text(limit, scale)}, given"
        f" {decimal_text(given, scale)}"
    )
