"""What the clients of a script do: calls and subscriptions.

They pass the whole pipeline of their plane, as the caller that the step names, without signatures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import quote_plus

from msgspec import UNSET, Struct, json
from msgspec.structs import replace

from sim.actors.script.streams import ScriptStreams
from sim.api.pipeline.inputs import (
    NOBODY,
    Outcome,
    Reply,
    RestCall,
    RpcCall,
    StreamOpened,
    VerifiedCredential,
)
from sim.contract.contract import Plane
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.engine.engine import Engine
from sim.messages import Message
from sim.scenario.expansion import REFERENCE
from sim.scenario.steps import CallStep, SendStep, Step, SubscribeStep

_PEER = "script"


class ClientCalls:
    """Calls as the clients that steps name. `streams` are the subscriptions of the script."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.streams = ScriptStreams()

    # ---- saved values

    def filled(self, step: Step, values: dict[str, str]) -> Step:
        """A step with saved values in the place of their `${name}`."""
        return _filled(step, values) if values else step

    def keep(
        self, paths: dict[str, str], reply: Reply | None, values: dict[str, str]
    ) -> Iterator[str]:
        """Save parts of an answer by their paths, such as "orders.0.id"; yields what is missing."""
        answer = json.decode(reply.body) if reply is not None and reply.body else None
        for name, path in paths.items():
            value = _at(answer, path)
            if value is None or isinstance(value, dict | list):
                yield f"the answer has no {path} to keep as {name}"
            else:
                values[name] = value if isinstance(value, str) else json.encode(value).decode()

    # ---- calls

    def call(self, step: CallStep) -> Reply:
        """One REST call, or one unary rpc."""
        return self._rpc(step) if step.plane == "grpc" else self._rest(step)

    def _rpc(self, step: CallStep) -> Reply:
        credential, participant = self._identity(step.as_)
        operation = self._engine.contract.by_name(step.rpc)
        message = _message(operation.request, step.json)
        call = RpcCall(operation.full_methods[0], message, participant, credential, _PEER)
        reply = self._engine.pipeline.rpc(call)
        return reply if reply.code else replace(reply, body=as_json(operation.response, reply.body))

    def _rest(self, step: CallStep) -> Reply:
        credential, participant = self._identity(step.as_)
        path, _, query = step.path.partition("?")
        parameters = (
            f"{name}={quote_plus(text)}"
            for name, value in step.query.items()
            for text in ((value,) if isinstance(value, str) else value)
        )
        call = RestCall(
            plane=cast(Plane, step.plane),
            verb=step.verb,
            path=path,
            query="&".join(filter(None, (query, *parameters))),
            body=json.encode(step.json).decode() if step.json is not UNSET else "",
            participant=participant,
            credential=credential,
            peer=_PEER,
        )
        return self._engine.pipeline.rest(call)

    def subscribe(self, step: SubscribeStep, outcome: Outcome) -> Reply | None:
        """Open a stream; the reply that refuses it, or None."""
        if bool(step.rpc) is bool(step.web_socket):
            raise InvalidRequest("subscribe takes an rpc or a web_socket", rule="script")
        credential, participant = self._identity(step.as_)
        operation = None if step.web_socket else self._engine.contract.by_name(step.rpc)
        message = b""
        if operation is not None and operation.kind == "server":
            message = _message(operation.request, step.json)
        method = operation.full_methods[0] if operation else step.web_socket
        web_socket = bool(step.web_socket)
        opening = StreamOpened(method, message, participant, credential, _PEER, web_socket)
        opened = Outcome(seq=outcome.seq)
        self._engine.open_stream(opening, opened)
        if opened.reply is not None:
            return opened.reply
        if operation is None:
            self.streams.begin(step.name, opened.stream, json.decode, json.encode)
        else:
            request, response = operation.request, operation.response
            self.streams.begin(
                step.name,
                opened.stream,
                lambda frame: json.decode(as_json(response, frame)),
                lambda frame: _message(request, frame),
            )
        outcome.effects += opened.effects
        self.send(SendStep(stream=step.name, frames=step.send), outcome)
        return None

    def send(self, step: SendStep, outcome: Outcome) -> None:
        """Send frames of the client on an open stream."""
        if not step.frames:
            return
        stream, messages = self.streams.encoded(step.stream, step.frames)
        for message in messages:
            outcome.effects += self._engine.hub.frame(stream, message)

    def disconnect(self, name: str) -> None:
        """End a stream from the client's side."""
        self._engine.hub.hangup(self.streams.leave(name))

    def _identity(self, name: str) -> tuple[VerifiedCredential, str | None]:
        """Credentials and participant of a caller: a participant, a firm, a retail key or an
        account. Scripts need no signatures.
        """
        if not name:
            return NOBODY, None
        firms = self._engine.exchange.firms
        user = self._engine.world.parties.user(name) or firms.user(name)
        if user is not None:
            return VerifiedCredential(_PEER, user.name.partition("/users/")[0]), user.name
        if any(firm.name == name for firm in firms.all()):
            return VerifiedCredential(_PEER, name), None
        for key in firms.api_keys():
            if name in (key.key_id, key.account):
                return VerifiedCredential(_PEER, key.key_id), None
        raise NotFound(f"nobody is called {name}", rule="script")


def _message(kind: type[Message], content: Any) -> bytes:
    """Protobuf bytes of a request written as JSON."""
    from sim.api.codecs.codecs import BadInput, json_decoder, protobuf_encoder

    text = json.encode(content) if content is not UNSET else b"{}"
    try:
        return protobuf_encoder(kind)(json_decoder(kind)(text))
    except BadInput as error:
        raise InvalidRequest(f"that is no {kind.__name__}: {error}", rule="script") from error


def as_json(kind: type[Message], message: bytes) -> bytes:
    """JSON of a protobuf message, so that expectations read the same on both protocols."""
    from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_decoder

    return json_encoder(kind, dialect_at("exchange", 0))(protobuf_decoder(kind)(message))


def _at(value: Any, path: str) -> Any:
    """The part of a JSON value at a dotted path; None when there is none."""
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _filled(value: Any, values: dict[str, str]) -> Any:
    """A part of a step with every known `${name}` replaced; the same object if there is none."""

    def saved(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    if isinstance(value, str):
        return REFERENCE.sub(saved, value) if "${" in value else value
    if isinstance(value, Struct):
        parts = {name: getattr(value, name) for name in value.__struct_fields__}
        filled = {name: _filled(part, values) for name, part in parts.items()}
        changed = {name: part for name, part in filled.items() if part is not parts[name]}
        return replace(value, **changed) if changed else value
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_filled(item, values) for item in value)
    return value
