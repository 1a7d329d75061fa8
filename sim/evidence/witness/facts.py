"""The facts that answers and frames state, with the words of the contract.

Numbers are exact, instants are text that sorts as it counts. Quantities and prices of the exchange
are scaled integers, those of the retail API decimals (`dialect`): an order names its scales, so the
figures of orders and executions compare in dollars and contracts.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

Number: TypeAlias = int | Decimal
TERMINAL = frozenset(
    f"ORDER_STATE_{state}" for state in ("FILLED", "CANCELED", "REJECTED", "EXPIRED")
)


class Fact(Struct, frozen=True, gc=False):
    """Something that an answer or a frame states."""


class ReportedOrder(Fact, frozen=True, gc=False):
    """An order as somebody was shown it. `at` is when it last changed.

    `price_scale` and `qty_scale` are units of a dollar and of a contract in its figures; 0 if an
    order of the exchange does not say. A fact of kind "order" is an order as it is, "past_order"
    as it was after an execution.
    """

    id: str
    dialect: str
    symbol: str
    side: str
    account: str
    state: str
    type: str
    order_qty: Number
    cum_qty: Number
    leaves_qty: Number
    price: Number
    avg_px: Number
    cash_order_qty: Number
    commission: Number
    price_scale: Number
    qty_scale: Number
    at: str

    def contracts(self, qty: Number) -> Decimal | None:
        """One of its quantities in contracts; None if it does not name its scale."""
        return Decimal(qty) / self.qty_scale if self.qty_scale else None

    def dollars(self, price: Number) -> Decimal | None:
        """One of its prices in dollars; None if it does not name its scale."""
        return Decimal(price) / self.price_scale if self.price_scale else None

    @property
    def is_over(self) -> bool:
        """Whether nothing can happen to it any more."""
        return self.state in TERMINAL


class ReportedExecution(Fact, frozen=True, gc=False):
    """Something that happened to an order. `leg_prices`: whether it is of a combo. `commission` is
    None where a message has none, as those before the field was introduced.
    """

    id: str
    type: str
    order: ReportedOrder
    last_shares: Number
    last_px: Number
    trade_id: str
    aggressor: bool
    leg_prices: bool
    commission: Number | None
    unsolicited: str
    trace_id: str
    at: str

    @property
    def is_fill(self) -> bool:
        """Whether it traded."""
        return self.last_shares > 0 and self.type.endswith("FILL")


class ReportedTrade(Fact, frozen=True, gc=False):
    """A trade with the executions that were shown of its two sides."""

    id: str
    dialect: str
    state: str
    aggressor: ReportedExecution | None
    passive: ReportedExecution | None


class ReportedLevel(NamedTuple):
    """One price of a book."""

    price: Number
    qty: Number


class ReportedBook(Fact, frozen=True, gc=False):
    """A book as somebody was shown it, the best prices first."""

    symbol: str
    dialect: str
    state: str
    bids: tuple[ReportedLevel, ...]
    offers: tuple[ReportedLevel, ...]
    book_hidden: bool
    at: str


class ReportedPosition(Fact, frozen=True, gc=False):
    """What an account holds. `expired`: its market expired or has paid."""

    account: str
    symbol: str
    dialect: str
    net_position: Number
    qty_bought: Number
    qty_sold: Number
    cost: Number
    realized: Number
    expired: bool
    at: str


class ReportedBalance(Fact, frozen=True, gc=False):
    """The cash of an account; `at` is when it last changed, "" where the answer does not say."""

    account: str
    currency: str
    dialect: str
    balance: Number
    at: str


class ReportedTick(Fact, frozen=True, gc=False):
    """A trade as everybody sees it."""

    symbol: str
    price: Number
    qty: Number
    at: str


class CashChange(Fact, frozen=True, gc=False):
    """One change of a balance; `entry_type` is without its prefix, such as DEPOSIT."""

    id: str
    account: str
    currency: str
    dialect: str
    before_balance: Number
    after_balance: Number
    entry_type: str
    symbol: str
    at: str


class HoldingChange(Fact, frozen=True, gc=False):
    """One change of a position, with what is held after it."""

    id: str
    account: str
    symbol: str
    quantity_change: Number
    cost_change: Number
    realized_change: Number
    net_position: Number
    cost: Number
    realized: Number
    at: str


class ReportedSettlement(Fact, frozen=True, gc=False):
    """The final price of an instrument."""

    symbol: str
    dialect: str
    price: Number


class ReportedInstrument(Fact, frozen=True, gc=False):
    """The state of an instrument."""

    symbol: str
    state: str


# ---- values


def number(value: Any) -> Number:
    """A number as JSON has it: an integer, text, an amount, or the present one of some balances.

    ArithmeticError for other text.
    """
    kind = type(value)
    if kind is str:
        try:
            return int(value)
        except ValueError:
            return Decimal(value) if value else 0
    if kind is int or kind is Decimal:
        exact: Number = value
        return exact
    if kind is dict:
        return number(value.get("value", value.get("currentBalance")))
    return int(value) if value else 0


def moment(value: Any) -> str:
    """An instant as text that sorts as it counts, whatever its digits; "" where there is none."""
    text = str(value).removesuffix("Z") if value else ""
    return text.rstrip("0").rstrip(".") if "." in text else text
