"""Identifiers that look random, never repeat, and depend only on seed, purpose and a counter.

The counter is split: its low part picks one of the 1296 pairs of letters and digits in an order of the purpose's own, its high part is scrambled by a keyed
Feistel network over 50 bits, which ten base-36 digits can hold. Both are one-to-one, so identifiers are unique without a record of those given out, two seeds
give different ones, and the scrambling is paid once in 1296 times. Rule M8: order and execution ids are 12 or 13 upper-case letters and digits; sorting
by creation is not promised.
"""

from __future__ import annotations

from hashlib import blake2b

from sim.kernel.entropy import Entropy

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_PAIRS = tuple(a + b for a in _ALPHABET for b in _ALPHABET)
_RUN = len(_PAIRS)
_HALF_BITS = 25  # 2**50 < 36**10
_MASK = (1 << _HALF_BITS) - 1


class _Purpose:
    """What the identifiers of one purpose are made from; nothing here changes what comes out, so nothing here is saved."""

    __slots__ = ("heads", "keys", "run", "tail")

    def __init__(self, key: bytes) -> None:
        self.keys = tuple(int.from_bytes(key[i : i + 8], "big") | 1 for i in range(0, 32, 8))
        self.heads = sorted(_PAIRS, key=lambda pair: blake2b(pair.encode(), digest_size=8, key=key).digest())
        self.run = -1
        self.tail = ""


class Identifiers:
    """Counters by purpose; `next("order")` gives the next identifier of that purpose."""

    __slots__ = ("_counts", "_entropy", "_purposes")

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._purposes: dict[str, _Purpose] = {}
        self._counts: dict[str, int] = {}

    def next(self, purpose: str) -> str:
        """Twelve upper-case letters and digits, unique for the purpose."""
        number = self._counts.get(purpose, 0) + 1
        self._counts[purpose] = number
        made = self._purposes.get(purpose) or self._prepare(purpose)
        run, place = divmod(number, _RUN)
        if run != made.run:
            made.run, made.tail = run, _ten_digits(_scramble(run, made.keys))
        return made.heads[place] + made.tail

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

    def _prepare(self, purpose: str) -> _Purpose:
        made = self._purposes[purpose] = _Purpose(self._entropy.key(f"id.{purpose}"))
        return made


def _ten_digits(value: int) -> str:
    text = ""
    for _ in range(5):
        value, pair = divmod(value, _RUN)
        text = _PAIRS[pair] + text
    return text


def _scramble(value: int, keys: tuple[int, ...]) -> int:
    left, right = value >> _HALF_BITS, value & _MASK
    for key in keys:
        mixed = ((right + 1) * key) & 0xFFFFFFFFFFFFFFFF
        mixed = ((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        left, right = right, left ^ (mixed >> (64 - _HALF_BITS))
    return left << _HALF_BITS | right
