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
from sim.core.model.events import FaultInjected

# How many rules of each letter the page *Rules* has; a test compares.
_COUNTS = {"L": 29, "M": 46, "P": 26, "S": 19, "K": 14, "R": 23, "W": 9, "E": 5, "T": 5}
# Rules that say how something looks or is computed. They shape what decisions report, and no
# decision is made by them.
_SHAPES = {
    "L": (1, 2, 14, 15, 24, 28),
    "M": (7, 8, 14, 15, 33, 35, 40, 41),
    "P": (1, 2, 7, 8, 10, 11, 12, 13, 14, 15, 17, 19, 20, 23),
    "S": (4, 5, 9, 12, 14, 17, 18, 19),
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


def decisions_of(out: dict[str, Any]) -> Iterator[Decision]:
    """Yield the decisions in the outcome of one input, in order."""
    if rule := out.get("rule"):
        yield Decision(rule, out.get("facts", {}))
    for decided in (*out.get("events", ()), *out.get("closed", ())):
        if rule := decided.get("rule"):
            yield Decision(rule, decided.get("facts", {}))
    for *_, rule in out.get("resolved", ()):
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


_CALLS = ("rest", "rpc", "open")


def verdict_of(recorded: dict[str, Any], out: dict[str, Any]) -> Verdict | None:
    """Return the verdict on a call; None for other inputs, which ask for nothing.

    A call is rejected if an order or a change in it was, so a batch with a single rejected item is;
    its facts count them. The answer is lost if the call was executed and an injected fault, or the
    edge, then kept its answer from the client.
    """
    if recorded["type"] not in _CALLS:
        return None
    events = out.get("events", ())
    orders = tuple(dict.fromkeys(order for event in events if (order := _order_of(event))))
    rejected = [event for event in events if _is_reject(event)]
    handled = [event for event in events if event.get("facts", {}).get("handled")]
    if handled or (out.get("rule") and len(rejected) < len(orders)):
        rule, facts = out.get("rule") or handled[0]["rule"], out.get("facts", {})
        return Verdict("answer lost", rule, facts, out.get("message", ""), orders)
    if out.get("rule"):
        return Verdict("refused", out["rule"], out.get("facts", {}), out["message"], orders)
    if not rejected:
        return Verdict("done", orders=orders)
    first = rejected[0]
    text = first["text"] if "text" in first else first["execution"].get("text", "")
    facts = {**first.get("facts", {}), "rejected": len(rejected), "orders": len(orders)}
    return Verdict("rejected", first["rule"], facts, text, orders)


def _order_of(event: dict[str, Any]) -> str:
    if event["event"] == "Executed":
        return str(event["execution"]["order"]["id"])
    return str(event["order_id"]) if event["event"] == "CancelRejected" else ""


def _is_reject(event: dict[str, Any]) -> bool:
    if event["event"] == "Executed":
        return bool(event["execution"].get("type", 0) == ExecutionType.REJECTED)
    return bool(event["event"] == "CancelRejected")
