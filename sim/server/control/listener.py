"""The control plane over HTTP: access, routing, bodies, errors. `*_calls.py` and
`sim/run/actors/operator` implement the calls.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec
from aiohttp import web

from sim.api.pipeline.error_mapping import grpc_code, http_status
from sim.core.catalogue.assumption_values import unknown_name
from sim.core.model.refusals import InvalidRequest, PayloadTooLarge, Refusal
from sim.kernel.instants import Instant
from sim.run.actors.operator.action import ENTRY_NODES, Action, read_entry
from sim.server.control.call import (
    ControlCall,
    Endpoint,
    Events,
    InstanceControl,
    LinesAnswer,
    check_names,
)
from sim.server.control.event_stream import send_events
from sim.server.control.routes import ROUTES
from sim.server.event_loop import in_helper_thread
from sim.server.host import Host
from sim.server.http.body import Uploads, read_body
from sim.server.http.page_guard import PageGuard, guarded
from sim.server.http.response import HttpError, HttpResponse, stream_response
from sim.server.http.server import HttpServer
from sim.server.room_files import Room
from sim.world.format.yaml_tree import NODE_LIMIT, ScenarioError, read_text, value_of

PREFIX = "/_sim/v1"

_VARIABLE = re.compile(r"\{(\w+)(\*?)\}")
_PIECE = 256 * 1024
_YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml"})  # RFC 9512
# A scenario may be larger than any body of the service's clients.
_BODY_LIMIT, _LARGE_BODY_LIMIT = 1 << 20, 16 << 20


def control_server(
    host: Host,
    token: str = "",
    instances: InstanceControl | None = None,
    names: tuple[str, ...] = (),
) -> HttpServer:
    """The server of the control plane and of the files of the control room. With a token, every
    call but /health must send it; the files need none. `names` are accepted host names besides
    loopback names and IP addresses.
    """

    def now() -> Instant:
        return host.now

    plane = guarded(ControlPlane(host, token, instances), PageGuard(names, json_only=True))
    room = guarded(Room(now), PageGuard(names, static=True))

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return await (plane if request.raw_path.startswith("/_sim") else room)(request)

    return HttpServer(handle, now)


class ControlPlane:
    """Calls of the control plane."""

    def __init__(self, host: Host, token: str, instances: InstanceControl | None) -> None:
        self._host = host
        self._token = token
        self._instances = instances
        self._uploads = Uploads()
        self._routes = [(_pattern(each.route.path), each) for each in ROUTES]

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one call."""
        path = request.raw_path.partition("?")[0]
        if not self._admits(request, path):
            message = "the control plane needs its token: Authorization: Bearer <token>"
            raise HttpError(401, 16, message)
        endpoint, variables = self._find(request.method, path)
        self._host.catch_up()
        try:
            if self._host.opened is not None and endpoint.changes:
                raise self._host.opened.refuse_change()
            query, many = _query(request, endpoint)
            body = await self._body(request, endpoint)
            call = ControlCall(variables, query, body, self._instances, many, request.headers)
            seq = self._host.simulation.seq
            value = await endpoint.respond(self._host, call)
        except Refusal as refusal:
            why = {"rule": refusal.rule, "remedy": refusal.remedy}
            extra = {name: text for name, text in why.items() if text}
            status, code = http_status(refusal), grpc_code(refusal)
            raise HttpError(status, code, refusal.message, extra=extra) from None
        if isinstance(value, LinesAnswer):
            return await self._stream(request, value)
        if isinstance(value, Events):
            return await send_events(request, value.reader, self._host.now)
        content = msgspec.json.encode(value)
        # The input after which the answer was true, so that a client can compare two answers: of a
        # read the one at its begin, because others may follow while it is made.
        if request.method != "GET":
            seq = self._host.simulation.seq
        headers = (("x-sim-seq", str(seq)),)
        return HttpResponse(
            200, content, content_type="application/json", now=self._host.now, headers=headers
        )

    def _admits(self, request: web.BaseRequest, path: str) -> bool:
        if not self._token or path == PREFIX + "/health":
            return True
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        sent = token.strip().encode("utf-8", "surrogateescape")  # the raw bytes
        return scheme.lower() == "bearer" and hmac.compare_digest(sent, self._token.encode())

    def _find(self, verb: str, path: str) -> tuple[Endpoint, dict[str, str]]:
        """The endpoint of a call, and the variables of its path."""
        if not path.startswith(PREFIX + "/"):
            raise HttpError(404, 5, f"paths of the control plane begin with {PREFIX}")
        rest = path[len(PREFIX) :]
        verbs = set()
        for pattern, endpoint in self._routes:
            if match := pattern.fullmatch(rest):
                verbs.add(endpoint.route.verb)
                if endpoint.route.verb == verb:
                    variables = match.groupdict().items()
                    return endpoint, {name: unquote(text) for name, text in variables}
        if verbs:
            taken = ", ".join(sorted(verbs))
            raise HttpError(405, 12, f"{rest} takes {taken}", headers=(("Allow", taken),))
        paths = [endpoint.route.path for _, endpoint in self._routes]
        remedy = {"remedy": f"GET {PREFIX}/calls lists them"}
        raise HttpError(404, 5, unknown_name("call", rest, paths), extra=remedy)

    async def _body(self, request: web.BaseRequest, endpoint: Endpoint) -> Any:
        """The body for `ControlCall`. An invalid one is InvalidRequest."""
        limit = _LARGE_BODY_LIMIT if endpoint.large else _BODY_LIMIT
        raw, oversize = await read_body(request, limit, self._uploads)
        kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if oversize:
            raise PayloadTooLarge(f"the body of this call is limited to {limit} bytes")
        if endpoint.large:
            return await in_helper_thread(_entry, endpoint, raw, kind)
        return _entry(endpoint, raw, kind)

    async def _stream(self, request: web.BaseRequest, value: LinesAnswer) -> web.StreamResponse:
        response = stream_response(value.content_type, self._host.now)
        await response.prepare(request)
        for piece in _pieces(value.lines):
            await response.write(piece)
            await asyncio.sleep(0)  # a client that reads fast must not keep the others waiting
        await response.write_eof()
        return response


def _pattern(template: str) -> re.Pattern[str]:
    """Regular expression of a template; `{name*}` matches slashes too."""
    return re.compile(
        _VARIABLE.sub(lambda match: f"(?P<{match[1]}>{'.+' if match[2] else '[^/]+'})", template)
    )


def _query(
    request: web.BaseRequest, endpoint: Endpoint
) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
    """The parameters that may occur once, and those that may be repeated."""
    query: dict[str, str] = {}
    many: dict[str, tuple[str, ...]] = {}
    for name, text in parse_qsl(request.raw_path.partition("?")[2], keep_blank_values=True):
        if name in endpoint.many:
            many[name] = (*many.get(name, ()), text)
        elif name in query:
            raise InvalidRequest(f"the parameter {name} is given twice; give it once")
        else:
            query[name] = text
    check_names("parameter", query, (*endpoint.query, *endpoint.many))
    return query, many


def _entry(endpoint: Endpoint, raw: bytes, kind: str) -> Any:
    body = _yaml_object(raw) if kind in _YAML_TYPES else _json_object(raw)
    if isinstance(endpoint.body, Action):
        check_names("key", body, endpoint.keys)
        return body
    return read_entry(endpoint.body, body, NODE_LIMIT if endpoint.large else ENTRY_NODES)


def _json_object(raw: bytes) -> dict[str, Any]:
    if not raw.strip():
        return {}
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InvalidRequest(f"the body is not JSON: {problem}") from None
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be a JSON object")
    return body


def _yaml_object(raw: bytes) -> dict[str, Any]:
    """A body in YAML, so that an entry of a scenario can be sent unchanged."""
    try:
        body = value_of(read_text(raw, "body")) if raw.strip() else {}
    except ScenarioError as error:
        raise InvalidRequest(str(error)) from None
    if not isinstance(body, dict):
        raise InvalidRequest("the body must be a mapping")
    return body


def _pieces(lines: Iterable[bytes]) -> Iterable[bytes]:
    """LinesAnswer with their newlines, combined to pieces of a useful size."""
    piece = bytearray()
    for line in lines:
        piece += line + b"\n"
        if len(piece) >= _PIECE:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)
