"""Answers and frames that an injected patch alters (design D25).

A patch is applied to the JSON form of a message. A message of protobuf takes the library's JSON
form (its JSON names, integers of 64 bits as text). What protobuf cannot carry is impossible there:
a field that the message does not have, a value of another type. An unknown member of an
enumeration becomes a number without a name.
"""

from __future__ import annotations

from typing import Any

from sim.api.codecs.protobuf import message_class
from sim.api.pipeline.inputs import Reply
from sim.contract.contract import Operation
from sim.contract.messages import Message
from sim.core.service.json_patch import Patch, applied, patched_json

# The number that stands for a member that an enumeration does not have.
_NO_MEMBER = 9999


def patch_json(reply: Reply, patch: Patch, cursor: str = "") -> bool:
    """Alter the answer to a call over HTTP. False if that is impossible: it is no JSON, it is sent
    in parts, or a path is not there.
    """
    body = patched_json(patch, reply.body, cursor)
    if body is None:
        return False
    reply.body, reply.shared = body, False
    if reply.journal is not None:
        reply.journal = patched_json(patch, reply.journal, cursor) or reply.journal
    return True


def patch_protobuf(
    reply: Reply, patch: Patch, operation: Operation | None, cursor: str = ""
) -> bool:
    """Alter the answer to a unary gRPC call. False if that is impossible: it is a refusal, which
    has no message, or the message cannot carry what the patch says.
    """
    if operation is None or reply.code or reply.chunks is not None:
        return False
    body = patched_protobuf(patch, operation.response, reply.body, cursor)
    if body is None:
        return False
    reply.body, reply.shared = body, False
    if reply.journal is not None:
        reply.journal = patched_protobuf(patch, operation.response, reply.journal) or reply.journal
    return True


def patched_protobuf(
    patch: Patch, kind: type[Message], encoded: bytes, cursor: str = ""
) -> bytes | None:
    """Return a patched message, None if a path is not there or protobuf cannot carry the result."""
    from google.protobuf.json_format import MessageToDict, ParseDict, ParseError

    make = message_class(kind)
    plain = MessageToDict(make.FromString(encoded), always_print_fields_with_no_presence=True)
    changed = applied(patch, plain, cursor)
    if not isinstance(changed, dict):
        return None
    try:
        message = ParseDict(_with_free_numbers(changed, make.DESCRIPTOR), make())
    except ParseError:
        return None
    altered: bytes = message.SerializeToString(deterministic=True)
    # Null is the same as absent here, so a patch may change nothing.
    return None if altered == encoded else altered


def _with_free_numbers(value: Any, descriptor: Any) -> Any:
    """Return the document with a free number for each text that is no member of its enumeration."""
    if isinstance(value, list):
        return [_with_free_numbers(item, descriptor) for item in value]
    if not isinstance(value, dict) or descriptor.GetOptions().map_entry:
        return value
    fields = {field.json_name: field for field in descriptor.fields}
    return {key: _field_value(item, fields.get(key)) for key, item in value.items()}


def _field_value(value: Any, field: Any) -> Any:
    if field is None:
        return value
    if field.enum_type is not None:
        members = field.enum_type.values_by_name
        numbers = [
            _NO_MEMBER if isinstance(item, str) and item not in members else item
            for item in (value if isinstance(value, list) else [value])
        ]
        return numbers if isinstance(value, list) else numbers[0]
    return value if field.message_type is None else _with_free_numbers(value, field.message_type)
