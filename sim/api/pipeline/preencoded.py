"""An answer that stays the same until something changes: its encoded forms are kept beside it, so
it is encoded once.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from sim.api.codecs.codecs import Dialect, json_encoder, protobuf_encoder
from sim.messages import Message

M = TypeVar("M", bound=Message)


class Prepared(Generic[M]):
    """A response a handler may keep and return many times. Whoever changes the message must make a
    new one of these.
    """

    __slots__ = ("_json", "_protobuf", "message")

    def __init__(self, message: M) -> None:
        self.message = message
        self._json: dict[Dialect, bytes] = {}
        self._protobuf: bytes | None = None

    def json(self, dialect: Dialect) -> bytes:
        """JSON in a dialect."""
        known = self._json.get(dialect)
        if known is None:
            known = self._json[dialect] = json_encoder(type(self.message), dialect)(self.message)
        return known

    def protobuf(self) -> bytes:
        """Protobuf bytes."""
        if self._protobuf is None:
            self._protobuf = protobuf_encoder(type(self.message))(self.message)
        return self._protobuf
