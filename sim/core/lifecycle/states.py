"""Lifecycle of instruments (§3.1): the table of edges, what each state permits, and when an
instrument moves by itself.

An instrument that nobody touches costs one state and one timer, for its next edge; where dates and
schedule have no further edge, no timer. One on the shelf costs nothing: its state follows from its
dates until something happens to it. The effects of an edge on orders and money are in
`transitions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct, field

from sim.core.catalogue.assumptions import (
    SETTLEMENT_AUTO_EXPIRE,
    SETTLEMENT_DELAY,
    SETTLEMENT_PRELIMINARY,
)
from sim.core.lifecycle.schedule import Phase, next_phase, phase_at
from sim.core.model.context import Context
from sim.core.model.enums import CancelRejectReason, InstrumentState, RejectReason
from sim.core.model.events import DormantInstrumentsMoved
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.refusals import IllegalTransition, InstrumentNotTradable, InvalidRequest
from sim.core.model.timer_priority import EDGE_TIMER, SHELF_TIMER
from sim.kernel.instants import Instant

_S = InstrumentState
_AUCTION = _S.MATCH_AND_CLOSE_AUCTION

# Rule L10: where an operator may move an instrument. TERMINATED is final and PENDING is never
# entered again.
LEGAL_EDGES: dict[InstrumentState, frozenset[InstrumentState]] = {
    _S.PENDING: frozenset({_S.OPEN, _S.PREOPEN, _AUCTION}),
    _S.PREOPEN: frozenset({_S.OPEN, _S.SUSPENDED, _S.HALTED, _S.CLOSED, _AUCTION}),
    _S.OPEN: frozenset({_S.SUSPENDED, _S.HALTED, _S.CLOSED, _AUCTION}),
    _S.SUSPENDED: frozenset({_S.OPEN, _S.PREOPEN, _S.HALTED, _S.CLOSED, _AUCTION}),
    _S.HALTED: frozenset({_S.OPEN, _S.PREOPEN, _S.SUSPENDED, _S.CLOSED, _AUCTION}),
    _S.CLOSED: frozenset({_S.OPEN, _S.PREOPEN, _S.EXPIRED, _AUCTION}),
    _S.EXPIRED: frozenset({_S.TERMINATED}),
    _S.TERMINATED: frozenset(),
    _AUCTION: frozenset(_S) - {_S.PENDING, _AUCTION},
}
ENTRY_STATES = frozenset({_S.OPEN, _S.PREOPEN, _AUCTION})
CANCEL_STATES = ENTRY_STATES | {_S.SUSPENDED}
AUCTION_STATES = frozenset({_S.PREOPEN, _AUCTION})
SETTLED_STATES = frozenset({_S.CLOSED, _S.EXPIRED, _S.TERMINATED})
GONE_STATES = frozenset({_S.EXPIRED, _S.TERMINATED})


def check_entry(symbol: str, state: InstrumentState) -> None:
    """Refuse a new order or a replace where the state takes none, with the text of table 1.2."""
    if state in ENTRY_STATES:
        return
    if state is _S.TERMINATED:
        raise InstrumentNotTradable(
            f"Instrument Unavailable: {symbol}", rule="L1", reason=RejectReason.UNKNOWN_SYMBOL
        )
    text = "Instrument is not tradable" if state is _S.PENDING else f"Book is {state.name}"
    raise InstrumentNotTradable(
        text,
        rule="§3.1",
        remedy="wait until the instrument is OPEN",
        reason=RejectReason.EXCHANGE_CLOSED,
        cancel_reason=CancelRejectReason.EXCHANGE_CLOSED,
    )


def check_cancel(state: InstrumentState) -> None:
    """Refuse a cancel where the state takes none."""
    if state not in CANCEL_STATES:
        raise InstrumentNotTradable(
            f"Book is {state.name}",
            rule="§3.1",
            remedy="wait until the instrument is OPEN or SUSPENDED",
            cancel_reason=CancelRejectReason.EXCHANGE_CLOSED,
        )


class LifecycleState(Struct):
    """What the lifecycle saves. `held`: symbols an operator holds in their state (rule L5).
    `timers`, `dues`: seq and instant of each pending edge.

    `shelf_at`: up to when the shelf's dates have been followed. `paused`: maintenance has suspended
    what is open on the shelf; `awake`: symbols that left the shelf meanwhile. `stopped`: up to when
    dates have been followed, while maintenance is on (rule W7); 0 while it is not. `moved_at`: when
    each symbol last changed its state, `shelf_moved`: when maintenance last suspended or opened
    whatever was open on the shelf.
    """

    states: dict[str, InstrumentState] = field(default_factory=dict)
    pinned: dict[str, bool] = field(default_factory=dict)
    hidden: dict[str, bool] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)
    dues: dict[str, Instant] = field(default_factory=dict)
    closed_at: dict[str, Instant] = field(default_factory=dict)
    shelf_at: Instant = 0
    shelf_timer: int = 0
    paused: bool = False
    awake: dict[str, bool] = field(default_factory=dict)
    stopped: Instant = 0
    moved_at: dict[str, Instant] = field(default_factory=dict)
    shelf_moved: Instant = 0


class Lifecycle:
    """State of every listed instrument and the timer of its next edge."""

    __slots__ = (
        "_busy",
        "_ctx",
        "_instruments",
        "_now",
        "defer_past_maintenance",
        "event_end",
        "on_materialise",
    )

    def __init__(self, ctx: Context, instruments: Instruments) -> None:
        """`leaving` hears of each instrument that leaves the shelf, right before it does; `happens`
        says when a date in maintenance is followed, `ends` when the game is over that an instrument
        is about, 0 where nobody knows.
        """
        self._ctx = ctx
        self._instruments = instruments
        self.on_materialise: Callable[[Instrument], None] = lambda instrument: None
        self.defer_past_maintenance: Callable[[Instant], Instant] = lambda at: at
        self.event_end: Callable[[Instrument], Instant] = lambda instrument: 0
        self._now = LifecycleState()
        self._busy: dict[str, None] = {}

    def state(self, symbol: str) -> InstrumentState:
        """State of an instrument; NotFound when it is not listed."""
        found = self._now.states.get(symbol)
        return self.dormant_state(self._instruments.require(symbol)) if found is None else found

    def listed(self, symbol: str) -> bool:
        """Whether the symbol was listed."""
        return symbol in self._now.states or symbol in self._instruments

    def is_materialised(self, symbol: str) -> bool:
        """Whether the instrument has a state of its own: nothing on the shelf has."""
        return symbol in self._now.states

    def symbols(self, state: InstrumentState | None = None) -> list[str]:
        """Symbols with a state of their own, or of those in one state, in the order in which they
        got theirs.
        """
        states = self._now.states
        return (
            list(states)
            if state is None
            else [symbol for symbol, found in states.items() if found is state]
        )

    # ---- the shelf

    def materialise(self, symbol: str) -> None:
        """Take an instrument off the shelf, as it stands: from here on it has a state and a timer
        of its own.
        """
        if symbol not in self._now.states:
            instrument = self._instruments.require(symbol)
            self.on_materialise(instrument)
            self._take(instrument, self.dormant_state(instrument))
            closes = self.closes(instrument)
            if closes and self._now.states[symbol] in SETTLED_STATES:
                self._now.closed_at[symbol] = self.defer_past_maintenance(closes)
            if self._now.paused:
                self._now.awake[symbol] = True
            self.await_edge(instrument)

    def materialise_due(self) -> Iterator[Instrument]:
        """Take off the shelf what moves by now, each as it stood before."""
        since, self._now.shelf_at = self._now.shelf_at, self._ctx.now
        for instrument in self._instruments.dormant.moving(since, self._ctx.now):
            if instrument.symbol not in self._now.states:
                closes = self.closes(instrument)
                if closes and closes <= since:
                    self.on_materialise(instrument)
                self._take(
                    instrument,
                    self.state_by_dates(
                        self.scheduled(instrument, since).state,
                        closes,
                        instrument.termination,
                        since,
                    ),
                )
                yield instrument

    def await_dormant(self) -> None:
        """Set the timer to the next date on the shelf."""
        due = self._instruments.dormant.next_edge(self._ctx.now)
        self._now.shelf_at = self._ctx.now
        self._now.shelf_timer = (
            0 if due is None else self._ctx.timers.schedule(due, SHELF_TIMER, "")
        )

    def suspend_dormant(self) -> None:
        """Maintenance suspends whatever is open on the shelf."""
        if (self._instruments.dormant or self._instruments.recurring) and not self._now.paused:
            self._now.paused = True
            self._now.shelf_moved = self._ctx.now
            self._ctx.emit(DormantInstrumentsMoved(_S.OPEN, _S.SUSPENDED, self._ctx.now))

    def resume_dormant(self) -> list[str]:
        """Maintenance is over: what is on the shelf opens again. Symbols that left it meanwhile, to
        be opened one by one.
        """
        awake, self._now.awake = list(self._now.awake), {}
        if self._now.paused:
            self._now.paused = False
            self._now.shelf_moved = self._ctx.now
            self._ctx.emit(DormantInstrumentsMoved(_S.SUSPENDED, _S.OPEN, self._ctx.now))
        return awake

    @property
    def followed_to(self) -> Instant:
        """Up to when dates have been followed: now, or until maintenance began."""
        return self._now.stopped or self._ctx.now

    def stop_dates(self, *, sudden: bool) -> None:
        """Maintenance begins: dates wait for its end, those of this very instant too unless it
        comes as a surprise, which finds them followed.
        """
        if not self._now.stopped:
            self._now.stopped = self._ctx.now if sudden else self._ctx.now - 1

    @property
    def under_maintenance(self) -> bool:
        """Whether dates wait for the end of maintenance."""
        return self._now.stopped > 0

    @property
    def dormant_changed_at(self) -> Instant:
        """When maintenance last suspended or opened whatever was open on the shelf; 0 for never."""
        return self._now.shelf_moved

    def resume_dates(self) -> None:
        """Maintenance is over, and dates are followed again."""
        self._now.stopped = 0

    def dormant_state(self, instrument: Instrument) -> InstrumentState:
        """The state of an instrument on the shelf. One that closes at a date of its own settles by
        itself, and may expire with that.
        """
        return self.unless_suspended(
            self.state_by_dates(
                self.scheduled(instrument, self.followed_to).state,
                self.closes(instrument),
                instrument.termination,
                self.followed_to,
            )
        )

    def state_by_dates(
        self, asked: InstrumentState, closes: Instant, termination: Instant, at: Instant
    ) -> InstrumentState:
        """The state at an instant of what is on the shelf, for which dates ask this state, and that
        closes before it expires.
        """
        if not closes or at < closes or asked in GONE_STATES:
            return asked
        auto = self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE)
        return (
            _S.EXPIRED
            if auto and at >= self.settlement_times_by_dates(closes, termination)[1]
            else _S.CLOSED
        )

    def closes(self, instrument: Instrument) -> Instant:
        """When trading ends for good before the expiration: at a date of its own, or with the game
        that it is about; 0 for not before it.
        """
        return instrument.closes or self.event_end(instrument)

    def settlement_times(self, instrument: Instrument) -> tuple[Instant, Instant]:
        """When the price is set of an instrument on the shelf that closes at a date of its own, and
        when it is final: once it is terminated at the latest.
        """
        return self.settlement_times_by_dates(self.closes(instrument), instrument.termination)

    def settlement_times_by_dates(
        self, closes: Instant, termination: Instant
    ) -> tuple[Instant, Instant]:
        """The same by its dates."""
        assumptions, defer = self._ctx.assumptions, self.defer_past_maintenance
        at = defer(defer(closes) + assumptions.number(SETTLEMENT_DELAY))
        preliminary = assumptions.number(SETTLEMENT_PRELIMINARY)
        terminated = defer(termination)
        return min(at, terminated), min(defer(at + preliminary) if preliminary else at, terminated)

    def unless_suspended(self, asked: InstrumentState) -> InstrumentState:
        """The state of what is on the shelf and for which dates ask this state."""
        return _S.SUSPENDED if self._now.paused and asked is _S.OPEN else asked

    def materialised_events(self) -> Iterable[str]:
        """Events of which an instrument has a state of its own."""
        return self._busy

    def has_materialised(self, event: str) -> bool:
        """Whether any instrument of an event has a state of its own."""
        return event in self._busy

    def last_change(self, instrument: Instrument) -> Instant:
        """When the state of an instrument last changed; its making before the first time."""
        found = self._now.moved_at.get(instrument.symbol)
        if found is not None:
            return found
        dates = (instrument.start, instrument.expiration, instrument.termination)
        return self.last_change_by_dates(
            instrument.created, dates, self.closes(instrument), self.dormant_state(instrument)
        )

    def last_change_by_dates(
        self,
        created: Instant,
        dates: tuple[Instant, Instant, Instant],
        closes: Instant,
        state: InstrumentState,
    ) -> Instant:
        """The same for what is on the shelf: its dates are start, expiration and termination, 0 for
        never, and it is in a state.
        """
        if state is _S.EXPIRED and closes and self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE):
            dates = (
                closes,
                min(
                    self.settlement_times_by_dates(closes, dates[2])[1],
                    self.defer_past_maintenance(dates[1]),
                ),
                0,
            )
        passed = [
            self.defer_past_maintenance(date)
            for date in (*dates, closes)
            if 0 < date <= self.followed_to
        ]
        return max(
            created, *passed, self._now.shelf_moved if state in (_S.OPEN, _S.SUSPENDED) else 0
        )

    def change_key(self, symbol: str) -> Instant:
        """What tells one time of last change from the next while the state is the same."""
        return self._now.moved_at.get(symbol) or -self._now.shelf_moved

    def _take(self, instrument: Instrument, state: InstrumentState) -> None:
        self._now.moved_at[instrument.symbol] = self.last_change(instrument)
        self._now.states[instrument.symbol] = state
        self._busy[instrument.event] = None

    def is_hidden(self, symbol: str) -> bool:
        """Whether the schedule hides the published book (rule L3)."""
        return symbol in self._now.hidden

    def is_pinned(self, symbol: str) -> bool:
        """Whether an operator's word overrules the schedule (rule L5)."""
        return symbol in self._now.pinned

    def closed_at(self, symbol: str) -> Instant | None:
        """When the instrument was last closed; None while it is not, or when it was never seen to
        close.
        """
        found = self._now.closed_at.get(symbol)
        if found is None and symbol not in self._now.states:
            closes = self.closes(self._instruments.require(symbol))
            return self.defer_past_maintenance(closes) if 0 < closes <= self.followed_to else None
        return found

    def enter(self, symbol: str, state: InstrumentState) -> InstrumentState:
        """Write down a new state and return the former one."""
        self.materialise(symbol)
        now = self._now
        was = now.states[symbol]
        now.states[symbol] = state
        now.moved_at[symbol] = self._ctx.now
        if state is _S.CLOSED:
            now.closed_at[symbol] = self._ctx.now
        elif state not in GONE_STATES:
            now.closed_at.pop(symbol, None)
        return was

    def list_instrument(self, instrument: Instrument) -> None:
        """Begin with the state that terms say, or that dates and schedule ask for now, and wait for
        the next edge.
        """
        symbol = instrument.symbol
        asked = self.scheduled(instrument)
        state = instrument.opening_state
        if state is None:
            state = asked.state
        elif state is not asked.state and state not in GONE_STATES:
            self._now.pinned[symbol] = True
        self._take(instrument, state)
        if asked.hide:
            self._now.hidden[symbol] = True
        self.await_edge(instrument)

    def scheduled(self, instrument: Instrument, at: Instant | None = None) -> Phase:
        """What dates and schedule ask for now, or at an instant (rules L4, L6, L8). A date of 0
        never comes.
        """
        now = self._ctx.now if at is None else at
        if instrument.termination and now >= instrument.termination:
            return Phase(_S.TERMINATED)
        if instrument.expiration and now >= instrument.expiration:
            return Phase(_S.EXPIRED)
        closes = self.closes(instrument)
        if closes and now >= closes:
            return Phase(_S.CLOSED)
        if now < instrument.start:
            return Phase(_S.PENDING)
        phase = phase_at(instrument.schedule, now)
        if (
            phase.state is _S.CLOSED
            and self._now.states.get(instrument.symbol, _S.PENDING) is _S.PENDING
            and not self._begun(instrument)
        ):
            return Phase(_S.PENDING)
        return phase

    def pin(self, symbol: str) -> None:
        """An operator set the state: the schedule has no say until `release` (rule L5)."""
        self.materialise(symbol)
        self._now.pinned[symbol] = True
        self.await_edge(self._instruments.require(symbol))

    def unpin(self, symbol: str) -> None:
        """Follow the schedule again."""
        self.materialise(symbol)
        self._now.pinned.pop(symbol, None)
        self.await_edge(self._instruments.require(symbol))

    def set_hidden(self, symbol: str, hidden: bool) -> None:
        """Show or hide the published book."""
        if hidden:
            self._now.hidden[symbol] = True
        else:
            self._now.hidden.pop(symbol, None)

    def await_edge(self, instrument: Instrument) -> None:
        """Set the instrument's one timer to its next edge; weekly edges only while the schedule has
        a say.

        An edge that is due and not taken yet, for what else happens at this instant or because
        maintenance is on, is left to its timer.
        """
        symbol = instrument.symbol
        self.materialise(symbol)
        timers, dues, queue = self._now.timers, self._now.dues, self._ctx.timers
        pending = timers.pop(symbol, 0)
        if pending in queue and dues[symbol] <= self._ctx.now:
            timers[symbol] = pending
            return
        queue.cancel(pending)
        due = self._next_edge(instrument)
        if due is not None:
            timers[symbol] = queue.schedule(due, EDGE_TIMER, symbol)
            dues[symbol] = due

    def check_move(self, symbol: str, state: InstrumentState) -> None:
        """Refuse an operator's request for an edge that does not exist (rule L10)."""
        was = self.state(symbol)
        if state is _S.PENDING or state not in LEGAL_EDGES[was]:
            legal = sorted(found.name for found in LEGAL_EDGES[was])
            remedy = "from here: " + ", ".join(legal) if legal else "this state is final"
            raise IllegalTransition(
                f"{symbol} is {was.name} and cannot become {state.name}", rule="L10", remedy=remedy
            )

    def save(self) -> LifecycleState:
        """States, overrides and timer seqs."""
        return self._now

    def load(self, state: LifecycleState) -> None:
        """Take saved states."""
        self._now = state
        self._busy = dict.fromkeys(
            self._instruments.require(symbol).event for symbol in state.states
        )

    def _next_edge(self, instrument: Instrument) -> Instant | None:
        now = self._ctx.now
        state = self._now.states[instrument.symbol]
        if state is _S.TERMINATED:
            return None
        dates = [
            date
            for date in (self.closes(instrument), instrument.expiration, instrument.termination)
            if date > now
        ]
        if state is _S.EXPIRED:
            return instrument.termination if instrument.termination > now else None
        if instrument.start > now:
            dates.append(instrument.start)
        elif instrument.symbol not in self._now.pinned:
            weekly = next_phase(instrument.schedule, now)
            if weekly is not None:
                dates.append(weekly)
        return min(dates, default=None)

    def _begun(self, instrument: Instrument) -> bool:
        """Whether a segment began between the start date and now."""
        schedule, start = instrument.schedule, instrument.start
        if phase_at(schedule, start).state is not _S.CLOSED:
            return True
        first = next_phase(schedule, start)
        return first is not None and first <= self._ctx.now


def check_listing(instrument: Instrument) -> None:
    """Refuse unsound terms."""
    problems = instrument.problems()
    if problems:
        raise InvalidRequest(f"{instrument.symbol}: " + "; ".join(problems), rule="M3")
