"""The words of a season's events, for searching: an event's texts follow from its league, its
teams, its slug and its kinds of markets, so those are looked through, and some hundred names stand
for the texts of tens of thousands of markets.

A query's word is found wherever it occurs in a text, also within a longer word, as in a scan of
them all. It holds no blank, so it lies within one token of a text, and what a token is made of
(`season_stencils.py`) says where a word can be: in what is always the same, in a name, in the slug,
or across their edges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sim.indexes.ordered_index import both, flags_of
from sim.reference.market_templates import LONG, SHORT, STEM, filled, texts_of_kinds

if TYPE_CHECKING:
    from sim.reference.season import Season

_KEPT = 256  # queries
_BLANKS = re.compile(r"\s+")


class _Tokens(NamedTuple):
    """Tokens of a kind of event in lower case, each sort as one text: what every such event has,
    what has the name of the one or of the other team in it, and what has more than a name; `edges`
    are the signs that join the parts of the latter.
    """

    same: str
    teams: tuple[str, str]
    mixed: str
    edges: re.Pattern[str]


class Words:
    """Which events of a season hold words, which are given in lower case."""

    def __init__(self, season: Season) -> None:
        self._season = season
        self._remembered = lru_cache(maxsize=_KEPT)(self._search)

    def search(self, words: Iterable[str]) -> tuple[bytes, bytes]:
        """Flags of the events in whose texts every word occurs, and of those among them where every
        word occurs in the title.
        """
        return self._remembered(tuple(words))

    def _search(self, words: tuple[str, ...]) -> tuple[bytes, bytes]:
        count = self._season.games
        found = bytes(b"\1" * count)
        titled = [
            number
            for number, title in enumerate(self._titles)
            if all(word in title for word in words)
        ]
        for word in dict.fromkeys(words):
            found = both(found, self._holding(word))
        return found, both(found, flags_of(titled, count))

    def _holding(self, word: str) -> bytearray:
        """Flags of the events that hold a word."""
        season, found = self._season, bytearray(self._season.games)
        for key, numbers in season.index.by_kind.items():
            tokens = self._tokens[key]
            if word in tokens.same:
                _flag(found, numbers)
                continue
            for position, teams in enumerate(self._sides[key]):
                for (short, long), mine in teams.items():
                    if word in tokens.teams[position].replace(SHORT[position], short).replace(
                        LONG[position], long
                    ):
                        _flag(found, mine)
            _flag(found, (number for number in numbers if word in season.slug(number)))
            if tokens.edges.search(word):
                _flag(
                    found,
                    [
                        number
                        for number in numbers
                        if not found[number] and self._crosses(word, tokens, number)
                    ],
                )
        return found

    def _crosses(self, word: str, tokens: _Tokens, number: int) -> bool:
        """Whether a word occurs in an event's tokens that are made of several parts. First its own
        parts are looked for, each by itself.
        """
        stem, short = self._season.slug(number), self._season.short_names(number)
        if any(
            part not in stem and part not in tokens.mixed and part not in short
            for part in tokens.edges.split(word)
        ):
            return False
        return word in filled(
            tokens.mixed, stem, short, tuple(map(str.lower, self._season.names(number)))
        )

    @cached_property
    def _titles(self) -> list[str]:
        return [title.lower() for title in self._season.index.titles]

    @cached_property
    def _tokens(self) -> dict[tuple[object, ...], _Tokens]:
        return {
            key: _sorted_out(texts_of_kinds(*self._season.shape(numbers[0])))
            for key, numbers in self._season.index.by_kind.items()
        }

    @cached_property
    def _sides(self) -> dict[tuple[object, ...], tuple[dict[tuple[str, str], list[int]], ...]]:
        """By kind: events of each team that stands first, and of each that stands second."""
        season = self._season
        found: dict[tuple[object, ...], tuple[dict[tuple[str, str], list[int]], ...]] = {}
        for number, key in enumerate(season.kind_keys):
            sides = found.setdefault(key, ({}, {}))
            for side, short, long in zip(
                sides, season.short_names(number), season.names(number), strict=True
            ):
                side.setdefault((short, long.lower()), []).append(number)
        return found


def _sorted_out(texts: Iterable[str]) -> _Tokens:
    names = {*SHORT, *LONG}
    same: dict[str, None] = {}
    teams: tuple[dict[str, None], dict[str, None]] = ({}, {})
    mixed: dict[str, None] = {}
    edges: set[str] = set()
    for token in (token for text in texts for token in _BLANKS.split(text.lower())):
        held = [mark for mark in (*SHORT, *LONG, STEM) if mark in token]
        if not held:
            same[token] = None
        elif len(held) == 1 and token.count(held[0]) == 1 and held[0] in names:
            teams[held[0] in (SHORT[1], LONG[1])][token] = None
        else:
            mixed[token] = None
            parts = re.split("|".join((*SHORT, *LONG, STEM)), token)
            same |= dict.fromkeys(parts)
            edges.update(before[-1] for before in parts[:-1] if before)
            edges.update(after[0] for after in parts[1:] if after)
    first, second = map("\n".join, teams)
    return _Tokens(
        "\n".join(same),
        (first, second),
        "\n".join(mixed),
        re.compile("|".join(map(re.escape, sorted(edges)))),
    )


def _flag(flags: bytearray, places: Iterable[int]) -> None:
    for place in places:
        flags[place] = 1
