"""What of an outcome stands in the journal: the record of a line, its events, and the versions a
header names.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from hashlib import sha256
from typing import Any

import google.protobuf
import msgspec
import tzdata
from msgspec import Raw, Struct, json

from sim.api.pipeline.inputs import Close, Fired, Outcome, Resolve, Send
from sim.api.pipeline.request_log import LoggedCall
from sim.core.model.events import Event, Traded
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant, Span

# Longest body of an answer that the journal keeps as it is. A shared one is a book: public, and
# asked for over and over.
_OWN_KEPT = 4096
_SHARED_KEPT = 1024


class Record(Struct, omit_defaults=True):
    """What came of an input, as the journal shows it. Of a long body size and SHA-256 stand there:
    a replay makes the body anew, and lists would fill disks.

    `frames` counts stream frames sent and `frames_crc` chains their bytes, each distinct frame
    once.
    """

    operation: str = ""
    caller: str = ""
    status: int = 0
    code: int = 0
    body: Raw = Raw(b"null")
    body_size: int = 0
    body_sha256: str = ""
    message: str = ""
    elapsed: Span = 0
    stream: int = 0
    fired: list[Fired] = []
    events: list[Any] = []
    closed: list[Close] = []
    resolved: list[tuple[str, int, Raw]] = []
    posts: list[str] = []
    frames: int = 0
    frames_crc: int = 0


def record_of(
    outcome: Outcome, events: list[Any], entry: LoggedCall | None, now: Instant
) -> Record:
    """The record of an outcome: its events, the request log's entry of the input if it was a call,
    and the instant at which it was done.
    """
    reply = outcome.reply
    out = Record(events=events, fired=outcome.fired, stream=outcome.stream)
    if entry is not None:
        out.operation, out.caller = entry.operation, entry.caller
    if reply is not None:
        out.status, out.code, out.message = reply.status, reply.code, reply.message
        if reply.ready_at > now:
            out.elapsed = reply.ready_at - now
        body = reply.body if reply.journal is None else reply.journal
        if len(body) > (_SHARED_KEPT if reply.shared else _OWN_KEPT):
            out.body_size, out.body_sha256 = len(body), _sha256(body)
        elif body:
            out.body = (
                Raw(body) if reply.content_type == "application/json" else Raw(json.encode(body))
            )
    if isinstance(outcome.value, Refusal):  # a tester's action that could not be
        out.message = outcome.value.message
    last: bytes | None = None
    for effect in outcome.effects:
        if isinstance(effect, Send):
            out.frames += 1
            if effect.frame is not last:
                last = effect.frame
                out.frames_crc = zlib.crc32(last, out.frames_crc)
        elif isinstance(effect, Close):
            out.closed.append(effect)
        elif isinstance(effect, Resolve):
            out.resolved.append((effect.pending_on, effect.reply.status, Raw(effect.reply.body)))
        else:
            out.posts.append(
                f"{effect.attempt} {effect.event_id} {effect.url} {zlib.crc32(effect.body):08x}"
            )
    return out


def event_record(event: Event) -> object:
    """An event as the journal shows it; a trade's executions are events of their own, so the trade
    is named only.
    """
    if isinstance(event, Traded):
        trade = event.trade
        return {
            "event": "Traded",
            "id": trade.id,
            "symbol": trade.symbol,
            "price": trade.price,
            "qty": trade.qty,
            "state": event.state,
        }
    return event


def _sha256(body: bytes) -> str:
    """Digest of a body. Pages of megabytes are put together for each answer, so they are not held
    for the next one.
    """
    return _known_sha256(body) if len(body) <= _KNOWN_MAX else sha256(body).hexdigest()


_KNOWN_MAX = 1 << 18  # bytes


@lru_cache(maxsize=16)
def _known_sha256(body: bytes) -> str:
    """The same of a body that was prepared once and is sent many times: then it is the same object."""
    return sha256(body).hexdigest()


def library_versions() -> dict[str, str]:
    """Versions that a journal's header names. The modules say them themselves: asking what is
    installed is slow, and a server does it at every start.
    """
    return {
        "msgspec": msgspec.__version__,
        "protobuf": google.protobuf.__version__,
        "tzdata": tzdata.__version__,
    }
