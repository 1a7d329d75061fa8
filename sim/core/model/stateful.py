"""Base class of components whose whole state is one Struct."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct, convert

StateT = TypeVar("StateT", bound=Struct)


class Stateful(Generic[StateT]):
    """A component that keeps everything that changes in `_state`.

    One that keeps an index beside it extends `load`, which must rebuild the index.
    """

    _state: StateT

    def save(self) -> StateT:
        """The state, not copied: encode it before anything else happens."""
        return self._state

    def load(self, state: object) -> None:
        """Restore a saved state, whose objects become the component's own."""
        self._state = convert(state, type(self._state))
