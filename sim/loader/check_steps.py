"""What is wrong with steps that their form alone does not show: names that nobody bears, two things
in one step, calls of what is no call.

All of it would be found when the step runs; here it is told before, at its line. What only a run
can know (orders of clients, accounts that a verification makes, values that `save` keeps) is left
to the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from sim.actors.script.runner import CLIENT_KEYS, STEP_ACTIONS
from sim.contract.contract import Operation, load_contract
from sim.core.catalogue import assumptions, quirks
from sim.kernel.instants import (
    OUT_OF_RANGE,
    Instant,
    format_instant,
    is_supported_instant,
    parse_instant,
    parse_span,
)
from sim.scenario.fault_names import unknown_operation
from sim.scenario.steps import VERBS, Step, When
from sim.scenario.struct_types import record
from sim.scenario.value_types import nearest, suggestion
from sim.scenario.yaml_tree import Mapping, Node, Problem, Scalar, Sequence, problem

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario
    from sim.world.world import World

# A step has at most one of these keys.
EXCLUSIVE_KEYS = (*STEP_ACTIONS, *CLIENT_KEYS, "advance")
WAITS = When.__struct_fields__
_MAKE_PEOPLE = ("/v1/kyc/start", "/v1/users")
_LEVEL = re.compile(r"\s*[0-9]+(\.[0-9]+)?\s*[x×]\s*[0-9]+(\.[0-9]+)?\s*", re.ASCII)
_OF_AN_ANSWER = ("status", "code", "json", "header")


def step_problems(scenario: Scenario, node: Node, world: World) -> Iterator[Problem]:
    """Problems of the steps that this file itself states."""
    yield from _beyond_the_calendar(scenario, node)
    checker = _Checker(scenario, world)
    for step in items_of(node, "steps"):
        if isinstance(step, Mapping):
            yield from checker.of(step)


def _beyond_the_calendar(scenario: Scenario, node: Node) -> Iterator[Problem]:
    """The first step to which distances lead after the last year there is; steps that wait come
    later still.
    """
    own = items_of(node, "steps")
    moment = scenario.clock.start
    for number, step in enumerate(scenario.steps, start=len(own) - len(scenario.steps)):
        moment = (
            moment + parse_span(step.at)
            if isinstance(step.at, str)
            else moment
            if step.at is None
            else step.at
        )
        moment += step.advance or 0
        if not is_supported_instant(max(moment, scenario.clock.start)):
            if number >= 0 and (isinstance(step.at, str) or step.advance):
                yield problem(own[number].at, OUT_OF_RANGE)
            return


def items_of(node: Node, *path: str) -> list[Node]:
    """The entries of a list somewhere below a node; none when there is no list."""
    found = node_at(node, *path)
    return found.items if isinstance(found, Sequence) else []


def node_at(node: Node | None, *path: str) -> Node | None:
    """What stands below a node, by keys; None when nothing does."""
    for key in path:
        node = node.items.get(key) if isinstance(node, Mapping) else None
    return node


def unknown_setting(what: str, entries: Node | None) -> Iterator[Problem]:
    """Names and values of quirks or assumptions that cannot be."""
    known: Iterable[str] = quirks.catalogue() if what == "quirk" else assumptions.catalogue()
    if not isinstance(entries, Mapping):
        return
    for name, value in entries.items.items():
        if name not in known:
            yield problem(entries.keys[name], f"unknown {what} {name!r}{suggestion(name, known)}")
        elif what == "assumption" and isinstance(value, Scalar) and "${" not in value.text:
            try:
                assumptions.catalogue()[name].parse(value.text)
            except ValueError as error:
                yield problem(value.at, str(error))


@cache
def _rpcs() -> dict[str, Operation]:
    return {operation.name: operation for operation in load_contract().operations if operation.grpc}


@cache
def _sockets() -> tuple[str, ...]:
    return tuple(
        path
        for operation in load_contract().operations
        if operation.content == "web_socket"
        for _, path, _ in operation.bindings
    )


def _text(node: Node | None, key: str) -> Scalar | None:
    """A text that is there and is no `${name}`, whose value only the run knows."""
    found = node_at(node, key)
    return found if isinstance(found, Scalar) and found.text and "${" not in found.text else None


class _Checker:
    """Looks at steps one by one. Streams are known from the first step that names them, wherever it
    stands.
    """

    def __init__(self, scenario: Scenario, world: World) -> None:
        self._world = world
        self._start: Instant = scenario.clock.start
        self._streams = {
            step.subscribe.name for step in scenario.steps if step.subscribe is not None
        }
        self._makes_people = any(
            step.call is not None and step.call.path.startswith(_MAKE_PEOPLE)
            for step in scenario.steps
        )
        self._participants = [trader.name for trader in scenario.participants.traders]
        self._symbols = [terms.symbol for terms in world.instruments]

    def of(self, step: Mapping) -> Iterator[Problem]:
        """Everything that is wrong with a step."""
        yield from self._one_thing(step)
        yield from self._moment(step)
        yield from self._call(node_at(step, "call"))
        yield from self._subscription(node_at(step, "subscribe"))
        yield from self._streams_named(step)
        yield from self._people(step)
        yield from self._symbols_named(step)
        yield from unknown_setting("quirk", node_at(step, "quirk"))
        yield from unknown_setting("assumption", node_at(step, "assumption"))
        yield from self._rest(step)

    def _one_thing(self, step: Mapping) -> Iterator[Problem]:
        present = record(Step).aliases
        done = [key for key in step.items if present.get(key, key) in EXCLUSIVE_KEYS]
        if len(done) > 1:
            yield problem(
                step.keys[done[1]],
                f"a step does one thing: {done[0]!r} is done here already, so {done[1]!r} needs a"
                " step of its own",
            )
        waits = node_at(step, "when")
        if isinstance(waits, Mapping):
            named = [key for key in waits.items if key in WAITS]
            if len(named) != 1:
                yield problem(
                    waits.keys[named[1]] if named else waits.at,
                    f"a step waits for one thing: {', '.join(WAITS)}",
                )
        if not {"call", "subscribe"} & step.items.keys():
            expect = node_at(step, "expect")
            for key, at in expect.keys.items() if isinstance(expect, Mapping) else ():
                if key in _OF_AN_ANSWER:
                    yield problem(
                        at, f"{key!r} is expected of an answer, and this step makes no call"
                    )
        if "save" in step.items and "call" not in step.items:
            yield problem(
                step.keys["save"], "'save' keeps parts of an answer, and this step makes no call"
            )

    def _moment(self, step: Mapping) -> Iterator[Problem]:
        at = _text(step, "at")
        try:
            moment = parse_instant(at.text) if at is not None else None
        except ValueError:
            return  # a distance
        if at is not None and moment is not None and moment < self._start:
            yield problem(at.at, f"the scenario begins later, at {format_instant(self._start)}")
        elif at is not None and moment is not None and not is_supported_instant(moment):
            yield problem(at.at, OUT_OF_RANGE)

    def _call(self, call: Node | None) -> Iterator[Problem]:
        if not isinstance(call, Mapping):
            return
        verbs = [key for key in call.items if key in (*VERBS, "rpc")]
        if len(verbs) != 1:
            yield problem(
                call.keys[verbs[1]] if verbs else call.at,
                f"a call has exactly one of {', '.join(VERBS)} and rpc",
            )
            return
        plane, target = _text(call, "plane"), _text(call, verbs[0])
        if plane is not None and (plane.text == "grpc") is not (verbs[0] == "rpc"):
            yield problem(
                call.keys[verbs[0]],
                (
                    "the grpc plane takes an rpc"
                    if plane.text == "grpc"
                    else f"an rpc needs `plane: grpc`, not {plane.text}"
                ),
            )
        elif verbs[0] != "rpc":
            if target is not None and not target.text.startswith("/"):
                yield problem(target.at, "a path begins with /")
        elif target is not None and not (wrong := list(_unknown_rpc(target))):
            if _rpcs()[target.text].kind != "unary":
                yield problem(target.at, f"{target.text} is a stream: `subscribe` opens it")
        elif target is not None:
            yield from wrong

    def _subscription(self, wanted: Node | None) -> Iterator[Problem]:
        if not isinstance(wanted, Mapping):
            return
        if ("rpc" in wanted.items) is ("web_socket" in wanted.items):
            yield problem(wanted.at, "subscribe takes an rpc or a web_socket")
        elif (rpc := _text(wanted, "rpc")) is not None:
            wrong = list(_unknown_rpc(rpc))
            yield from wrong
            if not wrong and _rpcs()[rpc.text].kind == "unary":
                yield problem(rpc.at, f"{rpc.text} is no stream: `call` calls it")
        elif (path := _text(wanted, "web_socket")) is not None and path.text not in _sockets():
            yield problem(
                path.at,
                f"no WebSocket is served at {path.text!r}{suggestion(path.text, _sockets())}",
            )

    def _streams_named(self, step: Mapping) -> Iterator[Problem]:
        named = [
            _text(step, "disconnect"),
            _text(step, "hang_up"),
            _text(node_at(step, "send"), "stream"),
        ]
        named += [_text(one, "name") for one in _each(node_at(step, "expect", "stream"))]
        for name in named:
            if name is not None and name.text not in self._streams:
                yield problem(
                    name.at,
                    "no `subscribe` names a stream"
                    f" {name.text!r}{suggestion(name.text, self._streams)}",
                )

    def _people(self, step: Mapping) -> Iterator[Problem]:
        for part in step.items.values():
            caller = _text(part, "as")
            if caller is not None and not self._somebody(caller.text):
                yield problem(
                    caller.at,
                    f"nobody is called {caller.text!r}: maker, taker, noise, a firm, a participant,"
                    " an account or an API key id",
                )
        expect = node_at(step, "expect")
        accounts = [
            _text(node_at(step, "fund"), "account"),
            _text(node_at(expect, "open_orders"), "as"),
        ]
        accounts += [
            _text(one, "account")
            for key in ("balance", "position")
            for one in _each(node_at(expect, key))
        ]
        for account in accounts:
            if account is not None and "/" not in account.text and not self._somebody(account.text):
                yield problem(
                    account.at,
                    f"no account is called {account.text!r}: maker, taker, noise, a participant or"
                    " an account",
                )
        switched = _text(node_at(step, "participant"), "name")
        if switched is not None and switched.text not in self._participants:
            yield problem(
                switched.at,
                "no participant is called"
                f" {switched.text!r}{suggestion(switched.text, self._participants)}",
            )

    def _somebody(self, name: str) -> bool:
        """Whether a name is borne by somebody, or may be by then: calls of the scenario may make
        participants of a firm.
        """
        parties = self._world.parties
        if parties.knows(name) or parties.user(name) is not None:
            return True
        firm, _, user = name.partition("/users/")
        return bool(user) and self._makes_people and parties.knows(firm)

    def _symbols_named(self, step: Mapping) -> Iterator[Problem]:
        parts = [part for part in step.items.values() if isinstance(part, Mapping)]
        for outer in ("expect", "when"):
            found = node_at(step, outer)
            parts += [
                one
                for part in (found.items.values() if isinstance(found, Mapping) else ())
                for one in _each(part)
            ]
        for part in parts:
            symbol = _text(part, "symbol")
            if symbol is not None and not self._world.has(symbol.text):
                yield problem(
                    symbol.at,
                    f"unknown symbol {symbol.text!r}{suggestion(symbol.text, self._symbols)}",
                )

    def _levels(self, step: Mapping) -> Iterator[Problem]:
        for book in _each(node_at(step, "expect", "book")):
            for level in (*items_of(book, "bids"), *items_of(book, "offers")):
                if (
                    isinstance(level, Scalar)
                    and "${" not in level.text
                    and not _LEVEL.fullmatch(level.text)
                ):
                    yield problem(
                        level.at,
                        'a level is written "price x quantity", such as "0.45 x 10", not'
                        f" {level.text!r}",
                    )

    def _rest(self, step: Mapping) -> Iterator[Problem]:
        yield from self._levels(step)
        event = _text(node_at(step, "event"), "slug")
        if event is not None and self._world.reference.event_called(event.text) is None:
            yield problem(
                event.at,
                "no event is called"
                f" {event.text!r}{suggestion(event.text, self._world.reference.event_by_slug)}",
            )
        heard = _text(node_at(step, "when", "call"), "operation")
        if heard is not None and (wrong := unknown_operation(heard.text)):
            yield problem(heard.at, wrong)


def _each(node: Node | None) -> list[Mapping]:
    """One mapping, or a list of them."""
    found = node.items if isinstance(node, Sequence) else [node]
    return [one for one in found if isinstance(one, Mapping)]


def _unknown_rpc(name: Scalar) -> Iterator[Problem]:
    if name.text not in _rpcs():
        near = next((full for full in _rpcs() if full.endswith(f".{name.text}")), "") or nearest(
            name.text, _rpcs()
        )
        yield problem(
            name.at,
            f"gRPC serves no {name.text!r}"
            + (
                f", did you mean {near!r}?"
                if near
                else "; `sim catalogue operations` lists what it serves"
            ),
        )
