"""Base class of components whose whole state is one Struct."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct, convert

StateT = TypeVar("StateT", bound=Struct)


class Stateful(Generic[StateT]):
    """A component that keeps all changing data in `_state`.

    A subclass with an additional index extends `load`, which must rebuild the index.
    """

    _state: StateT

    def save(self) -> StateT:
        """Return the state, not copied. Encode it before anything else changes."""
        return self._state

    def load(self, state: object) -> None:
        """Restore a saved state. The component takes ownership of its objects."""
        self._state = convert(state, type(self._state))
