"""Reads of clients, decoded: the request, the caller and the answer, whatever the protocol."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, cast
from urllib.parse import parse_qsl

from msgspec import DecodeError, json

from sim.api.codecs.codecs import (
    Casing,
    apply_path,
    dialect_at,
    json_decoder,
    json_encoder,
    protobuf_decoder,
    query_decoder,
)
from sim.api.pipeline.inputs import Reply, RestCall, RpcCall
from sim.api.pipeline.routing import Match, Router
from sim.contract.contract import Operation, Plane, load_contract
from sim.contract.wire_fields import BadInput
from sim.kernel.instants import Instant

READS = ("Get", "List", "Search", "Preview", "Health")


class ClientRead:
    """A read and its answer. `request` is None if it cannot be compared with other requests."""

    def __init__(
        self, operation: Operation, call: RestCall | RpcCall, reply: Reply, now: Instant
    ) -> None:
        self.operation = operation
        self.call = call
        self.reply = reply
        self._now = now
        self.over_rest = isinstance(call, RestCall)
        self.plane = call.plane if isinstance(call, RestCall) else "grpc"

    @property
    def caller(self) -> tuple[str, ...]:
        """Who asks: credentials and participant."""
        credential = self.call.credential
        return credential.kind, credential.key, credential.problem, self.call.participant or ""

    @property
    def ok(self) -> bool:
        """Whether it was answered."""
        return self.reply.status == 200 if self.over_rest else not self.reply.code

    @cached_property
    def request(self) -> Any:
        """The request message."""
        try:
            return request_of(self.call, self.operation)
        except (BadInput, ValueError, LookupError):
            return None

    @cached_property
    def answer(self) -> Any:
        """The answer as JSON of the exchange plane; None if there is none."""
        body = self.reply.body
        if not self.over_rest:
            message = protobuf_decoder(self.operation.response)(body)
            dialect = dialect_at("exchange", self._now)
            body = json_encoder(self.operation.response, dialect)(message)
        try:
            return json.decode(body) if body else None
        except DecodeError:
            return None


def request_of(call: RestCall | RpcCall, operation: Operation) -> Any:
    """Return the request of a call; None if the exchange may read it in another way.

    Raises BadInput for an invalid one.
    """
    if isinstance(call, RpcCall):
        return protobuf_decoder(operation.request)(call.message)
    match = router(call.plane).match(call.verb, call.path)
    if not isinstance(match, Match) or call.form or call.binary:
        return None
    if match.body:
        request = json_decoder(operation.request)(call.body.encode())
    elif call.plane == "retail" and any(name != name.lower() for name, _ in parse_qsl(call.query)):
        return None  # rule R15: such names may be ignored
    else:
        decode = query_decoder(
            operation.request, Casing.CAMEL_OR_SNAKE, blanks=call.plane == "exchange"
        )
        request = decode(call.query)
    apply_path(request, match.path_params)
    return request


@lru_cache
def router(plane: str) -> Router:
    """Return the routes of a plane."""
    return Router(load_contract().routes(cast(Plane, plane)))
