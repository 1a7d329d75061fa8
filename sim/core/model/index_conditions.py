"""Conditions on an asset's index price, which decide what an index market pays (rules L6, L7).

There are two kinds: the price is above a fixed level at an instant, or it is no lower at the end of
a period than it was at its beginning. The price at an instant is that of the last tick up to and
including it, so anybody can check an outcome against the published candles.

Ticks are read in `market_data/assets.py`; this module only says what is asked and what an
observation means.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from sim.kernel.instants import Instant

Price: TypeAlias = int  # of an asset: divided by its PRICE_SCALE


class IndexCondition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Compares the index of `asset` (`crypto:<symbol>`) at `ends` with the price `above`, or, where
    `above` is 0, with the index at `begins`.
    """

    asset: str
    ends: Instant
    begins: Instant = 0
    above: Price = 0


class Tie(StrEnum):
    """What a market pays when the price ends where it began."""

    UP = "up"
    DOWN = "down"
    HALF = "half"


class IndexObservation(NamedTuple):
    """What is known so far: the price to beat and the price at the end.

    Each is None before its instant, or when the index had not ticked by then.
    """

    to_beat: Price | None = None
    at_end: Price | None = None


def outcome(
    condition: IndexCondition, observed: IndexObservation, tie: Tie
) -> tuple[Fraction, str]:
    """The worth of a long contract in dollars, and the outcome's name.

    An index that never ticked gives no result, which pays one half (rule L26).
    """
    if observed.to_beat is None or observed.at_end is None:
        return Fraction(1, 2), "No index price"
    rose = observed.at_end > observed.to_beat
    if condition.above:
        return (Fraction(1), "Above") if rose else (Fraction(0), "Not above")
    if observed.at_end == observed.to_beat:
        return {
            Tie.UP: (Fraction(1), "Up"),
            Tie.DOWN: (Fraction(0), "Down"),
            Tie.HALF: (Fraction(1, 2), "Tie"),
        }[tie]
    return (Fraction(1), "Up") if rose else (Fraction(0), "Down")
