"""Values that handlers cache between requests, per exchange.

Cached values are not part of the saved state. Each must be a function of its key and version alone,
so that an exchange that was rewound, or one with an empty cache, answers the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sim.core.exchange import Exchange

T = TypeVar("T")
_CAPACITY = 8192


class AnswerCache(Generic[T]):
    """One value per key, rebuilt when its version changes. The cache is cleared when it is full."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity

    def get(
        self, exchange: Exchange, key: Hashable, version: Hashable, build: Callable[[], T]
    ) -> T:
        """Return the value of a key at a version; `build` makes it if it is not cached."""
        table: dict[Hashable, tuple[Hashable, T]] | None = exchange.answer_caches.get(self)
        if table is None:
            table = exchange.answer_caches[self] = {}
        cached = table.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        if len(table) >= self._capacity:
            table.clear()
        value = build()
        table[key] = (version, value)
        return value
