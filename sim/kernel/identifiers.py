"""Identifiers that look random, never repeat, and depend only on seed, purpose and a counter.

An identifier consists of a head of two base-36 digits and a tail of ten. The counter modulo 1296
selects the head, from all pairs in an order that depends on the purpose's key. The counter divided
by 1296 is scrambled into the tail by a keyed Feistel network over 50 bits, which fit into ten
base-36 digits. Both steps are one-to-one. So identifiers are unique without a record of those
issued, can be turned back into the counter, and need one scrambling per 1296 of them.

Rule M8: order and execution ids are 12 or 13 upper-case letters and digits, and do not
sort by creation.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from sim.kernel.entropy import Entropy

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PAIRS = tuple(a + b for a in _ALPHABET for b in _ALPHABET)
_ENCODED_PAIRS = tuple(pair.encode() for pair in _PAIRS)
_RUN = len(_PAIRS)
_FORM = re.compile(r"[0-9A-Z]{12}")
_HALF_BITS = 25  # 2**50 < 36**10
_MASK = (1 << _HALF_BITS) - 1


class Sequence:
    """The identifiers of one purpose. `count` of them were issued; everything else is a cache."""

    __slots__ = ("_heads", "_index_of_head", "_key", "_keys", "_run", "_tail", "count")

    def __init__(self, key: bytes) -> None:
        self.count = 0
        self._key = key
        self._keys = tuple(int.from_bytes(key[i : i + 8], "big") | 1 for i in range(0, 32, 8))
        self._heads: list[str] = []
        self._index_of_head: dict[str, int] = {}
        self._run = -1
        self._tail = ""

    def next(self) -> str:
        """Return twelve upper-case letters and digits, unique for the purpose."""
        self.count = number = self.count + 1
        run = number // _RUN
        if run != self._run:
            self._begin(run)
        return self._heads[number % _RUN] + self._tail

    def first(self, count: int) -> list[str]:
        """Return the first `count` identifiers, issued or not."""
        again = Sequence(self._key)
        return [again.next() for _ in range(count)]

    def number(self, identifier: str) -> int:
        """Return the number of an identifier that was issued, from 1; 0 for any other text.

        Collections in order of creation therefore need no index by id.
        """
        if not _FORM.fullmatch(identifier):
            return 0
        tail = int(identifier[2:], 36)
        if tail >> 2 * _HALF_BITS:
            return 0
        if not self._index_of_head:
            self._index_of_head = {head: index for index, head in enumerate(_heads(self._key))}
        number = _unscramble(tail, self._keys) * _RUN + self._index_of_head[identifier[:2]]
        return number if 0 < number <= self.count else 0

    def _begin(self, run: int) -> None:
        self._heads = _heads(self._key)
        self._run, self._tail = run, _ten_digits(_scramble(run, self._keys))


@lru_cache(maxsize=64)
def _heads(key: bytes) -> list[str]:
    """Return all pairs in the order given by a key. Runs with the same seed share them."""
    keyed = blake2b(digest_size=8, key=key)  # copying it costs a quarter of creating one
    pairs = {}
    for encoded, pair in zip(_ENCODED_PAIRS, _PAIRS, strict=True):
        digest = keyed.copy()
        digest.update(encoded)
        pairs[digest.digest()] = pair
    return [pairs[digest] for digest in sorted(pairs)]


class Identifiers:
    """Sequences by purpose. `next("order")` returns the next identifier of that purpose."""

    __slots__ = ("_entropy", "_sequences")

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._sequences: dict[str, Sequence] = {}

    def sequence(self, purpose: str) -> Sequence:
        """Return the sequence of a purpose. It stays the same object when a state is loaded."""
        cached = self._sequences.get(purpose)
        if cached is None:
            cached = self._sequences[purpose] = Sequence(self._entropy.key(f"id.{purpose}"))
        return cached

    def next(self, purpose: str) -> str:
        """Return twelve upper-case letters and digits, unique for the purpose."""
        return self.sequence(purpose).next()

    def count(self, purpose: str) -> int:
        """Return the next number of a purpose, from 1."""
        sequence = self.sequence(purpose)
        sequence.count += 1
        return sequence.count

    def uuid(self, purpose: str) -> str:
        """Return a UUID in the form of version 4, unique for the purpose."""
        return self._uuid(purpose, self.count(purpose))

    def first_uuids(self, purpose: str, count: int) -> list[str]:
        """Return the first `count` UUIDs of a purpose, issued or not."""
        return [self._uuid(purpose, number) for number in range(1, count + 1)]

    def _uuid(self, purpose: str, number: int) -> str:
        digest = blake2b(
            number.to_bytes(8, "big"), digest_size=16, key=self._entropy.key(f"id.{purpose}")
        ).hexdigest()
        variant = "89ab"[int(digest[16], 16) % 4]
        return (
            f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
        )

    def save(self) -> dict[str, int]:
        """Return the counts by purpose."""
        return {
            purpose: sequence.count
            for purpose, sequence in sorted(self._sequences.items())
            if sequence.count
        }

    def load(self, state: dict[str, int]) -> None:
        """Continue from saved counts."""
        for sequence in self._sequences.values():
            sequence.count = 0
        for purpose, count in state.items():
            self.sequence(purpose).count = count


def _ten_digits(value: int) -> str:
    text = ""
    for _ in range(5):
        value, pair = divmod(value, _RUN)
        text = _PAIRS[pair] + text
    return text


def _mixed(half: int, key: int) -> int:
    mixed = ((half + 1) * key) & 0xFFFFFFFFFFFFFFFF
    mixed = ((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    return mixed >> (64 - _HALF_BITS)


def _scramble(value: int, keys: tuple[int, ...]) -> int:
    left, right = value >> _HALF_BITS, value & _MASK
    for key in keys:
        left, right = right, left ^ _mixed(right, key)
    return left << _HALF_BITS | right


def _unscramble(value: int, keys: tuple[int, ...]) -> int:
    left, right = value >> _HALF_BITS, value & _MASK
    for key in reversed(keys):
        left, right = right ^ _mixed(left, key), left
    return left << _HALF_BITS | right
