"""Values that handlers cache between requests, per exchange.

Cached values are not part of the saved state. Each must be a function of its key and version alone,
so that an exchange that was rewound, or one with an empty cache, answers the same bytes.

A handler that answers many callers with the same message (an order book, a list of instruments)
keeps a `PreencodedResponse` until the message changes. The message is encoded only the first time
for each dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from sim.api.codecs.codecs import Dialect, json_encoder, protobuf_encoder
from sim.contract.messages import Message
from sim.core.exchange import Exchange
from sim.kernel.work import Work

T = TypeVar("T")
_CAPACITY = 8192


_ALLOWANCE = "allowance"  # the key, beside the caches, of the number of values that may be built
_BUILDS = 16


class Unprepared(Exception):
    """A read needs more values than it may build at once."""


def prepared(exchange: Exchange, read: Callable[[], T]) -> Work[T]:
    """The result of a read, whose values are built a few in each step.

    The read is tried again until it is complete. It must neither change the exchange nor draw.
    """
    while True:
        exchange.answer_caches[_ALLOWANCE] = {"builds": _BUILDS}
        try:
            return read()
        except Unprepared:
            pass
        finally:
            del exchange.answer_caches[_ALLOWANCE]
        yield


def spend_builds(exchange: Exchange, count: int) -> None:
    """Note that a read builds something as large as a number of values.

    Unprepared if it has built too much already.
    """
    allowance = exchange.answer_caches.get(_ALLOWANCE)
    if allowance is not None:
        if allowance["builds"] < min(count, _BUILDS):
            raise Unprepared
        allowance["builds"] -= count


class AnswerCache(Generic[T]):
    """One value per key, rebuilt when its version changes. The cache is cleared when it is full."""

    def __init__(self, capacity: int = _CAPACITY) -> None:
        self._capacity = capacity

    def get(
        self, exchange: Exchange, key: Hashable, version: Hashable, build: Callable[[], T]
    ) -> T:
        """Return the value of a key at a version; `build` makes it if it is not cached."""
        table: dict[Hashable, tuple[Hashable, T]] | None = exchange.answer_caches.get(self)
        if table is None:
            table = exchange.answer_caches[self] = {}
        cached = table.get(key)
        if cached is not None and cached[0] == version:
            return cached[1]
        spend_builds(exchange, 1)
        if len(table) >= self._capacity:
            table.clear()
        value = build()
        table[key] = (version, value)
        return value


M = TypeVar("M", bound=Message)


class PreencodedResponse(Generic[M]):
    """A response together with its encoded forms. To change the message, make a new one."""

    def __init__(self, message: M) -> None:
        self.message = message
        self._json: dict[Dialect, bytes] = {}
        self._protobuf: bytes | None = None

    def json(self, dialect: Dialect) -> bytes:
        """Return the JSON of the message in a dialect."""
        body = self._json.get(dialect)
        if body is None:
            body = self._json[dialect] = json_encoder(type(self.message), dialect)(self.message)
        return body

    def protobuf(self) -> bytes:
        """Return the protobuf bytes of the message."""
        if self._protobuf is None:
            self._protobuf = protobuf_encoder(type(self.message))(self.message)
        return self._protobuf
