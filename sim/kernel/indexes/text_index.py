"""Finds the texts that contain a word, also within a longer word."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

_SEPARATOR = "\n"


class TextIndex:
    """Texts joined into one string, which a search scans at the speed of memory.

    A word must not contain the separator, so a match never spans two texts. Building costs one copy
    of the texts; a search jumps from each hit to the beginning of the next text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        parts = list(texts)
        self._whole = _SEPARATOR.join(parts)
        self._starts = list(accumulate((len(part) + 1 for part in parts), initial=0))

    def holding(self, word: str) -> bytearray:
        """Return flags of the texts that contain a word: one byte per text."""
        flags = bytearray(len(self._starts) - 1)
        at = self._whole.find(word) if flags else -1
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            flags[number] = 1
            at = self._whole.find(word, self._starts[number + 1])
        return flags
