"""Stops a hunt by the wall clock, which decides nothing else."""

from __future__ import annotations

from time import monotonic


class Stopwatch:
    """Is over after some minutes; with 0, never."""

    def __init__(self, minutes: float) -> None:
        self._end = monotonic() + 60 * minutes if minutes else None

    def over(self) -> bool:
        """Return whether the time is up."""
        return self._end is not None and monotonic() >= self._end
