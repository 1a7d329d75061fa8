"""The state of every instrument, and the timer of its next edge.

`states.py` has the theory and the tables; `transitions.py` applies the effects of a change of state
to orders and money.

A materialised instrument has a state of its own and at most one timer, for its next edge. A dormant
one has neither: its state follows from its dates, so a large world costs nothing until it is used.
One timer waits for the next date of any dormant instrument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, field

from sim.core.catalogue.assumptions import SETTLEMENT_AUTO_EXPIRE
from sim.core.lifecycle.dates import Dates
from sim.core.lifecycle.schedule import Phase
from sim.core.lifecycle.states import EXPIRED_STATES, OVER_STATES
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState
from sim.core.model.events import DormantInstrumentsMoved
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.timer_priority import DORMANT_TIMER, EDGE_TIMER
from sim.kernel.instants import Instant

_S = InstrumentState


class LifecycleState(Struct):
    """The saved state of the lifecycle.

    By symbol: its state, whether an operator pinned it (rule L5), whether the schedule hides its
    book, seq and instant of its pending edge, when it closed, when its state last changed.

    | Field | Meaning |
    |---|---|
    | `dormant_to` | instant up to which dates of dormant instruments have been followed |
    | `dormant_suspended` | whether maintenance has suspended every open dormant instrument |
    | `resume` | symbols that maintenance suspended, which it reopens one by one |
    | `dormant_changed_at` | when maintenance last suspended or reopened the dormant ones |
    | `suspends_openings` | whether an instrument that opens is suspended at once |
    | `stopped_at` | instant up to which dates were followed when maintenance began (W7); else 0 |
    """

    states: dict[str, InstrumentState] = field(default_factory=dict)
    pinned: dict[str, bool] = field(default_factory=dict)
    hidden: dict[str, bool] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)
    dues: dict[str, Instant] = field(default_factory=dict)
    closed_at: dict[str, Instant] = field(default_factory=dict)
    changed_at: dict[str, Instant] = field(default_factory=dict)
    dormant_to: Instant = 0
    dormant_suspended: bool = False
    suspends_openings: bool = False
    dormant_changed_at: Instant = 0
    resume: dict[str, bool] = field(default_factory=dict)
    stopped_at: Instant = 0


class Lifecycle:
    """The state of every listed instrument, and the timer of its next edge."""

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        *,
        defer_past_maintenance: Callable[[Instant], Instant] = lambda at: at,
        event_end: Callable[[Instrument], Instant] = lambda instrument: 0,
        on_materialise: Callable[[Instrument], None] = lambda instrument: None,
    ) -> None:
        """Construct the lifecycle without instruments.

        See `Dates` for `defer_past_maintenance` and `event_end`. `on_materialise` is called right
        before a dormant instrument gets a state of its own.
        """
        self._ctx = ctx
        self._instruments = instruments
        self.dates = Dates(ctx, defer_past_maintenance, event_end)
        self._on_materialise = on_materialise
        self._now = LifecycleState()

    # ---- state by symbol

    def state(self, symbol: str) -> InstrumentState:
        """Return the state of an instrument. Refuses an unlisted symbol as not found."""
        state = self._now.states.get(symbol)
        return self.dormant_state(self._instruments.require(symbol)) if state is None else state

    def listed(self, symbol: str) -> bool:
        """Return whether a symbol is listed."""
        return symbol in self._now.states or symbol in self._instruments

    def symbols(self, state: InstrumentState | None = None) -> list[str]:
        """Return the symbols of materialised instruments, all or those in one state.

        They are in the order in which they were materialised.
        """
        states = self._now.states
        if state is None:
            return list(states)
        return [symbol for symbol, current in states.items() if current is state]

    def is_hidden(self, symbol: str) -> bool:
        """Return whether the schedule hides the published book (rule L3)."""
        return symbol in self._now.hidden

    def is_pinned(self, symbol: str) -> bool:
        """Return whether an operator pinned the state against the schedule (rule L5)."""
        return symbol in self._now.pinned

    def closed_at(self, symbol: str) -> Instant | None:
        """Return when a materialised instrument closed.

        None while it trades, or if it was closed from the start.
        """
        return self._now.closed_at.get(symbol)

    def last_change(self, instrument: Instrument) -> Instant:
        """Return when the state of an instrument last changed; before any change, its creation."""
        changed = self._now.changed_at.get(instrument.symbol)
        if changed is not None:
            return changed
        dates = (instrument.start, instrument.expiration, instrument.termination)
        return self.last_change_by_dates(
            instrument.created, dates, self.dates.closes(instrument), self.dormant_state(instrument)
        )

    def change_key(self, symbol: str) -> Instant:
        """Return a number that tells apart two changes to the same state.

        It is the instant of the last change, or, for dormant instruments, minus that of their last
        change by maintenance.
        """
        return self._now.changed_at.get(symbol) or -self._now.dormant_changed_at

    def list_instrument(self, instrument: Instrument) -> None:
        """List an instrument in the state that its terms, or dates and schedule, demand."""
        symbol = instrument.symbol
        phase = self.scheduled(instrument)
        state = instrument.opening_state
        if state is None:
            state = phase.state
        elif state is not phase.state and state not in EXPIRED_STATES:
            self._now.pinned[symbol] = True
        self._set_first_state(instrument, state)
        if phase.hide:
            self._now.hidden[symbol] = True
        self.await_edge(instrument)

    def enter(self, symbol: str, state: InstrumentState) -> None:
        """Record a new state."""
        self.materialise(symbol)
        now = self._now
        now.states[symbol] = state
        now.changed_at[symbol] = self._ctx.now
        if state is _S.CLOSED:
            now.closed_at[symbol] = self._ctx.now
        elif state not in EXPIRED_STATES:
            now.closed_at.pop(symbol, None)

    def pin(self, symbol: str) -> None:
        """Keep a state that an operator set until `unpin` (rule L5), also after maintenance."""
        self.materialise(symbol)
        self._now.pinned[symbol] = True
        self._now.resume.pop(symbol, None)
        self.await_edge(self._instruments.require(symbol))

    def unpin(self, symbol: str) -> None:
        """Let the schedule decide again."""
        self.materialise(symbol)
        self._now.pinned.pop(symbol, None)
        self.await_edge(self._instruments.require(symbol))

    def set_hidden(self, symbol: str, hidden: bool) -> None:
        """Show or hide the published book."""
        if hidden:
            self._now.hidden[symbol] = True
        else:
            self._now.hidden.pop(symbol, None)

    def scheduled(self, instrument: Instrument, at: Instant | None = None) -> Phase:
        """Return what dates and schedule demand, now or at an instant."""
        state = self._now.states.get(instrument.symbol, _S.PENDING)
        return self.dates.phase(instrument, self._ctx.now if at is None else at, state)

    def await_edge(self, instrument: Instrument) -> None:
        """Set the instrument's timer to its next edge. Weekly edges count only while it is not
        pinned.

        A timer that is already due is kept, because other work of this instant comes first or
        maintenance is on.
        """
        symbol = instrument.symbol
        self.materialise(symbol)
        timers, dues, queue = self._now.timers, self._now.dues, self._ctx.timers
        pending = timers.pop(symbol, 0)
        if pending in queue and dues[symbol] <= self._ctx.now:
            timers[symbol] = pending
            return
        queue.cancel(pending)
        weekly = symbol not in self._now.pinned
        due = self.dates.next_edge(instrument, self._now.states[symbol], weekly=weekly)
        if due is not None:
            timers[symbol] = queue.schedule(due, EDGE_TIMER, symbol)
            dues[symbol] = due

    # ---- maintenance

    @property
    def followed_to(self) -> Instant:
        """Instant up to which dates have been followed: now, or the beginning of maintenance."""
        return self._now.stopped_at or self._ctx.now

    @property
    def under_maintenance(self) -> bool:
        """Whether dates wait for the end of maintenance."""
        return self._now.stopped_at > 0

    def stop_dates(self, *, sudden: bool) -> None:
        """Begin maintenance: dates wait until it ends.

        Dates of this very instant wait too, unless the window was announced just now (`sudden`),
        because then they have already been followed.
        """
        if not self._now.stopped_at:
            self._now.stopped_at = self._ctx.now if sudden else self._ctx.now - 1

    def resume_dates(self) -> None:
        """End maintenance: dates are followed again."""
        self._now.stopped_at = 0

    def suspend_dormant(self) -> None:
        """Suspend every open dormant instrument for maintenance."""
        if (self._instruments.dormant or self._instruments.recurring) and (
            not self._now.dormant_suspended
        ):
            self._suspend_dormant(True)
            self._ctx.emit(DormantInstrumentsMoved(_S.OPEN, _S.SUSPENDED, self._ctx.now, "W2"))

    def resume(self) -> list[str]:
        """Reopen every dormant instrument that maintenance suspended.

        Returns the symbols of the others, which the caller reopens one by one.
        """
        symbols, self._now.resume = list(self._now.resume), {}
        if self._now.dormant_suspended:
            self._suspend_dormant(False)
            self._ctx.emit(DormantInstrumentsMoved(_S.SUSPENDED, _S.OPEN, self._ctx.now, "W2"))
        return symbols

    def _suspend_dormant(self, suspended: bool) -> None:
        self._now.dormant_suspended = suspended
        self._now.dormant_changed_at = self._ctx.now

    @property
    def suspends_openings(self) -> bool:
        """Whether an instrument that opens now is suspended at once, because maintenance is
        imminent or on.
        """
        return self._now.suspends_openings

    @suspends_openings.setter
    def suspends_openings(self, suspends: bool) -> None:
        self._now.suspends_openings = suspends

    def open_after_maintenance(self, symbol: str) -> None:
        """Reopen a suspended instrument when maintenance ends."""
        self._now.resume[symbol] = True

    @property
    def dormant_changed_at(self) -> Instant:
        """When maintenance last suspended or reopened the dormant instruments; 0 for never."""
        return self._now.dormant_changed_at

    # ---- dormant instruments

    def is_materialised(self, symbol: str) -> bool:
        """Return whether an instrument is materialised, that is, has a state of its own."""
        return symbol in self._now.states

    def materialise(self, symbol: str) -> None:
        """Give a dormant instrument a state and a timer of its own, in its current state."""
        if symbol in self._now.states:
            return
        instrument = self._instruments.require(symbol)
        self._on_materialise(instrument)
        self._set_first_state(instrument, self.dormant_state(instrument))
        if self._now.dormant_suspended:
            self._now.resume[symbol] = True
        self.await_edge(instrument)

    def materialise_due(self) -> Iterator[Instrument]:
        """Materialise every dormant instrument with a due edge, in its state before that edge."""
        since, self._now.dormant_to = self._now.dormant_to, self._ctx.now
        for instrument in self._instruments.dormant.moving(since, self._ctx.now):
            if instrument.symbol not in self._now.states:
                closes = self.dates.closes(instrument)
                if closes and closes <= since:
                    self._on_materialise(instrument)
                scheduled_state = self.scheduled(instrument, since).state
                state = self.dates.dormant_state(
                    scheduled_state, closes, instrument.termination, since
                )
                self._set_first_state(instrument, state)
                yield instrument

    def await_dormant(self) -> None:
        """Set the timer of the dormant instruments to the next date of any of them."""
        due = self._instruments.dormant.next_edge(self._ctx.now)
        self._now.dormant_to = self._ctx.now
        if due is not None:
            self._ctx.timers.schedule(due, DORMANT_TIMER, "")

    def dormant_state(self, instrument: Instrument) -> InstrumentState:
        """Return the state of a dormant instrument."""
        at = self.followed_to
        scheduled_state, closes = (
            self.scheduled(instrument, at).state,
            self.dates.closes(instrument),
        )
        return self.unless_suspended(
            self.dates.dormant_state(scheduled_state, closes, instrument.termination, at)
        )

    def unless_suspended(self, scheduled_state: InstrumentState) -> InstrumentState:
        """Return the state of a dormant instrument that is scheduled to be in a state.

        It differs while maintenance suspends open instruments.
        """
        return (
            _S.SUSPENDED
            if self._now.dormant_suspended and scheduled_state is _S.OPEN
            else scheduled_state
        )

    def last_change_by_dates(
        self,
        created: Instant,
        dates: tuple[Instant, Instant, Instant],
        closes: Instant,
        state: InstrumentState,
    ) -> Instant:
        """Return the `last_change` of a dormant instrument in a state.

        `dates` are start, expiration and termination; 0 means never.
        """
        defer, now = self.dates.defer_past_maintenance, self._now
        if state is _S.EXPIRED and closes and self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE):
            final = self.dates.settlement_times_of(closes, dates[2])[1]
            dates = (closes, min(final, defer(dates[1])), 0)
        passed = [defer(date) for date in (*dates, closes) if 0 < date <= self.followed_to]
        suspended = now.dormant_changed_at if state in (_S.OPEN, _S.SUSPENDED) else 0
        return max(created, *passed, suspended)

    def _set_first_state(self, instrument: Instrument, state: InstrumentState) -> None:
        self._now.changed_at[instrument.symbol] = self.last_change(instrument)
        self._now.states[instrument.symbol] = state
        closes = self.dates.closes(instrument) if state in OVER_STATES else 0
        if 0 < closes <= self._ctx.now:
            self._now.closed_at[instrument.symbol] = self.dates.defer_past_maintenance(closes)

    # ---- save and load

    def save(self) -> LifecycleState:
        """Return states, pins and timers."""
        return self._now

    def load(self, state: LifecycleState) -> None:
        """Restore saved states."""
        self._now = state
