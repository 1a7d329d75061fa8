"""Rules about streams: sessions, resuming, keepalives (§6.2, §8)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sim.core.catalogue.assumptions import STREAM_HEARTBEAT
from sim.kernel.instants import format_span, minutes, seconds
from sim.read.conformance.recorded_run import ClientActivity, Finding, RecordedStream
from sim.read.conformance.rules import rule

_RESUMABLE = (
    "CreateDropCopySubscription",
    "CreateTradeCaptureReportSubscription",
    "CreatePositionChangeSubscription",
    "CreateBalanceLedgerSubscription",
)
_INTERNAL, _UNAVAILABLE = 13, 14
_REVOCATIONS_MAX, _REVOCATION_PERIOD = 3, minutes(1)
_FIRST_WAIT = seconds(1)


def _name(stream: RecordedStream) -> str:
    return f"{stream.opened.rpc}, stream {stream.number}"


def _next_stream(run: ClientActivity, stream: RecordedStream) -> RecordedStream | None:
    """Return the same caller's next stream of the same kind after this one ended."""
    for other in run.streams:
        if (
            other.opened.seq >= stream.ended_seq
            and other is not stream
            and other.opened.caller == stream.opened.caller
            and other.opened.rpc == stream.opened.rpc
        ):
            return other
    return None


@rule(
    "6.2",
    applies_to="the reopening of a resumable stream that was dropped after its first heartbeat",
)
def streams_are_resumed(run: ClientActivity) -> Iterator[Finding]:
    """Resume a resumable stream that was dropped with its resume token or time."""
    first_heartbeat = run.sim.exchange.ctx.assumptions.number(STREAM_HEARTBEAT)
    for stream in run.streams:
        dropped = stream.code in (_INTERNAL, _UNAVAILABLE) and stream.opened.rpc in _RESUMABLE
        if not dropped or stream.ended is None:
            continue
        again = _next_stream(run, stream)
        if again is None or stream.ended - stream.opened.at < first_heartbeat:
            continue  # before the first heartbeat a client has no token to resume from
        request = again.opened.request
        resumed = getattr(request, "resume_token", b"") or getattr(request, "resume_time", None)
        without_token = (
            f"restarted after stream {stream.number} was dropped: send its last resume_token, or"
            " resume_time"
        )
        yield again.opened.finding(_name(again), "" if resumed else without_token, stream.ended_seq)


@rule("6.2", applies_to="a stream whose session was revoked")
def no_revocation_storm(run: ClientActivity) -> Iterator[Finding]:
    """After a revoked session find the other subscriber instead of taking the session
    back at once.
    """
    revoked: dict[tuple[str, str], list[int]] = {}
    for stream in run.streams:
        if not stream.revoked or stream.ended is None:
            continue
        ends = revoked.setdefault((stream.opened.caller, stream.opened.rpc), [])
        ends.append(stream.ended)
        recent = sum(1 for ended in ends if stream.ended - ended <= _REVOCATION_PERIOD)
        storm = (
            f"{recent} sessions revoked within {format_span(_REVOCATION_PERIOD)}: a client that"
            " reconnects at once takes the session from itself"
        )
        broken = storm if recent >= _REVOCATIONS_MAX else ""
        yield stream.opened.finding(_name(stream), broken)


@rule("8", applies_to="a bidirectional stream of market data")
def keepalive(run: ClientActivity) -> Iterator[Finding]:
    """Send a keepalive on the bidirectional stream every 30 to 60 minutes."""
    for stream in run.streams:
        if stream.opened.rpc == "BiDirectionalStreamMarketData":
            idle = f"{stream.message}: send a keepalive every 30 to 60 minutes"
            broken = idle if stream.rule == "S13" else ""
            yield stream.opened.finding(_name(stream), broken)


@rule("7.1", applies_to="the reopening of a stream that ended with UNAVAILABLE")
def reconnect_backoff(run: ClientActivity) -> Iterator[Finding]:
    """Back off between attempts to open a stream while the service is unavailable."""
    for stream in run.streams:
        if stream.code != _UNAVAILABLE:
            continue
        refused = [
            call
            for call in run.calls_of[stream.opened.caller]
            if call.seq > stream.ended_seq and call.rpc == stream.opened.rpc and call.status == 503
        ]
        for first, second in pairwise(refused):
            waited = second.at - first.at
            too_early = f"reconnected after {format_span(waited)}: back off from 1 s on"
            broken = too_early if waited < _FIRST_WAIT else ""
            yield second.finding(f"{second.rpc} again", broken, first)
        again = _next_stream(run, stream)
        if again is not None and not refused:
            yield again.opened.finding(_name(again))
