"""What the dates and the schedule of an instrument demand at an instant, whatever has happened to
it.

`states.py` explains the clocks that move a market; `lifecycle.py` stores the states.
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
from sim.core.model.why import Why, because
from sim.kernel.instants import Instant

_S = InstrumentState
_BY_DATE, _NOT_STARTED, _TRADING_ENDS = Why("L8"), Why("L6"), Why("L7")
GAME_OVER = because("L7", game="over")


class Dates:
    """Reads dates and schedules. A date of 0 means never.

    `defer_past_maintenance` returns the instant at which an edge due at a given instant is taken,
    `event_end` the instant at which the game of an instrument ends (0 if unknown).
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
        """Return when trading ends for good before the expiration: at the closing date or with the
        game.

        0 if neither is known.
        """
        return instrument.closes or self.event_end(instrument)

    def phase(self, instrument: Instrument, at: Instant, state: InstrumentState) -> Phase:
        """Return what dates and schedule demand of an instrument in a state, at an instant (rules
        L4, L6, L8).

        A PENDING instrument stays PENDING until its first session begins.
        """
        if instrument.termination and at >= instrument.termination:
            return Phase(_S.TERMINATED, why=_BY_DATE)
        if instrument.expiration and at >= instrument.expiration:
            return Phase(_S.EXPIRED, why=_BY_DATE)
        closes = self.closes(instrument)
        if closes and at >= closes:
            return Phase(_S.CLOSED, why=_TRADING_ENDS if instrument.closes else GAME_OVER)
        if at < instrument.start:
            return Phase(_S.PENDING, why=_NOT_STARTED)
        phase = phase_at(instrument.schedule, at)
        if phase.state is _S.CLOSED and state is _S.PENDING:
            if not self._session_began(instrument):
                return Phase(_S.PENDING, why=_NOT_STARTED)
        return phase

    def _session_began(self, instrument: Instrument) -> bool:
        """Return whether a segment of the schedule began between the start date and now."""
        schedule, start = instrument.schedule, instrument.start
        if phase_at(schedule, start).state is not _S.CLOSED:
            return True
        first = next_phase(schedule, start)
        return first is not None and first <= self._ctx.now

    def next_edge(
        self, instrument: Instrument, state: InstrumentState, *, weekly: bool
    ) -> Instant | None:
        """Return when dates next demand another state; with `weekly`, also the schedule."""
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
        """Return when the price of a dormant instrument with a closing date is set, and when it is
        final.

        It is final at the termination at the latest.
        """
        return self.settlement_times_of(self.closes(instrument), instrument.termination)

    def settlement_times_of(self, closes: Instant, termination: Instant) -> tuple[Instant, Instant]:
        """Return the `settlement_times` of an instrument with these dates."""
        assumptions, defer = self._ctx.assumptions, self.defer_past_maintenance
        price_set = defer(defer(closes) + assumptions.number(SETTLEMENT_DELAY))
        preliminary = assumptions.number(SETTLEMENT_PRELIMINARY)
        final = defer(price_set + preliminary) if preliminary else price_set
        terminated = defer(termination)
        return min(price_set, terminated), min(final, terminated)

    def dormant_state(
        self, dated_state: InstrumentState, closes: Instant, termination: Instant, at: Instant
    ) -> InstrumentState:
        """Return the state of a dormant instrument, where dates and schedule demand `dated_state`.

        An instrument that closes before its expiration settles by itself, and may expire by that.
        """
        if not closes or at < closes or dated_state in EXPIRED_STATES:
            return dated_state
        if not self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE):
            return _S.CLOSED
        final = self.settlement_times_of(closes, termination)[1]
        return _S.EXPIRED if at >= final else _S.CLOSED
