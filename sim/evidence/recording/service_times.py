"""What a line of a recording says of the service's clock."""

from __future__ import annotations

from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

from sim.evidence.recording.files import RecordedLine
from sim.kernel.instants import NS_PER_S, Instant, format_instant, parse_instant

# Times in messages that are never later than now.
_EVENTS = frozenset(
    (
        "processedSentTime",
        "transactTime",
        "lastTransactTime",
        "tradeTime",
        "changeTime",
        "insertTime",
        "createTime",
        "createdTime",
        "updateTime",
        "updatedTime",
        "executedTime",
    )
)


def service_instant(entry: RecordedLine) -> Instant | None:
    """Return the earliest possible service time at a line; None if the line has
    no readable time.
    """
    if entry.plane != "grpc":
        return service_date(entry)
    event = latest_event(service_body(entry), -1)
    return None if event < 0 else event


def service_date(entry: RecordedLine) -> Instant | None:
    """Return the second in the Date header of an answer; None if it has none that can be read."""
    if entry.answer is None:
        return None
    try:
        if entry.answer.now and entry.plane != "grpc":
            return parse_instant(entry.answer.now)
    except (ValueError, OverflowError):
        return None
    return http_date(entry.answer.headers.get("date", ""))


def service_body(entry: RecordedLine) -> Any:
    """Return the body that the service sent in a line: that of an answer or a frame."""
    if entry.answer is not None:
        return entry.answer.body
    frame = entry.frame
    return frame.body if frame is not None and frame.sender == "service" else None


def latest_event(body: Any, default: Instant) -> Instant:
    """Return the latest instant of an event in a body."""
    latest, left = default, [body]
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            left += (inner for inner in value.values() if isinstance(inner, (dict, list)))
            for name in _EVENTS & value.keys():
                with suppress(ValueError):
                    latest = max(latest, parse_instant(str(value[name])))
    return latest


def http_date(text: str) -> Instant | None:
    """Return the second in a Date header; None if it cannot be read."""
    try:
        return int(parsedate_to_datetime(text).timestamp()) * NS_PER_S if text else None
    except (ValueError, TypeError, OverflowError):
        return None


def as_written(instant: Instant | None) -> str:
    """Return the service's clock as a recording has it; "" where it is unknown."""
    return "" if instant is None else format_instant(instant)


def service_time(body: Any) -> str:
    """Return the latest instant of an event in a message, as a recording has it."""
    latest = latest_event(body, -1)
    return as_written(None if latest < 0 else latest)
