"""Whether orders, changes and cancels are accepted or refused, and the answers to them.

Realises rules M2-M7, M10-M39, M43, M44, P3, P4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sim.oracle import matching
from sim.oracle.changes import OrderChange, after, change_refusal, order_of
from sim.oracle.engine_queue import WaitingRequests
from sim.oracle.entry import cross_refusal, entry_refusal, reception_refusal
from sim.oracle.hearing import Hearing
from sim.oracle.order_answers import execution_problems, order_ids
from sim.oracle.order_calls import CROSS, INSERT, PREVIEWS, VENDOR, OrderCalls
from sim.oracle.order_requests import OrderRefusal, OrderRequest, invalid
from sim.oracle.state import MARKET_TO_LIMIT, RETAIL, SCRIPT, Document, NaiveOrder
from sim.read.observed import ObservedInput

# Terms of an order that its first report shows as they were asked for.
TERMS = (
    *("symbol", "account", "participant", "side", "type", "tif", "price", "qty", "clord_id"),
    *("good_till", "stop_price", "min_qty", "cash_qty", "all_or_none", "post_only"),
    *("strict_limit", "best_limit", "immediately_executable_limit", "ignore_price_checks"),
    *("smp_id", "smp", "channel", "session_id"),
)
LATE = OrderRefusal("M37")


class OrderRules:
    """The part of the law about it. `_calls` has what the input asks for and was not judged yet."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange = hearing.exchange
        self._calls = OrderCalls(hearing)
        self._queue = WaitingRequests(hearing)
        # What a key was used for first, and its result (M25); None if a fault disturbed that
        self._results: dict[tuple[str, str], tuple[Document, str | None] | None] = {}
        self._sides: list[NaiveOrder] = []  # of a cross whose second side is still to come

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
        self._calls.learn(observed)
        for each in self._queue.overdue(observed.now):
            sentence = f"the engine did not take the request about {each.order_id}"
            self._hearing.disagree("M36", f"taken at {each.due}", "nothing", sentence)
        requests, changes = self._calls.requests(observed), self._calls.changes(observed)
        if self._calls.disturbed(observed):
            self._hearing.undecided("an injected fault")
            if (observed.message or {}).get("idempotency_key"):
                self._results.setdefault(_key(observed), None)  # it may have been handled
            return
        if observed.input.get("action"):
            return
        keyed = (observed.message or {}).get("idempotency_key")
        if observed.operation in (VENDOR, INSERT) and keyed and self._repeated(observed):
            return
        if observed.operation in PREVIEWS and requests:
            self._previewed(observed, requests[0])
        elif observed.status != 200 or observed.code:
            if _own(observed.rule) and (requests or changes or self._calls.refusal):
                self._refused(observed)
        else:
            self._accepted(observed)

    def _accepted(self, observed: ObservedInput) -> None:
        """Judge what of an accepted call no report showed, and the ids in the answer (M7)."""
        late = observed.operation == CROSS and self._queue.waits()
        for request in [] if late else self._calls.requests(observed):
            refusal = entry_refusal(self._exchange, request)
            self._silent(refusal, f"an order in {request.order.symbol}")
        for change in self._calls.changes(observed):
            self._silent(change_refusal(self._exchange, change), change.order_id)
        if self._calls.refusal and not self._calls.deferred(observed):
            sentence = f"{observed.operation} was accepted, and refused by an event"
            self._hearing.disagree("M7", "an error", "200", sentence)
        answer, entered = observed.answer, self._calls.entered
        if observed.operation == CROSS and self._queue.waits():
            self._hearing.undecided("a cross that waits for the engine")
            return
        if entered and isinstance(answer, dict):
            ids = order_ids(answer)
            if ids != entered and sorted(ids) != sorted(entered):
                sentence = f"{observed.operation} answered with the orders {ids}, not {entered}"
                self._hearing.disagree("M7", f"{entered}", f"{ids}", sentence)
            for problem in execution_problems(answer.get("executions") or [], observed.events):
                self._hearing.disagree("M41", problem, "", f"an answer shows {problem}")

    def _silent(self, refusal: OrderRefusal | None, subject: str) -> None:
        """Judge an accepted request without a report: only what is refused may have none."""
        if refusal is None:
            sentence = f"the request for {subject} was accepted, and nothing happened"
            self._hearing.disagree("M7", "a report", "nothing", sentence)

    # ---- entry

    def delayed(self, event: Document) -> None:
        """Judge that a request waits for the engine (rule M36)."""
        observed = self._hearing.observed
        requests, changes = self._calls.requests(observed), self._calls.changes(observed)
        order_id = event["subject"].removeprefix("order/")
        asked = requests.pop(0) if requests else self._about(order_id, changes)
        if isinstance(asked, OrderRequest):
            order = replace(asked.order, id=order_id)
            self._calls.entered.append(order.id)
            self._entry(reception_refusal(self._exchange, asked), f"order {order.id}")
            self._exchange.received[order.id] = asked.order = order
        self._queue.add(event, self._calls.caller(observed).participant, asked)

    def _about(self, order_id: str, changes: list[OrderChange]) -> OrderChange | None:
        """Take the change of an order out of a list, or else the first one."""
        targets = [order_of(self._exchange, change) for change in changes]
        ids = [order.id if order else "" for order in targets]
        return changes.pop(ids.index(order_id) if order_id in ids else 0) if changes else None

    def entered(self, order: NaiveOrder) -> None:
        """Judge an order that was accepted, before it trades."""
        request, late = self._next(order)
        refusal = LATE if late else entry_refusal(self._exchange, request)
        if self._entry(refusal, f"order {order.id}"):
            self._compare(request, order)

    def crossed(self, order: NaiveOrder) -> None:
        """Judge a side of a cross, which trades with the other one without the book (rule M44)."""
        self._exchange.orders[order.id] = order
        self._exchange.received.pop(order.id, None)
        self._queue.take(order.id, OrderRequest)  # both sides wait as one request
        self._sides.append(order)
        requests = self._calls.requests(self._hearing.observed)
        self._calls.entered.append(order.id)
        for request in requests:
            if request.order.side == order.side:
                self._compare(request, order)
        if len(self._sides) < 2:
            return
        sides, self._sides = self._sides, []
        if requests:
            refusal = self._call_refusal(self._hearing.observed)
            self._entry(refusal, f"cross {order.host_cross_id}")
            sides.sort(key=lambda each: each.side != requests[0].order.side)
            requests.clear()
        matching.cross(self._exchange, *sides)

    def rejected(self, order: NaiveOrder, event: Document) -> None:
        """Judge an order that was rejected by a report."""
        waits = bool(order.cross_id) and not self._calls.requests(self._hearing.observed)
        if order.quote_id or waits:
            self._exchange.received.pop(order.id, None)
            self._queue.take(order.id, OrderRequest)
            kind = "a cross that waits for the engine" if waits else "trades outside the book"
            self._hearing.undecided(kind)
            return
        request, late = self._next(order)
        execution = event["execution"]
        refusal = LATE if late else entry_refusal(self._exchange, request)
        reason, text = execution.get("reject_reason", 0), execution.get("text", "")
        self._reason(refusal, event.get("rule", ""), reason, text, f"order {order.id}")
        if not late and not self._calls.deferred(self._hearing.observed):
            sentence = f"order {order.id} was rejected by a report, not by the answer"
            self._hearing.disagree("M7", "an error", "a report", sentence)

    def _entry(self, refusal: OrderRefusal | None, subject: str) -> bool:
        """Return whether what was accepted had to be; disagree if not."""
        if refusal is None:
            return True
        sentence = f"{subject} was accepted, though {refusal.rule} refuses it"
        self._hearing.disagree(refusal.rule, "refused", "accepted", sentence)
        return False

    def _reason(
        self, refusal: OrderRefusal | None, rule: str, reason: int | None, text: str, subject: str
    ) -> None:
        """Compare why something was refused with why it had to be (rules M2, M7)."""
        if refusal is None and rule == "T3":
            self._hearing.undecided("a bound of totals")
        elif refusal is None:
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

    def _compare(self, request: OrderRequest, order: NaiveOrder) -> None:
        """Compare the terms of a first report with those that were asked for."""
        asked: dict[str, Any] = {name: getattr(request.order, name) for name in TERMS}
        self._same(asked | request.extra, order, "entered")

    def _same(self, asked: dict[str, Any], order: NaiveOrder, verb: str) -> None:
        row = self._hearing.event["execution"]["order"]
        for name, value in asked.items():
            reported = getattr(order, name, row.get(name, 0))
            if (reported or None) != (value or None):
                sentence = f"order {order.id} {verb} with {name} {reported}, not {value}"
                self._hearing.disagree("M2", f"{name} {value}", f"{name} {reported}", sentence)
                return

    def _next(self, order: NaiveOrder) -> tuple[OrderRequest, bool]:
        """Return the request of an order, and whether it waited too long (rule M37).

        A scripted participant's request cannot be seen: it is what the report shows.
        """
        self._exchange.received.pop(order.id, None)
        waiting = self._queue.take(order.id, OrderRequest)
        if waiting is not None and isinstance(waiting.asked, OrderRequest):
            return waiting.asked, waiting.stale and order.channel == RETAIL
        requests = self._calls.requests(self._hearing.observed)
        if requests:
            self._calls.entered.append(order.id)
            return requests.pop(0), False
        asked = replace(order, queue=1 << 62)
        if asked.cash_qty:
            asked.qty = 0
        return OrderRequest(asked), False

    # ---- changes

    def canceled(self, order: NaiveOrder, event: Document) -> None:
        """Judge a cancel that nothing else made necessary, before it happens.

        A request of a scripted participant cannot be seen.
        """
        if order.channel == SCRIPT:
            return
        change, _ = self._change(order.id)
        rule = event.get("rule", "")
        if change is not None and change.terms is None:
            self._entry(change_refusal(self._exchange, change), f"the cancel of {order.id}")
        elif change is not None or rule == "M43":
            sentence = f"order {order.id} was canceled, and nobody asked for that"
            self._hearing.disagree("M43", "nothing", "CANCELED", sentence)

    def replaced(self, order: NaiveOrder, changed: NaiveOrder) -> None:
        """Judge a change, before it happens (rules M31-M33)."""
        change, late = self._change(order.id)
        if change is None and order.channel == SCRIPT:
            return
        if change is None or change.terms is None:
            sentence = f"order {order.id} was changed, and nobody asked for that"
            self._hearing.disagree("M31", "nothing", "REPLACE", sentence)
            return
        refusal = LATE if late else change_refusal(self._exchange, change)
        if self._entry(refusal, f"the change of {order.id}"):
            expected = after(self._exchange, order, change.terms)
            asked = {name: getattr(expected, name) for name in TERMS}
            self._same(asked | {"leaves_qty": expected.qty - order.cum_qty}, changed, "changed")

    def change_refused(self, event: Document) -> None:
        """Judge a cancel or replace that was refused by an event."""
        change, late = self._change(event["order_id"])
        if change is None:
            return
        refusal = LATE if late and change.terms is not None else None
        refusal = refusal or change_refusal(self._exchange, change)
        subject = f"the request for {event['order_id']}"
        if refusal is not None and refusal.reason == 6:
            refusal = refusal._replace(reason=5)  # the number that changes have for the band
        if not late:
            self._calls.refusal = refusal
        self._reason(refusal, event.get("rule", ""), event["reason"], event["text"], subject)
        if event["is_replace"] != (change.terms is not None):
            sentence = f"{subject} has is_replace {event['is_replace']}"
            self._hearing.disagree("M33", "", f"{event['is_replace']}", sentence)

    def _change(self, order_id: str) -> tuple[OrderChange | None, bool]:
        """Return the request to change an order, and whether it waited too long (rule M37)."""
        waiting = self._queue.take(order_id, OrderChange)
        if waiting is not None and isinstance(waiting.asked, OrderChange):
            order = order_of(self._exchange, waiting.asked)
            return waiting.asked, waiting.stale and order is not None and order.channel == RETAIL
        changes = self._calls.changes(self._hearing.observed)
        while changes:
            change = changes.pop(0)
            order = order_of(self._exchange, change)
            if order_id == (order.id if order else change.order_id):
                return change, False
            self._silent(change_refusal(self._exchange, change), change.order_id)
        return None, False

    # ---- calls

    def _refused(self, observed: ObservedInput) -> None:
        """Judge a call that was refused before anything of it entered (rules M2, M7, M38)."""
        refusal = self._calls.refusal
        if refusal is None:
            refusal = self._call_refusal(observed)
            text = observed.out.get("message", "")
            self._reason(refusal, observed.rule, None, text, observed.operation)
        status, code = refusal.answer if refusal else (0, 0)
        status = 200 if observed.input["type"] == "rpc" else status
        same = refusal is not None and observed.rule == refusal.rule
        if refusal and same and (observed.status, observed.code) != (status, code):
            pair = f"{status}, {code}", f"{observed.status}, {observed.code}"
            sentence = f"{observed.operation}, refused by {refusal.rule}, answered {pair[1]}"
            self._hearing.disagree("M7", *pair, sentence)
        entering = self._calls.requests(observed) and observed.operation not in PREVIEWS
        deferred = entering and self._calls.deferred(observed)
        if refusal and refusal.kind in ("refused", "duplicate") and deferred:
            sentence = f"{observed.operation} answered an error, and no report rejects the order"
            self._hearing.disagree("M7", "a report", "an error", sentence)

    def _call_refusal(self, observed: ObservedInput) -> OrderRefusal | None:
        """Return why a call is refused that enters nothing; None if it is not."""
        requests = self._calls.requests(observed)
        if observed.operation == CROSS:
            return cross_refusal(self._exchange, requests, (observed.message or {})["cross_type"])
        late = self._queue.busy(self._calls.caller(observed).participant)
        late = late and observed.operation not in PREVIEWS
        # a list enters as a whole: what needs no engine is checked of all its orders first
        is_list = observed.operation.endswith("InsertOrderList")
        changes = self._calls.changes(observed)
        refusals: list[OrderRefusal | None] = [
            each.problem or invalid("M34")
            for each in changes
            if (each.problem and each.problem.kind == "invalid")
            or not (each.order_id or each.clord_id)
        ]
        if late or is_list:
            refusals += [reception_refusal(self._exchange, request) for request in requests]
        entries = [entry_refusal(self._exchange, request) for request in requests]
        refusals += [
            each for each in entries if not late or (each and each.kind == "invalid" and is_list)
        ]
        refusals += [change_refusal(self._exchange, each) for each in changes]
        return next(filter(None, refusals), None)

    def _previewed(self, observed: ObservedInput, request: OrderRequest) -> None:
        """Judge a preview: the checks of an entry, and nothing enters (rules M2, M7)."""
        if observed.status != 200 or observed.code:
            # A preview of a retail market order needs cash (`retail.preview_market`)
            if _own(observed.rule) and not (
                observed.rule == "S7.1-1" and request.order.type == MARKET_TO_LIMIT
            ):
                self._refused(observed)
            return
        refusal = entry_refusal(self._exchange, request)
        answer = observed.answer or {}
        reported = answer.get("previewOrder") or answer.get("order") or {}
        rejected = reported.get("state") == "ORDER_STATE_REJECTED"
        retail = request.order.channel == RETAIL
        if (refusal is not None) != rejected or (refusal and refusal.kind == "invalid"):
            rule = refusal and refusal.rule
            sentence = f"a preview shows {reported.get('state')}, refused by {rule}"
            self._hearing.disagree("M2", f"{rule}", "a preview", sentence)
        elif refusal is None and not retail:
            for name, value in (("price", request.order.price), ("orderQty", request.order.qty)):
                if int(reported.get(name) or 0) != value:
                    sentence = f"a preview shows {name} {reported.get(name)}, not {value}"
                    self._hearing.disagree("M2", f"{value}", f"{reported.get(name)}", sentence)

    def _repeated(self, observed: ObservedInput) -> bool:
        """Judge an order whose key was used before: one key has one result (M25, S2.7-3)."""
        message, operation = observed.message or {}, observed.operation
        key = _key(observed)
        name, rule = ("orderId", "S2.7-3") if operation == INSERT else ("fundingRequestId", "M25")
        body = {name: value for name, value in message.items() if name != "idempotency_key"}
        accepted = not observed.code and isinstance(observed.answer, dict)
        if key not in self._results:
            if accepted:
                request_id = (observed.answer or {}).get(name)
                self._results[key] = body, request_id
            return False
        earlier = self._results[key]
        if earlier is None:
            self._hearing.undecided("an injected fault")
            return True
        former, result = earlier
        answer = (observed.answer or {}).get(name)
        expected = (0, result) if former == body else (6, None)
        if observed.code not in (3, 5, 8, 14, expected[0]) or (accepted and answer != expected[1]):
            sentence = f"the key {key[1]} came back with {observed.code} {answer}, not {expected}"
            self._hearing.disagree(rule, f"{expected}", f"{observed.code} {answer}", sentence)
        return True


def _own(rule: str) -> bool:
    """Return whether a rule is one by which orders are refused, and not the call."""
    return rule[:1] in ("M", "P") or rule.startswith(("S3.1", "S2.8", "S7.1-1", "L18", "T3"))


def _key(observed: ObservedInput) -> tuple[str, str]:
    """Return for what an idempotency key stands: one operation of one caller."""
    key: str = (observed.message or {})["idempotency_key"]
    return f"{observed.operation} {observed.out.get('caller', '')}", key
