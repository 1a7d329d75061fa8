"""Verdicts: what became of a call, from the record of its input.

One verdict is shown wherever the call is: the console, the request log, timelines, the history,
explanations and failing tests. An order that waits in the queue of a slow engine (rule M36) may be
rejected by a later input, which then changes the verdict on the call that sent it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import UNSET

from sim.api.pipeline.request_log import DONE, RequestLog, Verdict
from sim.core.model.enums import ExecutionType
from sim.core.model.events import CancelRejected, Executed, FaultInjected, RuleApplied
from sim.kernel.instants import Instant, parse_span
from sim.run.engine.journal_record import Record, RecordedEvent

_WAITS = "M36"
# A slow answer arrives whole.
_LOSES_NOTHING = "slow_body"


def judge(log: RequestLog, seq: int, out: Record, now: Instant) -> None:
    """Add the verdict on a call to the request log, or change that on an earlier one."""
    if log.last(seq) is not None:
        verdict, waiting = verdict_of(out), tuple(_waiting(out, now))
        if verdict.name != DONE.name or waiting:
            log.judge(verdict, waiting)
        return
    for event in rejects_of(out.events):
        log.rejected(seq, now, order_of(event), rejection(event))


def verdict_of(out: Record) -> Verdict:
    """Return the verdict on a call.

    It is rejected if an order or a change in it was, so a batch with a single rejected item is; its
    facts count them. The answer is lost if the call was executed and an injected fault, or the
    edge, then kept its answer from the client.
    """
    if not out.rule and not out.events:
        return DONE
    facts = {} if out.facts is UNSET else out.facts
    own = [event for event in out.events if _is_own(event, out.caller)]
    orders = tuple(dict.fromkeys(filter(None, map(order_of, own))))
    rejected = list(rejects_of(own))
    handled = next(filter(None, map(_keeping_rule, out.events)), "")
    if handled or (out.rule and len(rejected) < len(orders)):
        return Verdict("answer lost", out.rule or handled, facts, out.message, orders)
    if out.rule:
        return Verdict("refused", out.rule, facts, out.message, orders)
    if rejected:
        return rejection(rejected[0], orders, len(rejected))
    return Verdict(DONE.name, orders=orders)


def rejection(
    event: Executed | CancelRejected, orders: tuple[str, ...] = (), count: int = 1
) -> Verdict:
    """Return the verdict on a call by the first of its `count` rejections."""
    orders = orders or (order_of(event),)
    text = event.text if isinstance(event, CancelRejected) else event.execution.text
    facts = {} if event.facts is UNSET else event.facts
    counts = {"rejected": count, "orders": len(orders)}
    return Verdict("rejected", event.rule, {**facts, **counts}, text, orders)


def order_of(event: RecordedEvent) -> str:
    """Return the id of the order that an event reports on; "" if it is about something else."""
    if isinstance(event, Executed):
        return event.execution.order.id
    return event.order_id if isinstance(event, CancelRejected) else ""


def rejects_of(events: Iterable[RecordedEvent]) -> Iterator[Executed | CancelRejected]:
    """Yield the events by which an order, or a change of one, was rejected."""
    for event in events:
        if isinstance(event, CancelRejected) or (
            isinstance(event, Executed) and event.execution.type is ExecutionType.REJECTED
        ):
            yield event


def _is_own(event: RecordedEvent, caller: str) -> bool:
    """Return whether an event is about an order of the caller. A firm acts for its users."""
    if not isinstance(event, Executed):
        return True
    return "/users/" not in caller or event.execution.order.participant == caller


def _keeping_rule(event: RecordedEvent) -> str:
    """Return the rule of a fault that lets a call be executed and loses its answer; else ""."""
    if not isinstance(event, FaultInjected) or event.facts is UNSET:
        return ""
    keeps = event.facts.get("handled") and event.facts["kinds"] != _LOSES_NOTHING
    return event.rule if keeps else ""


def _waiting(out: Record, now: Instant) -> Iterator[tuple[str, Instant]]:
    for event in out.events:
        if isinstance(event, RuleApplied) and event.rule == _WAITS and event.facts is not UNSET:
            yield event.subject.removeprefix("order/"), now + parse_span(str(event.facts["waits"]))
