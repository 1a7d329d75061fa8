"""Scripted participants at work: inside the simulation, on timers, so they trade in `serve`, in
`sim run` and in a replay alike.

A seat (one participant on one instrument) has one timer while its market is open and none while it
is not: the timer that finds it closed is the last, and the market's opening sets the next. A
scenario without participants has no seats and costs nothing. Seats on automated windows come and go
with these (`window_seats.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from msgspec import Struct, field

from sim.actors.participants.fair_prices import FairPrices
from sim.actors.participants.order_flow_player import ROW_TIMER, FlowPlayer, FlowState
from sim.actors.participants.quoter import TraderOnInstrument, TraderState
from sim.actors.participants.recurring_quoters import LISTED_TIMER, RecurringTraders
from sim.actors.participants.strategies import act, first_wait, next_wait
from sim.api.pipeline.inputs import Outcome, OutcomeHandlers
from sim.core.model.enums import InstrumentState
from sim.core.model.events import Event, StateChanged
from sim.core.model.refusals import Conflict, NotFound
from sim.engine.engine import Engine
from sim.engine.extension import Extension
from sim.kernel.instants import Instant
from sim.kernel.timers import Timer
from sim.scenario.participant_entries import Trader

ACT_TIMER = "participant.act"


class ParticipantsState(Struct):
    """What all of them save: seats and flows by name, by symbol from when on an instrument is worth
    what somebody said, and who was told to stop.
    """

    seats: dict[str, TraderState] = field(default_factory=dict)
    flows: dict[str, FlowState] = field(default_factory=dict)
    news: dict[str, tuple[Instant, int]] = field(default_factory=dict)
    stopped: dict[str, bool] = field(default_factory=dict)


class Participants(Extension):
    """The scripted participants of one engine."""

    name = "participants"
    state_type = ParticipantsState

    fair_prices: FairPrices
    _window_seats: RecurringTraders

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._ctx = engine.exchange.ctx
        section = engine.scenario.participants
        self._flows = {entry.name: FlowPlayer(engine, entry) for entry in section.flows}
        self._traders = {entry.name: entry for entry in section.traders}
        self._seats: dict[str, TraderOnInstrument] = {}
        self._by_symbol: dict[str, list[TraderOnInstrument]] = {}
        self._stopped: dict[str, bool] = {}

    def _take_places(self, first_prices: Mapping[str, int]) -> None:
        """Put every trader on its instruments, which are listed by now.

        `first_prices` are what instruments were worth at the start; others are looked up now.
        """
        engine, exchange = self._engine, self._engine.exchange
        entries = engine.scenario.participants.fair_prices
        self.fair_prices = FairPrices(exchange, entries, engine.run.start, first_prices)
        recurring = exchange.recurring
        traders = tuple(self._traders.values())
        symbols = [
            symbol
            for symbol in (exchange.instruments.symbols() if traders else ())
            if recurring.slot_of_symbol(symbol) is None
        ]
        for entry in traders:
            for symbol in matching(symbols, entry.symbols):
                self._sit(entry, symbol)
        self._window_seats = RecurringTraders(exchange, traders)

    def _sit(self, entry: Trader, symbol: str) -> TraderOnInstrument:
        user = self._engine.world.parties.require_user(entry.as_ or entry.name)
        seat = TraderOnInstrument(
            self._engine.exchange, entry, user, symbol, self.fair_prices.of(symbol)
        )
        self._seats[seat.name] = seat
        self._by_symbol.setdefault(symbol, []).append(seat)
        return seat

    def begin_as(self, original: Participants) -> None:
        """Take the places that the participants of another engine had at the start."""
        self._take_places(original.fair_prices.first)

    def begin(self) -> None:
        """Send the recorded rows that are due, let makers quote, and let the others wait."""
        self._take_places({})
        for flow in self._flows.values():
            flow.begin()
        for seat in list(self._seats.values()):
            if seat.open:
                self._start(seat)
        if self._window_seats:
            self._window_seats.begin()
            self._take(self._window_seats.open())

    def _start(self, seat: TraderOnInstrument) -> None:
        """It acts at once or waits for its turn."""
        seat.state.asleep = False
        wait = first_wait(seat)
        if not wait:
            act(seat)
        self._wait(seat, wait or next_wait(seat))

    def _take(self, wanted: Iterator[tuple[Trader, str]]) -> None:
        """Take seats on windows that trade, which leave the shelf with that. Who has been told to
        stop takes none.
        """
        for seat in [
            seat
            for seat in self._seats.values()
            if seat.state.asleep and self._window_seats.over(seat.symbol)
        ]:
            self._leave(seat)
        for entry, symbol in list(wanted):
            if f"{entry.name} {symbol}" not in self._seats and entry.name not in self._stopped:
                self._engine.exchange.recurring.materialise(symbol)
                self._start(self._sit(entry, symbol))

    def _leave(self, seat: TraderOnInstrument) -> None:
        """A window is over: nobody sits there any more."""
        del self._seats[seat.name]
        others = self._by_symbol[seat.symbol]
        others.remove(seat)
        if not others:
            del self._by_symbol[seat.symbol]
            self.fair_prices.forget(seat.symbol)

    @property
    def timers(self) -> OutcomeHandlers:
        """The kinds of timers that participants own."""
        return {ROW_TIMER: self._row_due, LISTED_TIMER: self._window_listed, ACT_TIMER: self._act}

    def _row_due(self, timer: Timer, _outcome: Outcome) -> None:
        self._flows[timer.subject].fire()

    def _window_listed(self, timer: Timer, _outcome: Outcome) -> None:
        self._take(self._window_seats.fire(timer.subject))

    def _act(self, timer: Timer, _outcome: Outcome) -> None:
        seat = self._seats[timer.subject]
        if self._window_seats and self._window_seats.over(seat.symbol):
            self._leave(seat)
        elif seat.open and seat.state.active:
            act(seat)
            self._wait(seat, next_wait(seat))
        else:
            seat.state.asleep = True

    def on_events(self, events: Sequence[Event], outcome: Outcome) -> None:
        """A market that opens wakes its participants."""
        if not self._seats:
            return
        for event in events:
            if type(event) is StateChanged and event.state is InstrumentState.OPEN:
                for seat in self._by_symbol.get(event.symbol, ()):
                    self._wake(seat)

    def switch(self, name: str, active: bool) -> None:
        """Let a participant stop, which takes its orders out wherever that is possible, or go on.
        NotFound when there is none of this name.
        """
        seats = [seat for seat in self._seats.values() if seat.entry.name == name]
        if name not in self._traders:
            known = self._traders
            raise NotFound(
                f"no participant is called {name!r}",
                rule="control",
                remedy=f"known: {', '.join(known)}" if known else "this scenario has none",
            )
        self._stopped.pop(name, None)
        if not active:
            self._stopped[name] = True
        for seat in seats:
            seat.state.active = active
            if not active:
                seat.cancel_all()
            elif seat.open:
                self._wake(seat)
        if active:
            self._take(self._window_seats.open())

    def news(self, symbol: str, price: int) -> None:
        """From now on an instrument is worth so much, in UNITs, and walks from there. Conflict
        where nobody would care.
        """
        if symbol not in self._by_symbol:
            raise Conflict(
                f"no participant trades {symbol}",
                rule="control",
                remedy="name it under `participants` of the scenario",
            )
        self.fair_prices.of(symbol).turn((self._ctx.now, price))

    def rows(self) -> Iterator[tuple[TraderOnInstrument, int]]:
        """Every seat with its fair price now, in order."""
        for seat in self._seats.values():
            yield seat, seat.fair.at(self._ctx.now)

    @property
    def flows(self) -> list[FlowPlayer]:
        """Every order flow."""
        return list(self._flows.values())

    def _wake(self, seat: TraderOnInstrument) -> None:
        if seat.state.asleep and seat.state.active:
            seat.state.asleep = False
            self._wait(seat, first_wait(seat))

    def _wait(self, seat: TraderOnInstrument, span: int) -> None:
        self._ctx.timers.schedule(self._ctx.now + span, ACT_TIMER, seat.name)

    def save(self) -> ParticipantsState:
        """What they have in mind, not copied."""
        seats, flows = self._seats.items(), self._flows.items()
        return ParticipantsState(
            {name: seat.state for name, seat in seats},
            {name: flow.state for name, flow in flows},
            self.fair_prices.save(),
            self._stopped,
        )

    def load(self, state: ParticipantsState) -> None:
        """Go on from a saved state."""
        for seat in [seat for name, seat in self._seats.items() if name not in state.seats]:
            self._leave(seat)
        for name in state.seats:
            if name not in self._seats:
                trader, _, symbol = name.partition(" ")
                self._sit(self._traders[trader], symbol)
        self._stopped = dict(state.stopped)
        self.fair_prices.load(state.news)
        self._seats = {name: self._seats[name] for name in state.seats}
        for name, seat in self._seats.items():
            seat.state = state.seats[name]
        for name, flow in self._flows.items():
            flow.load(state.flows[name])


def participants_of(engine: Engine) -> Participants:
    """The scripted participants of an engine."""
    return cast(Participants, engine.extensions[Participants.name])


def matching(symbols: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    """Symbols that are named or fit a pattern, in order of listing."""
    named = frozenset(patterns)
    globs = [pattern for pattern in patterns if any(mark in pattern for mark in "*?[")]
    return (
        symbol
        for symbol in symbols
        if symbol in named or any(fnmatchcase(symbol, pattern) for pattern in globs)
    )
