"""Replays: what a stream sends that begins in the past (rules S2-S4, W3)."""

from __future__ import annotations

from sim.kernel.instants import Instant, Span, parse_instant
from sim.oracle.answers.portfolios import FLOOR
from sim.oracle.state import Document
from sim.oracle.streams import frames
from sim.oracle.streams.frames import FrameRow
from sim.oracle.streams.subscriptions import EventRows, OpenStream

_CHARACTERS = 768  # of a token of 576 bytes (rule S4)
_RESUMABLE = frames.DROP_COPY, frames.TRADES, frames.CHANGES


class Replays:
    """All events since the law began to listen, and the tokens that streams have sent.

    A token is bound to stream, firm and filter, and stands for a position among the events.
    """

    def __init__(self, coverage: EventRows, began: Instant) -> None:
        self._coverage, self._began = coverage, began
        self._events: list[tuple[Instant, Document]] = []
        self._tokens: dict[str, tuple[tuple[str, ...], int, Instant]] = {}

    def add(self, event: Document, at: Instant) -> None:
        """Remember an event that a stream may replay."""
        self._events.append((at, event))

    @property
    def position(self) -> int:
        """How many events there are."""
        return len(self._events)

    def issued(self, stream: OpenStream, token: str, at: Instant) -> None:
        """Note the token of a frame."""
        self._tokens[token] = _bound(stream), stream.position, at

    def knows(self, stream: OpenStream) -> bool:
        """Whether the law has met the token of a subscription."""
        token = _token(stream)
        return not token or token in self._tokens

    def refuses(self, stream: OpenStream, ttl: Span, now: Instant) -> bool:
        """Whether resume fields are refused: both, or a bad, foreign or expired token (rule S3)."""
        token = _token(stream)
        if not token:
            return False
        if stream.request.get("resumeTime") or len(token) != _CHARACTERS:
            return True
        bound, _, issued = self._tokens.get(token, (_bound(stream), 0, now))
        return bound != _bound(stream) or now > issued + ttl

    def replay(self, stream: OpenStream) -> list[FrameRow]:
        """Return what a stream sends of the past: strictly after its token, or since its time."""
        token, since = _token(stream), stream.request.get("resumeTime")
        if not (token or since) or stream.operation not in (*_RESUMABLE, frames.LEDGER):
            return []
        first = self._tokens[token][1] if token else 0
        start = parse_instant(since) if since else 0
        if stream.operation == frames.LEDGER:
            start = max(start, FLOOR)
        return [
            row._replace(position=position)
            for position, (at, event) in enumerate(self._events[first:], first + 1)
            if at >= start
            for row in self._coverage.rows(stream, event)
        ]

    def reaches_back(self, stream: OpenStream) -> bool:
        """Whether a replay by time may begin before the law listened."""
        since = stream.request.get("resumeTime", "")
        return bool(since) and parse_instant(since) <= self._began


def _token(stream: OpenStream) -> str:
    return stream.request.get("resumeToken", "") if stream.operation in _RESUMABLE else ""


def _bound(stream: OpenStream) -> tuple[str, ...]:
    """Return what a token is bound to: stream, firm and filter (rule S4)."""
    return stream.operation, stream.firm, *sorted(stream.symbols or ())
