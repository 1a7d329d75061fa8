"""Checks of the calls of steps: exactly one verb or rpc, and an address that an operation
serves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from sim.api.pipeline.routing import MethodNotAllowed, NotFound, Router
from sim.contract.contract import Operation, load_contract
from sim.run.loader.nodes import node_at, text_at, unknown
from sim.world.format.steps import PARTICIPANT_HEADER, VERBS
from sim.world.format.suggestions import nearest, suggestion
from sim.world.format.yaml_tree import Mapping, Node, Problem, Scalar, problem

REST_PLANES = ("gateway", "retail", "exchange", "auth")
# With one of these a step may expect that the path is unknown
_REFUSED = ("status", "code", "refused")


@cache
def _rpcs() -> dict[str, Operation]:
    return {operation.name: operation for operation in load_contract().operations if operation.grpc}


@cache
def _sockets() -> dict[str, Operation]:
    operations = [each for each in load_contract().operations if each.content == "web_socket"]
    return {path: operation for operation in operations for _, path, _ in operation.bindings}


@cache
def _router(plane: str) -> Router:
    return Router(load_contract().routes(plane))  # type: ignore[arg-type]


def operation_called(step: Mapping) -> tuple[Operation, str, Mapping] | None:
    """The operation that a step calls or subscribes to, its plane, and the part of the step that
    names it. None if there is none or it is known only during the run.
    """
    for key in ("call", "subscribe"):
        part = node_at(step, key)
        if not isinstance(part, Mapping):
            continue
        plane, rpc, path = (text_at(part, name) for name in ("plane", "rpc", "web_socket"))
        if rpc is not None:
            operation = _rpcs().get(rpc.text)
            return (operation, "grpc", part) if operation is not None else None
        if path is not None or plane is None or plane.text not in REST_PLANES:
            return None
        for verb in VERBS:
            target = text_at(part, verb)
            if target is not None:
                match = _router(plane.text).match(verb.upper(), target.text.partition("?")[0])
                if isinstance(match, MethodNotAllowed | NotFound):
                    return None
                return match.operation, plane.text, part
    return None


def operation_subscribed(part: Node | None) -> Operation | None:
    """The operation of a subscription, by its rpc or its path; None where there is none."""
    rpc, path = text_at(part, "rpc"), text_at(part, "web_socket")
    if rpc is not None:
        return _rpcs().get(rpc.text)
    return _sockets().get(path.text) if path is not None else None


def call_problems(step: Mapping) -> Iterator[Problem]:
    """Problems of a step's call or subscription."""
    yield from _call(node_at(step, "call"), node_at(step, "expect"))
    yield from _subscription(node_at(step, "subscribe"))


def _call(call: Node | None, expect: Node | None) -> Iterator[Problem]:
    if not isinstance(call, Mapping):
        return
    yield from _headers(node_at(call, "headers"))
    verbs = [key for key in call.items if key in (*VERBS, "rpc")]
    if len(verbs) != 1:
        at = call.keys[verbs[1]] if verbs else call.at
        yield problem(at, f"a call needs exactly one of {', '.join(VERBS)} and rpc")
        return
    (verb,) = verbs
    plane, target = text_at(call, "plane"), text_at(call, verb)
    if plane is not None and plane.text == "grpc" and verb != "rpc":
        yield problem(
            call.keys[verb],
            "a call with `plane: grpc` needs `rpc: Service.Method` instead of a verb",
        )
    elif plane is not None and plane.text != "grpc" and verb == "rpc":
        yield problem(call.keys[verb], f"an rpc needs `plane: grpc`, not {plane.text}")
    elif target is None:
        return
    elif verb == "rpc":
        yield from _rpc(target, unary=True)
    elif not target.text.startswith("/"):
        yield problem(target.at, f"a path must begin with /: write /{target.text}")
    elif plane is not None and not (
        isinstance(expect, Mapping) and any(key in expect.items for key in _REFUSED)
    ):
        yield from _path(plane.text, verb.upper(), target)


def _headers(headers: Node | None) -> Iterator[Problem]:
    """Headers that a call does not send."""
    for name, at in headers.keys.items() if isinstance(headers, Mapping) else ():
        if name.lower() != PARTICIPANT_HEADER:
            text = f"`headers` accepts only {PARTICIPANT_HEADER}, not {name!r}"
            yield problem(at, f"{text}: name the caller with `as`")


def _path(plane: str, verb: str, path: Scalar) -> Iterator[Problem]:
    """A path that no operation serves, in a step that does not expect a refusal."""
    if plane not in REST_PLANES:
        return
    match = _router(plane).match(verb, path.text.partition("?")[0])
    meant = "(to test this, add `expect: {status: 404}`)"
    if isinstance(match, MethodNotAllowed):
        verbs = ", ".join(match.allowed)
        text = f"{plane} serves {path.text} with {verbs}, not with {verb}"
        yield problem(path.at, f"{text} (to test this, add `expect: {{status: 405}}`)")
    elif isinstance(match, NotFound):
        templates = [route.template for route in load_contract().routes(plane)]  # type: ignore[arg-type]
        near = suggestion(path.text.partition("?")[0], templates)
        yield problem(path.at, f"{plane} has no {verb} {path.text}{near} {meant}")


def _subscription(subscription: Node | None) -> Iterator[Problem]:
    if not isinstance(subscription, Mapping):
        return
    rpc, path = text_at(subscription, "rpc"), text_at(subscription, "web_socket")
    if ("rpc" in subscription.items) is ("web_socket" in subscription.items):
        yield problem(subscription.at, "`subscribe` needs either `rpc` or `web_socket`")
    elif rpc is not None:
        yield from _rpc(rpc, unary=False)
    elif path is not None and path.text not in _sockets():
        yield unknown("no WebSocket is served at", path, _sockets())


def _rpc(name: Scalar, *, unary: bool) -> Iterator[Problem]:
    rpcs = _rpcs()
    if name.text not in rpcs:
        near = next((full for full in rpcs if full.endswith(f".{name.text}")), "")
        near = near or nearest(name.text, rpcs)
        listed = "; `sim catalogue operations` lists them"
        hint = f"; did you mean {near!r}?" if near else listed
        yield problem(name.at, f"gRPC has no method {name.text!r}{hint}")
    elif unary and rpcs[name.text].kind != "unary":
        yield problem(name.at, f"{name.text} is a stream: use `subscribe`")
    elif not unary and rpcs[name.text].kind == "unary":
        yield problem(name.at, f"{name.text} is not a stream: use `call`")
