"""Field numbers that the specification names (§2.5, §2.7, §4.4, §9), read from the bytes of gRPC
messages by a reader that knows no schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.run.client.client import Stream
from tests.kit import Desk, streams


def varint(data: bytes, at: int) -> tuple[int, int]:
    """(value, where it ends)."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data: bytes) -> dict[int, list[Any]]:
    """Values by field number: integers, or bytes."""
    result: dict[int, list[Any]] = {}
    for number, value in _pairs(data):
        result.setdefault(number, []).append(value)
    return result


def _pairs(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def text_field(number: int, text: str) -> bytes:
    return bytes((number << 3 | 2, len(text))) + text.encode()


@pytest.mark.spec("S9-5", "S2.7-1", "S2.7-2")
def test_an_order_has_its_scale_in_field_49_and_its_fills_by_price_in_field_41(world: Desk) -> None:
    instrument = world.quiet()
    for cents in (40, 41):
        world.place(instrument, "sell", cents, 1, user=1)
    world.place(instrument, "buy", 41, 5)
    reply = world.rpc_trader().raw("/exchange.v1.OrderEntryAPI/GetOpenOrders", b"")
    (raw,) = fields(reply.body)[1]
    order = fields(raw)
    assert order[49] == [instrument.qty_scale]
    filled = {entry[1][0]: entry[2][0] for entry in map(fields, order[41])}
    scale, qty = instrument.price_scale, instrument.qty_scale
    assert filled == {40 * scale // 100: qty, 41 * scale // 100: qty}


@pytest.mark.spec("S9-5", "S2.5-3")
def test_statistics_have_the_last_quantity_in_field_14_and_the_settlement_in_field_15(
    world: Desk,
) -> None:
    """In the book and the best prices; field 15 is absent until there is a settlement."""
    instrument = world.quiet()
    methods = ("GetOrderBook", "GetBBO")

    def statistics() -> list[dict[int, list[Any]]]:
        results = []
        for method in methods:
            request = text_field(1, instrument.symbol)
            rpc = world.rpc_partner
            reply = rpc.raw(f"/exchange.v1.OrderBookAPI/{method}", request)
            assert reply.code == 0
            nested = [item for values in fields(reply.body).values() for item in values]
            stats = [
                parsed
                for item in nested
                if isinstance(item, bytes) and (parsed := _parsed(item)) and 14 in parsed
            ]
            results += stats
        return results

    assert statistics() == []  # nothing was traded: the field is optional
    world.trade(instrument, 40, 7)
    displayed = statistics()
    assert [item[14] for item in displayed] == [[7 * instrument.qty_scale]] * 2
    assert not any(15 in item for item in displayed)
    world.settle(instrument, "1")
    for statistic in statistics():
        seconds = fields(statistic[15][0])[1][0]
        assert seconds == world.now // 1_000_000_000


def _parsed(data: bytes) -> dict[int, list[Any]] | None:
    """Fields of bytes that may be a message, or None where they are none."""
    try:
        return fields(data)
    except (IndexError, KeyError):
        return None


@pytest.mark.spec("S9-5", "S4.4-6", "S8-5")
def test_keepalive_is_field_7_changes_nothing_and_gets_no_answer(world: Desk) -> None:
    instrument = world.quiet()
    stream: Stream = world.rpc_partner.stream(streams.BIDIRECTIONAL)
    streams.talk(stream, subscribe=wire.SubscribeCommand(symbols=[instrument.symbol]))
    for _ in range(3):
        world.advance("50m")
        stream.take()
        stream.send(bytes((7 << 3 | 2, 0)))  # field 7, an empty message
        assert stream.take() == []
        assert stream.end is None
    world.place(instrument, "buy", 40)
    assert len(stream.take()) == 1  # still subscribed, to the same book
    world.advance("61m")
    assert stream.end is not None
