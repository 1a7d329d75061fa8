"""The corpus: moments at which something new was met, and the distribution of energy.

Energy is a whole number. That of a moment grows with the news that it brought and falls with its
age and with every visit. That of a kind of gene grows with the news that it brought recently. A
minimum always remains, because what can be found changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError, Struct, json

from sim.kernel.entropy import RandomStream
from sim.read.errors import UsageError
from sim.search.hunt.checkpoints import MomentPath
from sim.search.hunt.genes import Gene, kinds

T = TypeVar("T")

FORMAT = 1
_NEWS_WORTH, _NEWS_MAX = 64, 16
_HALF_LIFE = 24  # rounds in which the energy of a moment halves
_AGE_MAX = 6  # halvings
_CREDIT, _CREDIT_MAX = 12, 240
_TRIED, _UNTRIED = 4, 200
_EXPENSIVE = "gateway"  # its catalogue reads cost a hundred times as much as an order


class CorpusEntry(Struct):
    """A moment of the corpus: how it is reached from another (-1: from a root), and its news.

    `picks` counts visits; `born` is the round that found it.
    """

    root: int
    parent: int
    genes: list[Gene]
    news: list[str]
    picks: int = 0
    born: int = 0


class CorpusHeader(Struct):
    """The first line of a corpus on disk."""

    corpus: int
    roots: list[str]
    seed: int


class Corpus:
    """Entries by number. With a folder, every new one is also written there."""

    def __init__(self, roots: Sequence[str], seed: int, folder: Path | None = None) -> None:
        self.entries: list[CorpusEntry] = []
        self._roots = list(roots)
        self._folder = folder
        self.credit = dict.fromkeys(kinds(), _CREDIT)
        self.uses = dict.fromkeys(kinds(), 0)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._check_head(folder / "corpus.json", seed)

    def _check_head(self, path: Path, seed: int) -> None:
        head = CorpusHeader(FORMAT, self._roots, seed)
        if not path.exists():
            path.write_bytes(json.encode(head))
            return
        try:
            stored = json.decode(path.read_bytes(), type=CorpusHeader)
        except DecodeError as error:
            raise UsageError(f"{path} is not a corpus of a hunt: {error}") from None
        if stored.roots != head.roots or stored.seed != seed:
            raise UsageError(
                f"the corpus in {path.parent} belongs to another scenario, seed"
                f" ({stored.seed}) or version; use another folder"
            )

    def stored(self) -> list[CorpusEntry]:
        """Return the entries on disk, in their order."""
        if self._folder is None:
            return []
        entries = []
        for path in sorted(self._folder.glob("moment-*.json")):
            try:
                entries.append(json.decode(path.read_bytes(), type=CorpusEntry))
            except DecodeError as error:
                raise UsageError(f"{path} is not a moment of a corpus: {error}") from None
        return entries

    def add(self, entry: CorpusEntry, *, write: bool = True) -> int:
        """Add a moment and return its number."""
        number = len(self.entries)
        self.entries.append(entry)
        if write and self._folder is not None:
            stored = CorpusEntry(entry.root, entry.parent, entry.genes, entry.news)
            path = self._folder / f"moment-{number:06}.json"
            part = path.with_suffix(".part")
            part.write_bytes(json.encode(stored))
            part.rename(path)
        return number

    def place(self, number: int) -> MomentPath:
        """Return the moment of an entry."""
        way = []
        entry = self.entries[number]
        while True:
            way.append((number, tuple(entry.genes)))
            if entry.parent < 0:
                return MomentPath(entry.root, tuple(reversed(way)))
            number = entry.parent
            entry = self.entries[number]

    @property
    def root_count(self) -> int:
        """The number of roots."""
        return len(self._roots)

    # ---- energy

    def choose(self, choices: RandomStream, now: int) -> int:
        """Return the number of an entry from which to continue."""
        number = weighted(
            choices, [(n, self._energy(entry, now)) for n, entry in enumerate(self.entries)]
        )
        self.entries[number].picks += 1
        return number

    @staticmethod
    def _energy(entry: CorpusEntry, now: int) -> int:
        worth = _NEWS_WORTH * min(len(entry.news), _NEWS_MAX)
        age = min((now - entry.born) // _HALF_LIFE, _AGE_MAX)
        return (worth >> age) // (1 + entry.picks) + 1

    def weight(self, kind: str) -> int:
        """Return the energy of a kind of gene.

        A rarely used one counts as if it had brought news.
        """
        return self.credit[kind] + (_UNTRIED if self.uses[kind] < _TRIED else 0)

    def used(self, kind: str) -> None:
        """Note that a kind of gene was used."""
        if kind in self.uses:
            self.uses[kind] += 1

    def earned(self, kind: str, news: int) -> None:
        """Give a kind of gene credit for news."""
        if kind not in self.credit:
            return
        self.credit[kind] = min(self.credit[kind] + _CREDIT * news, _CREDIT_MAX)

    def fade(self) -> None:
        """Reduce the weight of old news."""
        for kind, credit in self.credit.items():
            self.credit[kind] = max(credit * 15 // 16, 2)


def weighted(choices: RandomStream, options: Sequence[tuple[T, int]]) -> T:
    """Return one of the options, with a probability in proportion to its weight."""
    left = choices.below(max(1, sum(max(weight, 1) for _, weight in options)))
    for option, weight in options:
        left -= max(weight, 1)
        if left < 0:
            return option
    raise AssertionError("a draw is below the sum of weights")


def is_expensive(group: str) -> bool:
    """Return whether inputs of a swarm's group cost far more than others."""
    return group == _EXPENSIVE
