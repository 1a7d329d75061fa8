"""The format of `expect`: what must be true after a step of a scenario.

`actors/script/expectations.py` checks it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from msgspec import UNSET, Struct

from sim.core.catalogue.bounds import Bound
from sim.core.model.enums import InstrumentState, OrderState
from sim.world.format.scalar_types import COUNT, DECIMAL, ORDINAL, bounded_count
from sim.world.format.struct_types import Alias, ScalarOr, one_or_more, record
from sim.world.format.value_types import Choice, choice_of
from sim.world.format.world_entries import STATES

HTTP_STATUS = bounded_count("an HTTP status", Bound("an HTTP status", 100, 599, "", "", ""))
ORDER_STATES = choice_of(OrderState, "ORDER_STATE_")
REFUSED = Choice(("false", "true", "maybe"))

OUTCOMES = Choice(("delivered", "failed", "lost", "in_flight"))
BREAKER_STATES = Choice(("closed", "open", "half_open"))
# A level of a book: "price x quantity".
LEVEL = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*[x×]\s*[0-9]+(\.[0-9]+)?\s*", re.ASCII)


class StreamExpect(Struct, frozen=True, kw_only=True):
    """The frames that arrived on a stream since the last step that checked it."""

    name: str
    """name of the stream in `subscribe`"""
    count: Annotated[int | None, COUNT] = None
    """number of frames without heartbeats"""
    has: Any = UNSET
    """values that at least one frame must contain: the given keys of a mapping, and for each given
    item of a list a matching item in the frame's list, in any order"""
    last: Any = UNSET
    """values that the last frame must contain, compared as in `has`"""
    code: Annotated[int | None, COUNT] = None
    """gRPC status with which the stream has ended"""


class InstrumentExpect(Struct, frozen=True, kw_only=True):
    """State and settlement price of an instrument."""

    symbol: str
    """symbol of the instrument"""
    state: Annotated[InstrumentState | None, STATES] = None
    """state of the instrument"""
    settlement: Annotated[str | None, DECIMAL] = None
    """final settlement price in dollars"""


class OpenOrdersExpect(Struct, frozen=True, kw_only=True):
    """The number of open orders."""

    count: Annotated[int, COUNT]
    """number of open orders"""
    as_: Annotated[str, Alias("account")] = ""
    """participant or account whose orders count; everybody's by default"""
    symbol: str = ""
    """instrument whose orders count; all instruments by default"""


class BalanceExpect(Struct, frozen=True, kw_only=True):
    """The balance of an account in dollars."""

    account: Annotated[str, Alias("as")]
    """account, or maker, taker, noise"""
    cash: Annotated[str | None, DECIMAL] = None
    """cash balance in dollars"""
    buying_power: Annotated[str | None, DECIMAL] = None
    """buying power in dollars"""


class PositionExpect(Struct, frozen=True, kw_only=True):
    """The position of an account in an instrument."""

    account: Annotated[str, Alias("as")]
    """account, or maker, taker, noise"""
    symbol: str
    """symbol of the instrument"""
    net: Annotated[str | None, DECIMAL] = None
    """net position in contracts; negative means short"""
    cost: Annotated[str | None, DECIMAL] = None
    """cost of the position in dollars"""
    realized: Annotated[str | None, DECIMAL] = None
    """realized profit or loss in dollars"""


class OrderExpect(Struct, frozen=True, kw_only=True):
    """An order: the one that this step placed, or with `clord_id` another one."""

    clord_id: str = ""
    """the order: its client order id, or the name of the step that placed it"""
    state: Annotated[OrderState | None, ORDER_STATES] = None
    """state of the order"""
    filled: Annotated[str | None, DECIMAL] = None
    """filled quantity in contracts"""
    leaves: Annotated[str | None, DECIMAL] = None
    """open quantity in contracts"""
    avg_price: Annotated[str | None, DECIMAL] = None
    """average price of its fills in dollars, rounded to the price scale as in answers
    of the exchange"""
    reason: str | None = None
    """text of the reject or of the unsolicited cancel, or a part of this text"""


class BookExpect(Struct, frozen=True, kw_only=True):
    """The best price levels of a book. An empty list means that the side is empty."""

    symbol: str
    """symbol of the instrument"""
    bids: tuple[str, ...] | None = None
    """bid levels as "price x quantity", the best price first"""
    offers: tuple[str, ...] | None = None
    """offer levels as "price x quantity", the best price first"""


class TradesExpect(Struct, frozen=True, kw_only=True):
    """The trades of an instrument since the scenario began."""

    symbol: str
    """symbol of the instrument"""
    count: Annotated[int | None, COUNT] = None
    """number of trades"""
    last_price: Annotated[str | None, DECIMAL] = None
    """price of the last trade in dollars"""
    qty: Annotated[str | None, DECIMAL] = None
    """traded quantity of all trades in contracts"""


class WebhookExpect(Struct, frozen=True, kw_only=True):
    """The attempts to deliver webhooks since the scenario began, and lost deliveries."""

    type: str = ""
    """event type that counts: kyc.approved, kyc.rejected or webhook.test"""
    external_id: str = ""
    """verification whose events count"""
    outcome: Annotated[str, OUTCOMES] = ""
    """outcome that counts"""
    attempt: Annotated[int | None, ORDINAL] = None
    """number of the attempt that counts, from 1"""
    count: Annotated[int, COUNT] = 1
    """number of attempts that match; 1 by default"""


class BreakerExpect(Struct, frozen=True, kw_only=True):
    """The circuit breaker of a firm's webhook."""

    firm: str
    """firms/<firm>, or <firm>"""
    state: Annotated[str, BREAKER_STATES]
    """closed: attempts are made; open: attempts wait; half_open: one trial attempt is made"""


class FaultExpect(Struct, frozen=True, kw_only=True):
    """What an injected fault has done so far."""

    id: str
    """id of the fault; f1 is the fault that was added first"""
    affected: Annotated[int | None, COUNT] = None
    """number of calls, frames, deliveries or orders that it has affected"""
    matched: Annotated[int | None, COUNT] = None
    """number of calls, frames, deliveries or orders that it has matched"""


_OPEN_ORDERS = ScalarOr(COUNT, record(OpenOrdersExpect))


class Expect(Struct, frozen=True, kw_only=True):
    """What must be true after the step. The step fails unless every key holds. Most keys take one
    mapping or a list of mappings.
    """

    status: Annotated[int | None, HTTP_STATUS] = None
    """HTTP status of the answer to `call`"""
    code: Annotated[int | None, COUNT] = None
    """gRPC status code of the answer to `call`"""
    json: Any = UNSET
    """values that the answer must contain: the given keys of a mapping, all items of a list in
    order; numbers are compared by value"""
    header: dict[str, str] = {}
    """headers of the answer, value by name"""
    instrument: Annotated[tuple[InstrumentExpect, ...], one_or_more(InstrumentExpect)] = ()
    open_orders: Annotated[
        int | OpenOrdersExpect | None, ScalarOr(COUNT, record(OpenOrdersExpect))
    ] = None
    """number of open orders, or a mapping that selects them"""
    balance: Annotated[tuple[BalanceExpect, ...], one_or_more(BalanceExpect)] = ()
    position: Annotated[tuple[PositionExpect, ...], one_or_more(PositionExpect)] = ()
    order: Annotated[tuple[OrderExpect, ...], one_or_more(OrderExpect)] = ()
    book: Annotated[tuple[BookExpect, ...], one_or_more(BookExpect)] = ()
    trades: Annotated[tuple[TradesExpect, ...], one_or_more(TradesExpect)] = ()
    webhook: Annotated[tuple[WebhookExpect, ...], one_or_more(WebhookExpect)] = ()
    breaker: Annotated[tuple[BreakerExpect, ...], one_or_more(BreakerExpect)] = ()
    fault: Annotated[tuple[FaultExpect, ...], one_or_more(FaultExpect)] = ()
    stream: Annotated[tuple[StreamExpect, ...], one_or_more(StreamExpect)] = ()
    digest: str | None = None
    """digest of the journal after the step"""
    refused: Annotated[str, REFUSED] = "false"
    """true: the call or action of the step must be refused, or its order rejected; maybe: both
    outcomes are accepted, and a refused call saves nothing; false by default. Not needed beside
    `status`, `code`, `json` or `header`"""
