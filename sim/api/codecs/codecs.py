"""The codecs: JSON, query strings, forms and protobuf bytes to and from the contract's Structs.

Every function is compiled once per message type (and, for JSON answers, per dialect) from the
annotations of the generated Structs:

    encode = json_encoder(GetOrderBookResponse, dialect_at("exchange", now))
    encode(response)                     # bytes
    decode = json_decoder(InsertOrderRequest)
    decode(body, unknown)                # an InsertOrderRequest
    decode = query_decoder(GetOrderBookRequest, Casing.CAMEL_OR_SNAKE)
    decode("depth=3", unknown)

Readers refuse with `BadBody` (the whole) or `BadField` (one field, by its path);
both are `BadInput`.
"""

from __future__ import annotations

from sim.api.codecs.dialect import Dialect, dialect_at, epoch_at
from sim.api.codecs.json_reader import Decoder, json_decoder, parse_object
from sim.api.codecs.json_writer import json_encoder
from sim.api.codecs.protobuf import protobuf_decoder, protobuf_encoder
from sim.api.codecs.query import Casing, apply_path, form_decoder, query_decoder
from sim.contract.wire_fields import BadBody, BadField, BadInput, Field, fields_of

__all__ = [
    "BadBody",
    "BadField",
    "BadInput",
    "Casing",
    "Decoder",
    "Dialect",
    "Field",
    "apply_path",
    "dialect_at",
    "epoch_at",
    "fields_of",
    "form_decoder",
    "json_decoder",
    "json_encoder",
    "parse_object",
    "protobuf_decoder",
    "protobuf_encoder",
    "query_decoder",
]
