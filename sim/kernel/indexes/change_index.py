"""Names in the order in which they last changed.

A reader that caches results computed from names only needs to revisit those that changed since.
"""

from __future__ import annotations

from collections.abc import Iterator


class Changes:
    """The version of the last change of each name. Versions only increase."""

    __slots__ = ("_versions",)

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}

    def note(self, name: str, version: int) -> None:
        """Note a change, the latest of all."""
        # Remove it first, so that the dictionary stays in order of version.
        self._versions.pop(name, None)
        self._versions[name] = version

    def get(self, name: str, unchanged: int) -> int:
        """Return the version of a name; `unchanged` if it never changed."""
        return self._versions.get(name, unchanged)

    def since(self, version: int) -> Iterator[str]:
        """Yield the names that changed after a version, the latest first."""
        versions = self._versions
        for name in reversed(versions):
            if versions[name] <= version:
                return
            yield name

    def clear(self) -> None:
        """Forget every name."""
        self._versions.clear()
