"""The odds that a count allows.

The interval is the exact one of Clopper and Pearson: it contains every probability under which
a count at least as far from the expected one has a probability of at least `RISK` on either side.
With three samples, an approximation would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

from msgspec import Struct

from sim.core.catalogue.quirks import Chance, parse_chance

RISK = 0.025
_STEPS = 24
# Odds that people write, the likeliest first.
_USUAL = ("1/20", "1/10", "1/5", "1/4", "1/3", "2/5", "1/2", "3/5", "2/3", "3/4", "4/5", "9/10")
NARROW = 0.25


class Count(Struct, frozen=True):
    """How often a quirk occurred, out of how many observable opportunities."""

    occurred: int
    of: int

    def between(self) -> tuple[float, float]:
        """The chances that the count allows, both ends inclusive."""
        occurred, of = self.occurred, self.of
        low = 0.0 if not occurred else _root(lambda p: 1 - _below(occurred - 1, of, p), RISK)
        high = 1.0 if occurred == of else _root(lambda p: -_below(occurred, of, p), -RISK)
        return low, high

    def allows(self, odds: Chance) -> bool:
        """Return whether odds are in the interval.

        "never" and "always" require a count without exception.
        """
        if odds.numerator in (0, odds.denominator):
            return self.occurred == (self.of if odds.numerator else 0)
        low, high = self.between()
        return low <= odds.numerator / odds.denominator <= high

    def consistent(self, own: Chance) -> list[str]:
        """Return odds that people would write and the count allows, the likeliest first."""
        usual = {str(odds): odds for odds in (Chance(0, 1), Chance(1, 1), own)}
        for text in _USUAL:
            usual.setdefault(text, parse_chance(text))
        share = Fraction(self.occurred, self.of) if self.of else Fraction(1, 2)
        fits = [odds for odds in usual.values() if self.allows(odds)]
        fits.sort(key=lambda odds: abs(Fraction(odds.numerator, odds.denominator) - share))
        return [str(odds) for odds in fits]

    @property
    def narrow(self) -> bool:
        """Whether the interval is narrow enough to be informative."""
        low, high = self.between()
        return high - low <= NARROW


def _below(most: int, of: int, p: float) -> float:
    """Return the chance of at most so many occurrences."""
    return sum(comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(most + 1))


def _root(rising: Callable[[float], float], target: float) -> float:
    """Return where a rising function of a chance reaches a value."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if rising(middle) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
