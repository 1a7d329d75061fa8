"""The form that gRPC messages have in a recording."""

from __future__ import annotations

from typing import Any

from google.protobuf import json_format, message_factory
from google.protobuf.message import DecodeError
from msgspec import json

from sim.api.codecs.protobuf import descriptor_pool
from sim.contract.contract import Operation

_ENCODER = json.Encoder(decimal_format="number")


def _message(operation: Operation, *, request: bool) -> Any:
    name = operation.request_name if request else operation.response_name
    return message_factory.GetMessageClass(descriptor_pool().FindMessageTypeByName(name))()


def message_to_json(operation: Operation | None, message: bytes, *, request: bool) -> Any:
    """Return a message as a recording holds it, before secrets are replaced. A message that does
    not parse, or of an unknown method, is left out, because secrets cannot be found in it.
    """
    unreadable = {"unreadable": len(message)}
    if operation is None:
        return unreadable
    try:
        parsed = _message(operation, request=request)
        parsed.ParseFromString(message)
        return json_format.MessageToDict(parsed, descriptor_pool=descriptor_pool())
    except (KeyError, DecodeError, json_format.Error, ValueError):
        return unreadable


def request_from_json(operation: Operation | None, body: Any) -> bytes:
    """Return a recorded request as protobuf; b"" if it does not fit."""
    if operation is None or not isinstance(body, dict):
        return b""
    message = _message(operation, request=True)
    try:
        json_format.Parse(_ENCODER.encode(body), message, descriptor_pool=descriptor_pool())
    except json_format.Error:
        return b""
    return bytes(message.SerializeToString())
