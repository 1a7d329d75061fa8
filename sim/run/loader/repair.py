"""Repairs a tree whose keys or types have problems, so that its names and terms can be checked too.

A scenario is first read and then checked against its world, and a scenario that cannot be read has
no world. Most mistakes are misspelt keys and words, for which the message has a suggestion. So
reading continues with the suggestion, and one call reports all problems. Without a suggestion the
value, or the step that contains it, is left out. The repaired tree is used for nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sim.world.format.yaml_tree import Mapping, Node, Position, Problem, Scalar, Sequence

_MEANT = re.compile(r"did you mean '([^']+)'\?")
_NEEDED_ELSEWHERE = ("subscribe", "save", "name")  # keys to which other steps may refer
Place = tuple[int, int]


class Repair(NamedTuple):
    """A repaired tree, and the places of the mappings from which something was left out."""

    tree: Node
    thinned: set[Place]


def repaired(node: Node, problems: Iterable[Problem]) -> Repair:
    """The tree with the suggested keys and words, and without values for which there is no
    suggestion.
    """
    slips = {(each.line, each.column): each.message for each in problems if each.line}
    thinned: set[Place] = set()
    return Repair(_repaired(node, slips, thinned) or node, thinned)


def _repaired(node: Node, slips: dict[Place, str], thinned: set[Place]) -> Node | None:
    if isinstance(node, Mapping):
        return _mapping(node, slips, thinned)
    if isinstance(node, Sequence):
        items = (_repaired(item, slips, thinned) for item in node.items)
        return Sequence(node.at, [item for item in items if item is not None])
    message = slips.get(_place(node.at))
    if message is None:
        return node
    meant = _MEANT.search(message)
    return Scalar(node.at, meant[1], node.plain) if meant else None


def _mapping(node: Mapping, slips: dict[Place, str], thinned: set[Place]) -> Mapping:
    items: dict[str, Node] = {}
    keys: dict[str, Position] = {}
    for key, item in node.items.items():
        message = slips.get(_place(node.keys[key]), "")
        meant = _MEANT.search(message) if message.startswith("unknown key ") else None
        name = meant[1] if meant else key
        below = _repaired(item, slips, thinned)
        if below is None or (message.startswith("unknown key ") and meant is None):
            thinned.add(_place(node.at))
        else:
            items[name], keys[name] = below, node.keys[key]
    return Mapping(node.at, items, keys)


def without_steps(node: Node, problems: Iterable[Problem]) -> Node | None:
    """The tree without the steps that have problems. None if a problem is not in a step, or in a
    step to which others refer.
    """
    steps = node.items.get("steps") if isinstance(node, Mapping) else None
    if not isinstance(node, Mapping) or not isinstance(steps, Sequence):
        return None
    wrong = {(each.line, each.column) for each in problems}
    kept = []
    for step in steps.items:
        wrong_inside = wrong.intersection(_places(step))
        wrong -= wrong_inside
        if (
            wrong_inside
            and isinstance(step, Mapping)
            and any(key in step.items for key in _NEEDED_ELSEWHERE)
        ):
            return None
        if not wrong_inside:
            kept.append(step)
    items = {**node.items, "steps": Sequence(steps.at, kept)}
    return None if wrong else Mapping(node.at, items, node.keys)


def _places(node: Node) -> Iterator[Place]:
    yield _place(node.at)
    if isinstance(node, Mapping):
        yield from map(_place, node.keys.values())
    for item in node.items.values() if isinstance(node, Mapping) else getattr(node, "items", ()):
        yield from _places(item)


def _place(at: Position) -> Place:
    return at.line, at.column
