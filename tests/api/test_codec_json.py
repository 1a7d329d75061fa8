"""The JSON codec against the protobuf library's own JSON, for every message type, and against bad
input.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.api.codecs.codecs import (
    BadBody,
    BadField,
    Dialect,
    dialect_at,
    fields_of,
    json_decoder,
    json_encoder,
)
from sim.api.codecs.json_writer import write_double
from sim.contract.messages import FIELD_DATES, Message, exchange_v1, gateway_v1, issuer_v1
from sim.contract.wire_fields import INTEGER_RANGES
from sim.kernel.instants import parse_instant
from tests.contract.wire_values import library_message, message_types, messages

LAST = FIELD_DATES[-1]
FULL = dialect_at("exchange", LAST)
BARE = dialect_at("bare", LAST, write_unset=False)
MESSAGES = message_types()
by_name = pytest.mark.parametrize("cls", MESSAGES, ids=lambda cls: cls.__full_name__)
# Messages are many and kinds of fields few: each kind is tried hundreds of times.
few = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))


def _expected(message: Message, dialect: Dialect, at: int) -> dict[str, Any]:
    """What the library writes, changed by our documented rules and by nothing else."""
    written: dict[str, Any] = json_format.MessageToDict(
        library_message(message),
        always_print_fields_with_no_presence=dialect.write_unset and not message.__omit_unset__,
    )
    for field in fields_of(type(message)):
        value = getattr(message, field.attribute)
        name = field.json_name
        if not field.active(at):
            written.pop(name, None)
            continue
        if field.kind == "message" and name in written:
            written[name] = _inner(field, value, dialect, at)
        composite = (
            not field.repeated
            and not field.key_kind
            and field.kind not in ("string", "bool", "double", "bytes", "enum", *INTEGER_RANGES)
        )
        if (
            composite
            and value is None
            and not field.presence
            and dialect.write_unset
            and not message.__omit_unset__
        ):
            written[name] = None
        if field.bare_enum and name in written:
            parts = written[name] if field.repeated else [written[name]]
            bare = [
                part.removeprefix(field.bare_enum) if isinstance(part, str) else part
                for part in parts
            ]
            written[name] = bare if field.repeated else bare[0]
        if field.as_number and name in written:
            written[name] = (
                [int(part) for part in written[name]] if field.repeated else int(written[name])
            )
        if (
            field.omit_empty
            and not field.presence
            and (value is None or (not composite and not value))
        ):
            written.pop(name, None)
        if field.vendor_json and dialect.vendor_prefix and name in written:
            written[field.vendor_json] = written.pop(name)
    return written


def _inner(field: Any, value: Any, dialect: Dialect, at: int) -> Any:
    if field.key_kind:
        return {_key(key): _expected(inner, dialect, at) for key, inner in value.items()}
    return (
        [_expected(inner, dialect, at) for inner in value]
        if field.repeated
        else _expected(value, dialect, at)
    )


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


@by_name
@few
@given(data=st.data())
def test_every_message_is_written_as_the_library_writes_it_and_reads_back_as_itself(
    cls: type[Message], data: st.DataObject
) -> None:
    message = data.draw(messages(cls))
    total = json_encoder(cls, FULL)(message)
    assert json.loads(total) == _expected(message, FULL, LAST)
    assert json.loads(json_encoder(cls, BARE)(message)) == _expected(message, BARE, LAST)
    unknown: list[str] = []
    assert json_decoder(cls)(total, unknown) == _without_inactive(message)
    assert unknown == []
    assert (
        json_decoder(cls)(
            json_format.MessageToJson(
                library_message(message), preserving_proto_field_name=True
            ).encode()
        )
        == message
    )


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
                value = (
                    [_without_inactive(inner) for inner in value]
                    if field.repeated
                    else _without_inactive(value)
                )
        values[field.attribute] = value
    return type(message)(**values)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_shapes_the_contract_does_not_use_yet_are_written_and_read_too(
    probe: Any, data: st.DataObject
) -> None:
    message = data.draw(messages(probe.Probe))
    total = json_encoder(probe.Probe, FULL)(message)
    assert json.loads(total) == _expected(message, FULL, LAST)
    assert json.loads(json_encoder(probe.Probe, BARE)(message)) == _expected(message, BARE, LAST)
    assert json_decoder(probe.Probe)(total) == _without_inactive(message)


def _written(message: Message, dialect: Dialect = FULL) -> Any:
    return json.loads(json_encoder(type(message), dialect)(message))


# ---- rules of our own


def test_an_untouched_message_is_written_with_zeros_nulls_and_empty_lists_but_without_optional_fields(
    probe: Any,
) -> None:
    written = _written(probe.Probe())
    assert (
        written["s"],
        written["i"],
        written["l"],
        written["b"],
        written["ss"],
        written["mss"],
    ) == ("", 0, "0", False, [], {})
    assert (written["side"], written["at"], written["quiet"], written["struct"]) == (
        "SIDE_UNDEFINED",
        None,
        None,
        None,
    )
    assert not {"os", "oi", "oinner", "ps", "pi", "maybe", "maybes", "imaybe"} & set(written)


def test_an_optional_field_set_to_zero_is_written(probe: Any) -> None:
    assert (
        _written(probe.Probe(oi=0, os="", pl=0)).items() >= {"oi": 0, "os": "", "pl": "0"}.items()
    )


def test_a_message_that_omits_unset_fields_does_so_on_every_plane(probe: Any) -> None:
    assert _written(probe.Probe(quiet=probe.Probe_Quiet(n=5)))["quiet"] == {"n": "5"}
    assert _written(probe.Probe_Quiet()) == {}


def test_a_field_is_written_only_between_its_dates() -> None:
    market = gateway_v1.Market(archived=True)
    gone = parse_instant("2026-06-29")
    assert _written(market, dialect_at("gateway", gone - 1))["archived"] is True
    assert "archived" not in _written(market, dialect_at("gateway", gone))


def test_a_dialect_is_the_same_object_until_some_field_comes_or_goes() -> None:
    instants = [FIELD_DATES[0] - 1, *FIELD_DATES]
    assert len({id(dialect_at("retail", at)) for at in instants}) == len(instants)
    assert dialect_at("retail", FIELD_DATES[0]) is dialect_at("retail", FIELD_DATES[0] + 1)


def test_vendor_names_are_written_when_asked_for_and_always_read() -> None:
    market = gateway_v1.Market(exchange_status="OPEN")
    assert _written(market)["exchangeStatus"] == "OPEN"
    vendor = _written(market, dialect_at("gateway", LAST, vendor_prefix=True))
    assert vendor["ep3Status"] == "OPEN"
    assert "exchangeStatus" not in vendor
    assert json_decoder(gateway_v1.Market)({"ep3Status": "OPEN"}) == market


def test_an_enumeration_number_without_a_name_is_written_as_a_number() -> None:
    assert _written(exchange_v1.Order(state=999))["state"] == 999


def test_a_map_is_written_in_the_order_of_its_keys() -> None:
    order = exchange_v1.Order(price_to_quantity_filled={97: 312, -5: 1, 9: 2})
    assert b'"priceToQuantityFilled":{"-5":"1","9":"2","97":"312"}' in json_encoder(
        exchange_v1.Order, FULL
    )(order)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1.0, "1"), (-2.0, "-2"), (0.1, "0.1"), (1e20, "100000000000000000000"), (1e21, "1e+21"), (0.00001, "0.00001"),
        (1e-7, "1e-07"), (123456.789, "123456.789"), (float("nan"), '"NaN"'), (float("inf"), '"Infinity"'), (float("-inf"), '"-Infinity"'),
    ],
)  # fmt: skip
def test_a_double_is_written_as_short_as_it_can_be_read_back(value: float, text: str) -> None:
    assert write_double(value) == text


def test_the_answer_of_the_token_call_is_snake_case() -> None:
    assert _written(
        issuer_v1.IssueTokenResponse(access_token="t", token_type="Bearer", expires_in=180)
    ) == {"access_token": "t", "token_type": "Bearer", "expires_in": 180}


# ---- reading


def test_both_spellings_and_both_forms_of_integers_and_enumerations_are_read() -> None:
    expected = exchange_v1.InsertOrderRequest(
        order_qty=100,
        side=1,
        clord_id="a",
        min_qty=3,
        good_till_time=parse_instant("2026-09-08T18:00:00Z"),
    )
    read = json_decoder(exchange_v1.InsertOrderRequest)
    assert (
        read(
            b'{"orderQty":"100","side":"SIDE_BUY","clordId":"a","minQty":3,"goodTillTime":"2026-09-08T14:00:00-04:00"}'
        )
        == expected
    )
    assert (
        read(
            b'{"order_qty":100,"side":1,"clord_id":"a","min_qty":3.0,"good_till_time":"2026-09-08T18:00:00.000Z"}'
        )
        == expected
    )


def test_null_is_unset_and_an_empty_body_is_the_empty_message() -> None:
    read = json_decoder(exchange_v1.InsertOrderRequest)
    assert (
        read(b'{"orderQty":null,"side":null}')
        == read(b"")
        == read(b" {} ")
        == exchange_v1.InsertOrderRequest()
    )


def test_fields_the_message_lacks_are_ignored_and_named_by_path() -> None:
    unknown: list[str] = []
    body = {"requests": [{"orderQty": 1}, {"colour": "red", "orderQty": 2}], "shape": {"a": 1}}
    message = json_decoder(exchange_v1.InsertOrderListRequest)(body, unknown)
    assert [request.order_qty for request in message.requests] == [1, 2]
    assert unknown == ["requests[1].colour", "shape"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"requests": [{"orderQty": "ten"}]}, "requests[0].orderQty"),
        ({"requests": [{}, {"order_qty": 1.5}]}, "requests[1].orderQty"),
        ({"requests": [{"orderQty": True}]}, "requests[0].orderQty"),
        ({"requests": [{"orderQty": 2**63}]}, "requests[0].orderQty"),
        ({"requests": [{"orderQty": "9" * 30}]}, "requests[0].orderQty"),
        ({"requests": [{"orderQty": " 1"}]}, "requests[0].orderQty"),
        ({"requests": [{"orderQty": "1_0"}]}, "requests[0].orderQty"),
        ({"requests": [{"orderQty": "१"}]}, "requests[0].orderQty"),
        ({"requests": [{"orderQty": []}]}, "requests[0].orderQty"),
        ({"requests": [{"orderQty": "1", "order_qty": "1"}]}, "requests[0].orderQty"),
        ({"requests": [{"side": "SIDE_WAYS"}]}, "requests[0].side"),
        ({"requests": [{"side": 2**31}]}, "requests[0].side"),
        ({"requests": [{"side": False}]}, "requests[0].side"),
        ({"requests": [{"symbol": 5}]}, "requests[0].symbol"),
        ({"requests": [{"allOrNone": "true"}]}, "requests[0].allOrNone"),
        ({"requests": [{"allOrNone": 1}]}, "requests[0].allOrNone"),
        ({"requests": [{"goodTillTime": "2026-09-08"}]}, "requests[0].goodTillTime"),
        ({"requests": [{"goodTillTime": "2026-02-30T00:00:00Z"}]}, "requests[0].goodTillTime"),
        ({"requests": [{"goodTillTime": "0001-01-01T00:00:00+05:00"}]}, "requests[0].goodTillTime"),
        ({"requests": [{"goodTillTime": 1788220800}]}, "requests[0].goodTillTime"),
        ({"requests": [None]}, "requests[0]"),
        ({"requests": [[]]}, "requests[0]"),
        ({"requests": {}}, "requests"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_refused_by_its_path(body: dict[str, Any], path: str) -> None:
    with pytest.raises(BadField) as refused:
        json_decoder(exchange_v1.InsertOrderListRequest)(json.dumps(body).encode())
    assert refused.value.path == path
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"i": 2**31}, "i"), ({"u": -1}, "u"), ({"d": "NaN"}, "d"), ({"d": "Infinity"}, "d"), ({"d": 10**400 // 10**91}, "d"), ({"d": "1_0"}, "d"),
        ({"y": "*"}, "y"), ({"y": "A"}, "y"), ({"dur": "1"}, "dur"), ({"dur": "9" * 12 + "s"}, "dur"), ({"dur": 1}, "dur"),
        ({"ps": "", "pl": "1"}, "pl"), ({"mll": {"x": 1}}, "mll[x]"), ({"mb": {"yes": 1}}, "mb[yes]"), ({"mss": {"a": None}}, "mss[a]"),
        ({"mi": {"a": {"kind": "?"}}}, "mi[a].kind"), ({"struct": []}, "struct"), ({"values": {}}, "values"), ({"mss": []}, "mss"),
    ],
)  # fmt: skip
def test_odd_values_of_odd_shapes_are_refused_by_their_path(
    probe: Any, body: dict[str, Any], path: str
) -> None:
    with pytest.raises(BadField) as refused:
        json_decoder(probe.Probe)(body)
    assert refused.value.path == path


def test_text_for_numbers_and_either_base64_alphabet_are_read(probe: Any) -> None:
    read = json_decoder(probe.Probe)
    assert (
        read({"d": "1.5", "y": "-_-_"})
        == read({"d": 1.5, "y": "+/+/"})
        == probe.Probe(d=1.5, y=base64.b64decode("+/+/"))
    )
    assert read({"y": "YQ"}) == read({"y": "YQ=="}) == probe.Probe(y=b"a")


def test_a_name_no_member_has_reads_as_zero_where_that_is_asked_for() -> None:
    read = json_decoder(exchange_v1.InsertOrderRequest, zero_unknown_enums=True)
    assert read(
        {"side": "SIDE_WAYS", "type": "ORDER_TYPE_LIMIT"}
    ) == exchange_v1.InsertOrderRequest(type=2)


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"null", b'"x"', b"1", b"{} {}", b"\xff\xfe", b'{"symbol":"\xff"}',
        b'{"orderQty":NaN}', b'{"orderQty":1e999}', b'{"symbol":"\\ud800"}', b"\xef\xbb\xbf{}",
        b"[" * 100_000, b'{"a":' * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    ],
    ids=range(15),
)  # fmt: skip
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadBody):
        json_decoder(exchange_v1.InsertOrderRequest)(body)


@pytest.mark.parametrize(
    ("opening", "closing"), [('{"value":', "}"), ('{"children":[', "]}"), ('{"colour":', "}")]
)
def test_nesting_ends_at_a_fixed_depth_however_much_stack_is_left(
    probe: Any, opening: str, closing: str
) -> None:
    cls = probe.Probe_Inner if "children" in opening else probe.Probe
    levels = 50 if "children" in opening else 100
    for depth in (levels, levels + 1, 5_000):
        inner = "[" * (depth - 1) + "]" * (depth - 1) if "children" not in opening else ""
        body = (
            opening * depth + closing * depth
            if "children" in opening
            else opening + inner + closing
        )
        if depth == levels:
            json_decoder(cls)(body.encode())
        else:
            with pytest.raises(BadBody, match="nested deeper than 100 levels"):
                json_decoder(cls)(body.encode())


def test_brackets_inside_text_and_side_by_side_are_no_nesting() -> None:
    symbol = "[" * 200 + '\\"{' * 50
    body = json.dumps({"requests": [{"symbol": symbol}] * 150}).encode()
    assert len(json_decoder(exchange_v1.InsertOrderListRequest)(body).requests) == 150


almost = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["requests", "side", "price", "goodTillTime"]), inner)
    ),
)


@settings(max_examples=100, deadline=None)
@given(
    body=st.binary(max_size=60)
    | st.text(max_size=60).map(str.encode)
    | almost.map(lambda value: json.dumps(value).encode())
)
def test_no_body_whatever_ends_in_another_exception(body: bytes) -> None:
    try:
        json_decoder(exchange_v1.InsertOrderListRequest)(body)
    except (BadBody, BadField) as refused:
        assert str(refused)
