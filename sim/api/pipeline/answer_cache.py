"""Answers kept from one request to the next, per exchange and outside its saved state.

What is kept must follow from its key and version alone, so that an exchange that was rewound, or
one that kept nothing, answers the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sim.core.exchange import Exchange

T = TypeVar("T")
_KEPT = 8192


class Memo(Generic[T]):
    """One value for each key, made again when its version is another."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept

    def get(self, exchange: Exchange, key: Hashable, version: Hashable, make: Callable[[], T]) -> T:
        """The value for a key at a version."""
        table: dict[Hashable, tuple[Hashable, T]] | None = exchange.answer_caches.get(self)
        if table is None:
            table = exchange.answer_caches[self] = {}
        found = table.get(key)
        if found is not None and found[0] == version:
            return found[1]
        if len(table) >= self._kept:
            table.clear()
        value = make()
        table[key] = (version, value)
        return value
