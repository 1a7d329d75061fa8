"""Calls and subscriptions of a script: through the whole pipeline of their plane, as a named
caller, without signatures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
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

_PLANES: dict[str, Plane] = {
    "gateway": "gateway",
    "retail": "retail",
    "exchange": "exchange",
    "auth": "auth",
}


class ClientCalls:
    """Calls as whomever a step names. `streams` are the subscriptions of the script."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.streams = ScriptStreams()

    # ---- kept values

    def filled(self, step: Step, values: dict[str, str]) -> Step:
        """A step with kept values in the place of their `${name}`."""
        return _filled(step, values) if values else step

    def keep(
        self, wanted: dict[str, str], reply: Reply | None, values: dict[str, str]
    ) -> Iterator[str]:
        """Keep parts of an answer by their paths, such as "orders.0.id"; yields what is not there."""
        found = json.decode(reply.body) if reply is not None and reply.body else None
        for name, path in wanted.items():
            value = _at(found, path)
            if value is None or isinstance(value, dict | list):
                yield f"the answer has no {path} to keep as {name}"
            else:
                values[name] = value if isinstance(value, str) else json.encode(value).decode()

    # ---- calls

    def call(self, step: CallStep) -> Reply:
        """One REST call, or one unary rpc."""
        credential, participant = self._identity(step.as_)
        if step.plane == "grpc":
            operation = self._engine.contract.by_name(step.rpc)
            reply = self._engine.pipeline.rpc(
                RpcCall(
                    operation.full_methods[0],
                    _message(operation.request, step.json),
                    participant,
                    credential,
                    "script",
                )
            )
            return (
                reply
                if reply.code
                else replace(reply, body=as_json(operation.response, reply.body))
            )
        query = "&".join(
            f"{name}={quote_plus(text)}"
            for name, value in step.query.items()
            for text in ((value,) if isinstance(value, str) else value)
        )
        path, _, given = step.path.partition("?")
        call = RestCall(
            plane=_PLANES[step.plane],
            verb=step.verb,
            path=path,
            query="&".join(part for part in (given, query) if part),
            body=json.encode(step.json).decode() if step.json is not UNSET else "",
            participant=participant,
            credential=credential,
            peer="script",
        )
        return self._engine.pipeline.rest(call)

    def subscribe(self, step: SubscribeStep, outcome: Outcome) -> Reply | None:
        """Open a stream; the reply that refuses it, or None."""
        if bool(step.rpc) is bool(step.web_socket):
            raise InvalidRequest("subscribe takes an rpc or a web_socket", rule="script")
        credential, participant = self._identity(step.as_)
        operation = None if step.web_socket else self._engine.contract.by_name(step.rpc)
        opened = StreamOpened(
            method=step.web_socket or (operation.full_methods[0] if operation else ""),
            message=(
                _message(operation.request, step.json)
                if operation and operation.kind == "server"
                else b""
            ),
            participant=participant,
            credential=credential,
            peer="script",
            web_socket=bool(step.web_socket),
        )
        began = Outcome(seq=outcome.seq)
        self._engine.open_stream(opened, began)
        if began.reply is not None:
            return began.reply
        if operation is None:
            self.streams.begin(step.name, began.stream, json.decode, json.encode)
        else:
            request, response = operation.request, operation.response
            self.streams.begin(
                step.name,
                began.stream,
                lambda frame: json.decode(as_json(response, frame)),
                lambda frame: _message(request, frame),
            )
        outcome.effects += began.effects
        self.send(SendStep(stream=step.name, frames=step.send), outcome)
        return None

    def send(self, step: SendStep, outcome: Outcome) -> None:
        """Frames of the client on an open stream."""
        if not step.frames:
            return
        stream, messages = self.streams.encoded(step.stream, step.frames)
        for message in messages:
            outcome.effects += self._engine.hub.frame(stream, message)

    def disconnect(self, name: str) -> None:
        """End a stream from the client's side."""
        self._engine.hub.hangup(self.streams.leave(name))

    def _identity(self, name: str) -> tuple[VerifiedCredential, str | None]:
        """Credentials of a caller named in the scenario: a participant, a firm, a retail key or an
        account. Scripts need no signatures.
        """
        if not name:
            return NOBODY, None
        firms = self._engine.exchange.firms
        user = self._engine.world.parties.user(name) or firms.user(name)
        if user is not None:
            return VerifiedCredential("script", user.name.partition("/users/")[0]), user.name
        if any(firm.name == name for firm in firms.all()):
            return VerifiedCredential("script", name), None
        for key in firms.api_keys():
            if name in (key.key_id, key.account):
                return VerifiedCredential("script", key.key_id), None
        raise NotFound(f"nobody is called {name}", rule="script")


def _message(kind: type[Message], content: Any) -> bytes:
    """Protobuf bytes of a request written as JSON."""
    from sim.api.codecs.codecs import BadInput, json_decoder, protobuf_encoder

    try:
        return protobuf_encoder(kind)(
            json_decoder(kind)(json.encode(content) if content is not UNSET else b"{}")
        )
    except BadInput as wrong:
        raise InvalidRequest(f"that is no {kind.__name__}: {wrong}", rule="script") from wrong


def as_json(kind: type[Message], message: bytes) -> bytes:
    """JSON of a protobuf message, so that expectations read the same on both protocols."""
    from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_decoder

    return json_encoder(kind, dialect_at("exchange", 0))(protobuf_decoder(kind)(message))


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _filled(value: Any, values: dict[str, str]) -> Any:
    if isinstance(value, str):
        return (
            REFERENCE.sub(lambda found: values.get(found[1], found[0]), value)
            if "${" in value
            else value
        )
    if isinstance(value, Struct):
        found = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = {
            name: new for name, old in found.items() if (new := _filled(old, values)) is not old
        }
        return replace(value, **changed) if changed else value
    if isinstance(value, dict):
        return {key: _filled(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_filled(item, values) for item in value)
    return value
