"""Builds replies: encodes the results of handlers, or a refusal, for the plane and protocol of the
call.

Answers that contain a secret, or an address of this run, get a masked copy for the journal. The
contract marks both kinds of fields (`secret`, `address`), at the top level of a message only. A
secret becomes a fingerprint. An address becomes a fixed word, because ports differ between runs and
digests must not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import Struct, structs

from sim.api.codecs.codecs import (
    Dialect,
    Field,
    dialect_at,
    epoch_at,
    fields_of,
    json_encoder,
    protobuf_encoder,
)
from sim.api.pipeline import error_mapping
from sim.api.pipeline.access_tokens import fingerprint_of
from sim.api.pipeline.answer_cache import PreencodedResponse
from sim.api.pipeline.handler import DeferredResponse
from sim.api.pipeline.inputs import Reply
from sim.contract.contract import Operation, Plane
from sim.contract.messages import Message
from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.assumptions import (
    BULK_EXPORT,
    EDGE_ERRORS,
    EMPTY_PAGE_TOKEN,
    EVENTS_DEPRECATED,
    EVENTS_ID,
    LAST_PRICE_SAMPLE,
    MARKETS_DEPRECATED,
    MARKETS_QUOTES,
    UNSET_FIELDS,
)
from sim.core.catalogue.quirks import RETRY_AFTER_MISSING
from sim.core.model import refusals
from sim.core.model.context import Context
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant

# Switches that the contract names in its options of fields.
_WIRE_SWITCHES = (
    BULK_EXPORT,
    MARKETS_DEPRECATED,
    MARKETS_QUOTES,
    EVENTS_DEPRECATED,
    EVENTS_ID,
    LAST_PRICE_SAMPLE,
    UNSET_FIELDS,
    EMPTY_PAGE_TOKEN,
)


def wire_switches(assumptions: Assumptions) -> frozenset[str]:
    """Names of the switches of JSON fields that are on, that is, not at their default."""
    return frozenset(
        switch.name for switch in _WIRE_SWITCHES if assumptions.text(switch) != switch.default
    )


class Replies:
    """Builds replies at virtual now."""

    def __init__(self, ctx: Context, *, vendor_prefix: bool) -> None:
        self._ctx = ctx
        self._vendor_prefix = vendor_prefix
        self._dialects: dict[Plane, Dialect] = {}
        self._dialects_hold: tuple[Instant, Instant] = (0, 0)  # from, until
        self._switched = -1
        self.epoch = 0  # how many times the exchange was moved to another moment

    def dialect(self, plane: Plane) -> Dialect:
        """Return the JSON rules of a plane at virtual now."""
        now, (begin, end) = self._ctx.now, self._dialects_hold
        if not begin <= now < end or self._switched != self._ctx.assumptions.changes:
            self._dialects.clear()
            self._dialects_hold = epoch_at(now)
            self._switched = self._ctx.assumptions.changes
        dialect = self._dialects.get(plane)
        if dialect is None:
            switches = wire_switches(self._ctx.assumptions)
            dialect = dialect_at(plane, now, vendor_prefix=self._vendor_prefix, switches=switches)
            self._dialects[plane] = dialect
        return dialect

    def rest(self, plane: Plane, operation: Operation, answer: Any) -> Reply:
        """Answer an HTTP request."""
        ctx, dialect = self._ctx, self.dialect(plane)
        reply = Reply(ready_at=ctx.now + ctx.service_time, request_id=ctx.trace_id)
        if operation.cache and (plane == "gateway" or "gateway" not in operation.planes):
            reply.headers = (("Cache-Control", operation.cache),)
        if isinstance(answer, DeferredResponse):
            reply.pending_on, reply.deadline = answer.pending_on, answer.deadline
        elif isinstance(answer, PreencodedResponse):
            reply.body, reply.shared = answer.json(dialect), True
        elif isinstance(answer, Message):
            encode = json_encoder(type(answer), dialect)
            reply.body = encode(answer)
            if masked_fields(type(answer)):
                reply.journal = encode(masked(answer))
        else:
            self._stream(operation, answer, dialect, reply)
        return reply

    def _stream(
        self, operation: Operation, answer: Iterator[Any], dialect: Dialect, reply: Reply
    ) -> None:
        """Stream an answer over HTTP: bytes of CSV, or one object {"result": …} a line."""
        if operation.content == "csv":
            reply.content_type = "text/csv"
            reply.chunks = (part.data for part in self._parts(answer))
            return
        encode = json_encoder(operation.response, dialect)
        reply.chunks = (b'{"result":%b}\n' % encode(part) for part in self._parts(answer))

    def rpc(self, operation: Operation, answer: Any) -> Reply:
        """Answer a unary gRPC request."""
        reply = self._grpc()
        if isinstance(answer, PreencodedResponse):
            reply.body, reply.shared = answer.protobuf(), True
        else:
            reply.body = protobuf_encoder(type(answer))(answer)
            if masked_fields(operation.response):
                reply.journal = protobuf_encoder(operation.response)(masked(answer))
        return reply

    def download(self, operation: Operation, answer: Iterator[Any]) -> Reply:
        """Answer with a gRPC stream of a handler, which is encoded while it is read."""
        reply = self._grpc()
        reply.chunks = map(protobuf_encoder(operation.response), self._parts(answer))
        return reply

    def _grpc(self) -> Reply:
        ctx = self._ctx
        return Reply(
            content_type="application/grpc",
            ready_at=ctx.now + ctx.service_time,
            request_id=ctx.trace_id,
        )

    def _parts(self, answer: Iterator[Any]) -> Iterator[Any]:
        """Yield the messages of a download. Unavailable once the exchange was moved to another
        moment, because the rows that the download reads no longer exist.
        """
        epoch = self.epoch
        while True:
            if self.epoch != epoch:
                remedy = "ask again: the exchange was moved to another moment"
                raise refusals.Unavailable(rule="T1", remedy=remedy)
            part = next(answer, None)
            if part is None:
                return
            yield part

    def complete(self, plane: Plane, answer: Message | Refusal, request_id: str) -> Reply:
        """Build the deferred answer to the call with this request id."""
        ctx = self._ctx
        if isinstance(answer, Refusal):
            reply = self.refused(answer, plane)
            reply.ready_at = ctx.now
        else:
            encode = json_encoder(type(answer), self.dialect(plane))
            reply = Reply(body=encode(answer), ready_at=ctx.now)
        reply.request_id = request_id
        return reply

    @property
    def at_edge(self) -> bool:
        """Whether the exchange host answers 401 and unknown paths as recordings show."""
        return self._ctx.assumptions.text(EDGE_ERRORS) == "edge"

    def refused(self, refusal: Refusal, plane: str) -> Reply:
        """Build the refusal for clients of a plane; "grpc" counts as a plane here."""
        ctx = self._ctx
        if isinstance(refusal, refusals.EdgeTimeout):
            ctx.service_time = refusal.after
        ready_at = ctx.now + ctx.service_time
        at_edge = self.at_edge
        reply = error_mapping.refused(refusal, plane, ready_at, ctx.trace_id, at_edge=at_edge)
        if isinstance(refusal, refusals.RateLimited) and ctx.quirks.applies(RETRY_AFTER_MISSING):
            reply.headers = ()
        return reply


# ---- masked copies for the journal

ADDRESS = "(address)"


@cache
def masked_fields(cls: type[Message]) -> tuple[Field, ...]:
    """Return the fields of a message type that the journal does not show."""
    return tuple(field for field in fields_of(cls) if field.secret or field.address)


def fingerprint(secret: str) -> str:
    """Return a fingerprint of a secret, which distinguishes secrets but does not reveal them."""
    return "sha256:" + fingerprint_of(secret)


def masked(message: Struct) -> Any:
    """Return a masked copy for the journal, or the message itself if nothing is masked."""
    masks = {
        field.attribute: fingerprint(value) if field.secret else ADDRESS
        for field in masked_fields(type(message))
        if (value := getattr(message, field.attribute))
    }
    return structs.replace(message, **masks) if masks else message
