"""Why something was decided: a rule, and the facts that it was applied to.

Theory. A decision is made in one place, by code that knows its rule. That place says so, once: it
hands a `Why` to the event that reports the decision, or to the refusal that it raises. The event
carries it into the journal, and whatever explains, judges, counts or shows a run reads it there.
Nobody infers a rule from the words of a message, which belong to the service and to its clients.

`rule` is an id of the page *Rules* (`docs/reference/rules.md`), the most specific one that applies,
or a statement of the specification (`S3.1-8`) where the page has none. Facts are what the rule was
applied to and what the event does not say already: quantities, prices and cash as decimal text,
counts as integers, names as they stand on the wire. A `Why` without facts is a constant of the
module that decides, so that decisions on hot paths cost nothing.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType

Facts: TypeAlias = dict[str, str | int]
NO_FACTS: UnsetType = UNSET  # left out of the journal


class Why(Struct, frozen=True, gc=False):
    """The rule of a decision and its facts. Events have both fields under the same names."""

    rule: str
    facts: Facts | UnsetType = NO_FACTS


def because(rule: str, **facts: str | int) -> Why:
    """Return the reason of a decision with its facts."""
    return Why(rule, facts)
