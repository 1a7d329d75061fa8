"""The current values of the assumptions in one exchange."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from sim.core.catalogue.assumption import Assumption, Value
from sim.core.catalogue.assumptions import catalogue

_COMPARED_MAX = 80


class _TrackedValues(dict[str, Value]):
    """Values that record in `names` which of them are read or changed."""

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

    `changes` increases whenever a value may have changed, so that results derived from values can
    be cached. It is not part of the state.
    """

    __slots__ = ("_catalogue", "_values", "changes")

    def __init__(self) -> None:
        self._catalogue = catalogue()
        self.changes = 0
        self._values: dict[str, Value] = {
            name: assumption.default for name, assumption in self._catalogue.items()
        }

    def text(self, assumption: Assumption) -> str:
        """Return the value of an assumption that is an option or text."""
        value = self._values[assumption.name]
        if not isinstance(value, str):
            raise TypeError(f"{assumption.name} is not a text")
        return value

    def number(self, assumption: Assumption) -> int:
        """Return the value of an assumption that is an integer or a span (nanoseconds)."""
        value = self._values[assumption.name]
        if not isinstance(value, int):
            raise TypeError(f"{assumption.name} is not a number")
        return value

    def flag(self, assumption: Assumption) -> bool:
        """Return the value of an assumption that is true or false."""
        return self._values[assumption.name] is True

    def change(self, name: str, value: object) -> Assumption:
        """Set a value by name. Raises KeyError with the nearest name, or ValueError."""
        assumption = self._catalogue.get(name)
        if assumption is None:
            raise KeyError(unknown_name("assumption", name, self._catalogue))
        self._values[name] = assumption.parse(value)
        self.changes += 1
        return assumption

    def as_written(self, name: str) -> Value:
        """Return the value of a named assumption as people write it."""
        return self._catalogue[name].show(self._values[name])

    def watch(self) -> set[str]:
        """Return the set of names that are read or changed from now on. The set grows."""
        reads = _TrackedValues(self._values)
        self._values = reads
        self.changes += 1  # cached results are computed again, so that their reads are recorded
        return reads.names

    def save(self) -> dict[str, Value]:
        """Return the values by name."""
        return self._values

    def load(self, state: dict[str, Value]) -> None:
        """Restore saved values."""
        if state != self._values:
            self._values = dict(state)
            self.changes += 1


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> str:
    """Return the message for a name unknown to a catalogue, with the nearest known name.

    A name much longer than any known one is cut and not compared.
    """
    names = list(choices) if len(name) <= _COMPARED_MAX else []
    near = [each for each in names if each.startswith(name)][:1]
    if names and not near:
        near = difflib.get_close_matches(name, names, n=1)
    return f"unknown {kind} {name[:_COMPARED_MAX]!r}" + (
        f"; did you mean {near[0]!r}?" if near else ""
    )
