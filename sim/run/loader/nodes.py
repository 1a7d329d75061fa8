"""Helpers that find nodes in the tree of a scenario file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.world.format.expansion import REFERENCE
from sim.world.format.suggestions import suggestion
from sim.world.format.yaml_tree import (
    Mapping,
    Node,
    Problem,
    Scalar,
    SequenceNode,
    SourcePosition,
    problem,
)


def node_at(node: Node | None, *path: str) -> Node | None:
    """The node below another one, by keys; None if there is none."""
    for key in path:
        node = node.items.get(key) if isinstance(node, Mapping) else None
    return node


def items_of(node: Node | None, *path: str) -> list[Node]:
    """The entries of a list below a node; none if there is no list."""
    below = node_at(node, *path)
    return below.items if isinstance(below, SequenceNode) else []


def mappings_of(node: Node | None) -> list[Mapping]:
    """One mapping, or the mappings of a list."""
    nodes = node.items if isinstance(node, SequenceNode) else [node]
    return [each for each in nodes if isinstance(each, Mapping)]


def entries_of(node: Node | None) -> Iterator[tuple[str, SourcePosition, Node]]:
    """The keys of a mapping, with their positions and values; nothing for other nodes."""
    if isinstance(node, Mapping):
        for key, value in node.items.items():
            yield key, node.keys[key], value


def unknown(subject: str, name: Scalar, names: Iterable[str], hint: str = "") -> Problem:
    """The problem of a name that is not one of these, with the nearest one or else a hint.
    `subject` begins the message.
    """
    return problem(name.at, f"{subject} {name.text!r}{suggestion(name.text, names) or hint}")


def text_at(node: Node | None, *path: str, empty: bool = False) -> Scalar | None:
    """The text below a node. None if it contains a `${name}`, whose value is known only during the
    run.

    Empty text counts as missing, unless `empty` is true.
    """
    below = node_at(node, *path)
    if not isinstance(below, Scalar) or REFERENCE.search(below.text):
        return None
    return below if below.text or empty else None
