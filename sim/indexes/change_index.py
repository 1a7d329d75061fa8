"""Names in the order in which they last changed, so that a reader who kept what follows from them
looks again at those alone that changed since.
"""

from __future__ import annotations

from collections.abc import Iterator


class Changes:
    """The last version of each name. Versions only grow."""

    __slots__ = ("_versions",)

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}

    def note(self, name: str, version: int) -> None:
        """A name has changed, and nothing has a later version."""
        self._versions.pop(name, None)
        self._versions[name] = version

    def get(self, name: str, unchanged: int) -> int:
        """The version of a name; `unchanged` for one that never changed."""
        return self._versions.get(name, unchanged)

    def since(self, version: int) -> Iterator[str]:
        """Names that changed after a version, the latest first."""
        versions = self._versions
        for name in reversed(versions):
            if versions[name] <= version:
                return
            yield name

    def clear(self) -> None:
        """Forget every name."""
        self._versions.clear()
