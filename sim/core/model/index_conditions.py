"""Conditions on an asset's index price, which decide what an index market pays (rules L6, L7).

| Family | Pays if the price |
|---|---|
| `UPDOWN` | at the end of a period is no lower than at its beginning |
| `STRIKE` | at an instant is above a level |
| `RANGE` | at an instant is at least a lower level, and less than an upper one |
| `HIT` | reaches a level in some minute of a period, from below or from above |

The price at an instant is the mean of the 60 index prices of the minute that ends with it, one a
second, so no single tick decides, and anyone can check an outcome against the published one-second
candles.

`market_data/assets.py` reads ticks; this module defines conditions and their outcomes.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from sim.kernel.instants import Instant

Price: TypeAlias = int  # price of an asset, divided by its PRICE_SCALE


class Family(StrEnum):
    """Kind of a condition. Values are the names in market metadata."""

    UPDOWN = "updown"
    STRIKE = "strike"
    RANGE = "range"
    HIT = "hit"


class Direction(StrEnum):
    """From which side a price reaches a level."""

    UP = "up"
    DOWN = "down"


class IndexCondition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A condition on the index of `asset` (`crypto:<symbol>`), decided at `ends`.

    UPDOWN and HIT use `begins`, STRIKE and HIT use `strike`, HIT uses `direction`. A RANGE goes
    from `lower` to `upper`; 0 means no bound.
    """

    asset: str
    family: Family
    ends: Instant
    begins: Instant = 0
    strike: Price = 0
    lower: Price = 0
    upper: Price = 0
    direction: Direction = Direction.UP

    def met(self, price: Price) -> bool:
        """Return whether a price meets the levels of the condition.

        Only for conditions with levels.
        """
        if self.family is Family.STRIKE:
            return price > self.strike
        if self.family is Family.RANGE:
            return self.lower <= price and not (self.upper and price >= self.upper)
        return price >= self.strike if self.direction is Direction.UP else price <= self.strike


class Tie(StrEnum):
    """Outcome of a market whose price ends where it began."""

    UP = "up"
    DOWN = "down"
    HALF = "half"


class IndexObservation(NamedTuple):
    """Prices observed so far: the price to beat, the price at the end, and whether a level was hit.

    Each price is None before its instant, or if the index had not ticked by then.
    """

    to_beat: Price | None = None
    at_end: Price | None = None
    hit: bool = False


_NAMES = {
    Family.STRIKE: ("Above", "Not above"),
    Family.RANGE: ("Inside", "Outside"),
    Family.HIT: ("Hit", "Not hit"),
}


def outcome(
    condition: IndexCondition, observed: IndexObservation, tie: Tie
) -> tuple[Fraction, str]:
    """Return the value of a long contract in dollars, and the name of the outcome.

    Without any tick there is no result, and the contract pays one half (rule L26).
    """
    began, ended, family = observed.to_beat, observed.at_end, condition.family
    if ended is None or (began is None and family is Family.UPDOWN):
        return Fraction(1, 2), "No index price"
    if family is not Family.UPDOWN:
        condition_met = observed.hit if family is Family.HIT else condition.met(ended)
        yes, no = _NAMES[family]
        return (Fraction(1), yes) if condition_met else (Fraction(0), no)
    if ended == began:
        return {
            Tie.UP: (Fraction(1), "Up"),
            Tie.DOWN: (Fraction(0), "Down"),
            Tie.HALF: (Fraction(1, 2), "Tie"),
        }[tie]
    return (Fraction(1), "Up") if ended > (began or 0) else (Fraction(0), "Down")
