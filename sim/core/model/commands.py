"""Commands about orders: imperative, frozen, with all numbers as scaled integers.

`trading/order_service.py` executes them.
"""

from __future__ import annotations

from msgspec import Struct

from sim.core.model.enums import Channel, OrderType, SelfMatchPrevention, Side, TimeInForce
from sim.core.model.quantities import Price, Qty
from sim.kernel.instants import Instant


class PlaceOrder(Struct, frozen=True, kw_only=True, gc=False):
    """Place a new order.

    `price_text` is the price as the client sent it, if that is not the usual spelling; answers
    repeat it. `account` trades, `participant` owns the client order id, `submitter` sent the
    request. With `deferred`, a business reject is an order in state REJECTED, not an error (rule
    M7). `quote_id` is the confirmed quote that the order comes from.
    """

    symbol: str
    account: str
    participant: str
    side: Side
    qty: Qty = 0
    price: Price = 0
    price_text: str = ""
    type: OrderType = OrderType.LIMIT
    tif: TimeInForce = TimeInForce.UNDEFINED
    clord_id: str = ""
    channel: Channel = Channel.EXCHANGE
    deferred: bool = False
    stop_price: Price = 0
    min_qty: Qty = 0
    cash_qty: int = 0
    all_or_none: bool = False
    post_only: bool = False
    strict_limit: bool = False
    best_limit: bool = False
    immediately_executable_limit: bool = False
    ignore_price_checks: bool = False
    good_till: Instant | None = None
    parent_id: str = ""
    smp_id: str = ""
    smp: SelfMatchPrevention = SelfMatchPrevention.UNDEFINED
    intent: int = 0
    order_capacity: int = 0
    manual_indicator: int = 0
    client_account_id: str = ""
    client_participant_id: str = ""
    submitter: str = ""
    session_id: str = ""
    quote_id: str = ""


class CancelOrder(Struct, frozen=True, kw_only=True, gc=False):
    """Cancel an order, found by exchange id or by the participant's client order id.

    The order must belong to one of `accounts`. With `report_unknown`, an order that is not found is
    also reported to the first of them, as a cancel reject (rule M34).
    """

    accounts: tuple[str, ...]
    participant: str = ""
    order_id: str = ""
    clord_id: str = ""
    symbol: str = ""
    report_unknown: bool = False


class ReplaceOrder(Struct, frozen=True, kw_only=True, gc=False):
    """Change an order in place (rules M31-M33).

    0 or None keeps the old value; `qty` is the new total. `report_unknown` is as for a cancel.
    """

    accounts: tuple[str, ...]
    participant: str = ""
    order_id: str = ""
    clord_id: str = ""
    symbol: str = ""
    price: Price = 0
    price_text: str = ""
    qty: Qty = 0
    tif: TimeInForce = TimeInForce.UNDEFINED
    stop_price: Price = 0
    min_qty: Qty = 0
    good_till: Instant | None = None
    post_only: bool | None = None
    all_or_none: bool | None = None
    strict_limit: bool = False
    best_limit: bool = False
    immediately_executable_limit: bool = False
    report_unknown: bool = False
    deferred: bool = False
