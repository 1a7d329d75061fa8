"""The words of a season's events, for searching: an index from words to events, made when somebody first searches.

A query's word is found wherever it occurs in an event's texts, also within a longer word, as in a scan of them all. What an event's own texts hold (title,
teams, date) is indexed by event; what its markets' texts hold beyond that (questions, ends of symbols) is the same in every game of a league, and indexed once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.scenario.reference import texts_of

if TYPE_CHECKING:
    from sim.scenario.season import Season

_PIECE = re.compile(r"[^\W_]+")


class Words:
    """Which events of a season hold a word."""

    def __init__(self, season: Season) -> None:
        self._season = season
        self._events: dict[str, set[int]] = {}
        self._kinds: dict[str, set[tuple[object, ...]]] = {}
        self._of_kind: dict[tuple[object, ...], list[int]] = {}
        for number in range(season.games):
            for piece in _pieces(texts_of(season.bare(number))):
                self._events.setdefault(piece, set()).add(number)
            self._of_kind.setdefault(season.kind_keys[number], []).append(number)
        for key, numbers in self._of_kind.items():
            for piece in _pieces(self._texts(numbers[0])) - _pieces(texts_of(season.bare(numbers[0]))):
                self._kinds.setdefault(piece, set()).add(key)

    def holding(self, words: list[str]) -> list[int]:
        """Places of the events in whose texts every word occurs, ascending. Words are in lower case."""
        found: set[int] | None = None
        for word in words:
            mine = self._with(word)
            found = mine if found is None else found & mine
        return sorted(range(self._season.games) if found is None else found)

    def _with(self, word: str) -> set[int]:
        pieces = _PIECE.findall(word)
        found: set[int] | None = None
        for piece in pieces:
            held = self._with_piece(piece)
            found = held if found is None else found & held
        candidates = set(range(self._season.games)) if found is None else found
        return candidates if pieces == [word] else {number for number in candidates if self._occurs(word, number)}

    def _with_piece(self, piece: str) -> set[int]:
        """Events that have a word of which this is a part."""
        found: set[int] = set()
        for known, numbers in self._events.items():
            if piece in known:
                found |= numbers
        for known, keys in self._kinds.items():
            if piece in known:
                for key in keys:
                    found.update(self._of_kind[key])
        return found

    def _occurs(self, word: str, number: int) -> bool:
        """Whether a word with signs in it occurs literally."""
        own = texts_of(self._season.bare(number))
        return any(word in text.lower() for text in own) or any(word in text.lower() for text in self._texts(number))

    def _texts(self, number: int) -> Iterator[str]:
        """What a search looks at in an event's markets, which need not be made for it."""
        for symbol, question in self._season.questions(number):
            yield symbol
            yield question


def _pieces(texts: Iterator[str]) -> set[str]:
    return {piece for text in texts for piece in _PIECE.findall(text.lower())}
