"""Opens and closes maintenance windows (§8, rules W1-W3, W7, W9), the weekly one and one-off ones.

Each window has three timers: its lead, its beginning, its end. This module schedules them; a
`MaintenanceListener` implements their effects. Timers of the trading engine that fall due inside a
window are suspended and fire, in the order of their instants, after it (rule W7).
`maintenance_calendar.py` computes when windows take place.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct, field

from sim.core.catalogue.assumptions import CANCEL_LEAD
from sim.core.model.context import Context
from sim.core.model.events import MaintenanceChanged
from sim.core.model.stateful import Stateful
from sim.core.service.maintenance_calendar import MaintenanceCalendar, Window
from sim.kernel.instants import Instant, Span
from sim.kernel.timers import Timer, TimerHandlers

LEAD_TIMER, BEGIN_TIMER = "maintenance.lead", "maintenance.begin"
END_TIMER, REOPEN_TIMER = "maintenance.end", "maintenance.reopen"


class MaintenanceListener(Protocol):
    """Effects of a window, in this order.

    If windows overlap, the first two are called again before the others.
    """

    def on_lead(self) -> None:
        """Prepare for a window: cancel every open order, suspend every open instrument."""

    def on_begin(self, *, sudden: bool) -> None:
        """Begin the window. `sudden` means that it was announced at this very instant."""

    def on_end(self, *, another_begins: bool, another_leads: bool) -> None:
        """End the window.

        No window is open any more, unless `another_begins` at this instant. `another_leads` means
        that the lead of another one has begun.
        """

    def on_reopen(self) -> None:
        """Open instruments, after everything that waited for the end has happened."""


class MaintenanceState(Struct):
    """Current and future windows by name, with their three timers; the names of those past their
    lead, and of the open ones.
    """

    windows: dict[str, Window] = field(default_factory=dict)
    timers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    prepared: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


class Maintenance(Stateful[MaintenanceState]):
    """Opens and closes windows.

    Nothing is scheduled before `start`, when scenario and assumptions are known.
    """

    def __init__(
        self, ctx: Context, calendar: MaintenanceCalendar, listener: MaintenanceListener
    ) -> None:
        self._ctx = ctx
        self._calendar = calendar
        self._listener = listener
        self.active = False
        self._state = MaintenanceState()

    def start(self) -> None:
        """Schedule the weekly window in progress, or the next one."""
        self._schedule(self._calendar.weekly(self._ctx.now))

    def add(self, begins: Instant, ends: Instant, *, lead: Span | None = None) -> str:
        """Announce a one-off window and return its name. `lead` None means
        `maintenance.cancel_lead`.

        Raises ValueError if it ends before it begins or has already ended.
        """
        if not begins < ends or ends <= self._ctx.now:
            problem = "a maintenance window must begin before it ends, and end in the future"
            raise ValueError(problem)
        name = f"window-{self._ctx.ids.count('maintenance')}"
        if lead is None:
            lead = self._ctx.assumptions.number(CANCEL_LEAD)
        self._calendar.announce(name, begins, ends)
        self._schedule(Window(name=name, begins=begins, ends=ends, lead=lead))
        return name

    def pause(self, length: Span) -> str:
        """Begin an unannounced window now, without a lead (rule W9), and return its name."""
        return self.add(self._ctx.now, self._ctx.now + length, lead=0)

    def cancel(self, name: str) -> bool:
        """Cancel a one-off window, or end it now if it is open.

        Return False if the name is unknown.
        """
        if name not in self._state.windows or name == "weekly":
            return False
        self._cancel_timers(name)
        self._calendar.call_off(name)
        self._end(name)
        return True

    def reschedule(self) -> None:
        """Apply changed assumptions to the weekly window, unless it is past its lead."""
        self._calendar.changed()
        if "weekly" in self._state.windows and "weekly" not in self._state.prepared:
            self._cancel_timers("weekly")
            self._schedule(self._calendar.weekly(self._ctx.now))

    def begun(self, now: Instant) -> bool:
        """Return whether a window is open or begins now, whichever timer fires first."""
        return self.active or any(window.begins <= now for window in self._state.windows.values())

    def upcoming(self) -> tuple[Window, ...]:
        """Return open and future windows, in order of their beginning."""
        windows = self._state.windows.values()
        return tuple(sorted(windows, key=lambda window: (window.begins, window.name)))

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {
            LEAD_TIMER: lambda timer: self._prepare(timer.subject),
            BEGIN_TIMER: lambda timer: self._begin(timer.subject),
            END_TIMER: lambda timer: self._end(timer.subject),
            REOPEN_TIMER: self._reopen,
        }

    def _schedule(self, window: Window) -> None:
        """Set the three timers of a window. Those in the past fire at once."""
        now, timers, name = self._ctx.now, self._ctx.timers, window.name
        moments = (
            (window.begins - window.lead, LEAD_TIMER),
            (window.begins, BEGIN_TIMER),
            (window.ends, END_TIMER),
        )
        self._calendar.changed()
        self._state.windows[name] = window
        self._state.timers[name] = tuple(
            timers.schedule(due, kind, name) for due, kind in moments if due > now
        )
        if window.begins - window.lead <= now:
            self._prepare(name)
        if window.begins <= now:
            self._begin(name)

    def _cancel_timers(self, name: str) -> None:
        for seq in self._state.timers[name]:
            self._ctx.timers.cancel(seq)

    def _prepare(self, name: str) -> None:
        self._state.prepared.append(name)
        self._listener.on_lead()

    def _begin(self, name: str) -> None:
        self._state.open.append(name)
        if not self.active:
            self.active = True
            sudden = any(map(self._calendar.is_unannounced, self._state.open))
            self._listener.on_begin(sudden=sudden)
            # Last, because streams receive what the listener did before they end (rule W3).
            rule = "W9" if sudden else "W1"
            self._ctx.emit(MaintenanceChanged(True, self._ctx.now, rule, {"window": name}))

    def _end(self, name: str) -> None:
        state = self._state
        del state.windows[name], state.timers[name]
        prepared = name in state.prepared
        state.prepared = [other for other in state.prepared if other != name]
        state.open = [other for other in state.open if other != name]
        resumed = 0
        if self.active and not state.open:
            self.active = False
            begins, leads = self.begun(self._ctx.now), bool(state.prepared)
            self._listener.on_end(another_begins=begins, another_leads=leads)
            resumed = self._ctx.timers.resume()
            rule = "W7" if resumed else "W2"
            self._ctx.emit(MaintenanceChanged(False, self._ctx.now, rule, {"window": name}))
        if prepared and not state.prepared:
            if resumed:  # instruments due to close in the meantime close first, and do not reopen
                self._ctx.timers.schedule(self._ctx.now, REOPEN_TIMER)
            else:
                self._listener.on_reopen()
        if name == "weekly":
            self._schedule(self._calendar.weekly(self._ctx.now))

    def _reopen(self, _timer: Timer) -> None:
        if not self._state.prepared:
            self._listener.on_reopen()

    def load(self, state: object) -> None:
        """Restore saved windows. Their timers are saved with the queue."""
        super().load(state)
        self.active = bool(self._state.open)
