"""Rules that change at known instants: maintenance hours, fee coefficients, retention, removals.

Each of them is a `Dated` in the component to which it belongs, with a name, the section that
documents it and a title. No other code compares with a literal date, so `sim catalogue dates` can
list what changes when, and a scenario may start on either side of any date.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

from sim.kernel.instants import Instant, parse_instant

T = TypeVar("T")


class Dated(Generic[T]):
    """A value that changes at instants.

    `Dated(first, ("2026-07-09", second))` is `first` until then and `second` from then on. A bare
    date is 00:00 Eastern.
    """

    __slots__ = ("_starts", "_values", "name", "section", "title")

    def __init__(
        self,
        first: T,
        *changes: tuple[str | Instant, T],
        name: str = "",
        section: str = "",
        title: str = "",
    ) -> None:
        self._starts = [
            parse_instant(start) if isinstance(start, str) else start for start, _ in changes
        ]
        self._values = [first, *(value for _, value in changes)]
        self.name, self.section, self.title = name, section, title
        if any(a >= b for a, b in zip(self._starts, self._starts[1:], strict=False)):
            raise ValueError("the changes of a dated value must be in ascending order")

    def at(self, now: Instant) -> T:
        """Return the value at an instant."""
        return self._values[bisect_right(self._starts, now)]

    @property
    def starts(self) -> tuple[Instant, ...]:
        """The instants at which the value changes, in order."""
        return tuple(self._starts)

    def since(self, now: Instant) -> Instant | None:
        """Return since when the value at an instant has applied; None for the first value."""
        index = bisect_right(self._starts, now)
        return self._starts[index - 1] if index else None

    def next_change(self, after: Instant) -> Instant | None:
        """Return the first later instant at which the value changes, or None."""
        index = bisect_right(self._starts, after)
        return self._starts[index] if index < len(self._starts) else None

    def changes(self) -> Iterator[tuple[Instant, T, T]]:
        """Yield every change as (instant, value before, value after)."""
        yield from zip(self._starts, self._values, self._values[1:], strict=False)
