"""Records of requests for quotes, and of the quotes that answer them.

Enumerations have the numbers of the wire format.
"""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from sim.core.model.enums import Channel, Side
from sim.core.model.quantities import Cash, Price, Qty
from sim.kernel.instants import Instant


class RfqStatus(IntEnum):
    """Whether a request still accepts quotes."""

    OPEN = 1
    CLOSED = 2


class QuoteStatus(IntEnum):
    """State of a quote: ACTIVE → ACCEPTED → CONFIRMED → EXECUTED, or DELETED on the way."""

    ACTIVE = 1
    CONFIRMED = 2
    DELETED = 3
    ACCEPTED = 4
    EXECUTED = 5


class Rfq(Struct, frozen=True, kw_only=True):
    """An account's request for quotes on a combo, for a quantity or, if not 0, for `cash`."""

    id: str
    symbol: str
    account: str
    participant: str
    qty: Qty
    cash: Cash
    rest_remainder: bool
    created: Instant
    updated: Instant
    channel: Channel = Channel.RETAIL
    status: RfqStatus = RfqStatus.OPEN


class Quote(Struct, frozen=True, kw_only=True):
    """A maker's prices for a request, named from the requester's point of view.

    At `buy_price` the requester buys and the maker sells. A price of 0 means that the maker does
    not offer that side. `accepted` is the side that the requester accepted. Instants are None until
    they are reached.
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
    channel: Channel = Channel.RETAIL
    status: QuoteStatus = QuoteStatus.ACTIVE
    accepted: Side = Side.UNDEFINED
    accepted_at: Instant | None = None
    confirmed_at: Instant | None = None
    confirm_by: Instant | None = None
    execute_by: Instant | None = None
    executed_at: Instant | None = None
    rfq_order_id: str = ""
    quote_order_id: str = ""
