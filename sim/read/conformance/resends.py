"""The rule about sending an order or transfer again whose answer was lost (§7.1).

An order is unresolved while its client has no answer about it: it was answered 5xx, or the
connection broke. It may have been executed or not. Sending it again under the same client id is the
documented way, unless that makes a second order. Under a new id, or without one, the client has to
look the first one up before. An order with other terms, or after minutes, is another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from msgspec import json, structs

from sim.core.model.events import Executed, FaultInjected, RuleApplied
from sim.kernel.instants import minutes
from sim.read.conformance.recorded_run import Call, ClientActivity, Finding
from sim.read.conformance.rules import rule
from sim.read.decisions import kinds_of
from sim.run.engine.verdicts import rejects_of

_UNANSWERED = (500, 502, 503, 504)
_BREAKS = {"reset", "refuse", "hang", "half_close"}
_RESENT_WITHIN = minutes(2)  # twice the longest usual timeout of a client
# Operations that enter something, with the field of its id; "" if there is none.
_IDS = {
    "InsertOrder": "clord_id",
    "InsertOrderList": "clord_id",
    "CreateOrder": "",
    "CreateOrders": "",
    "CreateCashMovement": "idempotency_key",
    "CreateVendorOrder": "idempotency_key",
    "CreateFundedOrder": "idempotency_key",
}
_READS = ("Get", "List", "Search", "Download", "CreateOrderSubscription", "CreateDropCopy")
_ABOUT_ORDERS = ("Order", "Execution", "Trade", "Activities", "DropCopy")
_ABOUT_CASH = ("CashMovement", "Balance", "Ledger", "Transaction", "FundedOrder")
_SOCKET = "/v1/ws/private"
_CANCELS_ALL = ("CancelOpenOrders", "CancelAllOrders")


class _SentOrder(NamedTuple):
    """One order or transfer of a call: its id, and everything else in it."""

    id: str
    terms: bytes


@rule("7.1", applies_to="an order or transfer that is sent again although its answer was lost")
def idempotent_retry(run: ClientActivity) -> Iterator[Finding]:
    """Retry an order or transfer whose answer was lost with the same id, or look it up before."""
    for call in run.calls:
        if call.rpc in _IDS and _is_unanswered(call) and call.request is not None:
            yield from _resent(call, run.calls_after(call))


def _resent(lost: Call, following: Iterator[Call]) -> Iterator[Finding]:
    """Yield a finding about each time that a lost call is sent again, until it is resolved."""
    entries, id_name, orders = _entries(lost), _IDS[lost.rpc], _orders(lost)
    looked_up = lost_again = False
    for call in takewhile(lambda call: call.at - lost.at <= _RESENT_WITHIN, following):
        looked_up = looked_up or _resolves(call, lost, entries)
        if call.operation != lost.operation or call.request is None:
            continue
        again = [entry for entry in _entries(call) if entry.terms in {e.terms for e in entries}]
        if not again:
            continue
        if looked_up:
            yield call.finding(because_of=lost)
            return
        same = {entry.id for entry in entries} & {entry.id for entry in again} - {""}
        broken = ""
        if not same:
            how = f"under another {id_name}" if again[0].id else "without an id"
            broken = f"sent again {how}: if the first was processed, this is another"
        elif orders and _orders(call) - orders:
            broken = f"sent again with the same {id_name}, which made a second order"
        if broken or not lost_again:
            yield call.finding(broken=broken, because_of=lost)
        if broken or not _is_unanswered(call):
            return
        lost_again = True  # what follows it is judged by itself, but for a second order


def _is_unanswered(call: Call) -> bool:
    """Return whether the client got no answer that says what became of a call."""
    injected = (event for event in call.events if isinstance(event, FaultInjected))
    return call.status in _UNANSWERED or any(_BREAKS & {*kinds_of(event)} for event in injected)


def _resolves(call: Call, lost: Call, entries: Sequence[_SentOrder]) -> bool:
    """Return whether a call shows its client what became of a lost one, or ends that."""
    if call.status >= 400 or _is_unanswered(call):
        return False
    of_cash = _IDS[lost.rpc] == "idempotency_key"
    about = _ABOUT_CASH if of_cash else _ABOUT_ORDERS
    if call.rpc in _CANCELS_ALL or _SOCKET in call.fingerprint:
        return not of_cash
    if call.rpc.startswith("Cancel"):
        return getattr(call.request, "clord_id", "") in {entry.id for entry in entries} - {""}
    return call.rpc.startswith(_READS) and any(word in call.rpc for word in about)


def _entries(call: Call) -> list[_SentOrder]:
    name, participant = _IDS[call.rpc], (call.input.participant or "").encode()
    batch = "requests" if call.rpc == "InsertOrderList" else "orders"
    requests = getattr(call.request, batch, [call.request])
    return [
        _SentOrder(getattr(each, name, ""), _without(each, name) + participant) for each in requests
    ]


def _without(request: Any, name: str) -> bytes:
    if not name:
        return json.encode(request)
    default = getattr(type(request)(), name)
    return json.encode(structs.replace(request, **{name: default}))


def _orders(call: Call) -> set[str]:
    """Return the orders that a call made: those that it reports first, or that now wait."""
    rejected = {id(event) for event in rejects_of(call.events)}
    orders = set()
    for event in call.events:
        if isinstance(event, Executed) and id(event) not in rejected:
            order = event.execution.order
            if order.created == event.execution.at and order.participant == call.caller:
                orders.add(order.id)
        elif isinstance(event, RuleApplied) and event.rule == "M36":
            orders.add(event.subject.removeprefix("order/"))
    return orders
