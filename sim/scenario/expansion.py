"""Expands parameters, matrices and loops before a scenario is read, so that the exchange gets a
plain list of steps.

`${name}` stands for a parameter (`params`, `matrix`, `sim run --param`), for the variable of a
loop, or for a value that an earlier step saves, which is filled in when the step runs. A name
without a value is an error at its position. Positions are those of the file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from collections.abc import Mapping as Values

from sim.scenario.value_types import nearest
from sim.scenario.yaml_tree import (
    Mapping,
    Node,
    Position,
    Problem,
    Scalar,
    ScenarioError,
    Sequence,
    error_at,
    problem,
)

STEPS_MAX = 20_000
VARIANTS_MAX = 10_000
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

_LOOP_KEYS = ("repeat", "each", "var", "pause", "steps")


def parameters(node: Node) -> dict[str, str]:
    """Values of `params`, and the first value of each name of `matrix`."""
    found = dict(_texts(node, "params"))
    for name, values in _matrix(node).items():
        found[name] = values[0]
    return found


def variants(node: Node) -> list[dict[str, str]]:
    """Every combination of the values of `matrix`, the last name changing fastest.

    Without a matrix there is one combination, which is empty.
    """
    matrix = _matrix(node)
    count = 1
    for values in matrix.values():
        count *= len(values)
    if count > VARIANTS_MAX:
        raise error_at(node.at, f"the matrix has {count} combinations, more than {VARIANTS_MAX}")
    return [
        dict(zip(matrix, chosen, strict=True)) for chosen in itertools.product(*matrix.values())
    ]


def expanded(node: Node, given: Values[str, str]) -> Node:
    """The document with parameters filled in and loops written out.

    ScenarioError lists names without a value.
    """
    if not isinstance(node, Mapping):
        return node
    problems: list[Problem] = []
    later = set(_saved(node.items.get("steps")))
    items: dict[str, Node] = {}
    for key, item in node.items.items():
        if key in ("params", "matrix"):
            items[key] = item
        elif key == "steps" and isinstance(item, Sequence):
            steps = list(_written_out(item, given, later, problems))
            if len(steps) > STEPS_MAX:
                raise error_at(item.at, f"more than {STEPS_MAX} steps once loops are written out")
            items[key] = Sequence(item.at, steps)
        else:
            items[key] = _filled(item, given, later, problems)
    if problems:
        raise ScenarioError(problems)
    return Mapping(node.at, items, node.keys)


def _written_out(
    steps: Sequence, given: Values[str, str], later: set[str], problems: list[Problem]
) -> Iterator[Node]:
    total = 0
    for step in steps.items:
        if not isinstance(step, Mapping) or not ("repeat" in step.items or "each" in step.items):
            yield _filled(step, given, later, problems)
            continue
        for number, round_ in enumerate(_rounds(step, given)):
            pause = step.items.get("pause")
            if number and pause is not None:
                yield _filled(
                    Mapping(pause.at, {"advance": pause}, {"advance": pause.at}),
                    {**given, **round_},
                    later,
                    problems,
                )
            inner = step.items.get("steps")
            if not isinstance(inner, Sequence):
                raise error_at(step.at, "a loop needs `steps`, a list")
            for one in _written_out(inner, {**given, **round_}, later, problems):
                total += 1
                if total > STEPS_MAX:
                    raise error_at(
                        step.at, f"more than {STEPS_MAX} steps once loops are written out"
                    )
                yield one


def _rounds(step: Mapping, given: Values[str, str]) -> Iterator[dict[str, str]]:
    """A loop's variable in each round: 1, 2, … with `repeat`, the values with `each`."""
    for key, at in step.keys.items():
        if key not in _LOOP_KEYS:
            near = nearest(key, _LOOP_KEYS)
            raise error_at(
                at,
                f"a loop has {', '.join(_LOOP_KEYS)}, not {key!r}"
                + (f", did you mean {near!r}?" if near else ""),
            )
    if "repeat" in step.items and "each" in step.items:
        raise error_at(step.keys["each"], "a loop has `repeat` or `each`, not both")
    variable = step.items.get("var")
    name = (
        variable.text if isinstance(variable, Scalar) else "n" if "repeat" in step.items else "item"
    )
    if not REFERENCE.fullmatch(f"${{{name}}}"):
        raise error_at(step.at, f"{name!r} is no name for a variable")
    if "each" in step.items:
        values = step.items["each"]
        if not isinstance(values, Sequence) or not all(
            isinstance(item, Scalar) for item in values.items
        ):
            raise error_at(values.at, "`each` is a list of values")
        for item in values.items:
            assert isinstance(item, Scalar)
            yield {name: _text(item, given)}
        return
    times = step.items["repeat"]
    text = _text(times, given) if isinstance(times, Scalar) else ""
    if not text.isdecimal() or not text.isascii() or len(text) > 6:
        raise error_at(times.at, "`repeat` is a number of rounds")
    for number in range(1, int(text) + 1):
        yield {name: str(number)}


def _filled(node: Node, given: Values[str, str], later: set[str], problems: list[Problem]) -> Node:
    if isinstance(node, Mapping):
        return Mapping(
            node.at,
            {key: _filled(item, given, later, problems) for key, item in node.items.items()},
            node.keys,
        )
    if isinstance(node, Sequence):
        return Sequence(node.at, [_filled(item, given, later, problems) for item in node.items])
    if "${" not in node.text:
        return node
    for name in REFERENCE.findall(node.text):
        if name not in given and name not in later:
            near = nearest(name, [*given, *later])
            problems.append(
                problem(
                    node.at,
                    f"nothing gives ${{{name}}}"
                    + (f", did you mean ${{{near}}}?" if near else ": name it in `params`"),
                )
            )
    return Scalar(node.at, _text(node, given), node.plain)


def _text(node: Scalar, given: Values[str, str]) -> str:
    return REFERENCE.sub(lambda found: given.get(found[1], found[0]), node.text)


def _saved(node: Node | None) -> Iterator[str]:
    """Names under which steps save values."""
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _saved(item)
    elif isinstance(node, Mapping):
        for key, item in node.items.items():
            if key == "save" and isinstance(item, Mapping):
                yield from item.items
            elif key == "steps":
                yield from _saved(item)


def _matrix(node: Node) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    matrix = node.items.get("matrix") if isinstance(node, Mapping) else None
    if matrix is None:
        return found
    if not isinstance(matrix, Mapping):
        raise error_at(matrix.at, "`matrix` is a mapping from names to lists of values")
    for name, values in matrix.items.items():
        _check_name(name, matrix.keys[name])
        if (
            not isinstance(values, Sequence)
            or not values.items
            or not all(isinstance(item, Scalar) for item in values.items)
        ):
            raise error_at(values.at, f"`matrix` gives {name} a list of values")
        found[name] = [item.text for item in values.items if isinstance(item, Scalar)]
    return found


def _texts(node: Node, key: str) -> Iterator[tuple[str, str]]:
    found = node.items.get(key) if isinstance(node, Mapping) else None
    if found is None:
        return
    if not isinstance(found, Mapping):
        raise error_at(found.at, f"`{key}` is a mapping from names to values")
    for name, value in found.items.items():
        _check_name(name, found.keys[name])
        if not isinstance(value, Scalar):
            raise error_at(value.at, f"`{key}` gives {name} one value")
        yield name, value.text


def _check_name(name: str, at: Position) -> None:
    if not REFERENCE.fullmatch(f"${{{name}}}"):
        raise error_at(at, f"{name!r} is no name for a parameter: letters, digits and _")
