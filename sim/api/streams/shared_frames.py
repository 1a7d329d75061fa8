"""Frames put together from parts that are encoded once: what subscribers share, and the few bytes
that are one subscriber's own.

In protobuf a message is the concatenation of its fields, and a nested one is its own bytes behind a
tag and a length; in JSON a frame is an object whose last member can be appended. So an execution is
encoded once, however many streams it goes to.
"""

from __future__ import annotations

from collections.abc import Callable
from json.encoder import encode_basestring

from sim.api.codecs.codecs import protobuf_encoder
from sim.messages import Message


def encoded(message: Message) -> bytes:
    """A message's protobuf bytes."""
    return protobuf_encoder(type(message))(message)


def nesting(cls: type[Message], name: str) -> Callable[[bytes], bytes]:
    """A function that turns the encoded value of one field (a message, text or bytes; one element
    of a repeated one) into a part of an encoded `cls`.
    """
    for number, field, _, kind, *_ in cls.__wire__:
        if field == name and kind in ("message", "string", "bytes", "timestamp"):
            tag = _varint(number << 3 | 2)
            return lambda value: tag + _varint(len(value)) + value
    raise KeyError(f"{cls.__full_name__} has no field {name} that can hold bytes")


def part(cls: type[Message], **fields: object) -> bytes:
    """An encoded `cls` in which only these fields are set."""
    return encoded(cls(**fields))


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def frame_head(request_id: str, subscription_type: str, key: str) -> bytes:
    """What comes before the payload of a WebSocket frame; `FRAME_TAIL` comes after."""
    return f'{{"requestId":{encode_basestring(request_id)},"subscriptionType":"{subscription_type}","{key}":'.encode()


FRAME_TAIL = b"}"
HEARTBEAT_FRAME = b'{"heartbeat":{}}'


def error_frame(request_id: str, text: str) -> bytes:
    """A refusal on a WebSocket, which stays open."""
    return f'{{"requestId":{encode_basestring(request_id)},"error":{encode_basestring(text)}}}'.encode()
