"""Maintenance windows (§8, rules W1-W3, W7, W9): the weekly one, whose hours have changed over
time, and one-off ones.

Timers open and close them; nothing asks "is it time yet". What the exchange does about a window is
the listener's business: this file only says when. Timers of the trading engine that fall inside are
parked, and surface in the order of their instants once the window is over (rule W7).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msgspec import Struct, convert, field
from msgspec.structs import replace

from sim.core.catalogue.assumptions import CANCEL_LEAD, MAINTENANCE_HOURS
from sim.core.model.context import Context
from sim.core.model.events import MaintenanceChanged
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant, Span, hours, next_weekly
from sim.kernel.timers import Timer, TimerHandlers

LEAD_TIMER, BEGIN_TIMER = "maintenance.lead", "maintenance.begin"
END_TIMER, REOPEN_TIMER = "maintenance.end", "maintenance.reopen"

_TUESDAY, _THURSDAY = 1, 3
_REMEMBERED = 4096


class Weekly(Struct, frozen=True):
    """Hours of the weekly window in Eastern Time. `weekday`: Monday 0."""

    weekday: int
    hour: int
    length: Span


_SPEC = (
    ("2026-04-16", Weekly(_THURSDAY, 6, hours(2))),
    ("2026-07-09", Weekly(_THURSDAY, 2, hours(4))),
)
WINDOWS: dict[str, Dated[Weekly]] = {
    "spec": Dated(Weekly(_TUESDAY, 4, hours(2)), *_SPEC),
    "docs": Dated(
        Weekly(_TUESDAY, 4, hours(2)), *_SPEC, ("2026-09-24", Weekly(_THURSDAY, 6, hours(2)))
    ),
}


class MaintenanceListener(Protocol):
    """What the exchange does about a window, in this order. Windows may overlap: the first two may
    come again before the last.
    """

    def on_lead(self) -> None:
        """The lead before a window: cancel every open order, suspend every open instrument."""

    def on_begin(self) -> None:
        """The window begins: APIs refuse from here on, streams end."""

    def on_end(self) -> None:
        """The window is over: connections are welcome again, and what waited for that happens."""

    def on_reopen(self) -> None:
        """Nothing waits any more: instruments open."""


class Window(Struct, frozen=True, kw_only=True):
    """One window. `lead` is how long before it the listener comes; a weekly one has the name "weekly"."""

    name: str
    begins: Instant
    ends: Instant
    lead: Span


class Announced(Struct, frozen=True, kw_only=True):
    """A one-off window as it was known from `since` on, until it was called off at `until`; 0 for
    never.
    """

    name: str
    begins: Instant
    ends: Instant
    since: Instant
    until: Instant = 0


class MaintenanceState(Struct):
    """Windows not over yet, by name, with the timers of their three moments; names of those the
    listener prepared, and of those that are open; all one-off windows that ever were announced.
    """

    windows: dict[str, Window] = field(default_factory=dict)
    timers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    prepared: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    announced: list[Announced] = field(default_factory=list)


class Maintenance:
    """Opens and closes windows. Nothing is scheduled before `start`, when scenario and assumptions
    are known.

    `version` goes up when what others plan around may be another; it is no part of the state.
    """

    def __init__(self, ctx: Context, listener: MaintenanceListener) -> None:
        self._ctx = ctx
        self._listener = listener
        self.active = False
        self.version = 0
        self._free: dict[Instant, Instant] = {}
        self._state = MaintenanceState()

    def start(self) -> None:
        """Schedule the weekly window: the one now is inside of, or the next."""
        self._schedule(self._weekly(self._ctx.now))

    def add(self, begins: Instant, ends: Instant, *, lead: Span | None = None) -> str:
        """A one-off window; returns its name. `lead` None is `maintenance.cancel_lead`. ValueError
        when it ends before it begins or is over.
        """
        if not begins < ends or ends <= self._ctx.now:
            raise ValueError(
                "a maintenance window must begin before it ends, and end in the future"
            )
        name = f"window-{self._ctx.ids.count('maintenance')}"
        self._state.announced.append(
            Announced(name=name, begins=begins, ends=ends, since=self._ctx.now)
        )
        self._schedule(
            Window(name=name, begins=begins, ends=ends, lead=self._lead() if lead is None else lead)
        )
        return name

    def pause(self, length: Span) -> str:
        """An unannounced window from now on, without lead (rule W9); returns its name."""
        return self.add(self._ctx.now, self._ctx.now + length, lead=0)

    def cancel(self, name: str) -> bool:
        """Call a one-off window off, or end it now if it is open; False when there is none of this
        name.
        """
        if name not in self._state.windows or name == "weekly":
            return False
        now = self._ctx.now
        self._changed()
        for seq in self._state.timers[name]:
            self._ctx.timers.cancel(seq)
        for number, found in enumerate(self._state.announced):
            if found.name == name:
                self._state.announced[number] = replace(
                    found, until=now, ends=now if found.begins <= now else found.ends
                )
        self._end(name)
        return True

    @property
    def sudden(self) -> bool:
        """Whether what is on began in the instant in which it was announced."""
        return any(
            found.since >= found.begins
            for found in self._state.announced
            if found.name in self._state.open
        )

    def begun(self, now: Instant) -> bool:
        """Whether maintenance is on, or begins at this very instant, whatever is done first in it."""
        return self.active or any(window.begins <= now for window in self._state.windows.values())

    # ---- what others plan around it

    def overlaps(self, begins: Instant, ends: Instant, known: Instant) -> bool:
        """Whether maintenance known at an instant overlaps a span, whose end is not in it."""
        return any(
            window.begins < ends and begins < window.ends for window in self._known(begins, known)
        )

    def free_from(self, at: Instant) -> Instant:
        """An instant, or the end of the maintenance that it lies in, as far as that was known then,
        or announced while it lasted.
        """
        known = self._free.get(at)
        if known is not None:
            return known
        found = at
        while ends := [
            window.ends
            for window in self._known(found, found)
            if window.begins <= found < window.ends
        ]:
            found = max(ends)
        if len(self._free) >= _REMEMBERED:
            self._free.clear()
        self._free[at] = found
        return found

    def _changed(self) -> None:
        """What follows from the windows that are known has to be found anew."""
        self.version += 1
        self._free.clear()

    def _known(self, after: Instant, known: Instant) -> Iterator[Window | Announced]:
        """The first weekly window that ends after an instant, and the one-off ones that somebody
        knows of at another.
        """
        yield self._weekly(after)
        yield from (
            found
            for found in self._state.announced
            if found.since < known and (not found.until or known < found.until)
        )

    def reschedule(self) -> None:
        """Apply changed assumptions to the weekly window, unless it is under way."""
        self._changed()
        if "weekly" in self._state.prepared or "weekly" not in self._state.windows:
            return
        for seq in self._state.timers["weekly"]:
            self._ctx.timers.cancel(seq)
        self._schedule(self._weekly(self._ctx.now))

    def upcoming(self) -> tuple[Window, ...]:
        """Windows that are open or to come, in order of their beginning."""
        return tuple(
            sorted(self._state.windows.values(), key=lambda window: (window.begins, window.name))
        )

    def _lead(self) -> Span:
        return self._ctx.assumptions.number(CANCEL_LEAD)

    def _weekly(self, now: Instant) -> Window:
        """First weekly window that ends after an instant, by the hours in force when it begins."""
        eras = WINDOWS[self._ctx.assumptions.text(MAINTENANCE_HOURS)]
        after = now - hours(24)  # longer than any window, so that one under way is found
        while True:
            era = eras.at(after)
            begins = next_weekly(after, era.weekday, era.hour)
            change = eras.next_change(after)
            if change is not None and begins >= change:
                after = change
            elif begins + era.length > now:
                return Window(
                    name="weekly", begins=begins, ends=begins + era.length, lead=self._lead()
                )
            else:
                after = begins

    def _schedule(self, window: Window) -> None:
        """Timers of the three moments. Those that are here or past happen at once: a clock that
        stands still would not bring them.
        """
        now, timers, name = self._ctx.now, self._ctx.timers, window.name
        moments = (
            (window.begins - window.lead, LEAD_TIMER),
            (window.begins, BEGIN_TIMER),
            (window.ends, END_TIMER),
        )
        self._changed()
        self._state.windows[name] = window
        self._state.timers[name] = tuple(
            timers.schedule(due, kind, name) for due, kind in moments if due > now
        )
        if window.begins - window.lead <= now:
            self._prepare(name)
        if window.begins <= now:
            self._begin(name)

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {
            LEAD_TIMER: lambda timer: self._prepare(timer.subject),
            BEGIN_TIMER: lambda timer: self._begin(timer.subject),
            END_TIMER: lambda timer: self._end(timer.subject),
            REOPEN_TIMER: self._reopen,
        }

    def _reopen(self, _timer: Timer) -> None:
        if not self._state.prepared:
            self._listener.on_reopen()

    def _prepare(self, name: str) -> None:
        self._state.prepared.append(name)
        self._listener.on_lead()

    def _begin(self, name: str) -> None:
        self._state.open.append(name)
        if not self.active:
            self.active = True
            self._listener.on_begin()
            # last: streams hear of what the listener did before they end (rule W3)
            self._ctx.emit(MaintenanceChanged(True, self._ctx.now))

    def _end(self, name: str) -> None:
        state = self._state
        del state.windows[name], state.timers[name]
        prepared = name in state.prepared
        state.prepared = [other for other in state.prepared if other != name]
        state.open = [other for other in state.open if other != name]
        waited = 0
        if self.active and not state.open:
            self.active = False
            self._listener.on_end()
            waited = self._ctx.timers.resume()
            self._ctx.emit(MaintenanceChanged(False, self._ctx.now))
        if prepared and not state.prepared:
            if waited:  # what should have closed meanwhile closes first, and does not open
                self._ctx.timers.schedule(self._ctx.now, REOPEN_TIMER)
            else:
                self._listener.on_reopen()
        if name == "weekly":
            self._schedule(self._weekly(self._ctx.now))

    def save(self) -> MaintenanceState:
        """Windows not over yet."""
        return self._state

    def load(self, state: object) -> None:
        """Take saved windows; their timers are saved with the queue."""
        self._changed()
        self._state = convert(state, MaintenanceState)
        self.active = bool(self._state.open)
