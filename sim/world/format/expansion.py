"""Expands parameters, matrices and loops before a scenario is read, so that the exchange gets a
plain list of steps.

`${name}` stands for a parameter (`params`, `matrix`, `sim run --param`), for the variable of a
loop, or for a value that an earlier step saves and that is filled in when the step runs. A name
without a value is a problem at its position in the file.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from collections.abc import Mapping as Values

from sim.world.format.suggestions import nearest, suggestion
from sim.world.format.value_types import add_problem, wants_suggestion
from sim.world.format.yaml_tree import (
    Mapping,
    Node,
    Problem,
    Scalar,
    ScenarioError,
    SequenceNode,
    error_at,
)

STEPS_MAX = 20_000
VARIANTS_MAX = 10_000
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

_LOOP_KEYS = ("repeat", "each", "var", "pause", "steps")


def parameters(node: Node) -> dict[str, str]:
    """Values of `params`, and the first value of each name of `matrix`."""
    first = {name: values[0] for name, values in _matrix(node).items()}
    return dict(_texts(node, "params")) | first


def variants(node: Node) -> list[dict[str, str]]:
    """Every combination of the values of `matrix`; the last name changes fastest.

    Without a matrix there is one empty combination.
    """
    matrix = _matrix(node)
    count = math.prod(len(values) for values in matrix.values())
    if count > VARIANTS_MAX:
        raise error_at(node.at, f"the matrix has {count} combinations, more than {VARIANTS_MAX}")
    combinations = itertools.product(*matrix.values())
    return [dict(zip(matrix, values, strict=True)) for values in combinations]


def expanded(node: Node, values: Values[str, str]) -> Node:
    """The document with parameters filled in and loops expanded.

    ScenarioError lists the names without a value.
    """
    if not isinstance(node, Mapping):
        return node
    expansion = _Expansion(set(_saved(node.items.get("steps"))))
    items: dict[str, Node] = {}
    for key, item in node.items.items():
        if key in ("params", "matrix"):
            items[key] = item
        elif key == "steps" and isinstance(item, SequenceNode):
            items[key] = SequenceNode(item.at, list(expansion.steps(item, values)))
        else:
            items[key] = expansion.filled(item, values)
    if expansion.problems:
        raise ScenarioError(expansion.problems)
    return Mapping(node.at, items, node.keys)


class _Expansion:
    """The expansion of one document. `saved` are the names that steps save; a step may use those
    that a step before it saves.
    """

    def __init__(self, saved: set[str]) -> None:
        self.problems: list[Problem] = []
        self._saved = saved
        self._saved_so_far: set[str] = set()
        self._steps = 0

    def steps(self, steps: SequenceNode, values: Values[str, str]) -> Iterator[Node]:
        """The steps with their loops expanded."""
        for step in steps.items:
            if isinstance(step, Mapping) and ("repeat" in step.items or "each" in step.items):
                yield from self._loop(step, values)
                continue
            self._steps += 1
            if self._steps > STEPS_MAX:
                message = f"more than {STEPS_MAX} steps once loops are expanded"
                raise error_at(steps.at, message)
            yield self.filled(step, values)
            self._saved_so_far.update(_saved(SequenceNode(steps.at, [step])))

    def _loop(self, loop: Mapping, values: Values[str, str]) -> Iterator[Node]:
        pause, inner = loop.items.get("pause"), loop.items.get("steps")
        for number, variable in enumerate(_rounds(loop, values)):
            scope = {**values, **variable}
            if number and pause is not None:
                advance = Mapping(pause.at, {"advance": pause}, {"advance": pause.at})
                yield self.filled(advance, scope)
            if not isinstance(inner, SequenceNode):
                raise error_at(loop.at, "a loop needs the key `steps`, a list of steps")
            yield from self.steps(inner, scope)

    def filled(self, node: Node, values: Values[str, str]) -> Node:
        """A node with the values of its `${name}`. A name without a value is a problem."""
        if isinstance(node, Mapping):
            items = {key: self.filled(item, values) for key, item in node.items.items()}
            return Mapping(node.at, items, node.keys)
        if isinstance(node, SequenceNode):
            return SequenceNode(node.at, [self.filled(item, values) for item in node.items])
        if "${" not in node.text:
            return node
        for name in REFERENCE.findall(node.text):
            if name in values or name in self._saved_so_far:
                continue
            if name in self._saved:
                message = f"${{{name}}} has no value here: it is saved only by a later step"
                add_problem(node.at, message, self.problems)
            else:
                suggested = wants_suggestion(self.problems)
                near = nearest(name, [*values, *self._saved]) if suggested else ""
                hint = f"; did you mean ${{{near}}}?" if near else ": add it to `params`"
                message = f"no value for ${{{name[:80]}}}{hint}"
                add_problem(node.at, message, self.problems)
        return Scalar(node.at, _text(node, values), node.plain)


def _rounds(loop: Mapping, values: Values[str, str]) -> Iterator[dict[str, str]]:
    """The variable of a loop in each round: 1, 2, … with `repeat`, the values with `each`."""
    for key, at in loop.keys.items():
        if key not in _LOOP_KEYS:
            keys = ", ".join(_LOOP_KEYS)
            raise error_at(
                at, f"unknown key {key!r} in a loop{suggestion(key, _LOOP_KEYS)}; known: {keys}"
            )
    if "repeat" in loop.items and "each" in loop.items:
        raise error_at(
            loop.keys["each"], "a loop has `repeat` or `each`, not both: remove one of them"
        )
    variable = loop.items.get("var")
    name = "n" if "repeat" in loop.items else "item"
    if isinstance(variable, Scalar):
        name = variable.text
    if not REFERENCE.fullmatch(f"${{{name}}}"):
        raise error_at(
            loop.at, f"{name!r} is not a valid name of a variable: use letters, digits and _"
        )
    if "each" in loop.items:
        for item in _scalars(loop.items["each"], "`each` must be a list of values"):
            yield {name: _text(item, values)}
        return
    times = loop.items["repeat"]
    text = _text(times, values) if isinstance(times, Scalar) else ""
    if not text.isdecimal() or not text.isascii() or len(text) > 6:
        raise error_at(times.at, "`repeat` must be the number of rounds, at most 999999")
    for number in range(1, int(text) + 1):
        yield {name: str(number)}


def _scalars(node: Node, message: str) -> list[Scalar]:
    """The items of a list of values. `message` is the problem of anything else."""
    items = node.items if isinstance(node, SequenceNode) else [node]
    scalars = [item for item in items if isinstance(item, Scalar)]
    if not isinstance(node, SequenceNode) or len(scalars) != len(items):
        raise error_at(node.at, message)
    return scalars


def _text(node: Scalar, values: Values[str, str]) -> str:
    return REFERENCE.sub(lambda match: values.get(match[1], match[0]), node.text)


def _saved(node: Node | None) -> Iterator[str]:
    """The names under which steps save values."""
    if isinstance(node, SequenceNode):
        for item in node.items:
            yield from _saved(item)
    elif isinstance(node, Mapping):
        for key, item in node.items.items():
            if key == "save" and isinstance(item, Mapping):
                yield from item.items
            elif key == "steps":
                yield from _saved(item)


def _matrix(node: Node) -> dict[str, list[str]]:
    matrix: dict[str, list[str]] = {}
    for name, values in _named(node, "matrix", "names to lists of values"):
        message = f"`matrix` needs a list of values for {name}"
        matrix[name] = [item.text for item in _scalars(values, message)]
        if not matrix[name]:
            raise error_at(values.at, message)
    return matrix


def _texts(node: Node, key: str) -> Iterator[tuple[str, str]]:
    for name, value in _named(node, key, "names to values"):
        if not isinstance(value, Scalar):
            raise error_at(value.at, f"`{key}` needs one value for {name}")
        yield name, value.text


def _named(node: Node, key: str, parameters: str) -> Iterator[tuple[str, Node]]:
    """The entries of a mapping from names of parameters; none if the key is missing."""
    mapping = node.items.get(key) if isinstance(node, Mapping) else None
    if mapping is None:
        return
    if not isinstance(mapping, Mapping):
        raise error_at(mapping.at, f"`{key}` must be a mapping from {parameters}")
    for name, value in mapping.items.items():
        if not REFERENCE.fullmatch(f"${{{name}}}"):
            at = mapping.keys[name]
            raise error_at(
                at, f"{name!r} is not a valid name of a parameter: use letters, digits and _"
            )
        yield name, value
