"""The form that gRPC messages have in a recording."""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format, message_factory
from google.protobuf.message import DecodeError

from sim.api.codecs.protobuf import descriptor_pool
from sim.contract.contract import Contract, Operation


class GrpcBodies:
    """The JSON form of messages. A message that does not parse, or of an unknown method, is left
    out, because secrets cannot be found in it.
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._pool = descriptor_pool()

    def operation(self, method: str) -> Operation | None:
        """Return the operation at a gRPC path, or None."""
        return self._contract.by_rpc(method)

    def json(self, operation: Operation | None, message: bytes, *, request: bool) -> Any:
        """Return a message as a recording holds it, before secrets are replaced."""
        unreadable = {"unreadable": len(message)}
        if operation is None:
            return unreadable
        name = operation.request_name if request else operation.response_name
        try:
            parsed = message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name))()
            parsed.ParseFromString(message)
            return json_format.MessageToDict(parsed, descriptor_pool=self._pool)
        except (KeyError, DecodeError, json_format.Error, ValueError):
            return unreadable
