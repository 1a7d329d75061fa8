"""Randomness by name: one independent stream per purpose, all derived from the seed.

A stream is counter-based: draw n of stream "kyc.provision_delay" under seed 7 is the same number
whatever else is drawn, in whatever order, on any Python. So switching on one quirk never changes
the draws of another, and the state of all randomness is one small integer per stream.

The names of streams are part of every digest, because another name draws other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol, TypeVar

T = TypeVar("T")
_BITS = 64
_LN_2 = 45_426  # ln 2 in units of 1/65,536


class Choices(Protocol):
    """A source of decisions: a stream, or anything else that makes them."""

    def below(self, bound: int, /) -> int:
        """Return an integer in [0, bound)."""

    def between(self, low: int, high: int, /) -> int:
        """Return an integer in [low, high]."""

    def log_between(self, low: int, high: int, /) -> int:
        """Return an integer in [low, high], small ones more often."""

    def chance(self, numerator: int, denominator: int, /) -> bool:
        """Return True with that probability."""

    def choice(self, options: Sequence[T], /) -> T:
        """Return one of the options."""


class Stream:
    """The draws for one purpose. Its state is the number of 64-bit words drawn so far."""

    __slots__ = ("_key", "drawn")

    def __init__(self, key: bytes, drawn: int = 0) -> None:
        self._key = key
        self.drawn = drawn

    def bits(self) -> int:
        """Return a uniform 64-bit integer."""
        number = self.drawn
        self.drawn = number + 1
        word = blake2b(number.to_bytes(8, "big"), digest_size=8, key=self._key).digest()
        return int.from_bytes(word, "big")

    def below(self, bound: int) -> int:
        """Return a uniform integer in [0, bound), without bias. `bound` is at most 2**64."""
        if not 0 < bound <= 1 << _BITS:
            raise ValueError(f"bound must be in 1..2**64, not {bound}")
        limit = (1 << _BITS) - (1 << _BITS) % bound
        while True:
            word = self.bits()
            if word < limit:
                return word % bound

    def between(self, low: int, high: int) -> int:
        """Return a uniform integer in [low, high], both inclusive."""
        return low + self.below(high - low + 1)

    def chance(self, numerator: int, denominator: int) -> bool:
        """Return True with probability numerator/denominator.

        Consumes one draw even if the outcome is certain, so the odds of a quirk may change without
        shifting its later draws.
        """
        return self.below(denominator) < numerator

    def choice(self, options: Sequence[T]) -> T:
        """Return one element of a non-empty sequence, uniformly."""
        return options[self.below(len(options))]

    def log_between(self, low: int, high: int) -> int:
        """Return an integer in [low, high], roughly log-uniform; 0 < low <= high.

        Each octave is equally likely and uniform inside. Uses integers only, so the result is the
        same on all machines.
        """
        octaves = (high // low).bit_length()
        start = low << self.below(octaves)
        return start + self.below(min(start, high + 1 - start))

    def exponential(self, mean: int) -> int:
        """Return an exponentially distributed integer with this mean, at least 1: the time to the
        next arrival.

        Computes the binary logarithm of a uniform word digit by digit: squaring the mantissa yields
        one digit each time. Uses integers only, so the result is the same on all machines.
        """
        word = self.bits() | 1
        size = word.bit_length()
        mantissa = word << (_BITS - size) >> (_BITS - 32)  # 32 bits with the highest one set
        logarithm = size - 1
        for _ in range(16):
            square = mantissa * mantissa
            carry = square >> 63
            logarithm = logarithm << 1 | carry
            mantissa = square >> (31 + carry)
        return max(1, mean * ((_BITS << 16) - logarithm) * _LN_2 >> 32)


class Entropy:
    """All streams of one simulation."""

    __slots__ = ("_keys", "_streams", "seed")

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._streams: dict[str, Stream] = {}
        self._keys: dict[str, bytes] = {}

    def stream(self, name: str) -> Stream:
        """Return the stream of a purpose, for example "quirk.unfiltered_search_times_out"."""
        cached = self._streams.get(name)
        if cached is None:
            cached = self._streams[name] = Stream(self._key(name))
        return cached

    def key(self, name: str) -> bytes:
        """Return 32 bytes that look random and depend on seed and name only."""
        cached = self._keys.get(name)
        if cached is None:
            cached = self._keys[name] = self._key(name)
        return cached

    def used(self) -> list[str]:
        """Return the names of the keys requested and of the streams that have drawn.

        Nothing else depends on the seed.
        """
        return [*self._keys, *self.save()]

    def _key(self, name: str) -> bytes:
        return blake2b(
            f"{self.seed}\x00{name}".encode(), digest_size=32, person=b"sim-entropy"
        ).digest()

    def save(self) -> dict[str, int]:
        """Return the number of draws of each stream that has drawn."""
        return {
            name: stream.drawn for name, stream in sorted(self._streams.items()) if stream.drawn
        }

    def load(self, state: dict[str, int]) -> None:
        """Continue from saved counts. Streams not named there start from the beginning.

        A stream stays the same object, so frequent users may hold on to it.
        """
        for stream in self._streams.values():
            stream.drawn = 0
        for name, drawn in state.items():
            self.stream(name).drawn = drawn
