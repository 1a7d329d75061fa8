"""Reads the request messages of calls: path and query, JSON or form body, protobuf bytes.

Input that does not fit its message is refused with InvalidRequest.
"""

from __future__ import annotations

from typing import Any

from sim.api.codecs import codecs
from sim.api.codecs.codecs import BadBody, BadInput, Casing, apply_path
from sim.api.pipeline.inputs import RestCall
from sim.api.pipeline.routing import Match
from sim.contract.contract import Operation
from sim.contract.messages import Message
from sim.core.catalogue.quirks import CAMEL_CASE_QUERY_IGNORED, Quirks
from sim.core.model import refusals

# In a filter of reference data, unknown enum text is read as the zero member;
# everywhere else it is refused.
_LENIENT = frozenset({"RefDataAPI", "RefDataSportsAPI"})

# Number of cached requests without a body. It is limited, because clients can send any query.
_CACHED_MAX = 1024


class RequestParser:
    """Reads requests, and caches those that depend on path and query only.

    Clients repeat the same reads, and handlers do not change requests.
    """

    def __init__(self, quirks: Quirks) -> None:
        self._quirks = quirks
        self._cached: dict[tuple[str, str, str, bool], tuple[Any, tuple[str, ...]]] = {}

    def rest(self, call: RestCall, match: Match, ignored: list[str]) -> Any:
        """Read the request of an HTTP call.

        Names of parameters and keys that the message does not have are added to `ignored`.
        """
        if match.body == "":
            return self._from_url(call, match, ignored)
        cls = match.operation.request
        try:
            if call.form:
                request = codecs.form_decoder(cls)(call.body.encode(), ignored)
            elif call.binary:
                raise BadBody("the body is not UTF-8")
            else:
                lenient = match.operation.service.name in _LENIENT
                decode = codecs.json_decoder(cls, zero_unknown_enums=lenient)
                request = decode(call.body.encode(), ignored)
            if match.path_params:
                apply_path(request, match.path_params)
        except BadInput as wrong:
            raise refusals.InvalidRequest(str(wrong), rule="S7.1-1") from wrong
        return request

    def _from_url(self, call: RestCall, match: Match, ignored: list[str]) -> Any:
        casing = self._casing(call.plane, match.operation)
        key = (match.operation.name, call.path, call.query, casing is Casing.SNAKE)
        cached = self._cached.get(key)
        if cached is not None:
            ignored += cached[1]
            return cached[0]
        cls = match.operation.request
        try:
            # The exchange keeps blank values, because a gRPC client can send [""] too.
            blanks = call.plane == "exchange"
            decode = codecs.query_decoder(cls, casing, blanks=blanks)
            request = decode(call.query, ignored) if call.query else cls()
            apply_path(request, match.path_params)
        except BadInput as wrong:
            raise refusals.InvalidRequest(str(wrong), rule="S7.1-1") from wrong
        if len(self._cached) >= _CACHED_MAX:
            self._cached.clear()
        self._cached[key] = (request, tuple(ignored))
        return request

    def _casing(self, plane: str, operation: Operation) -> Casing:
        # These operations are the gateway's, whose parameters are camelCase.
        own = plane == "retail" and not operation.service.name.startswith("Gateway")
        if own and self._quirks.applies(CAMEL_CASE_QUERY_IGNORED):
            return Casing.SNAKE
        return Casing.CAMEL_OR_SNAKE

    def rpc(self, operation: Operation, message: bytes) -> Any:
        """Read the request of a gRPC call."""
        try:
            return codecs.protobuf_decoder(operation.request)(message)
        except BadInput as wrong:
            raise refusals.InvalidRequest(str(wrong), rule="S7.1-1") from wrong


_FIELDS = frozenset({"symbol", "symbols", "market_slug", "market_slugs", "slug", "slugs"})


def symbols_of(request: Message) -> tuple[str, ...]:
    """Return the symbols and slugs of a message and its parts, in order."""
    symbols: list[str] = []
    _collect(request, symbols)
    return tuple(symbols)


def _collect(message: Message, symbols: list[str]) -> None:
    for name in message.__struct_fields__:
        value = getattr(message, name)
        for item in value if isinstance(value, list) else (value,):
            if isinstance(item, Message):
                _collect(item, symbols)
            elif item and name in _FIELDS:
                symbols.append(str(item))
