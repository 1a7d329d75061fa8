"""Finds the operation of a path, with one tree of path segments per plane.

A literal segment is preferred to a variable. If the preferred branch has no operation for the verb,
the other branch is tried, so `GET /orders/open` and `POST /orders/{id}` can coexist. A path that
exists with other verbs is a 405 that names them; HEAD is a verb like any other. Segments are
percent-decoded once, after splitting, so an encoded slash stays within its segment. A path with a
trailing slash is a different path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import unquote

from msgspec import Struct

from sim.contract.contract import Operation, Route

PathParams: TypeAlias = "MappingProxyType[str, str]"

_NO_PARAMS: MappingProxyType[str, str] = MappingProxyType({})
_PART = re.compile(r"/(?:\{([a-z0-9_.]+)(?:=([^{}]+))?\}|([^/{}]+))")
_CACHED_MAX = 4096  # cached paths; limited, because clients can send any path


class Match(Struct, frozen=True):
    """The operation of a path, the values of its variables by field path ("account.id"), and "*" if
    the HTTP body fills the request.

    If it is not always served, `operations` has the operation of each verb of the path.
    """

    operation: Operation
    path_params: PathParams
    body: str
    operations: dict[str, Operation] = {}


class NoSuchPath(Struct, frozen=True):
    """No operation has this path under any verb."""


class WrongVerb(Struct, frozen=True):
    """The path exists with other verbs, each with its operation."""

    operations: dict[str, Operation]


class _Node(Struct):
    literals: dict[str, _Node] = {}
    variable: _Node | None = None
    rest: _Node | None = None  # matches one or more segments, "**"
    leaves: dict[str, _Leaf] = {}


class _Leaf(Struct, frozen=True):
    """The end of a template. Each variable has its field path and its segments: first, end or None
    for all that follow.
    """

    route: Route
    variables: tuple[tuple[str, int, int | None], ...]


_MISSING = NoSuchPath()


class Router:
    """Finds operations by verb and path, on one plane."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        self._known: dict[tuple[str, str], Match] = {}
        for route in routes:
            self._add(route)

    def match(self, verb: str, path: str) -> Match | NoSuchPath | WrongVerb:
        """Find the operation of a path, percent-encoded and without query."""
        cached = self._known.get((verb, path))
        if cached is not None:
            return cached
        if path[:1] != "/":
            return _MISSING
        segments = path[1:].split("/")
        if "%" in path:
            segments = [unquote(segment) for segment in segments]
        for node in _end_nodes(self._root, segments, 0):
            leaf = node.leaves.get(verb)
            if leaf is not None:
                return self._matched(verb, path, leaf, segments)
        operations = self._operations(segments)
        return WrongVerb(operations) if operations else _MISSING

    def _operations(self, segments: list[str]) -> dict[str, Operation]:
        """Return the operations of a path, by their verbs in order."""
        operations = {
            verb: leaf.route.operation
            for node in _end_nodes(self._root, segments, 0)
            for verb, leaf in node.leaves.items()
        }
        return dict(sorted(operations.items()))

    def _matched(self, verb: str, path: str, leaf: _Leaf, segments: list[str]) -> Match:
        params: PathParams = _NO_PARAMS
        if leaf.variables:
            params = MappingProxyType(
                {name: "/".join(segments[start:end]) for name, start, end in leaf.variables}
            )
        if len(self._known) >= _CACHED_MAX:
            self._known.clear()
        operation = leaf.route.operation
        operations = {} if operation.always else self._operations(segments)
        match = self._known[verb, path] = Match(operation, params, leaf.route.body, operations)
        return match

    def _add(self, route: Route) -> None:
        node = self._root
        variables = []
        position = 0
        for name, pattern in _parts(route.template):
            start = position
            for segment in pattern:
                node = _child(node, segment)
                position += 1
            if name:
                variables.append((name, start, None if pattern[-1] == "**" else position))
        node.leaves[route.verb] = _Leaf(route, tuple(variables))


def _child(node: _Node, segment: str) -> _Node:
    if segment == "*":
        node.variable = node.variable or _Node()
        return node.variable
    if segment == "**":
        node.rest = node.rest or _Node()
        return node.rest
    return node.literals.setdefault(segment, _Node())


def _end_nodes(node: _Node, segments: list[str], index: int) -> Iterator[_Node]:
    """Yield the nodes with leaves at which the path can end, preferred ones first."""
    if index == len(segments):
        if node.leaves:
            yield node
        return
    segment = segments[index]
    literal = node.literals.get(segment)
    if literal is not None:
        yield from _end_nodes(literal, segments, index + 1)
    if node.variable is not None and segment:
        yield from _end_nodes(node.variable, segments, index + 1)
    if node.rest is not None and segment:
        yield node.rest


def _parts(template: str) -> Iterator[tuple[str, list[str]]]:
    """(variable or "", its segments) along a template: "/a/{b}/{c=d/*}" → ("", [a]), (b, [*]),
    (c, [d, *]).
    """
    end = 0
    for match in _PART.finditer(template):
        if match.start() != end:
            break
        end = match.end()
        if match[3]:
            yield "", [match[3]]
        elif match[1]:
            yield match[1], (match[2] or "*").split("/")
    if not template or end != len(template):
        raise ValueError(f"not a path template: {template!r}")
