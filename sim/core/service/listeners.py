"""The listeners of the planes: whether they accept connections.

A plane that accepts none refuses connections (ECONNREFUSED); those that are open stay open. The
server follows this state. The calls of a scenario have no connection, so they are refused here,
where a server would not have accepted one.
"""

from __future__ import annotations

from msgspec import Struct, field

from sim.core.model.context import Context
from sim.core.model.stateful import Stateful
from sim.core.service.fault_spec import FaultAction
from sim.core.service.faults import Faults, FaultTarget, InjectedFault
from sim.kernel.instants import Span
from sim.kernel.timers import Timer, TimerHandlers

OPEN_TIMER = "listener.open"
REFUSED = FaultAction(fault="listener", effect="refuse")


class ListenersState(Struct):
    """The planes that accept no connections, each with the timer that opens it again, or 0."""

    closed: dict[str, int] = field(default_factory=dict)


class Listeners(Stateful[ListenersState]):
    """Which planes accept connections."""

    def __init__(self, ctx: Context, faults: Faults) -> None:
        self._ctx = ctx
        self._faults = faults
        self._state = ListenersState()
        self.closed: frozenset[str] = frozenset()  # the planes that accept no connections

    def change(self, plane: str, *, accept: bool, span: Span = 0) -> None:
        """Accept connections again, or refuse them, for a span or until told otherwise."""
        timers = self._ctx.timers
        if pending := self._state.closed.pop(plane, 0):
            timers.cancel(pending)
        if not accept:
            due = self._ctx.now + span
            self._state.closed[plane] = timers.schedule(due, OPEN_TIMER, plane) if span else 0
        self.closed = frozenset(self._state.closed)

    def connect(self, target: FaultTarget) -> None:
        """Refuse a call that would need a connection to a plane that accepts none."""
        if target.plane in self.closed:
            self._faults.acted(REFUSED, target)
            raise InjectedFault(REFUSED)

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {OPEN_TIMER: self._open}

    def _open(self, timer: Timer) -> None:
        self._state.closed.pop(timer.subject, None)
        self.closed = frozenset(self._state.closed)

    def load(self, state: object) -> None:
        """Restore a saved state."""
        super().load(state)
        self.closed = frozenset(self._state.closed)
