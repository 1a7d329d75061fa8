"""The form of an outcome in the journal.

Field names and their order are the format of the journal: a change of either changes every digest.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from hashlib import sha256
from typing import TypeAlias

import google.protobuf
import msgspec
import tzdata
from msgspec import Raw, Struct, UnsetType, json

from sim.api.pipeline.inputs import Close, Fired, Outcome, Post, Resolve, Send, StepResult
from sim.api.pipeline.request_log import LoggedCall
from sim.core.model.enums import TradeState
from sim.core.model.events import EventInFull, Traded
from sim.core.model.quantities import Price, Qty
from sim.core.model.refusals import Refusal
from sim.core.model.why import NO_FACTS, Facts
from sim.kernel.instants import Instant, Span
from sim.kernel.release import RELEASE

# The longest body of an answer that the journal keeps in full. A shared body is public and the same
# for many callers, such as a book.
_FULL_BODY_MAX = 4096
_SHARED_BODY_MAX = 1024
# The longest body whose digest is cached. A page of megabytes is built for one answer only.
_CACHED_BODY_MAX = 1 << 18


class RecordedTrade(Struct, frozen=True, tag="Traded", tag_field="event", gc=False):
    """The event `Traded` in the journal. It only names the trade, because its executions are also
    events of the journal.
    """

    id: str
    symbol: str
    price: Price
    qty: Qty
    state: TradeState
    rule: str
    facts: Facts | UnsetType = NO_FACTS


RecordedEvent: TypeAlias = EventInFull | RecordedTrade


class Record(Struct, omit_defaults=True):
    """The outcome of an input in the journal.

    A long body is recorded by its size and SHA-256, because a replay produces it again and lists
    would fill disks. `frames` counts the stream frames sent; `frames_crc` chains the bytes of those
    that differ from the one before. `rule` and `facts` say why a call or an action was refused; the
    last part of `resolved` is the rule of a late refusal.
    """

    operation: str = ""
    caller: str = ""
    status: int = 0
    code: int = 0
    body: Raw = Raw(b"null")
    body_size: int = 0
    body_sha256: str = ""
    message: str = ""
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS
    elapsed: Span = 0
    stream: int = 0
    fired: list[Fired] = []
    steps: list[StepResult] = []
    events: list[RecordedEvent] = []
    closed: list[Close] = []
    resolved: list[tuple[str, int, Raw, str]] = []
    posts: list[str] = []
    frames: int = 0
    frames_crc: int = 0


def record_of(outcome: Outcome, entry: LoggedCall | None, now: Instant) -> Record:
    """Return the record of an outcome that was complete at `now`.

    `entry` is its call, if it was one.
    """
    reply = outcome.reply
    events: list[RecordedEvent] = [
        _recorded_trade(event) if isinstance(event, Traded) else event for event in outcome.events
    ]
    out = Record(events=events, fired=outcome.fired, steps=outcome.steps, stream=outcome.stream)
    if entry is not None:
        out.operation, out.caller = entry.operation, entry.caller
    if reply is not None:
        out.status, out.code, out.message = reply.status, reply.code, reply.message
        out.rule, out.facts = reply.rule, reply.facts
        if reply.ready_at > now:
            out.elapsed = reply.ready_at - now
        body = reply.body if reply.journal is None else reply.journal
        if len(body) > (_SHARED_BODY_MAX if reply.shared else _FULL_BODY_MAX):
            out.body_size, out.body_sha256 = len(body), _sha256(body)
        elif body:
            out.body = (
                Raw(body) if reply.content_type == "application/json" else Raw(json.encode(body))
            )
    if isinstance(outcome.value, Refusal):  # an operator's action was refused
        out.message, out.rule = outcome.value.message, outcome.value.rule
        out.facts = outcome.value.facts
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
            late = effect.reply
            out.resolved.append((effect.pending_on, late.status, Raw(late.body), late.rule))
        elif isinstance(effect, Post):
            out.posts.append(
                f"{effect.attempt} {effect.event_id} {effect.url} {zlib.crc32(effect.body):08x}"
            )
    return out


def _recorded_trade(event: Traded) -> RecordedTrade:
    trade = event.trade
    return RecordedTrade(
        trade.id, trade.symbol, trade.price, trade.qty, event.state, event.rule, event.facts
    )


def _sha256(body: bytes) -> str:
    if len(body) > _CACHED_BODY_MAX:
        return sha256(body).hexdigest()
    return _cached_sha256(body)


@lru_cache(maxsize=16)
def _cached_sha256(body: bytes) -> str:
    """Return the digest of a body that was encoded once and is sent many times, as one object."""
    return sha256(body).hexdigest()


def library_versions() -> dict[str, str]:
    """Return the versions of the sandbox and of libraries, for the header.

    They are read from the modules, because `importlib.metadata` is slow and a server does this
    at every start.
    """
    return {
        "sandbox-exchange": RELEASE,
        "msgspec": msgspec.__version__,
        "protobuf": google.protobuf.__version__,
        "tzdata": tzdata.__version__,
    }
