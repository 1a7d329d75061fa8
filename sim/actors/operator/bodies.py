"""How the bodies of actions are read: entries of the scenario format from JSON, decimals as
integers; refused alike wherever they come from.
"""

from __future__ import annotations

from collections.abc import Mapping as Values
from typing import Any, TypeVar

from msgspec import Struct, json

from sim.core.model.refusals import InvalidRequest
from sim.scenario.struct_types import record
from sim.scenario.yaml_tree import Mapping, Node, Problem, ScenarioError, Sequence, read_text

T = TypeVar("T", bound=Struct)
Answer = dict[str, Any]


def entry_of(kind: type[T], body: Values[str, object], **fixed: object) -> T:
    """An entry of the scenario format from a JSON body. InvalidRequest names every problem."""
    problems: list[Any] = []
    try:
        node = read_text(json.encode({**body, **fixed}).decode(), "body")
    except ScenarioError as error:
        raise InvalidRequest(str(error)) from error
    found = record(kind).read(node, problems)
    if problems:
        told = "; ".join(f"{_key_at(node, problem)}{problem.message}" for problem in problems)
        raise InvalidRequest(told, rule="control", remedy="`sim schema` describes every entry")
    return found  # type: ignore[no-any-return]


def _key_at(node: Node, problem: Problem, path: str = "") -> str:
    """`tick_size: ` where the value of that key of a body is what a problem is about: a body has no
    lines to point at.
    """
    if path and node.at == problem[:3]:
        return f"{path}: "
    if isinstance(node, Mapping):
        inner = ((f"{path}.{key}" if path else key, item) for key, item in node.items.items())
    elif isinstance(node, Sequence):
        inner = ((f"{path}[{index}]", item) for index, item in enumerate(node.items))
    else:
        return ""
    return next((found for name, item in inner if (found := _key_at(item, problem, name))), "")
