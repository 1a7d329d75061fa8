"""Requests for quotes and the quotes that answer them, as they stand. Enumerations carry the wire's
numbers.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from sim.core.model.enums import Side
from sim.core.model.quantities import Cash, Price, Qty
from sim.kernel.instants import Instant


class RfqStatus(IntEnum):
    """Whether a request still takes quotes."""

    OPEN = 1
    CLOSED = 2


class QuoteStatus(IntEnum):
    """How far a quote has come: ACTIVE → ACCEPTED → CONFIRMED → EXECUTED, or DELETED on the way."""

    ACTIVE = 1
    CONFIRMED = 2
    DELETED = 3
    ACCEPTED = 4
    EXECUTED = 5


class Rfq(Struct, frozen=True, kw_only=True):
    """A request of an account for quotes on a combo: for a quantity, or for dollars where `cash` is
    not 0.
    """

    id: str
    symbol: str
    account: str
    participant: str
    qty: Qty
    cash: Cash
    rest_remainder: bool
    created: Instant
    updated: Instant
    status: RfqStatus = RfqStatus.OPEN


class Quote(Struct, frozen=True, kw_only=True):
    """An account's prices for a request; 0 where it does not quote a side. Instants are None until
    they come.

    `accepted` is the side of the quote that was taken: with BUY the one who quoted buys.
    """

    id: str
    rfq_id: str
    symbol: str
    account: str
    participant: str
    buy_price: Price
    sell_price: Price
    buy_qty: Qty
    sell_qty: Qty
    rest_remainder: bool
    post_only: bool
    created: Instant
    updated: Instant
    status: QuoteStatus = QuoteStatus.ACTIVE
    accepted: Side = Side.UNDEFINED
    accepted_at: Instant | None = None
    confirmed_at: Instant | None = None
    confirm_by: Instant | None = None
    execute_by: Instant | None = None
    executed_at: Instant | None = None
    rfq_order_id: str = ""
    quote_order_id: str = ""
