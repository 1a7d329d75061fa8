"""Operator actions: each has a name, an entry with its parameters, a function, and the ways to call
it.

An operator action changes a running exchange from outside the market: it changes the state of an
instrument, injects a fault, decides a verification. Testers use a call of the control plane,
scenarios a key of a step. Both provide the same entry, so both are read and refused alike.

`actions.py` collects all actions. Everything else derives from them: the dispatch of steps
(`script/runner.py`), the routes of the control plane, the conversion of a journal to a scenario,
and the reference of the control plane. `check_actions` and `check_steps` run when the modules are
imported, so an invalid row is an error before anything starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType, NoneType, UnionType
from typing import Any, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from sim.api.pipeline.inputs import Effect
from sim.core.model.refusals import InvalidRequest
from sim.run.actors.operator.answers import Answer
from sim.run.engine.engine import Engine
from sim.world.format.steps import Step
from sim.world.format.struct_types import key_of, record
from sim.world.format.yaml_tree import Problem, ScenarioError, tree_of

Perform: TypeAlias = Callable[[Engine, Any], Answer | list[Effect]]

_VARIABLE = re.compile(r"\{(\w+)\*?\}")


class ControlRoute(NamedTuple):
    """A call of the control plane: a verb and a path below /_sim/v1.

    `{name}` in the path is a variable, `{name*}` one that may contain slashes.
    `fixtures/control-reference.json` describes each call, with examples of its body and answer.
    """

    call: str

    @property
    def verb(self) -> str:
        """GET, POST, PUT or DELETE."""
        return self.call.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path with its variables."""
        return self.call.partition(" ")[2]

    @property
    def variables(self) -> list[str]:
        """Names of the variables of the path."""
        return _VARIABLE.findall(self.path)


class Action(NamedTuple):
    """An action, as `operator_action` declares it.

    `perform` returns an answer, or the effects of the action on streams. `call` is its
    `ControlRoute`, if the control plane has it. `step` is the key of a scenario's step; its value
    is the entry itself, the entry's only field as text, or a mapping from the entry's first field
    to its second.
    """

    name: str
    entry: type[Struct]
    perform: Perform
    call: str = ""
    step: str = ""

    @property
    def route(self) -> ControlRoute:
        """The call that performs the action; empty if there is none."""
        return ControlRoute(self.call)

    @property
    def subject(self) -> str:
        """The key of the entry that is a variable in the path of the call; empty if
        there is none.
        """
        return next(iter(self.route.variables), "")

    @property
    def body_keys(self) -> tuple[str, ...]:
        """The keys that the body of the call may have, aliases included."""
        keys = (*record(self.entry).keys, *record(self.entry).aliases)
        return tuple(key for key in keys if key != self.subject)

    def read(self, subject: str, body: Mapping[str, object]) -> Any:
        """The entry of a control call. InvalidRequest names every problem by its key."""
        return read_entry(self.entry, {**body, self.subject: subject} if self.subject else body)

    def written(self, entry: Struct) -> tuple[str, dict[str, Any]]:
        """Subject and body of the control call with an entry: the inverse of `read`."""
        body = record(self.entry).write(entry)
        return (str(body.pop(self.subject, "")) if self.subject else ""), body

    def entries(self, value: Any) -> Iterator[Any]:
        """The entries of the value of a step's key."""
        if isinstance(value, dict):
            yield from (self.entry(*pair) for pair in value.items())
        else:
            yield value if isinstance(value, self.entry) else self.entry(value)

    @property
    def step_form(self) -> str:
        """The form of the entry in a step: "entry", "text" (its only field) or
        "pair" (two fields).
        """
        return {str: "text", dict: "pair"}.get(_forms_of(Step)[self.step], "entry")

    def step_value(self, entry: Struct) -> Any:
        """The JSON value of a step's key with an entry: the inverse of `entries`."""
        written = record(self.entry).write(entry)
        form = _forms_of(Step)[self.step]
        if form is str:
            (text,) = written.values()
            return text
        if form is dict:
            name, value = written.values()
            return {name: value}
        return written


_DECLARED: dict[str, list[Action]] = {}
P = TypeVar("P", bound=Callable[..., Answer | list[Effect]])


def operator_action(name: str, call: str = "", *, step: str = "") -> Callable[[P], P]:
    """Declare a function of an engine and an entry as the operator's action of a name."""

    def declare(perform: P) -> P:
        entry = get_type_hints(perform)["entry"]
        _DECLARED.setdefault(perform.__module__, []).append(
            Action(name, entry, perform, call, step)
        )
        return perform

    return declare


def actions_of(module: ModuleType) -> list[Action]:
    """The actions that a module declares, in order."""
    return _DECLARED[module.__name__]


class ActionTableError(Exception):
    """An invalid action, or a key of a step without an action."""


def check_actions(actions: Iterable[Action]) -> dict[str, Action]:
    """The actions by name. ActionTableError for the first invalid row."""
    by_name: dict[str, Action] = {}
    by_step: dict[str, Action] = {}
    for action in actions:
        if action.name in by_name:
            raise ActionTableError(f"two actions are called {action.name!r}")
        by_name[action.name] = action
        if not callable(action.perform):
            raise ActionTableError(f"the action {action.name!r} has no function")
        if action.subject and action.subject not in map(key_of, action.entry.__struct_fields__):
            raise ActionTableError(f"{action.name}: its entry has no key {action.subject!r}")
        if len(action.route.variables) > 1:
            raise ActionTableError(f"{action.name}: {action.call} has more than one variable")
        if action.step:
            first = by_step.setdefault(action.step, action)
            if (first.entry, first.perform) != (action.entry, action.perform):
                both = f"{first.name} and {action.name}"
                message = f"{both} do different things for the step key {action.step!r}"
                raise ActionTableError(message)
    return by_name


def check_steps(
    step: type[Struct], actions: Iterable[Action], others: Collection[str]
) -> dict[str, Action]:
    """The actions by their key of a step, in the order of the step's fields.

    `others` are the keys of a step that are not operator actions. ActionTableError for a key that
    is neither, for an action whose key the step does not have, and for a value that cannot be read
    as the action's entry.
    """
    by_key: dict[str, Action] = {}
    for action in actions:
        by_key.setdefault(action.step, action)
    by_key.pop("", None)
    keys, forms = record(step).keys, _forms_of(step)
    for key in keys:
        if (key in others) is (key in by_key):
            raise ActionTableError(f"the step key {key!r} must have exactly one meaning")
    for key, action in by_key.items():
        if key not in keys:
            raise ActionTableError(f"{action.name}: a step has no key {key!r}")
        form, arity = forms[key], len(action.entry.__struct_fields__)
        if form is not action.entry and (form, arity) not in ((str, 1), (dict, 2)):
            raise ActionTableError(f"{action.name}: a step's {key!r} is no {action.entry.__name__}")
    return {key: by_key[key] for key in keys if key in by_key}


@cache
def _forms_of(step: type[Struct]) -> dict[str, Any]:
    """The types of a step's values by key: a Struct, str or dict."""
    return {key_of(name): _form_of(hint) for name, hint in get_type_hints(step).items()}


def _form_of(hint: Any) -> Any:
    """The type of a value, without None and without its collection."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kind = next(kind for kind in kinds if kind is not NoneType)
    return get_origin(kind) or kind


# Reading an entry blocks all other requests, so its size is limited.
ENTRY_NODES = 10_000
_LISTED_MAX = 20


def read_entry(kind: type[Struct], body: Mapping[str, object], nodes: int = ENTRY_NODES) -> Any:
    """An entry from a JSON object of at most `nodes` values. InvalidRequest lists the first twenty
    problems by key.
    """
    problems: list[Problem] = []
    try:
        entry = record(kind).read(tree_of(body, places=True, nodes=nodes), problems)
    except ScenarioError as error:
        raise InvalidRequest(str(error)) from error
    if problems:
        listed = [_with_key(problem.file, problem.message) for problem in problems[:_LISTED_MAX]]
        if len(problems) > _LISTED_MAX:
            listed.append("and more")
        lines = "; ".join(listed)
        raise InvalidRequest(lines, rule="T1", remedy="`sim schema` describes every entry")
    return entry


def _with_key(path: str, message: str) -> str:
    """A problem, preceded by its key unless the message names the key."""
    key = path.removeprefix(".")
    named = repr(key) in message or message.startswith(f"{key}: ")
    return message if not key or named else f"{key}: {message}"
