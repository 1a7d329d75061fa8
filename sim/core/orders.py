"""Order and execution records, and the index of orders. What may happen to an order is decided in `matching.py`; this file only remembers.

Quantities and prices are the instrument's scaled integers; the scales are copied onto the order at creation (§2.7).
"""

from __future__ import annotations

from msgspec import Struct, field

from sim.core.quantities import Cash, Notional, Price, Qty
from sim.core.vocabulary import (
    Channel,
    ExecutionType,
    OrderState,
    OrderType,
    RejectReason,
    SelfMatchPrevention,
    Side,
    TimeInForce,
    TradeState,
    TradeType,
    UnsolicitedReason,
)
from sim.kernel.instants import Instant


class Order(Struct, kw_only=True, omit_defaults=True):
    """One order over its life. `leaves_qty` is what still works: 0 once done. `reserved` is kept by risk."""

    id: str
    symbol: str
    account: str
    participant: str
    side: Side
    type: OrderType
    tif: TimeInForce
    price: Price
    qty: Qty
    leaves_qty: Qty
    price_scale: int
    qty_scale: int
    state: OrderState = OrderState.NEW
    clord_id: str = ""
    cum_qty: Qty = 0
    filled_notional: Notional = 0
    avg_px: Price = 0
    commission: Notional = 0
    filled_at: dict[Price, Qty] = field(default_factory=dict)
    created: Instant = 0
    inserted: Instant | None = None
    changed: Instant = 0
    good_till: Instant | None = None
    stop_price: Price = 0
    min_qty: Qty = 0
    cash_qty: int = 0
    all_or_none: bool = False
    post_only: bool = False
    strict_limit: bool = False
    best_limit: bool = False
    immediately_executable_limit: bool = False
    ignore_price_checks: bool = False
    smp_id: str = ""
    smp: SelfMatchPrevention = SelfMatchPrevention.UNDEFINED
    last_trade_id: str = ""
    channel: Channel = Channel.EXCHANGE
    intent: int = 0
    order_capacity: int = 0
    manual_indicator: int = 0
    client_account_id: str = ""
    client_participant_id: str = ""
    submitter: str = ""
    taker_fee_exact: int = 0
    taker_fee_charged: Cash = 0
    priority: int = 0
    expiry_timer: int = 0

    @property
    def live(self) -> bool:
        """Whether the order can still trade, be replaced or be canceled."""
        return self.leaves_qty > 0 and self.state not in (OrderState.FILLED, OrderState.CANCELED, OrderState.REJECTED, OrderState.EXPIRED)


class Execution(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One execution report. `order` is a copy of the order right after the event (rule M41). `commission` in notional units, negative = rebate."""

    id: str
    seq: int
    type: ExecutionType
    order: Order
    at: Instant
    last_qty: Qty = 0
    last_px: Price = 0
    trade_id: str = ""
    aggressor: bool = False
    commission: Notional = 0
    text: str = ""
    reject_reason: RejectReason = RejectReason.EXCHANGE_OPTION
    unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED
    trace_id: str = ""


class Trade(Struct, kw_only=True, omit_defaults=True):
    """One match of two orders (rule M1). `aggressor` and `passive` are the two executions; `state` moves on with clearing (rule M42)."""

    id: str
    seq: int
    symbol: str
    price: Price
    qty: Qty
    at: Instant
    aggressor: Execution
    passive: Execution
    type: TradeType = TradeType.REGULAR
    state: TradeState = TradeState.NEW
    state_at: Instant = 0
