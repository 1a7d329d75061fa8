"""Collateral return: margin that related shorts need not post, because they cannot all lose (rule
P8).

Of mutually exclusive outcomes at most one pays, so only the largest short counts. On a directional
ladder whoever reaches a higher rank has passed every lower one, so a lower long covers a higher
short; the highest short is covered first, by the highest long below it, which covers the most.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from sim.core.model.quantities import Cash


class EventOutcome(StrEnum):
    """How the outcomes of one event hang together (words of the wire)."""

    MUTUALLY_EXCLUSIVE = "EVENT_OUTCOME_MUTUALLY_EXCLUSIVE"
    DIRECTIONAL = "EVENT_OUTCOME_DIRECTIONAL"
    INDEPENDENT = "EVENT_OUTCOME_INDEPENDENT"


class Related(Struct, frozen=True):
    """Where an instrument stands among related ones: the group of outcomes, their kind, and its
    rank on a ladder, higher being harder to reach.
    """

    group: str
    kind: EventOutcome
    rank: int = 0


class Holding(Struct, frozen=True):
    """A net position in one instrument of a group, at a dollar a contract: positive when long,
    negative when short.
    """

    rank: int
    worth: Cash


def returned(kind: EventOutcome, holdings: Iterable[Holding]) -> Cash:
    """How much of the margin of a group's shorts is given back."""
    if kind is EventOutcome.MUTUALLY_EXCLUSIVE:
        shorts = [-holding.worth for holding in holdings if holding.worth < 0]
        return sum(shorts) - max(shorts, default=0)
    if kind is EventOutcome.DIRECTIONAL:
        return _covered(sorted(holdings, key=lambda holding: holding.rank, reverse=True))
    return 0


def _covered(falling: list[Holding]) -> Cash:
    """Shorts of a ladder, from the highest rank down, covered by longs of lower ranks, the highest
    first.
    """
    longs = [[holding.rank, holding.worth] for holding in falling if holding.worth > 0]
    total = 0
    for holding in falling:
        uncovered = -holding.worth
        for long in longs:
            if uncovered <= 0:
                break
            if long[0] < holding.rank:
                taken = min(uncovered, long[1])
                long[1] -= taken
                uncovered -= taken
                total += taken
    return total
