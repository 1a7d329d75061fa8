"""Checks of steps beyond the types of their keys: unknown names, two actions in one step, calls
that no operation serves.

What a step sends is judged by the exchange when the step runs: `sim check` runs the scenario. Names
that only the run knows (orders of clients, accounts that a verification creates, values that `save`
stores) are not checked here either.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from sim.api.pipeline.routing import NoSuchPath, Router, WrongVerb
from sim.contract.contract import Operation, load_contract
from sim.kernel.instants import (
    OUT_OF_RANGE,
    format_instant,
    is_supported_instant,
    parse_instant,
    parse_span,
)
from sim.run.actors.script.runner import CLIENT_KEYS, STEP_ACTIONS
from sim.run.loader.check_settings import setting_problems
from sim.run.loader.check_world import answer_problems
from sim.run.loader.nodes import entries_of, items_of, mappings_of, node_at, text_at, unknown
from sim.world.format.expectations_format import LEVEL
from sim.world.format.fault_names import unknown_operation
from sim.world.format.steps import PARTICIPANT_HEADER, VERBS, Step, When
from sim.world.format.struct_types import record
from sim.world.format.suggestions import known_names, nearest, suggestion
from sim.world.format.yaml_tree import Mapping, Node, Problem, Scalar, problem
from sim.world.start.accounts import last_part

if TYPE_CHECKING:
    from sim.world.format.scenario import Scenario
    from sim.world.start.world import World

# A step has at most one of these keys.
EXCLUSIVE_KEYS = (*STEP_ACTIONS, *CLIENT_KEYS, "advance")
WAITS = When.__struct_fields__
_CREATE_USERS = ("/v1/kyc/start", "/v1/users")
_OF_AN_ANSWER = ("status", "code", "json", "header")


def step_problems(scenario: Scenario, node: Node, world: World) -> Iterator[Problem]:
    """Problems of the steps that are written in this file, not in one that it extends."""
    yield from _beyond_the_calendar(scenario, node)
    checker = _Checker(scenario, world)
    for step in mappings_of(node_at(node, "steps")):
        yield from checker.check(step)


def unfit_steps(scenario: Scenario, node: Node, world: World) -> list[int]:
    """Positions of the steps that name something that does not exist. Each step is
    checked by itself.
    """
    checker = _Checker(scenario, world)
    steps = mappings_of(node_at(node, "steps"))
    return [number for number, step in enumerate(steps) if any(checker.check(step))]


def _beyond_the_calendar(scenario: Scenario, node: Node) -> Iterator[Problem]:
    """The first step whose durations lead beyond the last year of the calendar."""
    own = items_of(node, "steps")
    moment = scenario.clock.start
    for number, step in enumerate(scenario.steps, start=len(own) - len(scenario.steps)):
        if isinstance(step.at, str):
            moment += parse_span(step.at)
        elif step.at is not None:
            moment = step.at
        moment += step.advance or 0
        if not is_supported_instant(max(moment, scenario.clock.start)):
            if number >= 0 and (isinstance(step.at, str) or step.advance):
                yield problem(own[number].at, OUT_OF_RANGE)
            return


class _Checker:
    """Checks steps one by one. A stream is known if any step of the scenario opens it."""

    def __init__(self, scenario: Scenario, world: World) -> None:
        self._world = world
        self._start = scenario.clock.start
        steps = scenario.steps
        self._streams = {step.subscribe.name for step in steps if step.subscribe is not None}
        self._creates_users = any(
            step.call is not None and step.call.path.startswith(_CREATE_USERS) for step in steps
        )
        self._receivers = [receiver.name for receiver in scenario.world.receivers]
        self._participants = [trader.name for trader in scenario.participants.traders]
        self._symbols = [instrument.symbol for instrument in world.instruments]

    def check(self, step: Mapping) -> Iterator[Problem]:
        """All problems of a step."""
        if not step.items:
            yield problem(step.at, "this step has no effect: add an action or `advance`")
        yield from _single_action(step)
        yield from _answer_without_a_call(step)
        yield from self._moment(step)
        yield from call_problems(step)
        yield from self._stream_names(step)
        yield from self._users(step)
        yield from self._accounts(step)
        yield from self._symbol_names(step)
        yield from setting_problems(step)
        yield from _levels(step)
        yield from self._event(step)

    def _moment(self, step: Mapping) -> Iterator[Problem]:
        at = text_at(step, "at")
        if at is None:
            return
        try:
            moment = parse_instant(at.text)
        except ValueError:
            return  # a duration
        if moment < self._start:
            begin = format_instant(self._start)
            text = f"the scenario begins later, at {begin}: change `at` or `clock: {{start: …}}`"
            yield problem(at.at, text)
        elif not is_supported_instant(moment):
            yield problem(at.at, OUT_OF_RANGE)

    def _stream_names(self, step: Mapping) -> Iterator[Problem]:
        names = [text_at(step, "disconnect"), text_at(step, "send", "stream")]
        names += [text_at(each, "name") for each in mappings_of(node_at(step, "expect", "stream"))]
        for name in names:
            if name is not None and name.text not in self._streams:
                yield unknown("no `subscribe` has the stream", name, self._streams)

    def _users(self, step: Mapping) -> Iterator[Problem]:
        for key, part in step.items.items():
            caller = text_at(part, "as") or text_at(part, "account") if key != "fund" else None
            if caller is not None and not self._exists(caller.text):
                names = known_names(caller.text, self._world.parties.short_names())
                yield problem(caller.at, f"there is no firm or participant {caller.text!r}{names}")
        for breaker in mappings_of(node_at(step, "expect", "breaker")):
            firm = text_at(breaker, "firm")
            if firm is not None and self._world.parties.firm(firm.text) is None:
                prefix = "firms/" if firm.text.startswith("firms/") else ""
                firms = [prefix + last_part(each.name) for each in self._world.parties.firms]
                yield problem(
                    firm.at, f"there is no firm {firm.text!r}{known_names(firm.text, firms)}"
                )
        name = text_at(step, "participant", "name")
        if name is not None and name.text not in self._participants:
            names = known_names(name.text, self._participants) or ": this scenario has none"
            yield problem(name.at, f"no participant is called {name.text!r}{names}")
        name = text_at(step, "receiver", "name")
        if name is not None and name.text not in self._receivers:
            yield unknown("world.receivers has no", name, self._receivers)
        yield from answer_problems(node_at(step, "receiver"))

    def _accounts(self, step: Mapping) -> Iterator[Problem]:
        expect = node_at(step, "expect")
        parts = [node_at(step, "fund")]
        for key in ("open_orders", "balance", "position"):
            parts += mappings_of(node_at(expect, key))
        for name in (text_at(part, key) for part in parts for key in ("account", "as")):
            if name is not None and "/" not in name.text and not self._exists(name.text):
                names = known_names(name.text, self._world.parties.short_names())
                yield problem(name.at, f"no account is called {name.text!r}{names}")

    def _exists(self, name: str) -> bool:
        """Whether a participant or account exists, or may exist by then, because
        calls create some.
        """
        parties = self._world.parties
        if parties.knows(name) or parties.user(name) is not None:
            return True
        firm, _, user = name.partition("/users/")
        return bool(user) and self._creates_users and parties.knows(firm)

    def _symbol_names(self, step: Mapping) -> Iterator[Problem]:
        parts = [part for part in step.items.values() if isinstance(part, Mapping)]
        parts += mappings_of(node_at(step, "fault", "match"))
        for key in ("expect", "when"):
            outer = node_at(step, key)
            if isinstance(outer, Mapping):
                parts += [each for part in outer.items.values() for each in mappings_of(part)]
        for part in parts:
            symbol = text_at(part, "symbol")
            if symbol is not None and "*" not in symbol.text and not self._world.has(symbol.text):
                yield unknown("unknown symbol", symbol, self._symbols)

    def _event(self, step: Mapping) -> Iterator[Problem]:
        event, reference = text_at(step, "event", "slug"), self._world.reference
        if event is not None and reference.event_called(event.text) is None:
            hint = "; `GET /v1/events` lists them, and `world.events` creates one"
            yield unknown("there is no event", event, reference.event_by_slug, hint)
        operation = text_at(step, "when", "call", "operation")
        if operation is not None and (wrong := unknown_operation(operation.text)):
            yield problem(operation.at, wrong)


def _single_action(step: Mapping) -> Iterator[Problem]:
    aliases = record(Step).aliases
    keys = [key for key in step.items if aliases.get(key, key) in EXCLUSIVE_KEYS]
    if len(keys) > 1:
        first, second, *_ = keys
        already = f"this one has {first!r}, so move {second!r} to another step"
        yield problem(step.keys[second], f"a step has at most one action: {already}")
    when = node_at(step, "when")
    if isinstance(when, Mapping):
        waits = [key for key in when.items if key in WAITS]
        if len(waits) != 1:
            at = when.keys[waits[1]] if waits else when.at
            yield problem(at, f"`when` needs exactly one of {', '.join(WAITS)}")


def _answer_without_a_call(step: Mapping) -> Iterator[Problem]:
    expect = node_at(step, "expect")
    if isinstance(expect, Mapping) and not {"call", "subscribe"} & step.items.keys():
        for key, at in expect.keys.items():
            if key in _OF_AN_ANSWER:
                yield problem(
                    at, f"{key!r} checks the answer of a call, but this step has no `call`"
                )
    if "save" in step.items and "call" not in step.items:
        message = "'save' stores parts of the answer of a call, but this step has no `call`"
        yield problem(step.keys["save"], message)


def _levels(step: Mapping) -> Iterator[Problem]:
    for book in mappings_of(node_at(step, "expect", "book")):
        for level in (*items_of(book, "bids"), *items_of(book, "offers")):
            text = text_at(level, empty=True)
            if text is not None and not LEVEL.fullmatch(text.text):
                usual = 'write a level as "price x quantity", such as "0.45 x 10"'
                yield problem(text.at, f"{usual}, not {text.text!r}")


# ---- calls and subscriptions


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
        verbs = ", ".join(match.operations)
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
