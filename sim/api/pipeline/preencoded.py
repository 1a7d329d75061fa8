"""Responses that many requests share and that are encoded once.

A handler that answers many callers with the same message (an order book, a list of instruments)
keeps a `PreencodedResponse` until the message changes. The message is encoded only the first time
for each dialect.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from sim.api.codecs.codecs import Dialect, json_encoder, protobuf_encoder
from sim.contract.messages import Message

M = TypeVar("M", bound=Message)


class PreencodedResponse(Generic[M]):
    """A response together with its encoded forms. To change the message, make a new one."""

    __slots__ = ("_json", "_protobuf", "message")

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
