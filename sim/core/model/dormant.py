"""Interfaces of instruments that are created on first access, so that unused instruments cost
nothing.

The terms behind a dormant symbol never change, so an instrument may be created, dropped and created
again. Its state follows from its dates and virtual now until something first happens to it. Then
`Lifecycle.materialise` gives it a state, a timer and a book of its own, and from then on it is an
instrument like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from sim.core.model.instrument import Instrument
from sim.kernel.instants import Instant


class Recurring(Protocol):
    """Recurring instruments, found by symbol and created on demand."""

    def __bool__(self) -> bool:
        """Return whether this world has such instruments at all."""

    def find(self, symbol: str) -> Instrument | None:
        """Return the instrument with a symbol, or None."""

    def symbols(self) -> Iterator[str]:
        """Yield the symbols that lists show, in order of listing. Creates no instruments."""

    def of_event(self, event: str) -> Iterable[Instrument]:
        """Return the instruments of an event, in order of listing."""


class DormantInstruments(Recurring, Protocol):
    """Dormant instruments, which are open around the clock from their start to their expiration."""

    def __len__(self) -> int:
        """Return the number of instruments."""

    def next_edge(self, after: Instant) -> Instant | None:
        """Return the first date after an instant at which one of them changes state, or None."""

    def moving(self, after: Instant, until: Instant) -> Iterator[Instrument]:
        """Yield instruments with a date in (after, until], by date, then order of listing.

        Their metadata may be missing.
        """


class NoInstruments:
    """An empty set of instruments."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def find(self, symbol: str) -> Instrument | None:
        """Find nothing."""
        return None

    def symbols(self) -> Iterator[str]:
        """List nothing."""
        return iter(())

    def of_event(self, event: str) -> Iterable[Instrument]:
        """List nothing."""
        return ()

    def next_edge(self, after: Instant) -> Instant | None:
        """Never change."""
        return None

    def moving(self, after: Instant, until: Instant) -> Iterator[Instrument]:
        """List nothing."""
        return iter(())


NO_INSTRUMENTS = NoInstruments()
