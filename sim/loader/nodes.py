"""How the checks find their way in the tree of a scenario file."""

from __future__ import annotations

from collections.abc import Iterable

from sim.scenario.suggestions import suggestion
from sim.scenario.yaml_tree import Mapping, Node, Problem, Scalar, Sequence, problem


def node_at(node: Node | None, *path: str) -> Node | None:
    """What stands below a node, by keys; None when nothing does."""
    for key in path:
        node = node.items.get(key) if isinstance(node, Mapping) else None
    return node


def items_of(node: Node | None, *path: str) -> list[Node]:
    """The entries of a list below a node; none when there is no list."""
    below = node_at(node, *path)
    return below.items if isinstance(below, Sequence) else []


def mappings_of(node: Node | None) -> list[Mapping]:
    """One mapping, or the mappings of a list."""
    nodes = node.items if isinstance(node, Sequence) else [node]
    return [each for each in nodes if isinstance(each, Mapping)]


def unknown(what: str, name: Scalar, known: Iterable[str], hint: str = "") -> Problem:
    """A name that does not exist, with the nearest one that does, or else with a hint: `what`
    begins the message.
    """
    return problem(name.at, f"{what} {name.text!r}{suggestion(name.text, known) or hint}")


def text_at(node: Node | None, *path: str, empty: bool = False) -> Scalar | None:
    """Text below a node, unless it has a `${name}` in it, whose value only the run knows.

    Empty text counts as left out, or with `empty` as text.
    """
    below = node_at(node, *path)
    if not isinstance(below, Scalar) or "${" in below.text:
        return None
    return below if below.text or empty else None
