"""Frames composed of parts: what subscribers share is encoded once, and each adds a few bytes.

An encoded protobuf message is the concatenation of its fields, and a nested message is its bytes
after a tag and a length. In JSON, a last member can be appended to an object. So an execution is
encoded once, however many streams it is sent on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from json.encoder import encode_basestring

from sim.api.codecs.codecs import protobuf_encoder
from sim.api.codecs.protobuf import descriptor_pool
from sim.contract.messages import Message


def encoded(message: Message) -> bytes:
    """Return the protobuf bytes of a message."""
    return protobuf_encoder(type(message))(message)


@cache
def nesting(cls: type[Message], name: str) -> Callable[[bytes], bytes]:
    """Return a function that turns the encoded value of one field into a part of an encoded `cls`.

    The field holds a message, text or bytes; for a repeated field, the value is one element.
    """
    tag = b""

    def nest(value: bytes) -> bytes:
        nonlocal tag
        tag = tag or _tag(cls, name)  # not before: only gRPC loads the descriptors
        return tag + _varint(len(value)) + value

    return nest


def _tag(cls: type[Message], name: str) -> bytes:
    field = descriptor_pool().FindMessageTypeByName(cls.__full_name__).fields_by_name[name]
    if field.type not in (field.TYPE_MESSAGE, field.TYPE_STRING, field.TYPE_BYTES):
        raise KeyError(f"{cls.__full_name__}.{name} does not hold bytes")
    return _varint(field.number << 3 | 2)


def part(cls: type[Message], **fields: object) -> bytes:
    """Encode a `cls` in which only the given fields are set."""
    return encoded(cls(**fields))


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    encoded_value = bytearray()
    while value > 0x7F:
        encoded_value.append(value & 0x7F | 0x80)
        value >>= 7
    encoded_value.append(value)
    return bytes(encoded_value)


def frame_head(request_id: str, subscription_type: str, key: str) -> bytes:
    """Return the bytes that precede the payload of a WebSocket frame; `FRAME_TAIL` follows it."""
    quoted = encode_basestring(request_id)
    return f'{{"requestId":{quoted},"subscriptionType":"{subscription_type}","{key}":'.encode()


FRAME_TAIL = b"}"
HEARTBEAT_FRAME = b'{"heartbeat":{}}'


def unsubscribed_frame(request_id: str) -> bytes:
    """Return the acknowledgement that a subscription has ended."""
    return f'{{"requestId":{encode_basestring(request_id)},"unsubscribed":true}}'.encode()


def error_frame(request_id: str, text: str) -> bytes:
    """Return the frame that refuses a request on a WebSocket, which stays open."""
    quoted, error = encode_basestring(request_id), encode_basestring(text)
    return f'{{"requestId":{quoted},"error":{error}}}'.encode()
