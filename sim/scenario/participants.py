"""Scripted participants at work: inside the simulation, on timers, so they trade in `serve`, in `sim run` and in a replay alike.

A seat (one participant on one instrument) has one timer while its market is open and none while it is not: the timer that finds it closed is the last, and the
market's opening sets the next. A scenario without participants has no seats and costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct, field

from sim.core.events import Event, StateChanged
from sim.core.vocabulary import InstrumentState
from sim.kernel.timers import Timer
from sim.scenario.fair_prices import FairPrices
from sim.scenario.traders import Seat, SeatState, act, first_wait, next_wait

if TYPE_CHECKING:
    from sim.simulation import Simulation

ACT_TIMER = "participant.act"


class ParticipantsState(Struct):
    """What all of them save: seats by name."""

    seats: dict[str, SeatState] = field(default_factory=dict)


class Participants:
    """Everybody who trades by himself."""

    def __init__(self, sim: Simulation, first_prices: Mapping[str, int] | None = None) -> None:
        """`first_prices` are what instruments were worth at the start; they are looked up now when left out, at the start then."""
        self._ctx = sim.exchange.ctx
        section = sim.scenario.participants
        self.fair_prices = FairPrices(sim.exchange, section.fair_prices, sim.start, first_prices)
        self._seats: dict[str, Seat] = {}
        self._by_symbol: dict[str, list[Seat]] = {}
        symbols = [instrument.symbol for instrument in sim.exchange.instruments]
        for entry in section.traders:
            user = sim.world.parties.require_user(entry.as_ or entry.name)
            for symbol in matching(symbols, entry.symbols):
                seat = Seat(sim.exchange, entry, user, symbol, self.fair_prices.of(symbol))
                self._seats[seat.name] = seat
                self._by_symbol.setdefault(symbol, []).append(seat)

    @property
    def attentive(self) -> bool:
        """Whether anybody wants to know what happens."""
        return bool(self._seats)

    def fork(self, made: Simulation) -> Participants:
        """The same participants for a fork of their simulation, which has loaded nothing yet."""
        return Participants(made, self.fair_prices.first)

    def begin(self) -> None:
        """Makers quote in the instant in which the scenario begins; the others wait for their turn."""
        for seat in self._seats.values():
            if seat.open:
                seat.state.asleep = False
                wait = first_wait(seat)
                if not wait:
                    act(seat)
                self._wait(seat, wait or next_wait(seat))

    def fire(self, timer: Timer) -> bool:
        """Let a seat act; False when the timer is none of theirs."""
        if timer.kind != ACT_TIMER:
            return False
        seat = self._seats[timer.subject]
        if seat.open:
            act(seat)
            self._wait(seat, next_wait(seat))
        else:
            seat.state.asleep = True
        return True

    def hear(self, events: Sequence[Event]) -> None:
        """Events of the input under way: a market that opens wakes its participants."""
        for event in events:
            if type(event) is StateChanged and event.state is InstrumentState.OPEN:
                for seat in self._by_symbol.get(event.symbol, ()):
                    if seat.state.asleep:
                        seat.state.asleep = False
                        self._wait(seat, first_wait(seat))

    def _wait(self, seat: Seat, span: int) -> None:
        self._ctx.timers.schedule(self._ctx.now + span, ACT_TIMER, seat.name)

    def save(self) -> ParticipantsState:
        """What they have in mind, not copied."""
        return ParticipantsState({name: seat.state for name, seat in self._seats.items()})

    def load(self, state: ParticipantsState) -> None:
        """Go on from a saved state."""
        for name, seat in self._seats.items():
            seat.state = state.seats[name]


def matching(symbols: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """Symbols that are named or fit a pattern, in order of listing."""
    named = frozenset(patterns)
    globs = [pattern for pattern in patterns if any(mark in pattern for mark in "*?[")]
    return (symbol for symbol in symbols if symbol in named or any(fnmatchcase(symbol, pattern) for pattern in globs))
