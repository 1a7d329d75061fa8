"""The corpus of a hunt: a folder with the sequences that met a feature first.

The next hunt with the same scenarios and seed repeats them, which takes it where the earlier ones
have been, and goes on with the rounds that these did not draw.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import DecodeError, Struct, field, json

from sim.read.errors import UsageError
from sim.search.hunt.sequences import DrawnMove

FORMAT = 3
_NAME = "corpus.json"


class KeptSequence(Struct):
    """Moves from the start of a root, as far as the last one that met a feature first."""

    root: int
    moves: list[DrawnMove]
    features: list[str]


class Corpus(Struct):
    """The kept sequences, what they belong to, and the number of `rounds` that were drawn so far.
    `corpus` is the version of the format.
    """

    roots: tuple[str, ...]
    seed: int
    rounds: int = 0
    sequences: list[KeptSequence] = field(default_factory=list)
    corpus: int = FORMAT

    def save(self, folder: Path) -> None:
        """Write the corpus to a folder."""
        part = folder / f"{_NAME}.part"
        part.write_bytes(json.encode(self))
        part.rename(folder / _NAME)


def corpus_of(roots: tuple[str, ...], seed: int, folder: Path | None) -> Corpus:
    """Return the corpus of a folder, or an empty one.

    Refuses a corpus of another scenario, seed or version.
    """
    if folder is None or not (folder / _NAME).exists():
        return Corpus(roots, seed)
    path = folder / _NAME
    try:
        stored = json.decode(path.read_bytes(), type=Corpus)
    except DecodeError as error:
        raise UsageError(f"{path} is not of a hunt's corpus: {error}") from None
    if (stored.corpus, stored.roots, stored.seed) != (FORMAT, roots, seed):
        raise UsageError(
            f"the corpus in {folder} belongs to another scenario, seed ({stored.seed}) or version;"
            " use another folder"
        )
    return stored
