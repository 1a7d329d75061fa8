"""The codecs: JSON, query strings, form bodies and protobuf bytes ↔ the contract's Structs.

Every function is compiled once per message type (and, for JSON answers, per dialect) from the generated wire tables:

    encode = json_encoder(GetOrderBookResponse, dialect_at("exchange", now))      # encode(response) -> bytes
    decode = json_decoder(InsertOrderRequest)                                     # decode(body, unknown) -> InsertOrderRequest
    decode = query_decoder(GetOrderBookRequest, Casing.CAMEL_OR_SNAKE)            # decode("depth=3", unknown)

Readers refuse with `BadBody` (the whole) or `BadField` (one field, by its path); both are `BadInput`.
"""

from __future__ import annotations

from sim.api.transcode_fields import BadBody, BadField, BadInput, Field, fields_of
from sim.api.transcode_json_read import JsonDecoder, json_decoder, parse_object
from sim.api.transcode_json_write import Dialect, dialect_at, json_encoder
from sim.api.transcode_protobuf import protobuf_decoder, protobuf_encoder
from sim.api.transcode_query import Casing, QueryDecoder, apply_path, form_decoder, query_decoder

__all__ = [
    "BadBody",
    "BadField",
    "BadInput",
    "Casing",
    "Dialect",
    "Field",
    "JsonDecoder",
    "QueryDecoder",
    "apply_path",
    "dialect_at",
    "fields_of",
    "form_decoder",
    "json_decoder",
    "json_encoder",
    "parse_object",
    "protobuf_decoder",
    "protobuf_encoder",
    "query_decoder",
]
