"""Symbols of the fixture, by state."""

from __future__ import annotations

from typing import NoReturn

__tracebackhide__ = True  # a user's mistake is shown in the user's lines


class SymbolsByState(dict[str, list[str]]):
    """A mapping whose KeyError says which states there are."""

    def __missing__(self, state: str) -> NoReturn:
        __tracebackhide__ = True
        raise KeyError(f"no symbols in state {state!r}; states: {', '.join(self)}")
