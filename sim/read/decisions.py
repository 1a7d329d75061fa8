"""Decisions: what a run decided, each with its rule and facts, as the journal records them.

A decision is an event with a rule, the refusal of a call or of an operator's action, the end of a
stream, or the late refusal of a call that waited. Explain, features, coverage, conformance and the
history read decisions here, and nobody infers one from words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sim.api.pipeline.inputs import Outcome, Resolve
from sim.core.model.events import FaultInjected
from sim.read.record import facts_of
from sim.run.engine.journal_record import Record

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
