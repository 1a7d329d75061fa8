"""Replays: what a stream sends that begins in the past (rules S2-S4, W3)."""

from __future__ import annotations

from typing import NamedTuple

from sim.kernel.instants import Instant, Span, parse_instant
from sim.oracle import frames
from sim.oracle.frames import Row
from sim.oracle.state import Document
from sim.oracle.subscriptions import Coverage, OpenStream

TOKEN_CHARACTERS = 768  # 576 bytes (rule S4)
RESUMABLE = (frames.DROP_COPY, frames.TRADES, frames.CHANGES)
_FLOOR = parse_instant("2026-05-01T00:00:00Z")  # rule P24


class Token(NamedTuple):
    """A token that a stream sent: what it is bound to, and what of the history came before it."""

    bound: tuple[str, ...]
    position: int
    at: Instant


class History:
    """All events since the law began to listen, and the tokens that streams have sent."""

    def __init__(self, coverage: Coverage, began: Instant) -> None:
        self._coverage = coverage
        self._began = began
        self._events: list[tuple[Instant, Document]] = []
        self._tokens: dict[str, Token] = {}

    def add(self, event: Document, at: Instant) -> None:
        """Remember an event that a stream may replay."""
        self._events.append((at, event))

    @property
    def length(self) -> int:
        """How many events there are."""
        return len(self._events)

    def issued(self, stream: OpenStream, token: str, at: Instant) -> None:
        """Note the token of a frame."""
        self._tokens[token] = Token(_bound(stream), stream.position, at)

    def refusal(self, stream: OpenStream, ttl: Span, now: Instant) -> str | None:
        """Return why the resume fields of a subscription are refused; None if nobody can tell."""
        token = stream.request.get("resumeToken", "")
        if stream.operation not in RESUMABLE or not token:
            return ""
        if stream.request.get("resumeTime"):
            return "both resume fields"
        if len(token) != TOKEN_CHARACTERS:
            return "a malformed token"
        if token not in self._tokens:
            return None
        if self._tokens[token].bound != _bound(stream):
            return "a foreign token"
        return "an expired token" if now > self._tokens[token].at + ttl else ""

    def replay(self, stream: OpenStream) -> list[Row]:
        """Return what a stream sends of the past: strictly after its token, or since its time."""
        token, since = stream.request.get("resumeToken", ""), stream.request.get("resumeTime")
        if not token and not since or stream.operation not in (*RESUMABLE, frames.LEDGER):
            return []
        first = self._tokens[token].position if token else 0
        start = max(parse_instant(since), _FLOOR) if since else 0
        return [
            row._replace(position=position)
            for position, (at, event) in enumerate(self._events[first:], first + 1)
            if at >= start
            for row in self._coverage.rows(stream, event)
        ]

    def listened(self, stream: OpenStream, rows: list[Row]) -> list[Row]:
        """Return a replay without what happened before the law listened."""
        first = 0
        while len(rows) - first > len(stream.expected) and _at(rows[first]) <= self._began:
            first += 1
        return rows[first:]


def _at(row: Row) -> Instant:
    """Return when a row of a replay happened."""
    document = row.document
    for side in ("aggressor", "passive"):
        document = document.get(side) or document
    names = "transactTime", "updateTime", "changeTime"
    return next((parse_instant(at) for name in names if (at := document.get(name))), 0)


def _bound(stream: OpenStream) -> tuple[str, ...]:
    """Return what a token is bound to: stream, firm and filter (rule S4)."""
    firm = "/".join(stream.caller.split("/")[:2])
    return stream.operation, firm, *sorted(stream.symbols or ())
