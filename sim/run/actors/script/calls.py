"""The clients of a script: their calls and subscriptions.

A step becomes inputs like those of any other client, so it passes the whole pipeline of its plane
and is recorded in the journal. The step names its caller; scripts need no signatures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, cast
from urllib.parse import quote_plus

from msgspec import UNSET, DecodeError, Struct, json
from msgspec.structs import replace

from sim.api.pipeline.inputs import (
    NOBODY,
    SCRIPT,
    Advanced,
    AnswerDue,
    Input,
    Reply,
    RestCall,
    RpcCall,
    Stepped,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
)
from sim.contract.contract import Operation, Plane, UnknownOperation
from sim.contract.messages import Message
from sim.core.model.refusals import Code, InvalidRequest, NotFound
from sim.run.actors.script.expectations import answer_of, answer_text
from sim.run.actors.script.request_slips import read_request
from sim.run.actors.script.step_end import may_be_refused
from sim.run.actors.script.streams import Coding, ScriptStream, ScriptStreams
from sim.run.engine.engine import Engine
from sim.world.format.expansion import REFERENCE
from sim.world.format.steps import CallStep, Step, SubscribeStep

# Keys are sorted as in the scenario of a journal, so that a replay makes the same bytes.
_encode = json.Encoder(order="sorted").encode
_read_input = json.Decoder(Input).decode


class ClientCalls:
    """Makes the inputs of the clients that steps name. `streams` are the subscriptions
    of the script.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.streams = ScriptStreams()

    # ---- saved values

    def filled(self, step: Step, values: dict[str, str]) -> Step:
        """A step with the saved values of its `${name}`."""
        return _filled(step, values) if values else step

    def unsaved(self, step: Step) -> list[str]:
        """The names that a filled step still contains because no step has saved them."""
        return sorted(set(REFERENCE.findall(_encode(step).decode())))

    def keep(
        self, paths: dict[str, str], reply: Reply | None, values: dict[str, str]
    ) -> Iterator[str]:
        """Save parts of an answer by their paths, such as "orders.0.id". Yields a line for each
        part that is missing.
        """
        answer = answer_of(reply) if reply is not None else None
        for name, path in paths.items():
            value = _at(answer, path)
            if value is None or isinstance(value, dict | list):
                yield f"the answer has no {path} to save as {name}: {answer_text(reply)}"
            else:
                values[name] = value if isinstance(value, str) else json.encode(value).decode()

    # ---- inputs

    def inputs(self, step: Step) -> list[Input]:
        """The inputs of a step's client, in order. Frames of a stream that the step itself opens
        have stream 0 until `opened` sets its id.

        Refusals: NotFound for an unknown caller or stream, Conflict for a stream that has ended,
        InvalidRequest for a message that does not fit its operation.
        """
        inputs: list[Input] = []
        strict = not may_be_refused(step.expect)
        if step.subscribe is not None:
            inputs += self._subscription(step.subscribe, strict=strict)
        if step.send is not None:
            stream, messages = self.streams.encoded(
                step.send.stream, step.send.frames, strict=strict
            )
            inputs += [StreamFrame(stream, message, SCRIPT) for message in messages]
        if step.disconnect:
            inputs.append(StreamHungUp(self.streams.id_of(step.disconnect), SCRIPT))
        if step.call is not None:
            rpc = step.call.plane == "grpc"
            inputs.append(self._rpc(step.call, strict=strict) if rpc else self._rest(step.call))
        if step.input:
            inputs.append(_recorded(step.input))
        return inputs

    def _rpc(self, step: CallStep, *, strict: bool) -> RpcCall:
        credential, participant = self._caller(step)
        operation = self._operation(step.rpc)
        message = _message(operation.request, step.json, strict=strict)
        return RpcCall(operation.full_methods[0], message, participant, credential, SCRIPT)

    def _operation(self, name: str, *, streams: bool = False) -> Operation:
        """The gRPC operation of a name, which a saved value may have completed."""
        try:
            operation = self._engine.contract.by_name(name)
        except UnknownOperation as error:
            raise NotFound(str(error), rule="T1") from None
        if not operation.grpc or streams is (operation.kind == "unary"):
            kind = "a stream" if streams else "a call"
            raise InvalidRequest(f"{name} is not {kind} of gRPC", rule="T1")
        return operation

    def _rest(self, step: CallStep) -> RestCall:
        credential, participant = self._caller(step)
        path, _, query = step.path.partition("?")
        parameters = (
            f"{name}={quote_plus(text)}"
            for name, value in sorted(step.query.items())
            for text in ((value,) if isinstance(value, str) else value)
        )
        return RestCall(
            plane=cast(Plane, step.plane),
            verb=step.verb,
            path=path,
            query="&".join(filter(None, (query, *parameters))),
            body=_encode(step.json).decode() if step.json is not UNSET else "",
            participant=participant,
            credential=credential,
            peer=SCRIPT,
        )

    def _subscription(self, step: SubscribeStep, *, strict: bool) -> Iterator[Input]:
        if bool(step.rpc) is bool(step.web_socket):
            raise InvalidRequest("`subscribe` needs either `rpc` or `web_socket`", rule="T1")
        credential, participant = self._identity(step.as_)
        operation = None if step.web_socket else self._operation(step.rpc, streams=True)
        message = b""
        if operation is not None and operation.kind == "server":
            message = _message(operation.request, step.json, strict=strict)
        method = operation.full_methods[0] if operation else step.web_socket
        web_socket = bool(step.web_socket)
        yield StreamOpened(method, message, participant, credential, SCRIPT, web_socket)
        _, encode = self._coding(step)
        for frame in step.send:
            yield StreamFrame(0, encode(frame, strict=strict), SCRIPT)

    def _coding(self, step: SubscribeStep) -> Coding:
        """How frames of a stream become JSON values, and how JSON values become frames
        of its client.
        """
        if step.web_socket:
            socket = self._engine.contract.web_sockets.get(step.web_socket)
            return json.decode, partial(_frame, socket.request if socket is not None else None)
        operation = self._engine.contract.by_name(step.rpc)
        response = operation.response
        return (
            lambda frame: json.decode(as_json(response, frame)),
            partial(_message, operation.request),
        )

    # ---- answers and streams

    def opened(self, step: SubscribeStep, stream: int, rest: list[Input]) -> list[Input]:
        """Follow the stream that a step opened. Returns the frames that are still to be sent,
        with its id.
        """
        self.streams.follow(ScriptStream(step, stream), self._coding(step))
        return [replace(each, stream=stream) for each in rest if isinstance(each, StreamFrame)]

    def load_streams(self, saved: list[ScriptStream]) -> None:
        """Follow the streams of a snapshot."""
        for subscription in saved:
            self.streams.follow(subscription, self._coding(subscription.step))

    def readable(self, input_: Input, reply: Reply) -> Reply:
        """A reply with a JSON body, so that expectations are the same for both protocols."""
        reply = truncated_reply(reply, reply.connection_fault, rpc=isinstance(input_, RpcCall))
        if not isinstance(input_, RpcCall) or reply.code:
            return reply
        operation = self._engine.contract.by_rpc(input_.method)
        # The body was checked against the same contract when the step was read
        assert operation is not None
        return replace(reply, body=as_json(operation.response, reply.body))

    # ---- callers

    def _caller(self, step: CallStep) -> tuple[VerifiedCredential, str | None]:
        """Credentials and participant of a call. A header may name another participant."""
        credential, participant = self._identity(step.as_)
        return credential, participant if step.participant is None else step.participant

    def _identity(self, name: str) -> tuple[VerifiedCredential, str | None]:
        """Credentials and participant of a caller: a participant, a firm, a retail key or an
        account. Scripts need no signatures.
        """
        if not name:
            return NOBODY, None
        firms = self._engine.exchange.firms
        user = self._engine.world.parties.user(name) or firms.user(name)
        if user is not None:
            return VerifiedCredential(SCRIPT, user.name.partition("/users/")[0]), user.name
        for firm in firms.all():
            if firm.name in (name, f"firms/{name}"):
                return VerifiedCredential(SCRIPT, firm.name), None
        for key in firms.api_keys():
            if name in (key.key_id, key.account):
                return VerifiedCredential(SCRIPT, key.key_id), None
        user = self._engine.world.parties.require_user(name, firms)
        return VerifiedCredential(SCRIPT, user.name.partition("/users/")[0]), user.name


def truncated_reply(reply: Reply, fault: str, *, rpc: bool) -> Reply:
    """The reply as a client sees it whose connection a fault breaks after the call was executed:
    status 503 or UNAVAILABLE. A slow answer arrives whole.
    """
    if fault in ("", "slow_body") or reply.status >= 400 or reply.code:
        return reply
    code = Code.UNAVAILABLE
    text = f"the connection broke before the answer arrived ({fault}); the call was executed"
    if rpc:
        return replace(reply, code=code, message=text, body=b"", headers=())
    body = json.encode({"code": int(code), "message": text, "details": []})
    return replace(reply, status=503, code=code, message=text, body=body, headers=())


def _message(kind: type[Message], content: Any, *, strict: bool) -> bytes:
    """Protobuf bytes of a request that is written as JSON. InvalidRequest if it does not fit."""
    from sim.api.codecs.codecs import protobuf_encoder

    plain = content if content is not UNSET else {}
    return protobuf_encoder(kind)(read_request(kind, plain, strict=strict))


def _frame(kind: type[Message] | None, content: Any, *, strict: bool) -> bytes:
    """A client's frame on a WebSocket. InvalidRequest if it is `strict` and does not fit."""
    if strict and kind is not None:
        read_request(kind, content, strict=True)
    return _encode(content)


def _recorded(text: str) -> Input:
    """An input as a journal records it. InvalidRequest if it is none, or not a client's."""
    try:
        recorded: Input = _read_input(text)
    except DecodeError as error:
        raise InvalidRequest(f"not an input of a journal: {error}", rule="T1") from None
    if isinstance(recorded, Advanced | AnswerDue | Stepped):
        raise InvalidRequest("a step cannot make an input of the clock", rule="T1")
    return replace(recorded, peer=SCRIPT)


def as_json(kind: type[Message], message: bytes) -> bytes:
    """A protobuf message as JSON, so that expectations are the same for both protocols."""
    from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_decoder

    return json_encoder(kind, dialect_at("exchange", 0))(protobuf_decoder(kind)(message))


def _at(value: Any, path: str) -> Any:
    """The part of a JSON value at a dotted path; None if there is none."""
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _filled(value: Any, values: dict[str, str]) -> Any:
    """A part of a step with every known `${name}` replaced; the same object if it contains none."""

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
