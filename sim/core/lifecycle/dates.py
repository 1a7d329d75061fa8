"""What the dates and the schedule of an instrument ask for at an instant, whatever has happened to
it. `states.py` has the theory of the clocks that move a market; `lifecycle.py` keeps the states.
"""

from __future__ import annotations

from collections.abc import Callable

from sim.core.catalogue.assumptions import (
    SETTLEMENT_AUTO_EXPIRE,
    SETTLEMENT_DELAY,
    SETTLEMENT_PRELIMINARY,
)
from sim.core.lifecycle.schedule import Phase, next_phase, phase_at
from sim.core.lifecycle.states import EXPIRED_STATES
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.kernel.instants import Instant

_S = InstrumentState


class Dates:
    """Reads dates and schedules. A date of 0 never comes.

    `defer_past_maintenance` says when an edge that is due at an instant is taken, `event_end` when
    the game of an instrument is over (0 for unknown).
    """

    def __init__(
        self,
        ctx: Context,
        defer_past_maintenance: Callable[[Instant], Instant],
        event_end: Callable[[Instrument], Instant],
    ) -> None:
        self._ctx = ctx
        self.defer_past_maintenance = defer_past_maintenance
        self.event_end = event_end

    def closes(self, instrument: Instrument) -> Instant:
        """When trading ends for good before the expiration: at the closing date or with the game;
        0 where neither is known.
        """
        return instrument.closes or self.event_end(instrument)

    def phase(self, instrument: Instrument, at: Instant, state: InstrumentState) -> Phase:
        """What dates and schedule ask for at an instant of an instrument in a state (rules L4, L6,
        L8). One that is PENDING stays so until its first session begins.
        """
        if instrument.termination and at >= instrument.termination:
            return Phase(_S.TERMINATED)
        if instrument.expiration and at >= instrument.expiration:
            return Phase(_S.EXPIRED)
        closes = self.closes(instrument)
        if closes and at >= closes:
            return Phase(_S.CLOSED)
        if at < instrument.start:
            return Phase(_S.PENDING)
        phase = phase_at(instrument.schedule, at)
        waits = phase.state is _S.CLOSED and state is _S.PENDING
        return Phase(_S.PENDING) if waits and not self._session_began(instrument) else phase

    def _session_began(self, instrument: Instrument) -> bool:
        """Whether a segment of the schedule began between the start date and now."""
        schedule, start = instrument.schedule, instrument.start
        if phase_at(schedule, start).state is not _S.CLOSED:
            return True
        first = next_phase(schedule, start)
        return first is not None and first <= self._ctx.now

    def next_edge(
        self, instrument: Instrument, state: InstrumentState, *, weekly: bool
    ) -> Instant | None:
        """When dates, or the schedule unless `weekly` is false, next ask for another state."""
        now = self._ctx.now
        if state is _S.TERMINATED:
            return None
        if state is _S.EXPIRED:
            return instrument.termination if instrument.termination > now else None
        edges = [self.closes(instrument), instrument.expiration, instrument.termination]
        if instrument.start > now:
            edges.append(instrument.start)
        elif weekly:
            edges.append(next_phase(instrument.schedule, now) or 0)
        return min((edge for edge in edges if edge > now), default=None)

    # ---- dormant instruments

    def settlement_times(self, instrument: Instrument) -> tuple[Instant, Instant]:
        """When the price of a dormant instrument with a closing date is set, and when it becomes
        final: at its termination at the latest.
        """
        return self.settlement_times_of(self.closes(instrument), instrument.termination)

    def settlement_times_of(self, closes: Instant, termination: Instant) -> tuple[Instant, Instant]:
        """`settlement_times` of an instrument with these dates."""
        assumptions, defer = self._ctx.assumptions, self.defer_past_maintenance
        price_set = defer(defer(closes) + assumptions.number(SETTLEMENT_DELAY))
        preliminary = assumptions.number(SETTLEMENT_PRELIMINARY)
        final = defer(price_set + preliminary) if preliminary else price_set
        terminated = defer(termination)
        return min(price_set, terminated), min(final, terminated)

    def dormant_state(
        self, dated_state: InstrumentState, closes: Instant, termination: Instant, at: Instant
    ) -> InstrumentState:
        """The state of a dormant instrument at an instant, where dates and schedule ask for
        `asked`. One that closes before its expiration settles by itself and may expire with that.
        """
        if not closes or at < closes or dated_state in EXPIRED_STATES:
            return dated_state
        if not self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE):
            return _S.CLOSED
        final = self.settlement_times_of(closes, termination)[1]
        return _S.EXPIRED if at >= final else _S.CLOSED
