"""Collateral return: related short positions cannot all lose, so they need less margin (rule P8).

| Outcomes of an event | Why margin is returned | What still needs margin |
|---|---|---|
| mutually exclusive | at most one of them pays | the largest short |
| directional (a ladder) | reaching a rank includes all lower ranks | shorts without a lower long |
| independent | nothing follows from the others | every short |

On a ladder the highest short is covered first, by the highest long below it, which leaves the lower
longs for the lower shorts.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from sim.core.model.quantities import Cash


class EventOutcome(StrEnum):
    """How the outcomes of one event depend on each other. Values are those of the wire format."""

    MUTUALLY_EXCLUSIVE = "EVENT_OUTCOME_MUTUALLY_EXCLUSIVE"
    DIRECTIONAL = "EVENT_OUTCOME_DIRECTIONAL"
    INDEPENDENT = "EVENT_OUTCOME_INDEPENDENT"


class Related(Struct, frozen=True):
    """An instrument's position among related ones. A higher rank of a ladder is harder to reach."""

    group: str
    kind: EventOutcome
    rank: int = 0


class Holding(Struct, frozen=True):
    """A net position in one instrument of a group, at one dollar per contract.

    Negative if short.
    """

    rank: int
    worth: Cash


def returned(kind: EventOutcome, holdings: Iterable[Holding]) -> Cash:
    """Return how much margin of a group's short positions is returned."""
    if kind is EventOutcome.MUTUALLY_EXCLUSIVE:
        shorts = [-holding.worth for holding in holdings if holding.worth < 0]
        return sum(shorts) - max(shorts, default=0)
    if kind is EventOutcome.DIRECTIONAL:
        return _covered(sorted(holdings, key=lambda holding: holding.rank, reverse=True))
    return 0


def _covered(falling: list[Holding]) -> Cash:
    """Return how much of a ladder's shorts is covered by lower longs.

    `falling` is by descending rank.
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
