"""Weekly schedules: which phase is in force, and when the next one begins (rules L3, L4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.lifecycle.schedule import next_phase, phase_at
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import ALWAYS_OPEN, Segment
from sim.kernel.instants import DAY, HOUR, MINUTE, format_instant, parse_instant
from tests.wide_numbers import wide

OPEN, CLOSED, PREOPEN = InstrumentState.OPEN, InstrumentState.CLOSED, InstrumentState.PREOPEN
WEEKDAYS = (0, 1, 2, 3, 4)
DAYTIME = (Segment(days=WEEKDAYS, start=9 * HOUR, length=8 * HOUR),)


def at(text: str) -> int:
    return parse_instant(text)


def test_outside_every_segment_it_is_closed() -> None:
    """L4."""
    assert phase_at(DAYTIME, at("2026-10-08T08:59:59-04:00")).state is CLOSED
    assert phase_at(DAYTIME, at("2026-10-08T09:00:00-04:00")).state is OPEN
    assert phase_at(DAYTIME, at("2026-10-08T17:00:00-04:00")).state is CLOSED
    assert phase_at(DAYTIME, at("2026-10-10T12:00:00-04:00")).state is CLOSED


def test_the_next_edge_is_the_next_change_and_skips_the_weekend() -> None:
    """L3."""
    assert next_phase(DAYTIME, at("2026-10-08T09:00:00-04:00")) == at("2026-10-08T17:00:00-04:00")
    assert next_phase(DAYTIME, at("2026-10-09T17:00:00-04:00")) == at("2026-10-12T09:00:00-04:00")


def test_a_segment_keeps_its_wall_clock_hours_over_daylight_saving() -> None:
    """L3: Eastern goes from -04:00 to -05:00 on 2026-11-01."""
    edge = next_phase(DAYTIME, at("2026-10-30T17:00:00-04:00"))
    assert edge is not None
    assert format_instant(edge) == "2026-11-02T14:00:00Z"


def test_an_always_open_schedule_has_no_edges() -> None:
    """L3."""
    assert next_phase(ALWAYS_OPEN, at("2026-10-08T09:00:00-04:00")) is None
    assert phase_at(ALWAYS_OPEN, at("2026-11-01T01:30:00-04:00")).state is OPEN


def test_a_segment_may_run_over_midnight_and_over_the_end_of_the_week() -> None:
    """L3."""
    night = (Segment(days=(6,), start=22 * HOUR, length=6 * HOUR),)
    assert phase_at(night, at("2026-10-11T23:00:00-04:00")).state is OPEN  # a Sunday
    assert phase_at(night, at("2026-10-12T03:59:59-04:00")).state is OPEN
    assert next_phase(night, at("2026-10-11T23:00:00-04:00")) == at("2026-10-12T04:00:00-04:00")


def test_where_segments_overlap_the_one_begun_last_holds() -> None:
    """L3."""
    both = (
        Segment(days=WEEKDAYS, start=9 * HOUR, length=8 * HOUR),
        Segment(days=WEEKDAYS, start=12 * HOUR, length=HOUR, state=InstrumentState.SUSPENDED),
    )
    states = [phase_at(both, at(f"2026-10-08T{hour}:30:00-04:00")).state for hour in (11, 12, 13)]
    assert states == [OPEN, InstrumentState.SUSPENDED, OPEN]


def test_a_daily_segment_that_expires_orders_has_an_edge_each_day_though_the_state_stays() -> None:
    """L3."""
    daily = (
        Segment(days=(0, 1, 2, 3, 4, 5, 6), start=17 * HOUR, length=DAY, expire_all_orders=True),
    )
    first = next_phase(daily, at("2026-10-08T17:00:00-04:00"))
    assert first == at("2026-10-09T17:00:00-04:00")
    assert phase_at(daily, first).expire_all


segments = st.builds(
    Segment,
    days=st.lists(st.integers(0, 6), min_size=1, max_size=7, unique=True).map(tuple),
    start=wide(0, 24 * 60 - 1, 60, 120, 180).map(lambda minute: minute * MINUTE),
    length=wide(1, 36 * 60, 60, 22 * 60, 23 * 60, 24 * 60, 25 * 60).map(
        lambda minute: minute * MINUTE
    ),
    state=st.sampled_from((OPEN, PREOPEN, CLOSED)),
)


@given(
    st.lists(segments, min_size=1, max_size=4).map(tuple),
    wide(0, 7 * 24 * 60, *(day * 24 * 60 + hour * 60 for day in (0, 5) for hour in (1, 2, 3, 24))),
    st.sampled_from(("06-01", "03-03", "10-28")),
)
def test_nothing_changes_between_an_instant_and_the_next_edge(
    schedule: tuple[Segment, ...], minute: int, week: str
) -> None:
    """L3, L4: in weeks with and without a change of daylight saving."""
    now = at(f"2026-{week}T00:00:00-04:00") + minute * MINUTE
    edge = next_phase(schedule, now)
    end = edge if edge is not None else now + 8 * DAY
    assert end > now
    here = phase_at(schedule, now)
    for part in range(1, 8):
        assert phase_at(schedule, now + (end - now) * part // 8) == here
    if edge is not None:
        assert phase_at(schedule, edge) != here


@pytest.mark.parametrize("day", range(4, 11))
@pytest.mark.parametrize("clock", ["00:00:00", "12:00:00", "23:59:59"])
def test_an_always_open_schedule_is_open_on_every_day_of_the_week(day: int, clock: str) -> None:
    """L3: from a Sunday to a Saturday, with no edge between them."""
    moment = at(f"2026-10-{day:02d}T{clock}-04:00")
    assert phase_at(ALWAYS_OPEN, moment).state is OPEN
    assert next_phase(ALWAYS_OPEN, moment) is None
    (segment,) = ALWAYS_OPEN
    assert (segment.days, segment.start, segment.length) == (tuple(range(7)), 0, DAY)
