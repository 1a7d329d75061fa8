"""Whether orders, changes and cancels are accepted or refused, and the answers to them.

Realises rules M2-M7, M10-M39, M43, M44, P3, P4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sim.oracle import matching
from sim.oracle.entry import cross_refusal, entry_refusal
from sim.oracle.hearing import Hearing
from sim.oracle.order_requests import (
    Refusal,
    Request,
    closing_request,
    exchange_request,
    retail_request,
)
from sim.oracle.state import Document, NaiveOrder
from sim.read.observed import ObservedInput

# Terms of an order that its first report shows as they were asked for.
TERMS = (
    *("symbol", "account", "participant", "side", "type", "tif", "price", "qty", "clord_id"),
    *("good_till", "stop_price", "min_qty", "cash_qty", "all_or_none", "post_only"),
    *("strict_limit", "best_limit", "immediately_executable_limit", "ignore_price_checks"),
    *("smp_id", "smp", "channel", "session_id"),
)
INSERT, PREVIEW = "OrderEntryAPI.InsertOrder", "OrderEntryAPI.PreviewOrder"
INSERT_LIST, CROSS = "OrderEntryAPI.InsertOrderList", "OrderEntryAPI.InsertOrderCross"
RETAIL_PREVIEW, RETAIL_CLOSE = "RetailOrdersAPI.PreviewOrder", "RetailOrdersAPI.ClosePosition"
RETAIL_CREATE, RETAIL_BATCH = "RetailOrdersAPI.CreateOrder", "RetailOrdersAPI.CreateOrders"
VENDOR = ("OrderFundingService.CreateVendorOrder", "OrderFundingService.CreateFundedOrder")


class OrderRules:
    """The part of the law about it. `_requests` are those of the input that are still to come."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange = hearing.exchange
        beginning = hearing.exchange.beginning
        self._accounts = {
            user["name"]: user["account"] for firm in beginning.firms for user in firm["users"]
        }
        self._keys = {row["key_id"]: row for row in beginning.api_keys}
        self._seq = -1
        self._requests: list[Request] = []
        self._sides: list[NaiveOrder] = []  # of a cross whose second side is still to come

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
        for event in observed.events:
            if event["event"] == "KycDecided" and event["participant"]:
                self._accounts[event["participant"]] = event["account"]
        requests = self._requests_of(observed)
        if not requests or _disturbed(observed):
            return
        if observed.operation in (PREVIEW, RETAIL_PREVIEW):
            self._previewed(observed, requests[0])
        elif observed.status != 200 or observed.code:
            self._refused(observed, requests)

    # ---- entry

    def entered(self, order: NaiveOrder) -> None:
        """Judge an order that was accepted, before it trades."""
        request = self._next(order)
        refusal = entry_refusal(self._exchange, request)
        if self._entry(refusal, f"order {order.id}"):
            self._compare(request, order)

    def _entry(self, refusal: Refusal | None, subject: str) -> bool:
        """Return whether what entered had to; disagree if not."""
        if refusal is None:
            return True
        sentence = f"{subject} entered, though {refusal.rule} refuses it"
        self._hearing.disagree(refusal.rule, "refused", "accepted", sentence)
        return False

    def crossed(self, order: NaiveOrder) -> None:
        """Judge a side of a cross, which trades with the other one without the book (rule M44)."""
        self._exchange.orders[order.id] = order
        self._sides.append(order)
        requests = self._requests_of(self._hearing.observed)
        for request in requests:
            if request.order.side == order.side:
                self._compare(request, order)
        if len(self._sides) < 2:
            return
        sides, self._sides = self._sides, []
        if requests:
            refusal = self._call_refusal(self._hearing.observed, requests)
            self._entry(refusal, f"cross {order.host_cross_id}")
            sides.sort(key=lambda each: each.side != requests[0].order.side)
            requests.clear()
        matching.cross(self._exchange, *sides)

    def rejected(self, order: NaiveOrder, event: Document) -> None:
        """Judge an order that was rejected by a report."""
        request = self._next(order)
        execution = event["execution"]
        refusal = entry_refusal(self._exchange, request)
        reason, text = execution.get("reject_reason", 0), execution.get("text", "")
        self._reason(refusal, event.get("rule", ""), reason, text, f"order {order.id}")

    def _reason(
        self, refusal: Refusal | None, rule: str, reason: int | None, text: str, subject: str
    ) -> None:
        """Compare why something was refused with why it had to be (rules M2, M7)."""
        if refusal is None:
            sentence = f"{subject} was refused by {rule}: {text}"
            self._hearing.disagree(rule, "accepted", f"refused by {rule}", sentence)
        elif rule != refusal.rule and rule not in refusal.others:
            sentence = f"{subject} was refused by {rule}, not {refusal.rule}: {text}"
            self._hearing.disagree("M2", refusal.rule, rule, sentence)
        elif reason is not None and reason != refusal.reason:
            sentence = f"{subject} was refused for reason {reason}, not {refusal.reason}"
            self._hearing.disagree(rule, f"{refusal.reason}", f"{reason}", sentence)
        elif refusal.text and text and refusal.text != text:
            sentence = f"{subject} was refused with {text}, not {refusal.text}"
            self._hearing.disagree(rule, refusal.text, text, sentence)

    def _compare(self, request: Request, order: NaiveOrder) -> None:
        """Compare the terms of a first report with those that were asked for."""
        row = self._hearing.event["execution"]["order"]
        asked: dict[str, Any] = {name: getattr(request.order, name) for name in TERMS}
        asked |= request.extra
        for name, value in asked.items():
            shown = getattr(order, name) if name in TERMS else row.get(name, 0)
            if (shown or None) != (value or None):
                sentence = f"order {order.id} entered with {name} {shown}, not {value}"
                self._hearing.disagree("M2", f"{name} {value}", f"{name} {shown}", sentence)
                return

    # ---- changes

    def canceled(self, order: NaiveOrder, event: Document) -> None:
        """Judge a cancel that nothing else made necessary, before it happens."""

    def replaced(self, order: NaiveOrder, changed: NaiveOrder) -> None:
        """Judge a change, before it happens."""

    def change_refused(self, event: Document) -> None:
        """Judge a cancel or replace that was refused by an event."""

    # ---- calls that were refused

    def _refused(self, observed: ObservedInput, requests: list[Request]) -> None:
        """Judge a call that was refused before anything of it entered (rules M2, M7, M38)."""
        if not _own(observed.rule):
            return
        refusal = self._call_refusal(observed, requests)
        self._reason(refusal, observed.rule, None, "", observed.operation)
        status, code = refusal.answer if refusal else (0, 0)
        status = 200 if observed.input["type"] == "rpc" else status
        if refusal and (observed.status, observed.code) != (status, code):
            pair = f"{status}, {code}", f"{observed.status}, {observed.code}"
            sentence = f"{observed.operation}, refused by {refusal.rule}, answered {pair[1]}"
            self._hearing.disagree("M7", *pair, sentence)

    def _call_refusal(self, observed: ObservedInput, requests: list[Request]) -> Refusal | None:
        """Return why a call is refused that enters nothing; None if it is not."""
        if observed.operation == CROSS:
            message = observed.message or {}
            return cross_refusal(self._exchange, requests, message["cross_type"])
        refusals = (entry_refusal(self._exchange, request) for request in requests)
        return next(filter(None, refusals), None)

    def _previewed(self, observed: ObservedInput, request: Request) -> None:
        """Judge a preview: the checks of an entry, and nothing enters."""

    # ---- what was asked for

    def _next(self, order: NaiveOrder) -> Request:
        """Return the request of an order; without one that can be seen, what its report shows."""
        requests = self._requests_of(self._hearing.observed)
        if requests:
            return requests.pop(0)
        asked = replace(order, queue=1 << 62)
        if asked.cash_qty:
            asked.qty = 0
        return Request(asked)

    def _requests_of(self, observed: ObservedInput) -> list[Request]:
        """Return the orders that an input asks for, without those that were judged."""
        if observed.seq != self._seq:
            self._seq = observed.seq
            self._requests = self._read(observed)
        return self._requests

    def _read(self, observed: ObservedInput) -> list[Request]:
        operation, message = observed.operation, observed.message
        if not message:
            return []
        if operation in (INSERT, PREVIEW, INSERT_LIST, CROSS):
            if operation in (INSERT_LIST, CROSS):
                bodies = message["requests"]
            else:
                bodies = [message if operation == INSERT else message["request"]]
            participant = observed.input.get("participant") or ""
            account = self._accounts.get(participant, "")
            if not account:
                return []
            requests = [exchange_request(body, participant, account) for body in bodies if body]
            if operation == CROSS:
                self._as_cross(requests, message["cross_prioritized_side"])
            return requests
        if operation in (RETAIL_CREATE, RETAIL_PREVIEW, RETAIL_BATCH, RETAIL_CLOSE):
            key_row = self._keys.get(observed.input.get("credential", {}).get("key", ""))
            if key_row is None:
                return []
            return [self._retail(body, key_row) for body in _bodies(operation, message)]
        return []

    def _as_cross(self, requests: list[Request], priority: int) -> None:
        """Put the side with priority first; each side is of the participant of its account."""
        owners = {account: participant for participant, account in self._accounts.items()}
        for request in requests:
            order = request.order
            order.participant = owners.get(order.account, order.participant)
        if priority:
            requests.sort(key=lambda request: request.order.side != priority)

    def _retail(self, body: Document, key: Document) -> Request:
        market = self._exchange.listed(body["market_slug"])
        if "slippage_tolerance" in body and "intent" not in body:
            return closing_request(self._exchange, body, market, key)
        return retail_request(self._exchange, body, market, key)


def _bodies(operation: str, message: Document) -> list[Document]:
    if operation == RETAIL_BATCH:
        return list(message["orders"])
    body = message["request"] if operation == RETAIL_PREVIEW else message
    return [body] if body else []


def _own(rule: str) -> bool:
    """Return whether a rule is one by which orders are refused, and not the call."""
    return rule[:1] in ("M", "P") or rule.startswith(("S3.1", "S2.8", "S7.1-1", "L18", "T3"))


def _disturbed(observed: ObservedInput) -> bool:
    return any(event["event"] == "FaultStruck" for event in observed.events)
