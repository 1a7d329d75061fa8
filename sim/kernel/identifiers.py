"""Identifiers that look random, never repeat, and depend only on seed, purpose and a counter.

The counter is scrambled by a keyed Feistel network over 62 bits, which twelve base-36 digits can hold, so identifiers are unique without a record of those given out,
and two seeds give different ones. Rule M8: order and execution ids are 12 or 13 upper-case letters and digits; sorting by creation is not promised.
"""

from __future__ import annotations

from hashlib import blake2b

from sim.kernel.entropy import Entropy

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HALF_BITS = 31  # 2**62 < 36**12
_MASK = (1 << _HALF_BITS) - 1
_CHUNK = 36**3
_TRIPLES = [a + b + c for a in _ALPHABET for b in _ALPHABET for c in _ALPHABET]


class Identifiers:
    """Counters by purpose; `next("order")` gives the next identifier of that purpose."""

    __slots__ = ("_counts", "_entropy", "_keys")

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._keys: dict[str, tuple[int, int, int, int]] = {}
        self._counts: dict[str, int] = {}

    def next(self, purpose: str) -> str:
        """Twelve upper-case letters and digits, unique for the purpose."""
        value = _scramble(self.count(purpose), self._round_keys(purpose))
        value, d = divmod(value, _CHUNK)
        value, c = divmod(value, _CHUNK)
        a, b = divmod(value, _CHUNK)
        return _TRIPLES[a] + _TRIPLES[b] + _TRIPLES[c] + _TRIPLES[d]

    def count(self, purpose: str) -> int:
        """Next number of a purpose, from 1."""
        number = self._counts.get(purpose, 0) + 1
        self._counts[purpose] = number
        return number

    def uuid(self, purpose: str) -> str:
        """A version 4 shaped UUID, unique for the purpose."""
        number = self.count(purpose)
        digest = blake2b(number.to_bytes(8, "big"), digest_size=16, key=self._entropy.key(f"id.{purpose}")).hexdigest()
        return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-{'89ab'[int(digest[16], 16) % 4]}{digest[17:20]}-{digest[20:32]}"

    def save(self) -> dict[str, int]:
        """Counts by purpose."""
        return dict(sorted(self._counts.items()))

    def load(self, state: dict[str, int]) -> None:
        """Continue from saved counts."""
        self._counts = dict(state)

    def _round_keys(self, purpose: str) -> tuple[int, int, int, int]:
        keys = self._keys.get(purpose)
        if keys is None:
            raw = self._entropy.key(f"id.{purpose}")
            a, b, c, d = (int.from_bytes(raw[i : i + 8], "big") | 1 for i in range(0, 32, 8))
            keys = self._keys[purpose] = (a, b, c, d)
        return keys


def _scramble(value: int, keys: tuple[int, int, int, int]) -> int:
    left, right = value >> _HALF_BITS, value & _MASK
    for key in keys:
        mixed = ((right + 1) * key) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        left, right = right, left ^ (mixed >> 33)
    return left << _HALF_BITS | right
