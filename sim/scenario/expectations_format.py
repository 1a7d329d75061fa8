"""What a step of a scenario expects of its own answer, of the state, of streams and of webhooks.

`actors/script/expectations.py` checks it.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from msgspec import UNSET, Struct

from sim.core.catalogue.bounds import Bound
from sim.core.model.enums import InstrumentState, OrderState
from sim.scenario.scalar_types import COUNT, DECIMAL, ORDINAL, bounded_count
from sim.scenario.struct_types import Alias, ScalarOr, one_or_more, record
from sim.scenario.value_types import Choice, choice_of
from sim.scenario.world_entries import STATES

HTTP_STATUS = bounded_count("an HTTP status", Bound("an HTTP status", 100, 599, "", "", ""))
ORDER_STATES = choice_of(OrderState, "ORDER_STATE_")
REFUSED = Choice(("false", "true", "maybe"))

OUTCOMES = Choice(("delivered", "failed", "lost", "in_flight"))
BREAKER_STATES = Choice(("closed", "open", "half_open"))
# A level of a book: "price x quantity".
LEVEL = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*[x×]\s*[0-9]+(\.[0-9]+)?\s*", re.ASCII)


class StreamExpect(Struct, frozen=True, kw_only=True):
    """What came on a stream since the step that last looked at it."""

    name: Annotated[str, "as in `subscribe`"]
    count: Annotated[int | None, COUNT, "frames in all, heartbeats not counted"] = None
    has: Annotated[
        Any,
        "some frame holds this; each item of a list must be held by some item of the frame's list",
    ] = UNSET
    last: Annotated[Any, "the last frame holds this, in the same sense"] = UNSET
    code: Annotated[int | None, COUNT, "the stream has ended with this gRPC status"] = None


class InstrumentExpect(Struct, frozen=True, kw_only=True):
    """State and settlement of an instrument."""

    symbol: Annotated[str, "symbol of the instrument"]
    state: Annotated[InstrumentState | None, STATES, "its lifecycle state"] = None
    settlement: Annotated[str | None, DECIMAL, "final settlement price in dollars"] = None


class OpenOrdersExpect(Struct, frozen=True, kw_only=True):
    """How many orders are open."""

    count: Annotated[int, COUNT, "how many"]
    as_: Annotated[
        str, "participant or account; everybody when left out", Alias("account", former=False)
    ] = ""
    symbol: Annotated[str, "only on this instrument"] = ""


class BalanceExpect(Struct, frozen=True, kw_only=True):
    """The cash of an account, in dollars."""

    account: Annotated[str, "account, or maker, taker, noise", Alias("as", former=False)]
    cash: Annotated[str | None, DECIMAL, "dollars in the account"] = None
    buying_power: Annotated[str | None, DECIMAL, "dollars that it may still spend"] = None


class PositionExpect(Struct, frozen=True, kw_only=True):
    """The position of an account in an instrument."""

    account: Annotated[str, "whose position", Alias("as", former=False)]
    symbol: Annotated[str, "symbol of the instrument"]
    net: Annotated[str | None, DECIMAL, "contracts; negative is short"] = None
    cost: Annotated[str | None, DECIMAL, "dollars"] = None
    realized: Annotated[str | None, DECIMAL, "dollars"] = None


class OrderExpect(Struct, frozen=True, kw_only=True):
    """An order: this step's own, or the one of the client order id."""

    clord_id: Annotated[str, "client order id, or the name of the step that placed it"] = ""
    state: Annotated[OrderState | None, ORDER_STATES, "its state"] = None
    filled: Annotated[str | None, DECIMAL, "contracts"] = None
    leaves: Annotated[str | None, DECIMAL, "contracts"] = None
    avg_price: Annotated[
        str | None, DECIMAL, "dollars, rounded to the price scale as answers of the exchange are"
    ] = None
    reason: Annotated[
        str | None, "text of the rejection or unsolicited cancel, or a part of it"
    ] = None


class BookExpect(Struct, frozen=True, kw_only=True):
    """The top of a book: levels as "price x quantity", best first; an empty list: an empty side."""

    symbol: Annotated[str, "symbol of the instrument"]
    bids: Annotated[tuple[str, ...] | None, '"price x quantity", best first'] = None
    offers: Annotated[tuple[str, ...] | None, '"price x quantity", best first'] = None


class TradesExpect(Struct, frozen=True, kw_only=True):
    """What has traded since the scenario began."""

    symbol: Annotated[str, "symbol of the instrument"]
    count: Annotated[int | None, COUNT, "how many trades"] = None
    last_price: Annotated[str | None, DECIMAL, "dollars"] = None
    qty: Annotated[str | None, DECIMAL, "contracts in all"] = None


class WebhookExpect(Struct, frozen=True, kw_only=True):
    """Attempts to deliver webhooks since the scenario began, and deliveries that were lost."""

    type: Annotated[str, "kyc.approved, kyc.rejected, webhook.test"] = ""
    external_id: Annotated[str, "only about this verification"] = ""
    outcome: Annotated[str, OUTCOMES, "only those that ended so"] = ""
    attempt: Annotated[int | None, ORDINAL, "only the attempt of this number"] = None
    count: Annotated[int, COUNT, "how many there are"] = 1


class BreakerExpect(Struct, frozen=True, kw_only=True):
    """The circuit breaker of a firm's webhook."""

    firm: Annotated[str, "firms/<firm>, or <firm>"]
    state: Annotated[
        str,
        BREAKER_STATES,
        "closed lets attempts through, open parks them, half_open lets one through",
    ]


class FaultExpect(Struct, frozen=True, kw_only=True):
    """What an injected fault has done so far."""

    id: Annotated[str, "f1 is the first that was added"]
    struck: Annotated[int | None, COUNT, "how often it struck"] = None
    seen: Annotated[int | None, COUNT, "how often it matched"] = None


class Expect(Struct, frozen=True, kw_only=True):
    """What must hold after the step. Most checks may be one mapping or a list of mappings."""

    status: Annotated[int | None, HTTP_STATUS, "HTTP status of the call"] = None
    code: Annotated[int | None, COUNT, "gRPC status code of the call"] = None
    json: Annotated[
        Any,
        "part of the answer: mappings match by those of their keys that stand here, lists item by"
        " item and in length, numbers by value",
    ] = UNSET
    header: Annotated[dict[str, str], "headers of the answer, by name"] = {}
    instrument: Annotated[tuple[InstrumentExpect, ...], one_or_more(InstrumentExpect)] = ()
    open_orders: Annotated[
        int | OpenOrdersExpect | None,
        ScalarOr(COUNT, record(OpenOrdersExpect)),
        "a count, or a mapping that says whose",
    ] = None
    balance: Annotated[tuple[BalanceExpect, ...], one_or_more(BalanceExpect)] = ()
    position: Annotated[tuple[PositionExpect, ...], one_or_more(PositionExpect)] = ()
    order: Annotated[tuple[OrderExpect, ...], one_or_more(OrderExpect)] = ()
    book: Annotated[tuple[BookExpect, ...], one_or_more(BookExpect)] = ()
    trades: Annotated[tuple[TradesExpect, ...], one_or_more(TradesExpect)] = ()
    webhook: Annotated[tuple[WebhookExpect, ...], one_or_more(WebhookExpect)] = ()
    breaker: Annotated[tuple[BreakerExpect, ...], one_or_more(BreakerExpect)] = ()
    fault: Annotated[tuple[FaultExpect, ...], one_or_more(FaultExpect)] = ()
    stream: Annotated[tuple[StreamExpect, ...], one_or_more(StreamExpect)] = ()
    digest: Annotated[str | None, "journal digest at this point"] = None
    refused: Annotated[
        str,
        REFUSED,
        "true: the call or action of the step must be refused, or its order rejected; maybe: it may"
        " be, and a refused call saves nothing. A call whose `status`, `code`, `json` or `header`"
        " is expected needs none",
    ] = "false"
