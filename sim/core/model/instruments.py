"""All instruments by symbol, in the order in which lists show them.

They come from three sources:

| Source | When it exists |
|---|---|
| listed one by one | from its listing on, for ever |
| `dormant` | from the start of the world; created on first access (`dormant.py`) |
| `recurring` | listed and terminated by the clock; still found by symbol afterwards |

Nothing is ever removed while time moves forward, because history refers to it. Copies of a world
share the instruments with which it started; only those listed since are saved.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from sim.core.model.dormant import NO_INSTRUMENTS, DormantInstruments, Recurring
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import InvalidRequest, UnknownSymbol, cut


class Instruments:
    """Finds and lists instruments. Those listed one by one take precedence for the same symbol."""

    def __init__(
        self, instruments: tuple[Instrument, ...] = (), dormant: DormantInstruments = NO_INSTRUMENTS
    ) -> None:
        self._by_symbol = {instrument.symbol: instrument for instrument in instruments}
        self._initial = len(self._by_symbol)
        self.dormant = dormant
        self.recurring: Recurring = NO_INSTRUMENTS

    def __iter__(self) -> Iterator[Instrument]:
        return (self.require(symbol) for symbol in self.symbols())

    def __len__(self) -> int:
        replaced = sum(self.dormant.find(symbol) is not None for symbol in self._by_symbol)
        recurring = sum(1 for _ in self.recurring.symbols())
        return len(self._by_symbol) + len(self.dormant) + recurring - replaced

    def __contains__(self, symbol: str) -> bool:
        return self.get(symbol) is not None

    def symbols(self) -> Iterator[str]:
        """Yield every symbol, in order of listing, without creating instruments."""
        listed = self._by_symbol
        yield from islice(listed, self._initial)
        yield from (symbol for symbol in self.dormant.symbols() if symbol not in listed)
        yield from self.recurring.symbols()
        yield from islice(listed, self._initial, None)

    def listed_before_dormant(self) -> Iterator[Instrument]:
        """Yield the instruments listed one by one when the world started."""
        return islice(self._by_symbol.values(), self._initial)

    def listed_after_dormant(self) -> Iterator[Instrument]:
        """Yield the listed recurring instruments, then those listed since the start."""
        yield from map(self.require, self.recurring.symbols())
        yield from islice(self._by_symbol.values(), self._initial, None)

    def listed(self) -> Iterator[Instrument]:
        """Yield the instruments that were listed one by one, in order of listing."""
        return iter(self._by_symbol.values())

    def of_event(self, event: str) -> list[Instrument]:
        """Return the instruments of an event, in order of listing."""
        listed = self._by_symbol
        instruments = [instrument for instrument in listed.values() if instrument.event == event]
        for source in (self.dormant, self.recurring):
            instruments += [
                instrument
                for instrument in source.of_event(event)
                if instrument.symbol not in listed
            ]
        return instruments

    def get(self, symbol: str) -> Instrument | None:
        """Return the instrument, or None."""
        listed = self._by_symbol.get(symbol)
        return listed or self.dormant.find(symbol) or self.recurring.find(symbol)

    def require(self, symbol: str) -> Instrument:
        """Return the instrument.

        Refuses an unknown symbol as not found, and an empty one as invalid.
        """
        # `get` is inlined, because every order comes here more than once.
        instrument = (
            self._by_symbol.get(symbol) or self.dormant.find(symbol) or self.recurring.find(symbol)
        )
        if instrument is None:
            if not symbol:
                raise InvalidRequest("symbol is required", rule="M2")
            name = cut(symbol)
            raise UnknownSymbol(f"unknown symbol: {name}", rule="M2", facts={"symbol": name})
        return instrument

    def add(self, instrument: Instrument) -> None:
        """List another instrument."""
        self._by_symbol[instrument.symbol] = instrument

    def set_world_start(self, dormant: DormantInstruments = NO_INSTRUMENTS) -> None:
        """Make the instruments listed so far, and `dormant`, the start of the world.

        Instruments listed later are part of the saved state.
        """
        self._initial = len(self._by_symbol)
        self.dormant = dormant

    def add_recurring(self, recurring: Recurring) -> None:
        """Find and list the instruments of recurring markets as well."""
        self.recurring = recurring

    def begin_as(self, other: Instruments) -> None:
        """Share the start of another world, whose terms never change."""
        self._by_symbol = dict(islice(other._by_symbol.items(), other._initial))
        self._initial = other._initial
        self.dormant = other.dormant

    def save(self) -> list[Instrument]:
        """Return the instruments listed since the start of the world, in order."""
        return list(islice(self._by_symbol.values(), self._initial, None))

    def load(self, state: list[Instrument]) -> None:
        """Return to the start of the world, plus the saved instruments."""
        for symbol in list(islice(self._by_symbol, self._initial, None)):
            del self._by_symbol[symbol]
        for instrument in state:
            self.add(instrument)
