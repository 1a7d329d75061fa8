"""Instruments that exist without having been made: a large world costs nothing for what nobody asks
for.

What a symbol on the shelf means never changes, so an instrument may be made, forgotten and made
again. Its state follows from its dates and now until something first happens to it: then it gets a
state, a timer and a book of its own (`Lifecycle.own`), and from there on it is an instrument like
any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from sim.core.model.enums import InstrumentState
from sim.kernel.instants import Instant

if TYPE_CHECKING:
    from sim.core.model.instruments import Instrument


class Standing(NamedTuple):
    """An instrument on the shelf as far as a book of it goes: the state is what its dates ask for."""

    symbol: str
    state: InstrumentState
    price_scale: int
    qty_scale: int


class Recurring(Protocol):
    """Instruments by symbol."""

    def __bool__(self) -> bool:
        """Whether there are, were or will be any."""

    def find(self, symbol: str) -> Instrument | None:
        """The instrument of a symbol, or None."""

    def symbols(self) -> Iterator[str]:
        """The symbols that lists show, in order of listing, without making instruments."""

    def of_event(self, event: str) -> Iterable[Instrument]:
        """The instruments of an event, in order of listing."""


class DormantInstruments(Recurring, Protocol):
    """Instruments by symbol and by the dates at which they move. They are open day and night
    between start and expiration.
    """

    def __len__(self) -> int:
        """How many there are."""

    def standings(self, now: Instant) -> Iterator[Standing]:
        """How each stands by its dates, in order of listing, without making instruments."""

    def next_edge(self, after: Instant) -> Instant | None:
        """First date after an instant at which any of them moves; None when none does."""

    def moving(self, after: Instant, until: Instant) -> Iterator[Instrument]:
        """Those with a date after the one instant and up to the other, in order of date, then of
        listing; their metadata may be left out.
        """


class Bare:
    """A shelf with nothing on it."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def find(self, symbol: str) -> Instrument | None:
        """Nothing."""
        return None

    def symbols(self) -> Iterator[str]:
        """None."""
        return iter(())

    def standings(self, now: Instant) -> Iterator[Standing]:
        """None."""
        return iter(())

    def of_event(self, event: str) -> Iterable[Instrument]:
        """None."""
        return ()

    def next_edge(self, after: Instant) -> Instant | None:
        """Never."""
        return None

    def moving(self, after: Instant, until: Instant) -> Iterator[Instrument]:
        """None."""
        return iter(())


NOTHING = Bare()
