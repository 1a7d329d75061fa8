"""Saves the open streams as bytes, to restore a moment at which they were open.

Streams are connections to clients, and time travel ends them instead of restoring them. But the
outcome of a past input depended on the open streams, so a replay that begins in the middle of a run
needs them. They are a graph of objects with shared references, which pickle preserves; the bytes
never leave the process. Objects that belong to the engine (exchange, feeds, outbox) are saved by
name, and immutable values are shared.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from io import BytesIO
from typing import Any, NamedTuple

from sim.api.codecs.codecs import Dialect


class SavedStreams(NamedTuple):
    """Pickled bytes, and the values that they refer to."""

    state: bytes
    shared: list[Any]


def save(state: object, own: Mapping[str, object]) -> SavedStreams:
    """Save a state that refers to the engine's own objects, given by name."""
    file, shared = BytesIO(), list[Any]()
    _Pickler(file, own, shared).dump(state)
    return SavedStreams(file.getvalue(), shared)


def load(saved: SavedStreams, own: Mapping[str, object]) -> Any:
    """Restore a state, with references to the own objects of the engine that loads it."""
    return _Unpickler(BytesIO(saved.state), own, saved.shared).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: BytesIO, own: Mapping[str, object], shared: list[Any]) -> None:
        super().__init__(file, protocol=5)
        self._names = {id(object_): name for name, object_ in own.items()}
        self._shared = shared
        self._places: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> str | int | None:
        name = self._names.get(id(obj))
        if name is None and isinstance(obj, Dialect):
            index = self._places.setdefault(id(obj), len(self._shared))
            if index == len(self._shared):
                self._shared.append(obj)
            return index
        return name


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BytesIO, own: Mapping[str, object], shared: list[Any]) -> None:
        super().__init__(file)
        self._own = own
        self._shared = shared

    def persistent_load(self, pid: Any) -> Any:
        return self._shared[pid] if isinstance(pid, int) else self._own[pid]
