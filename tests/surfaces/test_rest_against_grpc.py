"""Every operation of both protocols: the same request through both codecs has the same effect, and
the same answer or refusal.

Two equal exchanges receive the same random request of the same caller, one by REST on any of its
addresses, the other by gRPC. Answers are compared as JSON, downloads as text, and the resulting
exchanges by their saved state.
"""

from __future__ import annotations

import base64
from itertools import islice
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.api.codecs.codecs import (
    Field,
    dialect_at,
    fields_of,
    json_encoder,
    protobuf_decoder,
    protobuf_encoder,
)
from sim.contract.contract import Binding, Operation
from sim.contract.messages import Message, find, find_message
from sim.core.funding.funding import sources_of
from sim.kernel.instants import format_instant, minutes
from sim.run.client.client import Connection
from tests.journeys import firm, order, poor_firm, quiet, retail_order, trader
from tests.surfaces.callers import SERVED, kept, unlimited_world
from tests.wide_numbers import wide

BOTH = [
    operation
    for operation in SERVED
    if operation.grpc and operation.bindings and "exchange" in operation.planes
]
DOWNLOADS = [operation for operation in BOTH if operation.kind == "server"]

# grpc-gateway's mapping (wire facts §0.1), and the two places where the documents differ from it:
# 422 and 409 for business refusals (rules M7, E1).
HTTP_OF = {
    0: 200,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: (400, 409, 422),
    10: 409,
    12: 501,
    13: 500,
    14: 503,
    16: 401,
}


class Pair:
    """Two equal exchanges with orders and trades, which can be restored to their initial
    state.
    """

    def __init__(self) -> None:
        self.rest, self.grpc = unlimited_world(), unlimited_world()
        self.existing, _ = [self._prepare(world) for world in (self.rest, self.grpc)]
        for world in (self.rest, self.grpc):
            world.simulation.snapshot("ready")
        self.ready = kept(self.rest)

    def _prepare(self, world: Connection) -> dict[str, list[Any]]:
        sim = world.simulation
        instrument = quiet(sim)
        mine, other = trader(world), trader(world, 1)
        placed = [
            mine.post(
                "/v1/trading/orders", json=order(instrument, side, cents, 5, clordId=f"c-{cents}")
            ).json()
            for side, cents in (("BUY", 30), ("SELL", 70))
        ]
        other.post("/v1/trading/orders", json=order(instrument, "SELL", 30, 2, clordId="c-30"))
        keys = sim.exchange.firms.api_keys()
        world.retail(keys[0]).post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 20, 1))
        result = firm(sim)
        accounts = [user.account for user in result.users[:2]]
        now = sim.now
        return {
            "symbol": [
                instrument.symbol,
                *(terms.symbol for terms in islice(sim.exchange.instruments, 3)),
                "nope",
                "",
            ],
            "account": [*accounts, "firms/nobody/accounts/x", ""],
            "order_id": [*(row["orderId"] for row in placed), "NOSUCHORDER", ""],
            "clord_id": ["c-30", "c-70", "new-1", ""],
            "exec_id": [
                *[execution.id for execution in sim.exchange.trading.executions][-4:],
                "nope",
                "",
            ],
            "user": [result.users[0].name, result.users[1].name, "nope", ""],
            "at": [now - minutes(5), now, now + minutes(5), 0],
            "page_token": [
                "",
                "nonsense",
                base64.b64encode(b'{"offset":1}').decode(),
                base64.b64encode(b'{"offset":-1}').decode(),
            ],
            "where_clause": [
                "",
                f"symbol = '{instrument.symbol}'",
                "price > 50 AND state IN ('NEW')",
                "symbol = ",
                "update_time = 'x'",
            ],
            "currency": ["USD", "", "EUR"],
            "transaction": [*(row.id for row in sim.exchange.funding.of(accounts)), "nope", ""],
            "source": [sources_of(result)[0].id, "nope", ""],
        }

    def compare(self) -> None:
        """Both hold the same; then back to where they were."""
        results = [kept(world) for world in (self.rest, self.grpc)]
        if results != [self.ready, self.ready]:
            for world in (self.rest, self.grpc):
                world.simulation.restore("ready")
        assert results[0] == results[1]


_pairs: list[Pair] = []


def pair() -> Pair:
    if not _pairs:
        _pairs.append(Pair())
    return _pairs[0]


def _pool(name: str, existing: dict[str, list[Any]]) -> list[Any] | None:
    for end, pool in (
        ("symbol", "symbol"),
        ("symbols", "symbol"),
        ("order_id", "order_id"),
        ("clord_id", "clord_id"),
        ("exec_id", "exec_id"),
        ("page_token", "page_token"),
        ("where_clause", "where_clause"),
        ("currency", "currency"),
        ("account", "account"),
        ("accounts", "account"),
        ("name", "account"),
        ("names", "account"),
        ("user", "user"),
        ("account_id", "account"),
        ("account_ids", "account"),
        ("transaction_id", "transaction"),
        ("transaction_ids", "transaction"),
        ("funding_source", "source"),
        ("funding_sources", "source"),
        ("funding_source_ids", "source"),
    ):
        if name == end or name.endswith(f"_{end}"):
            return existing[pool]
    return None


def _element(field: Field, existing: dict[str, list[Any]], depth: int) -> st.SearchStrategy[Any]:
    pool = _pool(field.name, existing) if field.kind == "string" else None
    if field.name == "id" and field.kind == "string":
        pool = existing["account"]
    if pool is not None:
        return st.sampled_from(pool)
    if field.kind == "message":
        return drawn(find_message(field.type_name), existing, depth - 1)
    if field.kind == "enum":
        return st.sampled_from([*(int(member) for member in find(field.type_name)), 99])  # type: ignore[call-overload]
    if field.kind == "timestamp":
        return st.sampled_from(existing["at"])
    if field.kind == "duration":
        return wide(-(10**10), 10**13, 0, 10**12)
    if field.kind == "bool":
        return st.booleans()
    if field.kind == "double":
        return st.floats(allow_nan=False, allow_infinity=False, width=32)
    if field.kind == "bytes":
        return st.binary(max_size=4)
    if field.kind == "string":
        return st.sampled_from(["", "x", "5", "0.5", "-1", "ü"])
    if field.kind.startswith("uint"):
        return st.sampled_from([0, 1, 5, 2**31])
    return st.sampled_from([0, 1, 2, 5, 30, 50, 70, 99, 1000, -1, 2**31 - 1])


def drawn(
    cls: type[Message], existing: dict[str, list[Any]], depth: int = 2
) -> st.SearchStrategy[Any]:
    """Requests that mean something more often than not: names that exist, prices on the ladder, and
    now and then nonsense.
    """

    @st.composite
    def build(draw: st.DrawFn) -> Message:
        values: dict[str, Any] = {}
        taken: set[str] = set()
        for field in fields_of(cls):
            likely = _pool(field.name, existing) is not None or field.kind in ("enum", "message")
            if (
                (field.kind == "message" and not depth)
                or field.key_kind
                or field.kind in ("struct", "value", "list_value")
            ):
                continue
            if (field.oneof and field.oneof in taken) or not draw(
                st.integers(0, 9).map(lambda n, likely=likely: n < (8 if likely else 4))
            ):
                continue
            if field.oneof:
                taken.add(field.oneof)
            item = _element(field, existing, depth)
            values[field.attribute] = draw(st.lists(item, max_size=2) if field.repeated else item)
        return cls(**values)

    return build()


ORDERS = {
    "OrderEntryAPI.InsertOrder",
    "OrderEntryAPI.PreviewOrder",
    "OrderEntryAPI.InsertOrderList",
    "OrderEntryAPI.CancelReplaceOrder",
}


def sound(operation: Operation, existing: dict[str, list[Any]]) -> st.SearchStrategy[Any]:
    """Order entry that the exchange would take, most of it: nonsense alone never gets as far as the
    book.
    """
    cls = operation.request
    if operation.rpc == "InsertOrderList":
        single = find_message(
            next(field.type_name for field in fields_of(cls) if field.name == "requests")
        )
        return st.lists(sound_order(single, existing), min_size=1, max_size=3).map(
            lambda orders: cls(requests=orders)
        )
    if operation.rpc == "CancelReplaceOrder":
        return st.builds(
            cls,
            order_id=st.sampled_from(existing["order_id"][:2]),
            symbol=st.just(existing["symbol"][0]),
            order_qty=st.integers(1, 9),
            price=st.integers(1, 99),
        )
    if operation.rpc == "PreviewOrder":
        inside = next(field for field in fields_of(cls) if field.kind == "message")
        return sound_order(find_message(inside.type_name), existing).map(
            lambda order: cls(**{inside.attribute: order})
        )
    return sound_order(cls, existing)


def sound_order(cls: type[Message], existing: dict[str, list[Any]]) -> st.SearchStrategy[Any]:
    """A limit, market or stop order with what belongs to it, and sometimes with an instruction
    more.
    """
    return st.builds(
        cls,
        type=st.sampled_from([1, 2, 2, 2, 3, 4]),
        side=st.sampled_from([1, 2]),
        symbol=st.sampled_from(existing["symbol"][:1] * 6 + existing["symbol"]),
        order_qty=st.sampled_from([1, 2, 5, 10, 100_000, 0]),
        price=st.sampled_from([1, 20, 30, 50, 70, 99, 100, 0]),
        time_in_force=st.integers(0, 5),
        clord_id=st.sampled_from(["", "new-1", "new-2", "new-3", *existing["clord_id"]]),
        participate_dont_initiate=st.sampled_from([False, False, True]),
    )


def query_of(message: Message, inside: str = "") -> list[tuple[str, str]]:
    """Query parameters of a message, as a client writes them: nested fields dotted, lists repeated,
    unset fields left out.
    """
    results: list[tuple[str, str]] = []
    for field in fields_of(type(message)):
        value = getattr(message, field.attribute)
        for item in value if field.repeated else [value]:
            if item is None or (
                not item
                and not field.presence
                and not field.repeated
                and field.kind not in ("timestamp", "duration")
            ):
                continue
            if field.kind == "message":
                results += query_of(item, f"{inside}{field.name}.")
            else:
                results.append((f"{inside}{field.name}", _text(field, item)))
    return results


def _text(field: Field, value: Any) -> str:
    match field.kind:
        case "bool":
            return "true" if value else "false"
        case "timestamp":
            return format_instant(value)
        case "bytes":
            return base64.b64encode(value).decode()
        case "duration":
            return f"{value / 1e9:.9f}s"
        case _:
            return str(int(value)) if field.kind == "enum" else str(value)


# Who asks: firm and participant. Mostly somebody who may.
WHO = ["participant"] * 6 + ["firm", "poor", "stranger", "nobody"]


def identity(world: Connection, caller: str) -> tuple[Any, str | None]:
    """The firm and the participant that a kind of caller is."""
    sim = world.simulation
    result = poor_firm(sim) if caller == "poor" else firm(sim)
    strangers = (
        other
        for other in sim.exchange.firms.all()
        if other.client_id and other.users and other is not result
    )
    participant = {
        "participant": result.users[0].name,
        "poor": result.users[0].name,
        "nobody": "firms/no/users/body",
        "stranger": next(strangers).users[0].name,
    }
    return result, participant.get(caller)


def by_rest(
    world: Connection, operation: Operation, request: Message, caller: str, binding: Binding
) -> Any:
    """The request on one of the operation's bindings."""
    verb, path, body = binding
    while "{" in path:
        before, _, rest = path.partition("{")
        name, _, after = rest.partition("}")
        value: Any = request
        for part in name.split("."):
            value = getattr(value, part, "") if value is not None else ""
        path = f"{before}{quote(str(value), safe='/' if '*' in name else '')}{after}"
    client = world.exchange(*identity(world, caller))
    if not body:
        return client.request(verb, path, params=_grouped(query_of(request)))
    if body != "*":
        request = (
            getattr(request, body)
            or find_message(
                next(field.type_name for field in fields_of(type(request)) if field.name == body)
            )()
        )
    return client.request(
        verb, path, body=json_encoder(type(request), dialect_at("exchange", 0))(request)
    )


def _grouped(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for name, value in pairs:
        result.setdefault(name, []).append(value)
    return result


def sayable(binding: Binding, request: Message) -> bool:
    """Whether REST can say it: an empty part of a path makes another path, and a query cannot hold
    an empty message.
    """
    _, path, body = binding
    for part in path.split("/"):
        value: Any = request
        for name in part.strip("{}").partition("=")[0].split(".") if part.startswith("{") else ():
            value = getattr(value, name, None)
        if not value:
            return False
    inside = [
        getattr(request, field.attribute)
        for field in fields_of(type(request))
        if field.kind == "message" and not field.repeated
    ]
    return bool(body) or all(query_of(message) for message in inside if message is not None)


def check(
    both: Pair,
    operation: Operation,
    request: Message,
    caller: str = "participant",
    binding: Binding | None = None,
) -> int:
    """Send a request both ways and compare; the gRPC code."""
    answer = by_rest(both.rest, operation, request, caller, binding or operation.bindings[0])
    simulation = both.grpc.simulation
    metadata = both.grpc.rpc(*identity(both.grpc, caller)).metadata()
    message = protobuf_encoder(type(request))(request)
    ask = simulation.rpc if operation.kind == "unary" else simulation.open
    reply = ask(operation.full_methods[0], metadata, message).reply
    assert reply is not None
    expected = HTTP_OF[reply.code]
    assert answer.status in (expected if isinstance(expected, tuple) else (expected,)), (
        reply.code,
        reply.message,
        answer.status,
        answer.body,
    )
    assert answer.reply.ready_at == reply.ready_at
    if reply.code:
        assert (answer.json()["code"], answer.json()["message"]) == (reply.code, reply.message)
    elif operation.kind == "unary":
        displayed = json_encoder(operation.response, dialect_at("exchange", simulation.now))(
            protobuf_decoder(operation.response)(reply.body)
        )
        assert msgspec.json.decode(displayed) == answer.json()
    else:
        parts = [protobuf_decoder(operation.response)(part) for part in reply.chunks or ()]
        if operation.content == "csv":
            assert b"".join(part.data for part in parts) == answer.body
        else:
            encode = json_encoder(operation.response, dialect_at("exchange", simulation.now))
            assert [msgspec.json.decode(line)["result"] for line in answer.body.splitlines()] == [
                msgspec.json.decode(encode(part)) for part in parts
            ]
    both.compare()
    return reply.code


@pytest.mark.spec("S0-5", "S7.2-2")
@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize("operation", BOTH, ids=lambda operation: operation.name)
def test_both_protocols_do_the_same(operation: Operation, data: st.DataObject) -> None:
    request = data.draw(drawn(operation.request, pair().existing))
    binding = data.draw(st.sampled_from(operation.bindings))
    if sayable(binding, request):
        check(pair(), operation, request, data.draw(st.sampled_from(WHO)), binding)


def test_downloads_are_among_those_compared() -> None:
    assert {operation.rpc for operation in DOWNLOADS} == {
        "DownloadOrders",
        "DownloadExecutions",
        "DownloadTrades",
        "DownloadBalanceLedger",
        "DownloadPositionLedger",
    }


@pytest.mark.parametrize(
    "operation",
    [operation for operation in BOTH if operation.name in ORDERS],
    ids=lambda operation: operation.name,
)
def test_both_protocols_take_and_refuse_the_same_orders(operation: Operation) -> None:
    codes: list[int] = []

    @settings(max_examples=80)
    @given(request=sound(operation, pair().existing))
    def try_some(request: Message) -> None:
        codes.append(check(pair(), operation, request))

    try_some()
    assert codes.count(0) > len(codes) / 10
    assert codes.count(0) < len(codes)
