"""Reads YAML text into a tree whose nodes have their positions.

Nothing is typed here: a scalar keeps its text, so 0.55 does not become a float, `2:00` does not
become 120 and `no` does not become false. The format defines the types (`value_types.py`); only
free JSON (`value_of`) follows the YAML 1.2 core rules. The tree is built from parser events with
an explicit stack, so a hostile file is refused because of its size, depth or aliases before it
uses much memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from sim.kernel.regular_file import open_regular

SIZE_LIMIT = 4 << 20  # bytes of text
DEPTH_LIMIT = 64  # nested collections
NODE_LIMIT = 500_000  # nodes after aliases are expanded
ALIAS_LIMIT = 100
_PLACE_MAX = 400  # characters of a path in a JSON value; longer paths are cut


class SourcePosition(NamedTuple):
    """A position in a file; line and column count from 1. Line 0: the tree was made from
    a JSON value.
    """

    file: str
    line: int
    column: int


class Problem(NamedTuple):
    """A problem and its position."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        if not self.line:
            return f"{self.file}: {self.message}" if self.file else self.message
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class ScenarioError(Exception):
    """A scenario that cannot be used, with all its problems in the order of the file."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


class Scalar(NamedTuple):
    """A leaf. `plain` is false for quoted text, which is never null, a number or a boolean."""

    at: SourcePosition
    text: str
    plain: bool


class SequenceNode(NamedTuple):
    """A list."""

    at: SourcePosition
    items: list[Node]


class Mapping(NamedTuple):
    """A mapping; `keys` has the position of each key."""

    at: SourcePosition
    items: dict[str, Node]
    keys: dict[str, SourcePosition]


Node: TypeAlias = Scalar | SequenceNode | Mapping


def problem(at: SourcePosition, message: str) -> Problem:
    """A problem at a position."""
    return Problem(*at, message)


def error_at(at: SourcePosition, message: str) -> ScenarioError:
    """An exception with one problem."""
    return ScenarioError([problem(at, message)])


def read_file(path: Path) -> Node:
    """The tree of a file. ScenarioError, without a line, if it cannot be read."""
    name = str(path)
    try:
        with open_regular(path) as file:
            raw = file.read(SIZE_LIMIT + 1)
    except OSError as failed:
        raise error_at(
            SourcePosition(name, 0, 0), f"cannot read: {failed.strerror or failed}"
        ) from None
    return read_text(raw, name)


def read_text(source: str | bytes, file: str) -> Node:
    """The tree of YAML text (JSON is YAML too). `file` is the name in problems.

    ScenarioError for text beyond the limits of this module, and for tags, merge keys
    and duplicate keys.
    """
    raw = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    if len(raw) > SIZE_LIMIT:
        raise error_at(SourcePosition(file, 1, 1), f"the text is larger than {SIZE_LIMIT} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as failed:
        before = raw[: failed.start]
        at = SourcePosition(
            file, before.count(b"\n") + 1, failed.start - (before.rfind(b"\n") + 1) + 1
        )
        raise error_at(at, "this is not UTF-8 text") from None
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(file).build(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as failed:
        mark = getattr(failed, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = getattr(failed, "problem", None) or getattr(failed, "reason", None)
        reason_text = reason or str(failed).splitlines()[0]
        message = f"not YAML: {reason_text}{_unclosed(failed, text)}{_advice(text, line, column)}"
        raise error_at(SourcePosition(file, line, column), message) from None


def _unclosed(failed: Any, text: str) -> str:
    """A hint at the bracket that may not be closed."""
    mark = getattr(failed, "context_mark", None)
    if mark is None or "flow" not in str(getattr(failed, "context", "")):
        return ""
    lines = text.splitlines()
    bracket = lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
    return f"; is the {bracket!r} in line {mark.line + 1}, column {mark.column + 1} closed?"


def _advice(text: str, line: int, column: int) -> str:
    """A hint about text that is not YAML."""
    lines = text.splitlines()
    if not line <= len(lines):
        return ""
    if lines[line - 1][: column - 1].strip():
        return ""
    if "\t" in lines[line - 1][:column]:
        return " (YAML does not allow tabs for indentation: use spaces)"
    return " (is this line indented like the lines that it belongs to?)"


class _Frame:
    """A collection under construction: its finished members, the key that waits for its value, and
    the number of nodes (weight) and levels (height) so far.
    """

    __slots__ = ("anchor", "at", "height", "items", "key", "key_at", "keys", "members", "weight")

    def __init__(self, at: SourcePosition, anchor: str | None, mapping: bool) -> None:
        self.at = at
        self.anchor = anchor
        self.items: list[Node] | None = None if mapping else []
        self.members: dict[str, Node] = {}
        self.keys: dict[str, SourcePosition] = {}
        self.key: str | None = None
        self.key_at = at
        self.weight = 1
        self.height = 0


class _Builder:
    """Builds a tree from parser events."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, int, int]] = {}  # node, weight, height
        self._aliases = 0
        self._root: Node | None = None

    def build(self, events: Iterator[Any]) -> Node:
        documents = 0
        for event in events:
            at = SourcePosition(self._file, event.start_mark.line + 1, event.start_mark.column + 1)
            match type(event).__name__:
                case "DocumentStartEvent":
                    documents += 1
                    if documents > 1:
                        message = "a second document begins here; a scenario must be one document"
                        raise error_at(at, message)
                case "ScalarEvent":
                    self._untagged(event, at)
                    self._done(Scalar(at, event.value, event.implicit[0]), event.anchor, 1, 0)
                case "AliasEvent":
                    self._alias(event.anchor, at)
                case "MappingStartEvent" | "SequenceStartEvent" as kind:
                    self._untagged(event, at)
                    self._open(at, event.anchor, kind == "MappingStartEvent")
                case "MappingEndEvent" | "SequenceEndEvent":
                    self._close()
        if self._root is None:
            raise error_at(SourcePosition(self._file, 1, 1), "the file is empty")
        return self._root

    def _untagged(self, event: Any, at: SourcePosition) -> None:
        if event.tag is not None:
            raise error_at(at, f"tags are not allowed here: {event.tag[:60]}")

    def _open(self, at: SourcePosition, anchor: str | None, mapping: bool) -> None:
        if len(self._stack) >= DEPTH_LIMIT:
            raise error_at(at, f"nested deeper than {DEPTH_LIMIT} levels")
        if self._stack and self._stack[-1].items is None and self._stack[-1].key is None:
            raise error_at(at, "a key must be text, not a list or a mapping")
        self._stack.append(_Frame(at, anchor, mapping))

    def _close(self) -> None:
        frame = self._stack.pop()
        node: Node = Mapping(frame.at, frame.members, frame.keys)
        if frame.items is not None:
            node = SequenceNode(frame.at, frame.items)
        self._done(node, frame.anchor, frame.weight, frame.height + 1)

    def _alias(self, name: str, at: SourcePosition) -> None:
        self._aliases += 1
        if self._aliases > ALIAS_LIMIT:
            raise error_at(at, f"more than {ALIAS_LIMIT} aliases")
        if name not in self._anchors:
            raise error_at(at, f"unknown alias *{name[:60]}")
        node, weight, height = self._anchors[name]
        if len(self._stack) + height > DEPTH_LIMIT:
            raise error_at(at, f"nested deeper than {DEPTH_LIMIT} levels")
        self._done(node, None, weight, height)

    def _done(self, node: Node, anchor: str | None, weight: int, height: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (node, weight, height)
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        frame.weight += weight
        frame.height = max(frame.height, height)
        if frame.weight > NODE_LIMIT:
            expanded = " once aliases are expanded" if self._aliases else ""
            raise error_at(node.at, f"more than {NODE_LIMIT} nodes{expanded}")
        if frame.items is not None:
            frame.items.append(node)
        elif frame.key is None:
            self._take_key(frame, node)
        else:
            frame.members[frame.key] = node
            frame.keys[frame.key] = frame.key_at
            frame.key = None

    def _take_key(self, frame: _Frame, node: Node) -> None:
        if not isinstance(node, Scalar):
            raise error_at(node.at, "a key must be text, not a list or a mapping")
        if node.plain and node.text == "<<":
            remedy = "write out the keys, or repeat a step with other values with `each`"
            raise error_at(node.at, f"merge keys (<<) are not supported: {remedy}")
        if node.text in frame.members:
            line = frame.keys[node.text].line
            message = f"the key {node.text!r} occurs twice; first in line {line}"
            raise error_at(node.at, message)
        frame.key, frame.key_at = node.text, node.at


_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))
_INTEGER = re.compile(r"[-+]?[0-9]{1,400}", re.ASCII)
_HEX_OR_OCTAL = re.compile(r"0x[0-9a-fA-F]{1,300}|0o[0-7]{1,300}", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?", re.ASCII)


def is_null(node: Node) -> bool:
    """Whether a node is an empty value, `~` or `null`."""
    return isinstance(node, Scalar) and node.plain and node.text in _NULL


def value_of(node: Node) -> Any:
    """The JSON value of a tree by the YAML 1.2 core rules. `.inf`, which JSON lacks, stays text."""
    if isinstance(node, Mapping):
        return {key: value_of(item) for key, item in node.items.items()}
    if isinstance(node, SequenceNode):
        return [value_of(item) for item in node.items]
    return _resolved(node.text) if node.plain else node.text


def _resolved(text: str) -> Any:
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        return int(text)
    if _HEX_OR_OCTAL.fullmatch(text):
        return int(text, 0)
    if not _FLOAT.fullmatch(text):
        return text
    number = float(text)
    return number if isfinite(number) else text


def tree_of(value: Any, file: str = "", *, places: bool = False, nodes: int = NODE_LIMIT) -> Node:
    """The tree of a JSON value, such as a request body; its positions have line 0. ScenarioError
    for a value of more than `nodes` nodes or with too many levels.

    With `places` the file name of a position is the path in the value, such as
    `scenario.steps[2].call`; long keys are cut.
    """
    return _TreeOf(places, nodes).tree(value, SourcePosition(file, 0, 0), 0)


class _TreeOf:
    """Builds a tree from a JSON value and counts its nodes."""

    def __init__(self, places: bool, nodes_max: int) -> None:
        self._places = places
        self._nodes_max = nodes_max
        self._nodes = 0

    def tree(self, value: Any, at: SourcePosition, depth: int) -> Node:
        self._nodes += 1
        if self._nodes > self._nodes_max:
            raise error_at(at, f"more than {self._nodes_max} nodes")
        if depth > DEPTH_LIMIT:
            raise error_at(at, f"nested deeper than {DEPTH_LIMIT} levels")
        if isinstance(value, dict):
            members, keys = {}, {str(key): self._below(at, f".{key}"[:80]) for key in value}
            for key, item in value.items():
                members[str(key)] = self.tree(item, keys[str(key)], depth + 1)
            return Mapping(at, members, keys)
        if isinstance(value, (list, tuple)):
            items = [
                self.tree(item, self._below(at, f"[{index}]"), depth + 1)
                for index, item in enumerate(value)
            ]
            return SequenceNode(at, items)
        if isinstance(value, str):
            return Scalar(at, value, False)
        return Scalar(at, json.dumps(value), True)

    def _below(self, at: SourcePosition, path: str) -> SourcePosition:
        if not self._places or len(at.file) > _PLACE_MAX:
            return at
        return SourcePosition(at.file + path, 0, 0)
