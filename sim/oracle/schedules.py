"""When dates, segments and weekly windows begin, by the clocks of New York (rules L3, L6, W1)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from sim.kernel.instants import DAY, HOUR, Instant, Span, eastern, eastern_date, parse_instant
from sim.oracle.state import Document

WEEK = range(-8, 9)  # a segment is at most a week long
EVERY_DAY = (0, 1, 2, 3, 4, 5, 6)


@lru_cache(maxsize=4096)
def by_wall_clock(day: date, span: Span) -> Instant:
    """Return when clocks show a time after midnight of a day (rule L3).

    Of the hour that autumn repeats it is the first; what spring leaves out is where it ends.
    """
    day += timedelta(days=span // DAY)
    hour, rest = divmod(span % DAY, HOUR)
    at, following = eastern(day, hour), eastern(day + timedelta(days=hour == 23), (hour + 1) % 24)
    return at if at == following else at + rest


class SegmentTurn(NamedTuple):
    """A segment of a schedule on one of its days."""

    begins: Instant
    ends: Instant
    row: int
    segment: Document


def turns(schedule: tuple[Document, ...], at: Instant) -> Iterator[SegmentTurn]:
    """Yield every turn of a schedule that begins in the week before or after an instant."""
    today = eastern_date(at)
    for row, segment in enumerate(schedule):
        for offset in WEEK:
            day = today + timedelta(days=offset)
            if day.weekday() in segment["days"]:
                start = segment["start"]
                ends = by_wall_clock(day, start + segment["length"])
                yield SegmentTurn(by_wall_clock(day, start), ends, row, segment)


def in_force(schedule: tuple[Document, ...], at: Instant) -> Document | None:
    """Return the segment that is in force, which is the one that began last (rules L3, L4)."""
    running = [turn for turn in turns(schedule, at) if turn.begins <= at < turn.ends]
    return max(running, key=lambda turn: (turn.begins, turn.row)).segment if running else None


def beginning_at(schedule: tuple[Document, ...], at: Instant) -> list[Document]:
    """Return the segments that begin at an instant."""
    return [turn.segment for turn in turns(schedule, at) if turn.begins == at]


def next_edge(schedule: tuple[Document, ...], after: Instant) -> Instant | None:
    """Return when the next segment begins or ends; None if there is always the same."""
    if len(schedule) == 1 and tuple(schedule[0]["days"]) == EVERY_DAY:
        (segment,) = schedule
        if segment["length"] == DAY and not segment["expire_all_orders"]:
            return None
    edges = [edge for turn in turns(schedule, after) for edge in turn[:2] if edge > after]
    return min(edges, default=None)


class MaintenanceHours(NamedTuple):
    """A maintenance window. It is sudden if it begins at the instant at which it is announced."""

    begins: Instant
    ends: Instant
    lead: Span
    sudden: bool = False

    @property
    def leads(self) -> Instant:
        """When orders are canceled and instruments suspended (rule W2)."""
        return self.begins - self.lead

    @property
    def stops(self) -> Instant:
        """The first instant that waits; that of a sudden one has been followed (rule W7)."""
        return self.begins + self.sudden


# From when on, the weekday from Monday 0, the hour, and the length in hours (rule W1, §8)
_HOURS = (
    (0, 1, 4, 2),
    (parse_instant("2026-04-16T04:00:00Z"), 3, 6, 2),
    (parse_instant("2026-07-09T04:00:00Z"), 3, 2, 4),
)
_DOCS = (parse_instant("2026-09-24T04:00:00Z"), 3, 6, 2)


def weekly(at: Instant, hours: str, lead: Span) -> tuple[MaintenanceHours, ...]:
    """Return the weekly windows around an instant (rule W1). `hours` is `maintenance.windows`."""
    return _around(eastern_date(at), hours, lead)


@lru_cache
def _around(today: date, hours: str, lead: Span) -> tuple[MaintenanceHours, ...]:
    windows = []
    for offset in WEEK:
        day = today + timedelta(days=offset)
        table = (*_HOURS, _DOCS) if hours == "docs" else _HOURS
        _, weekday, hour, length = max(row for row in table if row[0] <= eastern(day))
        if day.weekday() == weekday:
            begins = eastern(day, hour)
            windows.append(MaintenanceHours(begins, begins + length * HOUR, lead))
    return tuple(windows)
