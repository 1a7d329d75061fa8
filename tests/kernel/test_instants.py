"""Instants, spans and the Eastern calendar, against `datetime` and `zoneinfo`, which are the oracle
for the whole range that a run may have.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.kernel import instants
from sim.kernel.instants import (
    BEYOND,
    DAY,
    EARLIEST,
    FIRST,
    HOUR,
    LATEST,
    MINUTE,
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    eastern,
    eastern_date,
    format_instant,
    format_seconds,
    format_span,
    from_datetime,
    is_supported_instant,
    last_trade_day_roll,
    midnight_utc,
    next_midnight,
    next_trade_day_roll,
    next_weekly,
    parse_instant,
    parse_span,
    same_trade_date,
    to_datetime,
    trade_date,
)
from tests.wide_numbers import wide

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NEW_YORK = ZoneInfo("America/New_York")
# Both changes of the clock in 2026, 17:00 and midnight in both halves of the year.
EDGES = [
    int(datetime(*at, tzinfo=UTC).timestamp()) * NS_PER_S
    for at in (
        (2026, 3, 8, 7),
        (2026, 11, 1, 6),
        (2026, 1, 15, 22),
        (2026, 7, 15, 21),
        (2026, 1, 15, 5),
        (2026, 7, 15, 4),
    )
]
moments = wide(FIRST, BEYOND - 1, *EDGES)


def civil(at: int) -> datetime:
    """The Eastern wall clock at an instant, cut to the second."""
    return (EPOCH + timedelta(seconds=at // NS_PER_S)).astimezone(NEW_YORK)


def test_units_are_powers_of_ten_and_sixty() -> None:
    assert (NS_PER_US, NS_PER_MS, NS_PER_S) == (10**3, 10**6, 10**9)
    assert (MINUTE, HOUR, DAY) == (60 * 10**9, 3600 * 10**9, 86400 * 10**9)
    spans = (instants.seconds(2), instants.minutes(2), instants.hours(2), instants.days(2))
    assert spans == (2 * NS_PER_S, 2 * MINUTE, 2 * HOUR, 2 * DAY)
    assert (format_instant(EARLIEST), format_instant(LATEST), format_instant(LATEST + 1 - DAY)) == (
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
        "9999-12-31T00:00:00Z",
    )


@given(moments)
def test_an_instant_and_its_text_are_one(at: int) -> None:
    text = format_instant(at)
    assert parse_instant(text) == parse_instant(text.lower()) == at
    assert parse_instant(text.replace("T", " ").replace("Z", "+00:00")) == at
    total, _, fraction = text.removesuffix("Z").partition(".")
    assert total == (EPOCH + timedelta(seconds=at // NS_PER_S)).strftime("%Y-%m-%dT%H:%M:%S")
    assert len(fraction) in (0, 3, 6, 9)
    assert not fraction.endswith("000")
    assert int(fraction.ljust(9, "0") or 0) == at % NS_PER_S


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0, ""),
        (1, ".000000001"),
        (999, ".000000999"),
        (1_000, ".000001"),
        (1_001, ".000001001"),
        (12_000, ".000012"),
        (999_000, ".000999"),
        (1_000_000, ".001"),
        (12_000_000, ".012"),
        (500_000_000, ".500"),
    ],
)
def test_a_fraction_has_no_more_digits_than_it_needs_in_threes(fraction: int, text: str) -> None:
    assert format_instant(FIRST + fraction) == f"1990-01-01T00:00:00{text}Z"


@given(moments, st.integers(-23 * 60 - 59, 23 * 60 + 59))
def test_an_offset_is_taken_off(at: int, offset: int) -> None:
    at -= at % NS_PER_US
    moment = to_datetime(at).astimezone(timezone(timedelta(minutes=offset)))
    assert from_datetime(moment) == at
    assert parse_instant(moment.isoformat()) == at


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-09-08T12:30Z", 0),
        ("2026-09-08T12:30:01Z", 1),
        ("2026-09-08t12:30:59z", 59),
        ("2026-09-08T13:30:00+01:00", 0),
        ("2026-09-08T11:29:00-01:01", 0),
        ("2026-09-09T12:29:00+23:59", 0),
    ],
)
def test_forms_of_an_instant(text: str, seconds: int) -> None:
    moment = datetime(2026, 9, 8, 12, 30, tzinfo=UTC) + timedelta(seconds=seconds)
    assert parse_instant(text) == int(moment.timestamp()) * NS_PER_S


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-09-08T12:30:00", "not an RFC 3339 instant with an offset: '2026-09-08T12:30:00'"),
        ("2026-09-08T12:30:00.1234567890Z", "not an RFC 3339 instant with an offset"),
        ("2026-09-08T12:30:60Z", "leap seconds are not supported: '2026-09-08T12:30:60Z'"),
        ("2026-09-08T12:30:00+24:00", "impossible offset: '2026-09-08T12:30:00\\+24:00'"),
        ("2026-09-08T12:30:00+00:60", "impossible offset"),
        ("2026-02-30T00:00:00Z", "day"),
        ("2026-13-01", "month"),
        ("", "not an RFC 3339 instant"),
    ],
)
def test_text_that_is_no_instant_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_instant(text)


def test_a_datetime_without_a_zone_is_no_instant() -> None:
    naive = to_datetime(FIRST).replace(tzinfo=None)
    with pytest.raises(ValueError, match="a datetime without a time zone is not an instant"):
        from_datetime(naive)


def test_the_calendar_has_the_years_1990_to_2199() -> None:
    assert (format_instant(FIRST), format_instant(BEYOND)) == (
        "1990-01-01T00:00:00Z",
        "2200-01-01T00:00:00Z",
    )
    assert [is_supported_instant(at) for at in (FIRST - 1, FIRST, BEYOND - 1, BEYOND)] == [
        False,
        True,
        True,
        False,
    ]


# ---- spans


@given(wide(0, BEYOND - FIRST, NS_PER_S, MINUTE, HOUR, DAY, 7 * DAY))
def test_a_span_and_its_text_are_one(span: int) -> None:
    text = format_span(span)
    assert parse_span(text) == parse_span(f"+{text}") == span
    assert parse_span(f"-{text}") == -span
    assert text == "0s" or not text.startswith("0") or text.startswith("0.")
    rest = text
    for unit, most in (("d", None), ("h", 24), ("m", 60)):
        if unit in rest:
            count, _, rest = rest.partition(unit)
            assert int(count) > 0
            assert most is None or int(count) < most
    assert not rest or 0 <= float(rest.removesuffix("s")) < 60
    total, fraction = divmod(span, NS_PER_S)
    exact = f"{total}.{fraction:09d}"
    assert format_seconds(span) == (exact.rstrip("0") if fraction else str(total))


@given(st.tuples(*[st.integers(0, 99)] * 5), st.integers(0, 10**9 - 1))
def test_an_iso_span_is_the_sum_of_its_parts(parts: tuple[int, ...], fraction: int) -> None:
    weeks, days, hours, minutes, seconds = parts
    text = f"P{weeks}W{days}DT{hours}H{minutes}M{seconds}.{fraction:09d}S"
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    assert parse_span(text) == int(length.total_seconds()) * NS_PER_S + fraction


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("P1D", DAY),
        ("PT.5S", None),
        ("PT0.5S", NS_PER_S // 2),
        ("-PT1M", -MINUTE),
        ("1.5h", 90 * MINUTE),
        ("0.25s", NS_PER_S // 4),
        ("1.9ns", 1),
        ("2w", 14 * DAY),
        ("1h1h", 2 * HOUR),
        ("P1DT", None),
        ("P", None),
        ("PT", None),
        ("P1M", None),
        ("P1Y", None),
        ("", None),
        ("+", None),
        ("-", None),
        ("5", None),
        ("5m!", None),
        ("m5", None),
        ("5x", None),
    ],
)
def test_forms_of_a_span(text: str, span: int | None) -> None:
    if span is not None:
        assert parse_span(text) == span
        return
    with pytest.raises(ValueError, match=r"not a duration: .* \(write PT5M or 5m\)"):
        parse_span(text)


@pytest.mark.parametrize("form", ["{}ns", "PT0.{}S"])
def test_a_span_is_no_longer_than_the_calendar(form: str) -> None:
    longest = BEYOND - FIRST
    if form == "{}ns":
        texts = (f"{longest}ns", f"{longest + 1}ns")
    else:
        total = longest // NS_PER_S
        texts = (f"PT{total}S", f"PT{total}.000000001S")
    assert parse_span(texts[0]) == -parse_span(f"-{texts[0]}") == longest
    for sign in ("", "-", "+"):
        with pytest.raises(ValueError) as error:
            parse_span(sign + texts[1])
        assert str(error.value) == (
            f"'{sign}{texts[1]}' is longer than the calendar:"
            " the calendar of this exchange ends with the year 2199"
        )
    with pytest.raises(ValueError, match=f"^'{'9' * 40}' is longer"):
        parse_span("9" * 60 + "w")


# ---- the Eastern calendar


@given(moments)
@example(EDGES[0])
@example(EDGES[1])
def test_civil_dates_are_those_of_new_york(at: int) -> None:
    clock = civil(at)
    assert eastern_date(at) == clock.date()
    assert to_datetime(at, NEW_YORK).astimezone(UTC) == to_datetime(at)
    assert to_datetime(at, NEW_YORK).replace(microsecond=0) == clock
    following = clock.date() + timedelta(days=clock.hour >= 17)
    assert trade_date(at) == following
    rolled = last_trade_day_roll(at)
    assert rolled <= at < next_trade_day_roll(at)
    seventeen = (17, 0, 0)
    for roll, day in (
        (rolled, following - timedelta(days=1)),
        (next_trade_day_roll(at), following),
    ):
        clock_then = civil(roll)
        assert (clock_then.hour, clock_then.minute, clock_then.second) == seventeen
        assert clock_then.date() == day
    assert next_trade_day_roll(at) % NS_PER_S == rolled % NS_PER_S == 0
    midnight = next_midnight(at)
    assert at < midnight <= at + 25 * HOUR
    assert civil(midnight).replace(tzinfo=None) == datetime.combine(
        clock.date() + timedelta(days=1), datetime.min.time()
    )


@given(moments, wide(0, 3 * DAY, HOUR, DAY))
def test_two_instants_have_the_same_trade_date_or_not(at: int, later: int) -> None:
    assert same_trade_date(at, at + later) is (trade_date(at) == trade_date(at + later))
    roll = next_trade_day_roll(at)
    assert same_trade_date(at, roll - 1)
    assert not same_trade_date(at, roll)
    assert not same_trade_date(roll - 1, roll)
    assert next_trade_day_roll(roll - 1) == last_trade_day_roll(roll) == roll


@given(moments, st.integers(0, 6), st.integers(0, 23), st.integers(0, 59))
def test_the_next_of_a_weekly_time_is_within_a_week(
    at: int, weekday: int, hour: int, minute: int
) -> None:
    result = next_weekly(at, weekday, hour, minute)
    assert at < result <= at + 7 * DAY + HOUR
    clock = civil(result)
    assert clock.weekday() == weekday
    if clock.utcoffset() == (clock - timedelta(hours=3)).utcoffset():  # no gap of spring
        assert (clock.hour, clock.minute, clock.second) == (hour, minute, 0)
    assert next_weekly(result - 1, weekday, hour, minute) == result
    after = next_weekly(result, weekday, hour, minute)
    assert civil(after).date() == clock.date() + timedelta(days=7)
    assert next_weekly(at, weekday, hour) == next_weekly(at, weekday, hour, 0)


@pytest.mark.parametrize(
    ("day", "time", "text"),
    [
        (date(2026, 1, 15), (9, 30, 1), "2026-01-15T14:30:01Z"),
        (date(2026, 7, 15), (9, 30), "2026-07-15T13:30:00Z"),
        (date(2026, 7, 15), (), "2026-07-15T04:00:00Z"),
        (date(2026, 11, 1), (1, 30), "2026-11-01T05:30:00Z"),  # the first of the two
        (date(2026, 3, 8), (2, 30), "2026-03-08T07:30:00Z"),  # shifted forward
    ],
)
def test_eastern_times(day: date, time: tuple[int, ...], text: str) -> None:
    assert format_instant(eastern(day, *time)) == text
    assert parse_instant(day.isoformat()) == eastern(day)
    assert format_instant(midnight_utc(day)) == f"{day.isoformat()}T00:00:00Z"
