"""Rules that change at known instants: maintenance hours, fee coefficients, retention, removals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

from sim.kernel.instants import Instant, format_instant, parse_instant

T = TypeVar("T")


class Dated(Generic[T]):
    """A value in eras. `Dated(first, ("2026-07-09", second))`: `first` until that instant, `second`
    from it on. A bare date is 00:00 Eastern.
    """

    __slots__ = ("_starts", "_values")

    def __init__(self, first: T, *changes: tuple[str | Instant, T]) -> None:
        self._starts = [
            parse_instant(start) if isinstance(start, str) else start for start, _ in changes
        ]
        self._values = [first, *(value for _, value in changes)]
        if any(a >= b for a, b in zip(self._starts, self._starts[1:], strict=False)):
            raise ValueError("the changes of a dated value must be in ascending order")

    def at(self, now: Instant) -> T:
        """The value in force at an instant."""
        return self._values[bisect_right(self._starts, now)]

    @property
    def starts(self) -> tuple[Instant, ...]:
        """When its values change, in order."""
        return tuple(self._starts)

    def next_change(self, after: Instant) -> Instant | None:
        """First instant after this one at which another value comes into force."""
        index = bisect_right(self._starts, after)
        return self._starts[index] if index < len(self._starts) else None

    def eras(self) -> Iterator[tuple[str, T]]:
        """Every era as (text of its first instant, value); the first one's text is empty."""
        yield "", self._values[0]
        for start, value in zip(self._starts, self._values[1:], strict=True):
            yield format_instant(start), value
