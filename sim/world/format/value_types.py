"""Value types: each reads a node of a scenario into a typed value, writes the value back as JSON,
and describes itself as JSON schema.

The format consists of the Structs in `scenario.py`, `world_entries.py` and `steps.py`.
`struct_types.py` reads Structs and collections; `scalar_types.py` has the scalars. Reading
continues after a problem, so that one run of `sim check` reports all of them: `read` adds each
problem with its position to a list and returns `INVALID`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Values
from enum import IntEnum
from typing import Any, TypeAlias

from sim.world.format.suggestions import suggestion
from sim.world.format.yaml_tree import Mapping, Node, Problem, Scalar, SourcePosition, problem

INVALID: Any = object()
# Reading continues after a problem up to this many. It bounds the work for a hostile file: the
# search for the nearest name is expensive.
PROBLEMS_MAX = 100
_SUGGESTIONS_MAX = 20  # problems beyond these have no suggestion
_DIGITS, _NUMBER = 18, re.compile(r"[-+]?[0-9]+(\.[0-9]+)?", re.ASCII)
Schema: TypeAlias = dict[str, Any]


class ValueType(ABC):
    """A type of value. `expected` names it in a message about a value that is not of this type."""

    expected = "a value"

    @abstractmethod
    def read(self, node: Node, problems: list[Problem]) -> Any:
        """The typed value of a node. INVALID, and a new item in `problems`, if it is not valid."""

    def write(self, value: Any) -> Any:
        """The value as JSON that `read` accepts."""
        return value

    @abstractmethod
    def schema(self) -> Schema:
        """The JSON schema of the values that a file may have here."""


def report(node: Node, message: str, problems: list[Problem]) -> Any:
    """Add a problem at a node; return INVALID."""
    add_problem(node.at, message, problems)
    return INVALID


def add_problem(at: SourcePosition, message: str, problems: list[Problem]) -> None:
    """Add a problem. After `PROBLEMS_MAX` problems one more says that the rest is not listed."""
    if len(problems) < PROBLEMS_MAX:
        problems.append(problem(at, message))
    elif len(problems) == PROBLEMS_MAX:
        problems.append(
            problem(at, f"there are more than {PROBLEMS_MAX} problems; the rest is not listed")
        )


def quoted(node: Node) -> str:
    """A node for a message: its text, or "a mapping" or "a list"."""
    if isinstance(node, Scalar):
        return repr(node.text[:80])
    return "a mapping" if isinstance(node, Mapping) else "a list"


class Text(ValueType):
    """Text that `parse` reads; its ValueError is the problem. `back` is the inverse of `parse`."""

    def __init__(
        self,
        expected: str = "text",
        parse: Callable[[str], Any] = str,
        back: Callable[[Any], Any] = lambda value: value,
        schema: Schema | None = None,
        meant: Sequence[Callable[[str], str]] = (),
    ) -> None:
        self.expected = expected
        self._meant = meant
        self._parse = parse
        self._back = back
        self._schema: Schema = schema or {"type": "string"}

    def read(self, node: Node, problems: list[Problem]) -> Any:
        if not isinstance(node, Scalar):
            return report(node, f"expected {self.expected}, not {quoted(node)}", problems)
        try:
            return self._parse(node.text)
        except ValueError as error:
            message = self._message(node.text, str(error))
            return report(node, f"{message}{self.suggestion(node.text)}", problems)

    def _message(self, text: str, explanation: str) -> str:
        """The problem, without saying twice what is expected or what the text is."""
        wrong = f"not {text[:80]!r}"
        if ": from " in explanation:
            return f"{explanation}, {wrong}"  # a bound that names its limits
        if explanation.startswith(self.expected):
            return explanation
        if explanation.startswith("write ") and wrong in explanation:
            return f"expected {self.expected}: {explanation}"
        if len(text) > _DIGITS and explanation.startswith("not ") and _NUMBER.fullmatch(text):
            return f"expected {self.expected}, in at most {_DIGITS} digits, {wrong}"
        reason = explanation.removeprefix(text).removeprefix(" is ").removeprefix("not ")
        if (
            explanation.startswith(("not ", "a negative ", "Invalid ", "Month "))
            or reason in self.expected
        ):
            return f"expected {self.expected}, {wrong}"
        return f"expected {self.expected}: {explanation}"

    def suggestion(self, text: str) -> str:
        """`; did you mean 'x'?` if the correction of a common mistake makes the text valid."""
        for slip in self._meant:
            try:
                self._parse(meant := slip(text))
            except ValueError:
                continue
            return f"; did you mean {meant!r}?"
        return ""

    def write(self, value: Any) -> Any:
        return self._back(value)

    def schema(self) -> Schema:
        return self._schema


def wants_suggestion(problems: list[Problem]) -> bool:
    """Whether there are so few problems that one more search for a nearest name is affordable."""
    return len(problems) < _SUGGESTIONS_MAX


class Choice(ValueType):
    """One of a few words; a mapping gives each word its value.

    Case is ignored, and so is the `prefix` that the word has on the wire.
    """

    def __init__(self, words: Values[str, Any] | Iterable[str], prefix: str = "") -> None:
        values = words if isinstance(words, Values) else {word: word for word in words}
        self._prefix = prefix.lower()
        self._values = {word.lower(): value for word, value in values.items()}
        self._spellings = list(values)
        self._names: dict[Any, str] = {}
        for word, value in values.items():
            self._names.setdefault(value, word)
        self.expected = "one of " + ", ".join(self._names.values())

    def read(self, node: Node, problems: list[Problem]) -> Any:
        if not isinstance(node, Scalar):
            return report(node, f"expected {self.expected}, not {quoted(node)}", problems)
        word = node.text.lower().removeprefix(self._prefix)
        if word not in self._values:
            near = suggestion(word, self._spellings) if wants_suggestion(problems) else ""
            return report(node, f"expected {self.expected}, not {quoted(node)}{near}", problems)
        return self._values[word]

    def write(self, value: Any) -> Any:
        return self._names[value]

    def schema(self) -> Schema:
        words = "|".join(map(_any_case, self._values))
        prefix = f"({_any_case(self._prefix)})?" if self._prefix else ""
        return {"enum": list(self._names.values()), "pattern": f"^{prefix}({words})$"}


def _any_case(word: str) -> str:
    """A pattern of a word in any case."""
    return "".join(
        f"[{letter}{letter.upper()}]" if letter.isalpha() else re.escape(letter) for letter in word
    )


def choice_of(enumeration: type[IntEnum], prefix: str = "") -> Choice:
    """A choice of the names of an enumeration's members."""
    return Choice({member.name: member for member in enumeration}, prefix)
