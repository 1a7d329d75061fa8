"""Streams: sessions, resuming, signs of life (§6.2, §8)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sim.analysis.conformance.recorded_run import Life, Run
from sim.analysis.conformance.rules import Finding, Rule
from sim.api.streams.stream_faults import REVOKED
from sim.core.catalogue.assumptions import STREAM_HEARTBEAT
from sim.kernel.instants import format_span, minutes, seconds

_RESUMABLE = (
    "CreateDropCopySubscription",
    "CreateTradeCaptureReportSubscription",
    "CreatePositionChangeSubscription",
    "CreateBalanceLedgerSubscription",
)
_STORM, _STORM_SPAN = 3, minutes(1)
_EASY = seconds(1)


def _found(life: Life, broken: str = "") -> Finding:
    what = f"{life.opened.rpc}, stream {life.number}"
    return Finding(
        seq=life.opened.seq, at=life.opened.at, caller=life.opened.caller, what=what, broken=broken
    )


def _following(run: Run, life: Life) -> Life | None:
    """The same caller's next stream of the same kind after this one ended."""
    for other in run.streams:
        if (
            other.opened.seq >= life.ended_seq
            and other is not life
            and other.opened.caller == life.opened.caller
            and other.opened.rpc == life.opened.rpc
        ):
            return other
    return None


def _resume(run: Run) -> Iterator[Finding]:
    heard_after = run.sim.exchange.ctx.assumptions.number(STREAM_HEARTBEAT)
    for life in run.streams:
        if (
            life.opened.rpc not in _RESUMABLE
            or life.code not in (13, 14)
            or life.ended is None
            or life.ended - life.opened.at < heard_after
        ):
            continue
        again = _following(run, life)
        if again is None:
            continue
        request = again.opened.request
        resumed = bool(
            getattr(request, "resume_token", b"") or getattr(request, "resume_time", None)
        )
        yield again.opened.found(
            f"{again.opened.rpc}, stream {again.number}",
            (
                ""
                if resumed
                else (
                    f"begun afresh after stream {life.number} was dropped: send its last"
                    " resume_token, or resume_time"
                )
            ),
            life.ended_seq,
        )


def _storm(run: Run) -> Iterator[Finding]:
    revoked: dict[tuple[str, str], list[Life]] = {}
    for life in run.streams:
        if life.message != REVOKED or life.ended is None:
            continue
        mine = revoked.setdefault((life.opened.caller, life.opened.rpc), [])
        mine.append(life)
        recent = [
            other
            for other in mine
            if other.ended is not None and life.ended - other.ended <= _STORM_SPAN
        ]
        storm = (
            f"{len(recent)} sessions revoked within {format_span(_STORM_SPAN)}: whoever reconnects"
            " at once takes the session from himself"
        )
        yield _found(life, storm if len(recent) >= _STORM else "")


def _keepalive(run: Run) -> Iterator[Finding]:
    for life in run.streams:
        if life.opened.rpc == "BiDirectionalStreamMarketData":
            yield _found(
                life,
                (
                    f"{life.message}: send a keepalive every 30 to 60 minutes"
                    if life.message.startswith("idle timeout")
                    else ""
                ),
            )


def _reconnect(run: Run) -> Iterator[Finding]:
    for life in run.streams:
        if life.code != 14:
            continue
        mine = run.calls_of[life.opened.caller]
        refused = [
            call
            for call in mine
            if call.seq > life.ended_seq and call.rpc == life.opened.rpc and call.status == 503
        ]
        for first, second in pairwise(refused):
            waited = second.at - first.at
            yield second.found(
                f"{second.rpc} again",
                (
                    ""
                    if waited >= _EASY
                    else f"reconnected after {format_span(waited)}: back off from 1 s on"
                ),
                first,
            )
        again = _following(run, life)
        if again is not None and not refused:
            yield again.opened.found(f"{again.opened.rpc}, stream {again.number}")


RESUME = Rule(
    "streams-are-resumed",
    "6.2",
    "Take a resumable stream that was dropped up again with its resume token or time.",
    _resume,
)
STORM = Rule(
    "no-revocation-storm",
    "6.2",
    "After a revoked session find the other subscriber instead of taking the session back at once.",
    _storm,
)
KEEPALIVE = Rule(
    "keepalive",
    "8",
    "Send a keepalive on the bidirectional stream every 30 to 60 minutes.",
    _keepalive,
)
RECONNECT = Rule(
    "reconnect-backoff",
    "7.1",
    "Back off between attempts to open a stream while the service is unavailable.",
    _reconnect,
)
