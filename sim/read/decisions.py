"""Decisions: what a run decided, each with its rule and facts, as the journal records them.

A decision is an event with a rule, the refusal of a call or of an operator's action, the end of a
stream, or the late refusal of a call that waited. Explain, features, coverage, conformance and the
history read decisions here, and nobody infers one from words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sim.api.pipeline.inputs import Outcome, Resolve
from sim.core.model.enums import ExecutionType
from sim.core.model.events import CancelRejected, Executed, FaultInjected
from sim.read.record import CALLS, JournalEntry, facts_of
from sim.run.engine.journal_record import Record, RecordedEvent

# How many rules of each letter the page *Rules* has; a test compares.
_COUNTS = {"L": 29, "M": 46, "P": 26, "S": 19, "K": 14, "R": 23, "W": 9, "E": 5, "T": 5}
# Rules that say how something looks or is computed. They shape what decisions report, and no
# decision is made by them.
_SHAPES = {
    "L": (1, 2, 14, 15, 24, 28),
    "M": (7, 8, 14, 15, 33, 35, 40, 41),
    "P": (1, 2, 7, 8, 10, 11, 12, 13, 14, 15, 17, 19, 20, 23),
    "S": (4, 5, 9, 14, 17, 18, 19),
    "K": (7, 9),
    "R": (3, 4, 5, 12, 14),
    "W": (3, 6),
    "E": (1, 2, 4),
}
NEVER_DECIDED = {f"{letter}{number}" for letter, row in _SHAPES.items() for number in row}
# Rules by which something is decided.
RULES = tuple(
    rule
    for letter, count in _COUNTS.items()
    for rule in (f"{letter}{number}" for number in range(1, count + 1))
    if rule not in NEVER_DECIDED
)


class Decision(NamedTuple):
    """A rule, and the facts that it was applied to."""

    rule: str
    facts: dict[str, Any]


def decisions_of(out: Record) -> Iterator[Decision]:
    """Yield the decisions in the outcome of one input, in order."""
    for decided in (out, *out.events, *out.closed):
        if rule := getattr(decided, "rule", ""):
            yield Decision(rule, facts_of(decided))
    for *_, rule in out.resolved:
        if rule:
            yield Decision(rule, {})


def decisions_in(outcome: Outcome) -> Iterator[Decision]:
    """Yield the decisions of an outcome that has just been reached, without the journal."""
    replies = (effect.reply for effect in outcome.effects if isinstance(effect, Resolve))
    for decided in (outcome.reply, outcome.value, *outcome.events, *outcome.effects, *replies):
        if rule := getattr(decided, "rule", ""):
            yield Decision(rule, getattr(decided, "facts", None) or {})


def kinds_of(injection: FaultInjected) -> list[str]:
    """Return what an injected fault did, as the names of the catalogue of faults."""
    return str((injection.facts or {}).get("kinds", "")).split()


# ---- verdicts


class Verdict(NamedTuple):
    """What became of a call: `done`, `refused`, `rejected` or `answer lost`.

    `rule` and `facts` are those of the decision behind it, and `text` its words; all are empty for
    `done`. `orders` are the ids of the orders that it entered, changed or ended.
    """

    name: str
    rule: str = ""
    facts: dict[str, Any] = {}
    text: str = ""
    orders: tuple[str, ...] = ()


def verdict_of(entry: JournalEntry) -> Verdict | None:
    """Return the verdict on a call; None for other inputs, which ask for nothing.

    A call is rejected if an order or a change in it was, so a batch with a single rejected item is;
    its facts count them. The answer is lost if the call was executed and an injected fault, or the
    edge, then kept its answer from the client.
    """
    if not isinstance(entry.input, CALLS):
        return None
    out, rejected = entry.out, list(rejects_of(entry.out))
    orders = tuple(dict.fromkeys(order for event in out.events if (order := order_of(event))))
    faults = (event for event in out.events if isinstance(event, FaultInjected))
    handled = [fault.rule for fault in faults if facts_of(fault).get("handled")]
    if handled or (out.rule and len(rejected) < len(orders)):
        return Verdict("answer lost", out.rule or handled[0], facts_of(out), out.message, orders)
    if out.rule:
        return Verdict("refused", out.rule, facts_of(out), out.message, orders)
    if not rejected:
        return Verdict("done", orders=orders)
    first = rejected[0]
    text = first.text if isinstance(first, CancelRejected) else first.execution.text
    facts = {**facts_of(first), "rejected": len(rejected), "orders": len(orders)}
    return Verdict("rejected", first.rule, facts, text, orders)


def order_of(event: RecordedEvent) -> str:
    """Return the id of the order that an event reports on; "" if it is about something else."""
    if isinstance(event, Executed):
        return event.execution.order.id
    return event.order_id if isinstance(event, CancelRejected) else ""


def rejects_of(out: Record) -> Iterator[Executed | CancelRejected]:
    """Yield the events by which an order, or a change of one, was rejected."""
    for event in out.events:
        if isinstance(event, CancelRejected) or (
            isinstance(event, Executed) and event.execution.type is ExecutionType.REJECTED
        ):
            yield event
