"""The corpus of a hunt: a folder with the sequences that met a feature first.

The next hunt with the same scenarios and seed repeats them, which takes it where the earlier ones
have been, and goes on with the rounds that these did not draw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import DecodeError, Struct, json

from sim.read.errors import UsageError
from sim.search.hunt.sequences import DrawnMove

T = TypeVar("T")

FORMAT = 2


class CorpusHeader(Struct):
    """What the sequences belong to, and the number of `rounds` that were drawn so far."""

    corpus: int
    roots: list[str]
    seed: int
    rounds: int = 0


class KeptSequence(Struct):
    """Moves from the start of a root, as far as the last one that met a feature first."""

    root: int
    moves: list[DrawnMove]
    features: list[str]


class Corpus:
    """The kept sequences of a hunt. Without a folder they are only counted."""

    def __init__(self, roots: Sequence[str], seed: int, folder: Path | None) -> None:
        """Open or begin a corpus. Refuses one of another scenario, seed or version."""
        self.count = 0
        self._folder = folder
        self._header = CorpusHeader(FORMAT, list(roots), seed)
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        if not self._file.exists():
            self.end_round(0)
            return
        stored = _read(self._file, CorpusHeader)
        if (stored.corpus, stored.roots, stored.seed) != (FORMAT, list(roots), seed):
            raise UsageError(
                f"the corpus in {folder} belongs to another scenario, seed ({stored.seed}) or"
                " version; use another folder"
            )
        self._header = stored

    @property
    def rounds(self) -> int:
        """How many rounds earlier hunts drew."""
        return self._header.rounds

    def stored(self) -> Iterator[KeptSequence]:
        """Yield the sequences of earlier hunts, oldest first."""
        for path in sorted(self._folder.glob("sequence-*.json")) if self._folder else ():
            self.count += 1
            yield _read(path, KeptSequence)

    def add(self, kept: KeptSequence) -> None:
        """Keep a sequence."""
        if self._folder is not None:
            _write(self._folder / f"sequence-{self.count:06}.json", kept)
        self.count += 1

    def end_round(self, rounds: int) -> None:
        """Note how many rounds are drawn."""
        self._header.rounds = rounds
        if self._folder is not None:
            _write(self._file, self._header)

    @property
    def _file(self) -> Path:
        assert self._folder is not None
        return self._folder / "corpus.json"


def _read(path: Path, kind: type[T]) -> T:
    try:
        return json.decode(path.read_bytes(), type=kind)
    except DecodeError as error:
        raise UsageError(f"{path} is not of a hunt's corpus: {error}") from None


def _write(path: Path, content: Struct) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(json.encode(content))
    part.rename(path)
