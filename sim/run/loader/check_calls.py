"""Checks of the calls of steps: exactly one verb or rpc, and an address that
an operation serves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from sim.api.pipeline.routing import NoSuchPath, Router, WrongVerb
from sim.contract.contract import Operation, load_contract
from sim.run.loader.nodes import entries_of, node_at, text_at, unknown
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
def _router(plane: str) -> Router:
    return Router(load_contract().routes(plane))  # type: ignore[arg-type]


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
        yield from _path(plane.text, verb.upper(), target, call)


def _headers(headers: Node | None) -> Iterator[Problem]:
    """Headers that a call does not send."""
    for name, at, _ in entries_of(headers):
        if name.lower() != PARTICIPANT_HEADER:
            text = f"`headers` accepts only {PARTICIPANT_HEADER}, not {name!r}"
            yield problem(at, f"{text}: name the caller with `as`")


def _path(plane: str, verb: str, path: Scalar, call: Mapping) -> Iterator[Problem]:
    """A path that no operation serves, in a step that does not expect a refusal, or a body for an
    operation that would ignore it.
    """
    if plane not in REST_PLANES:
        return
    match = _router(plane).match(verb, path.text.partition("?")[0])
    body = next((key for key in ("json", "body") if key in call.items), "")
    if isinstance(match, WrongVerb):
        verbs = ", ".join(match.allowed)
        text = f"{plane} serves {path.text} with {verbs}, not with {verb}"
        yield problem(path.at, f"{text} (to test this, add `expect: {{status: 405}}`)")
    elif isinstance(match, NoSuchPath):
        templates = [route.template for route in load_contract().routes(plane)]  # type: ignore[arg-type]
        near = suggestion(path.text.partition("?")[0], templates)
        text = f"{plane} has no {verb} {path.text}{near}"
        yield problem(path.at, f"{text} (to test this, add `expect: {{status: 404}}`)")
    elif body and not match.body:
        text = f"{match.operation.name} takes parameters instead of a body: use `query`"
        yield problem(call.keys[body], text)


def _subscription(subscription: Node | None) -> Iterator[Problem]:
    if not isinstance(subscription, Mapping):
        return
    rpc, path = text_at(subscription, "rpc"), text_at(subscription, "web_socket")
    if ("rpc" in subscription.items) is ("web_socket" in subscription.items):
        yield problem(subscription.at, "`subscribe` needs either `rpc` or `web_socket`")
    elif rpc is not None:
        yield from _rpc(rpc, unary=False)
    elif path is not None and path.text not in (sockets := load_contract().web_sockets):
        yield unknown("no WebSocket is served at", path, sockets)


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
