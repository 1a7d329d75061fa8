"""What a market on an asset's price asks of its index: above a price at an instant, or no lower
than it was when a window began (rules L6, L7).

The price at an instant is that of the last tick up to it, the instant included, so everybody can
check an outcome against the published candles.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import Struct

from sim.kernel.instants import Instant

if TYPE_CHECKING:
    from sim.core.market_data.assets import Assets

Price: TypeAlias = int  # of an asset: divided by its PRICE_SCALE


class Measure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The index of `asset` (`crypto:<symbol>`) at `ends`, against what it was at `begins`, or
    against the price `above` where that is given.
    """

    asset: str
    ends: Instant
    begins: Instant = 0
    above: Price = 0


class Tie(StrEnum):
    """What a window pays that ends where it began."""

    UP = "up"
    DOWN = "down"
    HALF = "half"


class Reading(NamedTuple):
    """What the index says by now: the price to beat and the price at the end, None where nothing
    had ticked or the time has not come.
    """

    to_beat: Price | None = None
    at_end: Price | None = None


def read(measure: Measure, assets: Assets, now: Instant) -> Reading:
    """What is known of a measure at an instant."""
    ticker = assets.get(measure.asset)
    if ticker is None:
        return Reading(measure.above or None)
    to_beat = measure.above or (ticker.at(measure.begins) if now >= measure.begins else None)
    return Reading(to_beat, ticker.at(measure.ends) if now >= measure.ends else None)


def outcome(measure: Measure, reading: Reading, tie: Tie) -> tuple[Fraction, str]:
    """What a long contract is worth in dollars, and why in a word. An index that was silent gives
    no result, which pays half (rule L26).
    """
    if reading.to_beat is None or reading.at_end is None:
        return Fraction(1, 2), "No index price"
    if measure.above:
        return (
            (Fraction(1), "Above")
            if reading.at_end > reading.to_beat
            else (Fraction(0), "Not above")
        )
    if reading.at_end == reading.to_beat:
        return {
            Tie.UP: (Fraction(1), "Up"),
            Tie.DOWN: (Fraction(0), "Down"),
            Tie.HALF: (Fraction(1, 2), "Tie"),
        }[tie]
    return (Fraction(1), "Up") if reading.at_end > reading.to_beat else (Fraction(0), "Down")
