"""The values of the assumptions that are in force in one exchange."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from sim.core.catalogue.assumption import Assumption, Value
from sim.core.catalogue.assumptions import catalogue

_COMPARED_MAX = 80


class _Reads(dict[str, Value]):
    """Values that note in `names` which of them are asked for, or changed."""

    __slots__ = ("names",)

    def __init__(self, values: dict[str, Value]) -> None:
        super().__init__(values)
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> Value:
        self.names.add(name)
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: Value) -> None:
        self.names.add(name)
        super().__setitem__(name, value)


class Assumptions:
    """Values by name, each the default until somebody changes it.

    `changes` differs whenever a value may have changed, so that what follows from values can be
    kept; it is no part of the state.
    """

    __slots__ = ("_catalogue", "_values", "changes")

    def __init__(self) -> None:
        self._catalogue = catalogue()
        self.changes = 0
        self._values: dict[str, Value] = {
            name: assumption.default for name, assumption in self._catalogue.items()
        }

    def text(self, assumption: Assumption) -> str:
        """Value of an assumption that is a word or text."""
        value = self._values[assumption.name]
        if not isinstance(value, str):
            raise TypeError(f"{assumption.name} is not a text")
        return value

    def number(self, assumption: Assumption) -> int:
        """Value of an assumption that is an integer or a span (nanoseconds)."""
        value = self._values[assumption.name]
        if not isinstance(value, int):
            raise TypeError(f"{assumption.name} is not a number")
        return value

    def flag(self, assumption: Assumption) -> bool:
        """Value of an assumption that is true or false."""
        return self._values[assumption.name] is True

    def change(self, name: str, value: object) -> Assumption:
        """Set a value by name. KeyError names the nearest; ValueError says what is accepted."""
        assumption = self._catalogue.get(name)
        if assumption is None:
            raise KeyError(unknown_name("assumption", name, self._catalogue))
        self._values[name] = assumption.parse(value)
        self.changes += 1
        return assumption

    def as_written(self, name: str) -> Value:
        """Value of a named assumption as people write it."""
        return self._catalogue[name].show(self._values[name])

    def watch(self) -> set[str]:
        """Names of the values that are asked for or changed from now on; the set grows."""
        reads = _Reads(self._values)
        self._values = reads
        self.changes += 1  # what follows from values is asked for again
        return reads.names

    def save(self) -> dict[str, Value]:
        """Values by name."""
        return self._values

    def load(self, state: dict[str, Value]) -> None:
        """Take saved values."""
        self._values = dict(state)
        self.changes += 1


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Message for a name that a catalogue does not have, with the nearest one that it has. A name
    much longer than any is cut, and not compared.
    """
    names = list(known) if len(name) <= _COMPARED_MAX else []
    near = [each for each in names if each.startswith(name)][:1]
    if names and not near:
        near = difflib.get_close_matches(name, names, n=1)
    return f"unknown {what} {name[:_COMPARED_MAX]!r}" + (
        f"; did you mean {near[0]!r}?" if near else ""
    )
