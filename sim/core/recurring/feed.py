"""Events of dormant recurring markets, for streams that follow every instrument.

While at least one such stream is open, one timer waits for the next edge of any slot. Without
followers there is no timer and no event, because nobody would receive it.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from sim.core.catalogue.assumptions import SETTLEMENT_AUTO_EXPIRE
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.settlement import Settlements
from sim.core.matching.books import OrderBooks
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState
from sim.core.model.events import InstrumentListed, Settled, StateChanged
from sim.core.recurring.markets import RecurringMarkets, Series, Slot
from sim.kernel.instants import DAY, Instant, Span
from sim.kernel.timers import Timer, TimerHandlers

RECURRING_TIMER = "windows.edge"

_S = InstrumentState
# The rule of a change to a state (`lifecycle/dates.py` has the same for materialised markets).
_RULES = {_S.OPEN: "L6", _S.CLOSED: "L7", _S.EXPIRED: "L8", _S.TERMINATED: "L8"}


class _Edge(NamedTuple):
    """A change of state of every market of a series, `after` its slot begins.

    If only a settlement is set, both states are the same.
    """

    after: Span
    was: InstrumentState
    state: InstrumentState


class RecurringFeedState(Struct):
    """The saved state: the number of following streams, the instant up to which edges were sent,
    and the timer of the next edge.
    """

    followers: int = 0
    sent_to: Instant = 0
    timer: int = 0


class RecurringFeed:
    """Emits the state changes and settlements of dormant recurring markets."""

    def __init__(
        self,
        ctx: Context,
        recurring: RecurringMarkets,
        lifecycle: Lifecycle,
        resolution: Resolution,
        settlements: Settlements,
        books: OrderBooks,
    ) -> None:
        self._ctx = ctx
        self._recurring = recurring
        self._lifecycle = lifecycle
        self._resolution = resolution
        self._settlements = settlements
        self._books = books
        self._now = RecurringFeedState()

    def follow(self) -> None:
        """Count another stream that follows every instrument."""
        self._now.followers += 1
        if self._now.followers == 1:
            self._now.sent_to = self._ctx.now
            self._set_timer()

    def leave(self) -> None:
        """Count one such stream less."""
        self._now.followers -= 1
        if not self._now.followers and self._now.timer:
            self._ctx.timers.cancel(self._now.timer)
            self._now.timer = 0

    @property
    def followers(self) -> int:
        """The number of following streams."""
        return self._now.followers

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {RECURRING_TIMER: self._emit_edges}

    def _emit_edges(self, _timer: Timer) -> None:
        """Emit every edge since the last time, in order of time."""
        since, self._now.sent_to = self._now.sent_to, self._ctx.now
        for slot, edge in self._edges(since, self._ctx.now):
            self._emit(slot, edge)
        self._set_timer()

    def _emit(self, slot: Slot, edge: _Edge) -> None:
        symbol, now = self._recurring.symbol(slot), self._ctx.now
        if self._lifecycle.is_materialised(symbol):
            return
        was = self._lifecycle.unless_suspended(edge.was)
        state = self._lifecycle.unless_suspended(edge.state)
        if state is _S.SUSPENDED:
            return  # it opens with all others when maintenance ends
        if state is _S.PENDING:
            self._ctx.emit(InstrumentListed(symbol, state, now, "L6"))
        elif was is not state:
            self._ctx.emit(StateChanged(symbol, was, state, now, _RULES[state]))
        elif (settled := self._settlements.get(symbol)) is not None:
            price, text = settled.price, settled.text
            self._ctx.emit(Settled(symbol, price, settled.preliminary, text, now, "L25"))
        self._books.state_changed(symbol)

    def _set_timer(self) -> None:
        dues = (
            self._next(number, edge)
            for number, series in enumerate(self._recurring.series)
            for edge in self._edges_of(series)
        )
        due = min((due for due in dues if due is not None), default=self._ctx.now + DAY)
        schedule = self._ctx.timers.schedule
        self._now.timer = schedule(due, RECURRING_TIMER, "") if self._recurring else 0

    def _edges_of(self, series: Series) -> list[_Edge]:
        """Return the edges of every slot of a series."""
        delay, preliminary = self._resolution.delays()
        settles = [series.every + delay]
        if preliminary:
            settles.append(series.every + delay + preliminary)
        expires = series.every + series.expires
        terminates = expires + series.terminates
        if self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE):
            expires = min(expires, settles[-1])
        settling = [(at, _S.CLOSED if at <= expires else _S.EXPIRED) for at in settles]
        return [
            _Edge(-series.ahead, _S.PENDING, _S.PENDING),
            _Edge(-series.lead, _S.PENDING, _S.OPEN),
            _Edge(series.every, _S.OPEN, _S.CLOSED),
            *(_Edge(at, state, state) for at, state in settling if at < terminates),
            _Edge(expires, _S.CLOSED, _S.EXPIRED),
            _Edge(terminates, _S.EXPIRED, _S.TERMINATED),
        ]

    def _next(self, number: int, edge: _Edge) -> Instant | None:
        """Return when an edge of a series comes next.

        None if maintenance leaves no slot for days.
        """
        every, now = self._recurring.series[number].every, self._ctx.now
        late = _maintenance_delay(self._recurring.series[number], edge)
        first = (now - edge.after - late) // every + (0 if late else 1)
        for index in range(first, first + 3 * DAY // every):
            at = self._at(Slot(number, index * every), edge)
            if at is not None and at > now:
                return at
        return None

    def _at(self, slot: Slot, edge: _Edge) -> Instant | None:
        """Return when a slot's market takes an edge; None if the slot is never listed.

        Maintenance may open it later than planned.
        """
        if edge.state is _S.PENDING:
            return self._recurring.lists(slot)
        opens, planned = self._recurring.opens(slot), slot.begins + edge.after
        if opens is None or edge.state is not _S.OPEN:
            return None if opens is None else planned
        return opens if opens < slot.begins + self._recurring.series[slot.series].every else None

    def _edges(self, after: Instant, until: Instant) -> list[tuple[Slot, _Edge]]:
        """Return the edges in (after, until], in order of time, then of series."""
        due: list[tuple[Instant, tuple[Slot, _Edge]]] = []
        for number, series in enumerate(self._recurring.series):
            for edge in self._edges_of(series):
                first = (after - _maintenance_delay(series, edge) - edge.after) // series.every
                last = (until - edge.after) // series.every
                for index in range(first, last + 1):
                    slot = Slot(number, index * series.every)
                    at = self._at(slot, edge)
                    if at is not None and after < at <= until:
                        due.append((at, (slot, edge)))
        return [pair for _, pair in sorted(due, key=itemgetter(0))]

    # ---- state

    def save(self) -> RecurringFeedState:
        """Return followers and timer."""
        return self._now

    def load(self, state: RecurringFeedState) -> None:
        """Forget all followers.

        Streams are connections and not part of the state, so time travel ends them; see `resume`.
        """
        if state.timer:
            self._ctx.timers.cancel(state.timer)
        self._now = RecurringFeedState()
        self._recurring.clear()

    def resume(self, state: RecurringFeedState) -> None:
        """Restore the followers of a saved state, whose timer is set."""
        self._now = state


def _maintenance_delay(series: Series, edge: _Edge) -> Span:
    """Return the longest delay that maintenance may cause for a listing or an opening."""
    return {_S.PENDING: series.ahead, _S.OPEN: series.lead + series.every}.get(edge.state, 0)
