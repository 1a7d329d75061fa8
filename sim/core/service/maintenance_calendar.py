"""The calendar of maintenance windows as announced at an instant (§8, rules W1, W7).

The hours of the weekly window follow from the date. A one-off window counts from its announcement
until its cancellation. Components that plan ahead (dates of dormant instruments, slots of recurring
markets) use this calendar, so the answer for an instant does not depend on when they ask.
`maintenance.py` opens and closes the windows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sim.core.catalogue.assumptions import CANCEL_LEAD, MAINTENANCE_HOURS
from sim.core.model.context import Context
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant, Span, hours, next_weekly

T = TypeVar("T")

_TUESDAY, _THURSDAY = 1, 3
_CACHE_MAX = 4096


class Weekly(Struct, frozen=True):
    """Hours of the weekly window in Eastern Time. `weekday` 0 is Monday."""

    weekday: int
    hour: int
    length: Span

    def __str__(self) -> str:
        day = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
        return f"{day[self.weekday]} {self.hour:02}:00 Eastern, {self.length // hours(1)} hours"


def _hours(name: str, title: str, *later: tuple[str, Weekly]) -> Dated[Weekly]:
    return Dated(
        Weekly(_TUESDAY, 4, hours(2)),
        ("2026-04-16", Weekly(_THURSDAY, 6, hours(2))),
        ("2026-07-09", Weekly(_THURSDAY, 2, hours(4))),
        *later,
        name=name,
        section="§8, rule W1",
        title=title,
    )


_TITLE = "weekly maintenance window"
_DOCS_TITLE = f"{_TITLE} where maintenance.windows is docs"
_SEPTEMBER = ("2026-09-24", Weekly(_THURSDAY, 6, hours(2)))
WINDOWS: dict[str, Dated[Weekly]] = {
    "spec": _hours("maintenance.hours", _TITLE),
    "docs": _hours("maintenance.hours (docs)", _DOCS_TITLE, _SEPTEMBER),
}


class Window(Struct, frozen=True, kw_only=True):
    """One window. The weekly one is named "weekly". Orders are canceled `lead` before it begins."""

    name: str
    begins: Instant
    ends: Instant
    lead: Span


class AnnouncedWindow(Struct, frozen=True, kw_only=True):
    """A one-off window, announced at `since` and canceled at `until`; 0 means never."""

    name: str
    begins: Instant
    ends: Instant
    since: Instant
    until: Instant = 0


class MaintenanceCalendar:
    """Weekly and announced windows.

    `version` increases whenever an answer may have changed. It is not part of the state.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._announced: list[AnnouncedWindow] = []
        self._free_from: dict[Instant, Instant] = {}
        self._weekly: dict[Instant, Window] = {}
        self._planned_by = self._rules()
        self.version = 0

    # ---- for planning

    def overlaps(self, begins: Instant, ends: Instant, announced_at: Instant) -> bool:
        """Return whether [begins, ends) overlaps maintenance as announced at an instant."""
        return any(
            window.begins < ends and begins < window.ends
            for window in self._upcoming_windows(begins, announced_at)
        )

    def free_from(self, at: Instant) -> Instant:
        """Return the instant itself, or the end of the maintenance that it falls into.

        One-off windows count if announced by then, or during the preceding window.
        """
        free = self._free_from.get(at)
        if free is not None:
            return free
        free = at
        while ends := [
            window.ends
            for window in self._upcoming_windows(free, free)
            if window.begins <= free < window.ends
        ]:
            free = max(ends)
        _keep(self._free_from, at, free)
        return free

    def _upcoming_windows(
        self, after: Instant, announced_at: Instant
    ) -> Iterator[Window | AnnouncedWindow]:
        """Yield the first weekly window that ends after an instant, and known one-off ones."""
        weekly = self._weekly.get(after)
        if weekly is None:
            weekly = self.weekly(after)
            _keep(self._weekly, after, weekly)
        yield weekly
        for window in self._announced:
            if window.since < announced_at and (not window.until or announced_at < window.until):
                yield window

    def weekly(self, now: Instant) -> Window:
        """Return the first weekly window that ends after an instant."""
        rule = WINDOWS[self._ctx.assumptions.text(MAINTENANCE_HOURS)]
        after = now - hours(24)  # longer than any window, to find one in progress
        while True:
            week = rule.at(after)
            begins = next_weekly(after, week.weekday, week.hour)
            change = rule.next_change(after)
            if change is not None and begins >= change:
                after = change
            elif begins + week.length > now:
                lead = self._ctx.assumptions.number(CANCEL_LEAD)
                return Window(name="weekly", begins=begins, ends=begins + week.length, lead=lead)
            else:
                after = begins

    # ---- announcements

    def announce(self, name: str, begins: Instant, ends: Instant) -> None:
        """Announce a one-off window now."""
        self._announced.append(
            AnnouncedWindow(name=name, begins=begins, ends=ends, since=self._ctx.now)
        )
        self.changed()

    def call_off(self, name: str) -> None:
        """Cancel a one-off window now, or end it if it has begun."""
        now = self._ctx.now
        for number, window in enumerate(self._announced):
            if window.name == name:
                ends = now if window.begins <= now else window.ends
                self._announced[number] = replace(window, until=now, ends=ends)
        self.changed()

    def is_unannounced(self, name: str) -> bool:
        """Return whether a window was announced at or after its beginning."""
        return any(
            window.name == name and window.since >= window.begins for window in self._announced
        )

    def announced(self) -> tuple[AnnouncedWindow, ...]:
        """Return the one-off windows that were announced before they began (§8)."""
        return tuple(window for window in self._announced if window.since < window.begins)

    def changed(self) -> None:
        """Note that announcements or assumptions have changed."""
        self.version += 1
        self._planned_by = self._rules()
        self._free_from.clear()
        self._weekly.clear()

    def _rules(self) -> tuple[str, Span]:
        """Return the assumptions that decide where the weekly window is."""
        assumptions = self._ctx.assumptions
        return assumptions.text(MAINTENANCE_HOURS), assumptions.number(CANCEL_LEAD)

    def save(self) -> list[AnnouncedWindow]:
        """Return every window ever announced."""
        return self._announced

    def load(self, state: list[AnnouncedWindow]) -> None:
        """Restore saved announcements, after the assumptions."""
        # What was planned remains valid if both are as they were.
        if state != self._announced or self._planned_by != self._rules():
            self._announced = list(state)
            self.changed()


def _keep(cache: dict[Instant, T], at: Instant, answer: T) -> None:
    if len(cache) >= _CACHE_MAX:
        cache.clear()
    cache[at] = answer
