"""The JSON codec against the protobuf library's own JSON, for every message type, and against bad input."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_values import library_message, message_types, messages

from sim.api.transcode import (
    BadBody,
    BadField,
    Casing,
    Dialect,
    apply_path,
    dialect_at,
    fields_of,
    form_decoder,
    json_decoder,
    json_encoder,
    query_decoder,
)
from sim.api.transcode_fields import INTEGER_RANGES
from sim.api.transcode_json_write import write_double
from sim.kernel.instants import parse_instant
from sim.messages import FIELD_DATES, Message, exchange_v1, find_message, gateway_v1, issuer_v1, retail_v1

LAST = FIELD_DATES[-1]
FULL = dialect_at("exchange", LAST)
BARE = dialect_at("bare", LAST, write_unset=False)
MESSAGES = message_types()
by_name = pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__full_name__)
few = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


def _expected(message: Message, dialect: Dialect, at: int) -> dict[str, Any]:
    """What the library writes, changed by our documented rules and by nothing else."""
    written: dict[str, Any] = json_format.MessageToDict(
        library_message(message), always_print_fields_with_no_presence=dialect.write_unset and not message.__omit_unset__
    )
    for field in fields_of(type(message)):
        value = getattr(message, field.attribute)
        name = field.json_name
        if not field.active(at):
            written.pop(name, None)
            continue
        if field.kind == "message" and name in written:
            written[name] = _inner(field, value, dialect, at)
        composite = not field.repeated and not field.key_kind and field.kind not in ("string", "bool", "double", "bytes", "enum", *INTEGER_RANGES)
        if composite and value is None and not field.presence and dialect.write_unset and not message.__omit_unset__:
            written[name] = None
        if field.as_number and name in written:
            written[name] = [int(part) for part in written[name]] if field.repeated else int(written[name])
        if field.omit_empty and not field.presence and (value is None or (not composite and not value)):
            written.pop(name, None)
        if field.vendor_json and dialect.vendor_prefix and name in written:
            written[field.vendor_json] = written.pop(name)
    return written


def _inner(field: Any, value: Any, dialect: Dialect, at: int) -> Any:
    if field.key_kind:
        return {_key(key): _expected(inner, dialect, at) for key, inner in value.items()}
    return [_expected(inner, dialect, at) for inner in value] if field.repeated else _expected(value, dialect, at)


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


@by_name
@few
@given(data=st.data())
def test_every_message_is_written_as_the_library_writes_it_and_reads_back_as_itself(cls: type[Message], data: st.DataObject) -> None:
    message = data.draw(messages(cls))
    whole = json_encoder(cls, FULL)(message)
    assert json.loads(whole) == _expected(message, FULL, LAST)
    assert json.loads(json_encoder(cls, BARE)(message)) == _expected(message, BARE, LAST)
    unknown: list[str] = []
    assert json_decoder(cls)(whole, unknown) == _without_inactive(message)
    assert unknown == []
    assert json_decoder(cls)(json_format.MessageToJson(library_message(message), preserving_proto_field_name=True).encode()) == message


def _without_inactive(message: Message) -> Message:
    """A copy in which the fields that `LAST` no longer has are unset."""
    values: dict[str, Any] = {}
    for field in fields_of(type(message)):
        value = getattr(message, field.attribute)
        if not field.active(LAST):
            continue
        if field.kind == "message" and value is not None:
            if field.key_kind:
                value = {key: _without_inactive(inner) for key, inner in value.items()}
            else:
                value = [_without_inactive(inner) for inner in value] if field.repeated else _without_inactive(value)
        values[field.attribute] = value
    return type(message)(**values)
