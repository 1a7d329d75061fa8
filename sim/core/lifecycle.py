"""Lifecycle of instruments (§3.1): the table of edges, what each state permits, and when an instrument moves by itself.

An instrument that nobody touches costs one state and one timer, for its next edge; where dates and schedule have no further edge, no timer.
The effects of an edge on orders and money are in `transitions.py`.
"""

from __future__ import annotations

from msgspec import Struct, field

from sim.core.context import Context
from sim.core.instruments import Instrument, Instruments
from sim.core.refusals import IllegalTransition, InstrumentNotTradable, InvalidRequest, NotFound
from sim.core.schedule import Phase, next_phase, phase_at
from sim.core.vocabulary import CancelRejectReason, InstrumentState, RejectReason
from sim.kernel.instants import Instant

EDGE_TIMER = "instrument.edge"

_S = InstrumentState
_AUCTION = _S.MATCH_AND_CLOSE_AUCTION

# Rule L10: where an operator may move an instrument. TERMINATED is final and PENDING is never entered again.
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
        raise InstrumentNotTradable(f"Instrument Unavailable: {symbol}", rule="L1", reason=RejectReason.UNKNOWN_SYMBOL)
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
            f"Book is {state.name}", rule="§3.1", remedy="wait until the instrument is OPEN or SUSPENDED", cancel_reason=CancelRejectReason.EXCHANGE_CLOSED
        )


class LifecycleState(Struct):
    """What the lifecycle saves. `held`: symbols an operator holds in their state (rule L5). `timers`: seq of each instrument's pending edge."""

    states: dict[str, InstrumentState] = field(default_factory=dict)
    held: dict[str, bool] = field(default_factory=dict)
    hidden: dict[str, bool] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)
    closed_at: dict[str, Instant] = field(default_factory=dict)


class Lifecycle:
    """State of every listed instrument and the timer of its next edge."""

    __slots__ = ("_ctx", "_instruments", "_now")

    def __init__(self, ctx: Context, instruments: Instruments) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._now = LifecycleState()

    def state(self, symbol: str) -> InstrumentState:
        """State of an instrument; NotFound when it is not listed."""
        found = self._now.states.get(symbol)
        if found is None:
            raise NotFound(f"unknown symbol: {symbol[:80]}", rule="M2")
        return found

    def listed(self, symbol: str) -> bool:
        """Whether the symbol was listed."""
        return symbol in self._now.states

    def hidden(self, symbol: str) -> bool:
        """Whether the schedule hides the published book (rule L3)."""
        return symbol in self._now.hidden

    def held(self, symbol: str) -> bool:
        """Whether an operator's word overrules the schedule (rule L5)."""
        return symbol in self._now.held

    def closed_at(self, symbol: str) -> Instant | None:
        """When the instrument was last closed; None while it is not, or when it was never seen to close."""
        return self._now.closed_at.get(symbol)

    def enter(self, symbol: str, state: InstrumentState) -> InstrumentState:
        """Write down a new state and return the former one."""
        now = self._now
        was = now.states[symbol]
        now.states[symbol] = state
        if state is _S.CLOSED:
            now.closed_at[symbol] = self._ctx.now
        elif state not in GONE_STATES:
            now.closed_at.pop(symbol, None)
        return was

    def begin(self, instrument: Instrument) -> None:
        """Begin with the state that terms say, or that dates and schedule ask for now, and wait for the next edge."""
        symbol = instrument.symbol
        asked = self.scheduled(instrument)
        state = instrument.opening_state
        if state is None:
            state = asked.state
        elif state is not asked.state and state not in GONE_STATES:
            self._now.held[symbol] = True
        self._now.states[symbol] = state
        if asked.hide:
            self._now.hidden[symbol] = True
        self.wait(instrument)

    def scheduled(self, instrument: Instrument) -> Phase:
        """What dates and schedule ask for now (rules L4, L6, L8). A date of 0 never comes."""
        now = self._ctx.now
        if instrument.termination and now >= instrument.termination:
            return Phase(_S.TERMINATED)
        if instrument.expiration and now >= instrument.expiration:
            return Phase(_S.EXPIRED)
        if now < instrument.start:
            return Phase(_S.PENDING)
        phase = phase_at(instrument.schedule, now)
        if phase.state is _S.CLOSED and self._now.states.get(instrument.symbol, _S.PENDING) is _S.PENDING and not self._begun(instrument):
            return Phase(_S.PENDING)
        return phase

    def hold(self, symbol: str) -> None:
        """An operator set the state: the schedule has no say until `release` (rule L5)."""
        self._now.held[symbol] = True
        self.wait(self._instruments.require(symbol))

    def release(self, symbol: str) -> None:
        """Follow the schedule again."""
        self._now.held.pop(symbol, None)
        self.wait(self._instruments.require(symbol))

    def hide(self, symbol: str, hidden: bool) -> None:
        """Show or hide the published book."""
        if hidden:
            self._now.hidden[symbol] = True
        else:
            self._now.hidden.pop(symbol, None)

    def wait(self, instrument: Instrument) -> None:
        """Set the instrument's one timer to its next edge; weekly edges only while the schedule has a say."""
        timers = self._now.timers
        pending = timers.pop(instrument.symbol, 0)
        if pending:
            self._ctx.timers.cancel(pending)
        due = self._next_edge(instrument)
        if due is not None:
            timers[instrument.symbol] = self._ctx.timers.schedule(due, EDGE_TIMER, instrument.symbol)

    def check_move(self, symbol: str, state: InstrumentState) -> None:
        """Refuse an operator's request for an edge that does not exist (rule L10)."""
        was = self.state(symbol)
        if state is _S.PENDING or state not in LEGAL_EDGES[was]:
            legal = sorted(found.name for found in LEGAL_EDGES[was])
            remedy = "from here: " + ", ".join(legal) if legal else "this state is final"
            raise IllegalTransition(f"{symbol} is {was.name} and cannot become {state.name}", rule="L10", remedy=remedy)

    def save(self) -> LifecycleState:
        """States, overrides and timer seqs."""
        return self._now

    def load(self, state: LifecycleState) -> None:
        """Take saved states."""
        self._now = state

    def _next_edge(self, instrument: Instrument) -> Instant | None:
        now = self._ctx.now
        state = self._now.states[instrument.symbol]
        if state is _S.TERMINATED:
            return None
        dates = [date for date in (instrument.expiration, instrument.termination) if date > now]
        if state is _S.EXPIRED:
            return instrument.termination if instrument.termination > now else None
        if instrument.start > now:
            dates.append(instrument.start)
        elif instrument.symbol not in self._now.held:
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
