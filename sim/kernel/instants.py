"""Instants and spans as integer nanoseconds.

An *instant* is nanoseconds since the Unix epoch (UTC), a *span* is a length in nanoseconds; both
are plain `int`, so arithmetic is exact and cheap. This module owns their text forms (RFC 3339, ISO
8601 durations and the short form "5m") and the exchange's civil calendar, which is US Eastern Time
with daylight saving, from zoneinfo and the pinned tzdata package. Nothing here reads a clock.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TypeAlias
from zoneinfo import ZoneInfo

Instant: TypeAlias = int
Span: TypeAlias = int

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
MINUTE = 60 * NS_PER_S
HOUR = 60 * MINUTE
DAY = 24 * HOUR

EASTERN = ZoneInfo("America/New_York")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_INSTANT = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt"
    r" ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:\d{2})",
    re.ASCII,
)
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_SHORT = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d|w)", re.ASCII)
_ISO = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?",
    re.ASCII,
)
_UNIT = {
    "ns": 1,
    "us": NS_PER_US,
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "m": MINUTE,
    "h": HOUR,
    "d": DAY,
    "w": 7 * DAY,
}

# RFC 3339 years 0001..9999, the range protobuf's Timestamp allows; int64 nanoseconds are narrower
# (1678..2262) but Python integers are not.
EARLIEST: Instant = int((datetime(1, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) * NS_PER_S
LATEST: Instant = (
    int((datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - _EPOCH).total_seconds()) * NS_PER_S
    + NS_PER_S
    - 1
)


def seconds(n: int) -> Span:
    """Return `n` seconds as a span."""
    return n * NS_PER_S


def minutes(n: int) -> Span:
    """Return `n` minutes as a span."""
    return n * MINUTE


def hours(n: int) -> Span:
    """Return `n` hours as a span."""
    return n * HOUR


def days(n: int) -> Span:
    """Return `n` times 24 hours as a span. A civil day in Eastern Time may differ by an hour."""
    return n * DAY


def from_datetime(moment: datetime) -> Instant:
    """Return the instant of an aware datetime, exact to its microsecond."""
    if moment.tzinfo is None:
        raise ValueError("a datetime without a time zone is not an instant")
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * NS_PER_S + delta.microseconds * NS_PER_US


def to_datetime(at: Instant, zone: ZoneInfo | None = None) -> datetime:
    """Return an instant as an aware datetime (UTC by default), cut to microseconds."""
    moment = _EPOCH + timedelta(microseconds=at // NS_PER_US)
    return moment.astimezone(zone) if zone else moment


def is_supported_instant(at: Instant) -> bool:
    """Return whether virtual now may be this instant.

    That is so for the years 1990 to 2199, for which civil calendar and weekly hours are known.
    """
    return FIRST <= at < BEYOND


def parse_instant(text: str) -> Instant:
    """Return the instant of RFC 3339 text with an offset; a bare date means 00:00 Eastern.

    Raises ValueError for text without an offset, impossible dates and more than
    nine fractional digits.
    """
    bare = _DATE.fullmatch(text)
    if bare:
        return eastern(date(int(bare[1]), int(bare[2]), int(bare[3])))
    match = _INSTANT.fullmatch(text)
    if not match:
        raise ValueError(f"not an RFC 3339 instant with an offset: {text!r}")
    year, month, day, hour, minute = (int(match[i]) for i in range(1, 6))
    second = int(match[6] or 0)
    if second == 60:
        raise ValueError(f"leap seconds are not supported: {text!r}")
    whole_second = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    offset = 0
    if match[8] not in ("Z", "z"):
        sign = -1 if match[8][0] == "-" else 1
        offset_hours, offset_minutes = int(match[8][1:3]), int(match[8][4:6])
        if offset_hours > 23 or offset_minutes > 59:
            raise ValueError(f"impossible offset: {text!r}")
        offset = sign * (offset_hours * 3600 + offset_minutes * 60)
    fraction = int((match[7] or "").ljust(9, "0"))
    return from_datetime(whole_second) - offset * NS_PER_S + fraction


def format_instant(at: Instant) -> str:
    """Return RFC 3339 UTC text with `Z`; the fraction has 0, 3, 6 or 9 digits, as in protobuf."""
    seconds, fraction = divmod(at, NS_PER_S)
    text = _whole_second(seconds)
    if not fraction:
        return text + "Z"
    if fraction % NS_PER_MS == 0:
        return f"{text}.{fraction // NS_PER_MS:03d}Z"
    if fraction % NS_PER_US == 0:
        return f"{text}.{fraction // NS_PER_US:06d}Z"
    return f"{text}.{fraction:09d}Z"


@lru_cache(maxsize=4096)
def _whole_second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).replace(tzinfo=None).isoformat()


def parse_span(text: str) -> Span:
    """Return the span of an ISO 8601 duration ("PT5M", "P1DT2H") or of the short form ("5m",
    "1h30m", "250ms").

    A sign may precede either. Raises ValueError for empty or mixed text, for months and years,
    whose length depends on the calendar, and for spans longer than the calendar.
    """
    sign = 1
    body = text
    if body[:1] in "+-" and body:
        sign = -1 if body[0] == "-" else 1
        body = body[1:]
    iso = _ISO.fullmatch(body)
    if iso and any(iso.groups()):
        weeks, whole_days, whole_hours, whole_minutes, whole_seconds = (
            int(iso[i] or 0) for i in range(1, 6)
        )
        fraction = int((iso[6] or "").ljust(9, "0"))
        length = (
            weeks * 7 * DAY
            + whole_days * DAY
            + whole_hours * HOUR
            + whole_minutes * MINUTE
            + whole_seconds * NS_PER_S
            + fraction
        )
        return sign * _bounded(length, text)
    if not body or _SHORT.sub("", body):
        raise ValueError(f"not a duration: {text!r} (write PT5M or 5m)")
    total = 0
    for number, unit in _SHORT.findall(body):
        integer_text, _, fraction_text = number.partition(".")
        total += int(integer_text) * _UNIT[unit]
        if fraction_text:
            total += int(fraction_text) * _UNIT[unit] // 10 ** len(fraction_text)
    return sign * _bounded(total, text)


def _bounded(span: Span, text: str) -> Span:
    if span > BEYOND - FIRST:
        raise ValueError(f"{text[:40]!r} is longer than the calendar: {OUT_OF_RANGE}")
    return span


def format_span(span: Span) -> str:
    """Return a non-negative span as short text, largest units first ("1h30m",
    "4.2s"), for `parse_span`.
    """
    parts = []
    for unit, length in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        count, span = divmod(span, length)
        if count:
            parts.append(f"{count}{unit}")
    if span or not parts:
        parts.append(format_seconds(span) + "s")
    return "".join(parts)


def format_seconds(span: Span) -> str:
    """Return the seconds of a span as the shortest exact decimal text, without a
    unit: "30", "0.13".
    """
    seconds, fraction = divmod(span, NS_PER_S)
    return str(seconds) if not fraction else f"{seconds}.{fraction:09d}".rstrip("0")


def eastern(day: date, hour: int = 0, minute: int = 0, second: int = 0) -> Instant:
    """Return the instant at which Eastern wall clocks show this time.

    In autumn the first of the two; in the gap of spring the time is shifted forward.
    """
    moment = datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=EASTERN)
    return from_datetime(moment.astimezone(UTC))


def eastern_date(at: Instant) -> date:
    """Return the civil date in Eastern Time."""
    return to_datetime(at, EASTERN).date()


TRADE_DAY_ROLL_HOUR = 17  # rule L11


def trade_date(at: Instant) -> date:
    """Return the trade date.

    It rolls at 17:00 Eastern every day, and 17:00 belongs to the next (rule L11).
    """
    return _trade_date_of_hour(at // HOUR)


def last_trade_day_roll(at: Instant) -> Instant:
    """Return the instant at which the trade date of an instant began."""
    return _roll_before_hour(at // HOUR)


@lru_cache(maxsize=64)
def _roll_before_hour(hour: int) -> Instant:
    day = _trade_date_of_hour(hour)
    return eastern(day - timedelta(days=1), TRADE_DAY_ROLL_HOUR)


def midnight_utc(day: date) -> Instant:
    """Return the first instant of a date in UTC."""
    return from_datetime(datetime(day.year, day.month, day.day, tzinfo=UTC))


def same_trade_date(first: Instant, second: Instant) -> bool:
    """Return whether two instants have the same trade date.

    Instants of the same UTC hour always do.
    """
    hours = first // HOUR, second // HOUR
    return hours[0] == hours[1] or _trade_date_of_hour(hours[0]) == _trade_date_of_hour(hours[1])


@lru_cache(maxsize=4096)
def _trade_date_of_hour(hour: int) -> date:
    # Eastern offsets are whole hours, so all instants of one UTC hour have the same trade date.
    moment = to_datetime(hour * HOUR, EASTERN)
    return (
        moment.date() + timedelta(days=1) if moment.hour >= TRADE_DAY_ROLL_HOUR else moment.date()
    )


def next_trade_day_roll(after: Instant) -> Instant:
    """Return the first 17:00 Eastern strictly after an instant."""
    day = eastern_date(after)
    roll = eastern(day, TRADE_DAY_ROLL_HOUR)
    return roll if roll > after else eastern(day + timedelta(days=1), TRADE_DAY_ROLL_HOUR)


def next_midnight(after: Instant) -> Instant:
    """Return the first Eastern midnight strictly after an instant."""
    return eastern(eastern_date(after) + timedelta(days=1))


def next_weekly(after: Instant, weekday: int, hour: int, minute: int = 0) -> Instant:
    """Return the first Eastern `weekday` (Monday is 0) at hour:minute strictly after an instant."""
    day = eastern_date(after)
    day += timedelta(days=(weekday - day.weekday()) % 7)
    candidate = eastern(day, hour, minute)
    return candidate if candidate > after else eastern(day + timedelta(days=7), hour, minute)


FIRST, BEYOND = parse_instant("1990-01-01T00:00:00Z"), parse_instant("2200-01-01T00:00:00Z")
OUT_OF_RANGE = "the calendar of this exchange ends with the year 2199"
