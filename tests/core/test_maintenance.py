"""Maintenance windows (§8; behaviour rules W1-W3, W9)."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest

from sim.core.model.context import Context
from sim.core.model.events import MaintenanceChanged
from sim.core.service.maintenance import Maintenance, MaintenanceState
from sim.core.service.maintenance_calendar import MaintenanceCalendar
from sim.kernel.instants import (
    Instant,
    days,
    format_instant,
    hours,
    minutes,
    parse_instant,
    seconds,
)


@dataclass
class Bench:
    """Maintenance with a listener that writes down when it was called."""

    start: str
    log: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ctx = Context(seed=7, now=parse_instant(self.start))
        self.calendar = MaintenanceCalendar(self.ctx)
        self.maintenance = Maintenance(self.ctx, self.calendar, self)

    def note(self, kind: str) -> None:
        self.log.append((kind, format_instant(self.ctx.now)))

    def on_lead(self) -> None:
        self.note("before")

    def on_begin(self, *, sudden: bool) -> None:
        self.note("begin")

    def on_end(self, *, another_begins: bool, another_leads: bool) -> None:
        """Nothing waits for it here."""

    def on_reopen(self) -> None:
        self.note("end")

    def advance(self, to: str | Instant) -> None:
        until = parse_instant(to) if isinstance(to, str) else to
        while (timer := self.ctx.timers.pop_due(until)) is not None:
            self.ctx.now = max(self.ctx.now, timer.due)
            self.maintenance.timers[timer.kind](timer)
        self.ctx.now = until


WEEKLY = [
    ("2026-03-01T00:00:00-05:00", "spec", "2026-03-03T04:00:00-05:00", 2),  # Tuesday, winter
    # inside the last Tuesday window
    ("2026-04-14T05:00:00-04:00", "spec", "2026-04-14T04:00:00-04:00", 2),
    ("2026-04-14T06:00:00-04:00", "spec", "2026-04-16T06:00:00-04:00", 2),  # first Thursday
    ("2026-07-03T00:00:00-04:00", "spec", "2026-07-09T02:00:00-04:00", 4),  # first of four hours
    # a window is over at its end
    ("2026-07-09T06:00:00-04:00", "spec", "2026-07-16T02:00:00-04:00", 4),
    ("2026-09-23T00:00:00-04:00", "spec", "2026-09-24T02:00:00-04:00", 4),
    ("2026-09-23T00:00:00-04:00", "docs", "2026-09-24T06:00:00-04:00", 2),
    # after daylight saving ended
    ("2026-10-31T00:00:00-04:00", "spec", "2026-11-05T02:00:00-05:00", 4),
]


@pytest.mark.parametrize(("start", "hours_by", "begins", "length"), WEEKLY)
def test_the_weekly_window_follows_its_dated_hours(
    start: str, hours_by: str, begins: str, length: int
) -> None:
    bench = Bench(start)
    bench.ctx.assumptions.change("maintenance.windows", hours_by)
    bench.maintenance.start()
    (window,) = bench.maintenance.upcoming()
    assert format_instant(window.begins) == format_instant(parse_instant(begins))
    assert window.ends - window.begins == hours(length)


def test_the_crew_comes_a_minute_early_and_the_all_clear_comes_last() -> None:
    bench = Bench("2026-07-09T01:58:00-04:00")
    bench.maintenance.start()
    bench.advance("2026-07-09T06:00:00-04:00")
    assert bench.log == [
        ("before", "2026-07-09T05:59:00Z"),
        ("begin", "2026-07-09T06:00:00Z"),
        ("end", "2026-07-09T10:00:00Z"),
    ]
    assert bench.ctx.events == [
        MaintenanceChanged(True, parse_instant("2026-07-09T06:00:00Z"), "W1", {"window": "weekly"}),
        MaintenanceChanged(
            False, parse_instant("2026-07-09T10:00:00Z"), "W2", {"window": "weekly"}
        ),
    ]
    assert bench.maintenance.upcoming()[0].begins == parse_instant("2026-07-16T02:00:00-04:00")


def test_the_flag_and_the_end_are_known_inside_a_window() -> None:
    bench = Bench("2026-07-09T01:58:00-04:00")
    bench.maintenance.start()
    for at, begun in (
        ("2026-07-09T01:59:59-04:00", False),
        ("2026-07-09T02:00:00-04:00", True),
        ("2026-07-09T05:59:59-04:00", True),
        ("2026-07-09T06:00:00-04:00", False),
    ):
        bench.advance(at)
        assert (bench.maintenance.active, bench.maintenance.begun(bench.ctx.now)) == (begun, begun)
        ends = parse_instant("2026-07-09T06:00:00-04:00")
        assert (bench.maintenance.upcoming()[0].ends == ends) == (at < "2026-07-09T06")


@pytest.mark.parametrize("start", ["2026-07-09T03:00:00-04:00", "2026-07-09T01:59:30-04:00"])
def test_a_scenario_that_starts_inside_a_window_or_its_lead_is_prepared_at_once(start: str) -> None:
    bench = Bench(start)
    bench.maintenance.start()
    bench.advance(bench.ctx.now)
    assert bench.log[0] == ("before", format_instant(bench.ctx.now))
    assert bench.maintenance.active is (start > "2026-07-09T02")


def test_the_lead_is_an_assumption_also_when_changed_later() -> None:
    bench = Bench("2026-07-08T00:00:00-04:00")
    bench.maintenance.start()
    bench.ctx.assumptions.change("maintenance.cancel_lead", "10m")
    bench.maintenance.reschedule()
    bench.advance("2026-07-09T02:00:00-04:00")
    assert bench.log == [("before", "2026-07-09T05:50:00Z"), ("begin", "2026-07-09T06:00:00Z")]


def test_rescheduling_leaves_a_window_under_way_alone() -> None:
    bench = Bench("2026-07-09T01:59:30-04:00")
    bench.maintenance.start()
    bench.advance(bench.ctx.now)
    bench.maintenance.reschedule()
    bench.advance("2026-07-09T06:00:00-04:00")
    assert [kind for kind, _ in bench.log] == ["before", "begin", "end"]


def test_overlapping_windows_are_one() -> None:
    bench = Bench("2026-07-09T01:50:00-04:00")
    bench.maintenance.start()
    bench.maintenance.add(
        parse_instant("2026-07-09T05:00:00-04:00"), parse_instant("2026-07-09T07:00:00-04:00")
    )
    bench.advance("2026-07-09T08:00:00-04:00")
    assert [kind for kind, _ in bench.log] == ["before", "begin", "before", "end"]
    assert bench.log[-1] == ("end", "2026-07-09T11:00:00Z")
    assert [
        event.active for event in bench.ctx.events if isinstance(event, MaintenanceChanged)
    ] == [True, False]


def test_a_window_right_after_another_keeps_instruments_suspended() -> None:
    bench = Bench("2026-09-08T12:00:00Z")
    bench.maintenance.add(bench.ctx.now + minutes(5), bench.ctx.now + minutes(10))
    bench.maintenance.add(bench.ctx.now + minutes(10) + seconds(30), bench.ctx.now + minutes(15))
    bench.advance(bench.ctx.now + minutes(20))
    assert [kind for kind, _ in bench.log] == ["before", "begin", "before", "begin", "end"]


def test_an_unannounced_pause_begins_now_without_lead() -> None:
    bench = Bench("2026-09-08T12:00:00Z")
    name = bench.maintenance.pause(minutes(30))
    bench.advance(bench.ctx.now)
    assert bench.log == [("before", "2026-09-08T12:00:00Z"), ("begin", "2026-09-08T12:00:00Z")]
    assert bench.maintenance.cancel(name)
    assert bench.log[-1][0] == "end"
    assert not bench.maintenance.active
    assert bench.ctx.timers.next_due() is None


def test_a_window_called_off_before_its_lead_never_happens() -> None:
    bench = Bench("2026-09-08T12:00:00Z")
    name = bench.maintenance.add(bench.ctx.now + hours(1), bench.ctx.now + hours(2))
    assert bench.maintenance.cancel(name)
    assert not bench.maintenance.cancel(name)
    bench.advance(bench.ctx.now + days(1))
    assert bench.log == []


def test_impossible_windows_are_refused() -> None:
    bench = Bench("2026-09-08T12:00:00Z")
    for begins, ends in ((hours(2), hours(1)), (hours(1), hours(1)), (hours(-2), hours(-1))):
        with pytest.raises(ValueError, match="maintenance window"):
            bench.maintenance.add(bench.ctx.now + begins, bench.ctx.now + ends)


def test_a_saved_state_goes_on_where_it_stopped() -> None:
    bench = Bench("2026-07-09T01:59:30-04:00")
    bench.maintenance.start()
    bench.advance("2026-07-09T03:00:00-04:00")
    other = Bench("2026-07-09T03:00:00-04:00")
    other.ctx.timers.load(bench.ctx.timers.save())
    other.maintenance.load(
        msgspec.msgpack.decode(
            msgspec.msgpack.encode(bench.maintenance.save()), type=MaintenanceState
        )
    )
    assert other.maintenance.active
    other.advance("2026-07-09T06:00:00-04:00")
    assert other.log == [("end", "2026-07-09T10:00:00Z")]
    assert not other.maintenance.active
