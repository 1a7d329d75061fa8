"""Requests read from what a call carries: a path and a query, a JSON or form body, protobuf bytes.
What does not fit its message is refused.
"""

from __future__ import annotations

from typing import Any

from sim.api.codecs.codecs import (
    BadBody,
    BadInput,
    Casing,
    apply_path,
    form_decoder,
    json_decoder,
    protobuf_decoder,
    query_decoder,
)
from sim.api.pipeline.inputs import RestCall
from sim.api.pipeline.routing import Match
from sim.contract.contract import Operation
from sim.core.catalogue.quirks import CAMEL_CASE_QUERY_IGNORED, Quirks
from sim.core.model import refusals

# Unknown enum text in a filter of reference data means its zero member (exchange wire facts §0);
# everywhere else it is refused.
_LENIENT = frozenset({"RefDataAPI", "RefDataSportsAPI"})

# requests without a body; bounded, because a client could invent queries without end
_REMEMBERED = 1024


class Requests:
    """Reads requests. Those that a path and a query spell are kept: clients ask the same again and
    again, and handlers only read them.
    """

    def __init__(self, quirks: Quirks) -> None:
        self._quirks = quirks
        self._spelt: dict[tuple[str, str, str, bool], tuple[Any, tuple[str, ...]]] = {}

    def rest(self, call: RestCall, match: Match, ignored: list[str]) -> Any:
        """The request of an HTTP call; names of parameters and keys that nobody reads are added to
        `ignored`.
        """
        if match.body == "":
            return self._from_url(call, match, ignored)
        cls = match.operation.request
        try:
            if call.form:
                request = form_decoder(cls)(call.body.encode(), ignored)
            elif call.binary:
                raise BadBody("the body is not UTF-8")
            else:
                request = json_decoder(cls, zero_unknown_enums=match.operation.service in _LENIENT)(
                    call.body.encode(), ignored
                )
            if match.path_params:
                apply_path(request, match.path_params)
        except BadInput as wrong:
            raise refusals.InvalidRequest(str(wrong), rule="S7.1-1") from wrong
        return request

    def _from_url(self, call: RestCall, match: Match, ignored: list[str]) -> Any:
        casing = self._casing(call.plane)
        key = (match.operation.name, call.path, call.query, casing is Casing.SNAKE)
        known = self._spelt.get(key)
        if known is not None:
            ignored += known[1]
            return known[0]
        cls = match.operation.request
        try:
            blanks = call.plane == "exchange"  # where gRPC says the same and can say [""]
            request = (
                query_decoder(cls, casing, blanks=blanks)(call.query, ignored)
                if call.query
                else cls()
            )
            apply_path(request, match.path_params)
        except BadInput as wrong:
            raise refusals.InvalidRequest(str(wrong), rule="S7.1-1") from wrong
        if len(self._spelt) >= _REMEMBERED:
            self._spelt.clear()
        self._spelt[key] = (request, tuple(ignored))
        return request

    def _casing(self, plane: str) -> Casing:
        if plane == "retail" and self._quirks.strikes(CAMEL_CASE_QUERY_IGNORED):
            return Casing.SNAKE
        return Casing.CAMEL_OR_SNAKE

    def rpc(self, operation: Operation, message: bytes) -> Any:
        """The request of a gRPC call."""
        try:
            return protobuf_decoder(operation.request)(message)
        except BadInput as wrong:
            raise refusals.InvalidRequest(str(wrong), rule="S7.1-1") from wrong
