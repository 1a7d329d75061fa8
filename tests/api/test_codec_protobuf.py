"""The protobuf codec against the library itself, for every message type, and against bad bytes."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.api.codecs.codecs import (
    BadBody,
    dialect_at,
    json_encoder,
    protobuf_decoder,
    protobuf_encoder,
)
from sim.api.pipeline.answer_cache import PreencodedResponse
from sim.contract.messages import Message, exchange_v1
from tests.contract.wire_values import library_message, message_types, messages

by_name = pytest.mark.parametrize("cls", message_types(), ids=lambda cls: cls.__full_name__)
# Messages are many and kinds of fields few: each kind is tried hundreds of times.
few = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))


@by_name
@few
@given(data=st.data())
def test_every_message_has_the_librarys_bytes_and_reads_back_as_itself(
    cls: type[Message], data: st.DataObject
) -> None:
    message = data.draw(messages(cls))
    encoded = protobuf_encoder(cls)(message)
    assert encoded == library_message(message).SerializeToString(deterministic=True)
    assert protobuf_decoder(cls)(encoded) == message


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_shapes_the_contract_does_not_use_yet_travel_too(probe: Any, data: st.DataObject) -> None:
    message = data.draw(messages(probe.Probe))
    encoded = protobuf_encoder(probe.Probe)(message)
    assert encoded == library_message(message).SerializeToString(deterministic=True)
    assert protobuf_decoder(probe.Probe)(encoded) == message


def test_presence_survives(probe: Any) -> None:
    message = probe.Probe(
        oi=0, os="", pl=0, at=0, quiet=probe.Probe_Quiet(), oinner=probe.Probe_Inner()
    )
    assert protobuf_decoder(probe.Probe)(protobuf_encoder(probe.Probe)(message)) == message


def test_unknown_fields_are_ignored() -> None:
    assert protobuf_decoder(exchange_v1.GetOrderBookRequest)(b"\xfa\x7f\x03abc" + protobuf_encoder(exchange_v1.GetOrderBookRequest)(
        exchange_v1.GetOrderBookRequest(symbol="a", depth=3)
    )) == exchange_v1.GetOrderBookRequest(symbol="a", depth=3)  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        b"\xff",
        b"\x0a",
        b"\x0a\x05ab",
        b"\x0a\x02\xff\xfe",
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ],
)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(BadBody):
        protobuf_decoder(exchange_v1.GetOrderBookRequest)(data)


def test_values_json_could_not_carry_are_refused(probe: Any) -> None:
    make = type(library_message(probe.Probe()))
    for wrong in (
        make(d=math.nan),
        make(od=math.inf),
        make(dd=[1.0, -math.inf]),
        make(mb={True: math.nan}),
    ):
        with pytest.raises(BadBody):
            protobuf_decoder(probe.Probe)(wrong.SerializeToString())
    for seconds, nanos in ((10**15, 0), (-(10**15), 0), (0, 10**9), (0, -1)):
        message = make()
        message.at.seconds, message.at.nanos = seconds, nanos
        with pytest.raises(BadBody):
            protobuf_decoder(probe.Probe)(message.SerializeToString())
    for seconds, nanos in ((10**15, 0), (1, -1), (0, 10**9)):
        message = make()
        message.dur.seconds, message.dur.nanos = seconds, nanos
        with pytest.raises(BadBody):
            protobuf_decoder(probe.Probe)(message.SerializeToString())


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=80))
def test_no_bytes_whatever_end_in_another_exception(data: bytes) -> None:
    try:
        protobuf_decoder(exchange_v1.InsertOrderListRequest)(data)
    except BadBody as refused:
        assert refused.reason


def test_maps_come_out_in_the_order_of_their_keys_in_every_process() -> None:
    message = exchange_v1.Order(price_to_quantity_filled=dict.fromkeys((9, -3, 97, 5, 41), 1))
    read = protobuf_decoder(exchange_v1.Order)(protobuf_encoder(exchange_v1.Order)(message))
    assert list(read.price_to_quantity_filled) == [-3, 5, 9, 41, 97]


def test_the_codecs_load_no_protobuf_until_grpc_needs_it() -> None:
    script = (
        "import sys; from sim.api.codecs.codecs import *; from sim.contract.contract import"
        " load_contract; from sim.contract.messages import exchange_v1 as x\nload_contract();"
        " json_encoder(x.Order, dialect_at('exchange', 0))(x.Order());"
        " json_decoder(x.Order)(b'{}')\nassert not [name for name in sys.modules if"
        " name.startswith('google')], 'loaded'"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_prepared_answer_is_encoded_once_per_form() -> None:
    message = exchange_v1.GetOrderBookResponse(
        symbol="a", bids=[exchange_v1.BookEntry(px=1, qty=2)]
    )
    prepared = PreencodedResponse(message)
    dialects = [dialect_at("exchange", 0), dialect_at("exchange", 0, write_unset=False)]
    for dialect in dialects:
        assert prepared.json(dialect) == json_encoder(type(message), dialect)(message)
        assert prepared.json(dialect) is prepared.json(dialect)
    assert prepared.json(dialects[0]) != prepared.json(dialects[1])
    assert prepared.protobuf() == protobuf_encoder(type(message))(message)
    assert prepared.protobuf() is prepared.protobuf()
