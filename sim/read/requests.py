"""The messages of recorded calls, decoded in the same way as in the pipeline."""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

from sim.api.codecs.codecs import (
    BadInput,
    Casing,
    apply_path,
    form_decoder,
    json_decoder,
    protobuf_decoder,
    query_decoder,
)
from sim.api.pipeline.inputs import RestCall, RpcCall, StreamOpened
from sim.api.pipeline.routing import Match, Router
from sim.contract.contract import Contract, Operation, Plane
from sim.contract.messages import Message

CallInput: TypeAlias = RestCall | RpcCall | StreamOpened

_REST_PLANES: tuple[Plane, ...] = ("gateway", "retail", "exchange", "auth")


class RequestReader:
    """Decodes requests. The routers of a contract are created once."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract

    @cached_property
    def _routers(self) -> dict[str, Router]:
        return {plane: Router(self._contract.routes(plane)) for plane in _REST_PLANES}

    def operation_of(self, recorded: CallInput) -> Operation | None:
        """Return the operation that a call is addressed to, whether or not it was served."""
        if not isinstance(recorded, RestCall):
            return self._contract.by_rpc(recorded.method)
        match = self._routers[recorded.plane].match(recorded.verb, recorded.path)
        return match.operation if isinstance(match, Match) else None

    def request(self, recorded: CallInput, operation: Operation) -> Message | None:
        """Return the message of a call to an operation; None if it cannot be decoded."""
        message: type[Message] = operation.request
        try:
            if not isinstance(recorded, RestCall):
                decoded: Message = protobuf_decoder(message)(recorded.message)
                return decoded
            match = self._routers[recorded.plane].match(recorded.verb, recorded.path)
            if not isinstance(match, Match):
                return None
            if match.body == "":
                reader = query_decoder(message, Casing.CAMEL_OR_SNAKE)
                request: Message = reader(recorded.query)
            else:
                decoder = form_decoder if recorded.form else json_decoder
                request = decoder(message)(recorded.body.encode())
            apply_path(request, match.path_params)
        except (BadInput, ValueError):
            return None
        return request
