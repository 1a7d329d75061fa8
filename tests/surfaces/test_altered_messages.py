"""Patches (design D25) on answers, frames and deliveries of every surface, and faults that select
frames by what they hold.
"""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.core.model.refusals import InvalidRequest
from sim.core.service.json_patch import READY, PatchOperation, applied
from sim.kernel.journal_reader import read_journal
from sim.read.replay import simulation_of, verify
from sim.run.actors.operator import views
from sim.run.client.client import RpcError, connect
from tests.journeys import key, operate, quiet, retail_order, rpc_trader, trader
from tests.kit import Desk
from tests.kit.streams import MARKETS, PRIVATE, socket, subscribe


def fault(world: Any, act: dict[str, Any], times: int = 1, **match: Any) -> None:
    operate(world, "fault.add", match=match, act=act, times=times)


def counts(world: Any) -> list[tuple[int, int, int]]:
    rows = views.view(world.simulation.engine, "faults")["faults"]
    return [(row["matched"], row["affected"], row["impossible"]) for row in rows]


# ---- the patch itself (RFC 6902)

DOCUMENT = {"a": [1, 2], "b/c": {"~": 3}}
PATCHES: list[tuple[list[tuple[Any, ...]], Any]] = [
    ([("add", "/a/-", 3)], {"a": [1, 2, 3], "b/c": {"~": 3}}),
    ([("add", "/a/0", 0)], {"a": [0, 1, 2], "b/c": {"~": 3}}),
    ([("add", "/a/2", 0)], {"a": [1, 2, 0], "b/c": {"~": 3}}),
    ([("replace", "/b~1c/~0", None)], {"a": [1, 2], "b/c": {"~": None}}),
    ([("remove", "/a/1")], {"a": [1], "b/c": {"~": 3}}),
    ([("replace", "", [])], []),
    ([("remove", "/a"), ("replace", "/missing", 1)], None),
    ([("add", "/missing/below", 1)], None),
    ([("add", "/a/3", 1)], None),
    ([("replace", "/a/-", 1)], None),
    ([("remove", "/a/01")], None),
    ([("replace", "/a/0/x", 1)], None),
]


@pytest.mark.parametrize(("operations", "expected"), PATCHES)
def test_a_patch_is_applied_whole_or_not_at_all(operations: Any, expected: Any) -> None:
    before = json.dumps(DOCUMENT)
    assert applied(tuple(PatchOperation(*each) for each in operations), DOCUMENT) == expected
    assert json.dumps(DOCUMENT) == before


PAGE = {"rows": [{"id": "7", "state": "ORDER_STATE_NEW", "px": 0.5}], "nextCursor": "b"}
ALTERED = {
    "unknown-enum": {**PAGE, "rows": [{"id": "7", "state": "ORDER_STATE_SANDBOX", "px": 0.5}]},
    "extra-field": {
        **PAGE,
        "rows": [PAGE["rows"][0] | {"sandboxExtra": "new"}],
        "sandboxExtra": "new",
    },  # type: ignore[operator, index]
    "missing-field": {**PAGE, "rows": [{"state": "ORDER_STATE_NEW", "px": 0.5}]},
    "null-field": {**PAGE, "rows": [{"id": None, "state": "ORDER_STATE_NEW", "px": 0.5}]},
    "number-as-text": {**PAGE, "rows": [{"id": 7, "state": "ORDER_STATE_NEW", "px": 0.5}]},
    "repeated-cursor": {**PAGE, "nextCursor": "a"},
    "empty-page": {**PAGE, "rows": []},
    "truncated-list": {**PAGE, "rows": []},
    "unknown-error-code": None,
}


@pytest.mark.parametrize("name", READY)
def test_each_ready_patch_does_what_the_catalogue_says(name: str) -> None:
    assert applied(name, PAGE, "a") == ALTERED[name]


# ---- answers


def test_an_answer_of_each_plane_is_altered_once_and_then_right_again(
    world: Desk, instrument: Instrument
) -> None:
    retail = world.retail(key(world.simulation))
    calls = {
        "gateway": lambda: world.gateway.get(f"/v1/markets/{instrument.symbol}/book"),
        "retail": lambda: retail.get("/v1/account/balances"),
        "exchange": lambda: trader(world).get("/v1/whoami"),
    }
    for plane, call in calls.items():
        right = call().json()
        fault(world, {"patch": [{"op": "add", "path": "/odd", "value": [1.5, None]}]}, plane=plane)
        altered = call()
        assert altered.json() == right | {"odd": [1.5, None]}
        assert "x-sim-fault" in dict(altered.reply.headers)
        assert call().json() == right
    assert counts(world) == [(1, 1, 0)] * 3


def test_a_refusal_and_an_answer_that_comes_later_are_altered_too(
    world: Desk, instrument: Instrument
) -> None:
    fault(
        world, {"patch": [{"op": "replace", "path": "/id", "value": "?"}]}, operation="CreateOrder"
    )
    order = retail_order(instrument, "BUY_LONG", 30, 1) | {"synchronousExecution": True}
    answer = world.retail(key(world.simulation)).post("/v1/orders", json=order)
    assert answer.json()["id"] == "?"
    assert counts(world)[-1] == (1, 1, 0)
    refused = world.gateway.get("/v1/markets/no-such-market/book")
    assert refused.status == 404
    fault(world, {"patch": "unknown-error-code"}, plane="gateway")
    assert world.gateway.get("/v1/markets/no-such-market/book").json()["code"] == 4242


def test_grpc_carries_a_free_number_and_no_unknown_field(
    world: Desk, instrument: Instrument
) -> None:
    client, request = rpc_trader(world), wire.GetOrderBookRequest(symbol=instrument.symbol)

    def read() -> Any:
        return client.call("OrderBookAPI.GetOrderBook", request)

    world.place(instrument, "buy", 30)
    right = read()
    for operation in ("unknown-enum", [{"op": "replace", "path": "/state", "value": "ODD"}]):
        fault(world, {"patch": operation}, plane="grpc")
        assert read().state == 9999
    for operation in (
        "extra-field",
        [{"op": "replace", "path": "/state", "value": {}}],
        [{"op": "remove", "path": "/nothing"}],
    ):
        fault(world, {"patch": operation}, plane="grpc")
        assert read() == right
        operate(
            world, "fault.remove", views.view(world.simulation.engine, "faults")["faults"][0]["id"]
        )
    assert counts(world) == [(1, 1, 0)] * 2
    with pytest.raises(RpcError):
        fault(world, {"patch": "unknown-error-code"}, plane="grpc")
        client.call("OrderBookAPI.GetOrderBook", wire.GetOrderBookRequest(symbol="nothing"))
    assert counts(world)[0] == (1, 0, 1)


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("1500ms", "2"),
        ("2s", "2"),
        ("0.5", "0.5"),
        ("Tue, 08 Sep 2026 18:00:05 GMT", None),
        ("soon", None),
    ],
)
def test_retry_after_is_whole_seconds_or_as_it_is_written(
    world: Desk, written: str, sent: str | None
) -> None:
    fault(world, {"status": 429, "retry_after": written}, plane="gateway")
    headers = dict(world.gateway.get("/v2/leagues").reply.headers)
    assert headers["Retry-After"] == (sent or written)


@pytest.mark.parametrize("odds", ["always", "never"])
def test_a_webhook_body_may_have_spaces_that_a_receiver_would_not_write(
    world: Desk, odds: str
) -> None:
    world.quirk("webhook.body_spacing", odds)
    world.register_webhook()
    world.start_kyc()
    world.advance("1h")
    body = world.webhooks[-1].body
    libraries = (json.dumps(json.loads(body)), json.dumps(json.loads(body), separators=(",", ":")))
    libraries += tuple(json.dumps(json.loads(body), indent=indent) for indent in (2, 4))
    assert (body.decode() in libraries) is (odds == "never")


# ---- frames


def test_frames_are_altered_on_sockets_and_grpc(world: Desk, instrument: Instrument) -> None:
    markets = socket(world, MARKETS)
    fault(world, {"patch": "extra-field"}, plane="stream")
    (frame,) = subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol])
    assert frame["sandboxExtra"] == "new"
    request = wire.CreateMarketDataSubscriptionRequest(symbols=[instrument.symbol])
    fault(world, {"patch": "unknown-enum"}, plane="stream")
    books = rpc_trader(world).stream(
        "MarketDataSubscriptionAPI.CreateMarketDataSubscription", request
    )
    assert books.take()[0].update.state == 9999


def test_one_market_is_stale_while_others_and_heartbeats_go_on(world: Desk) -> None:
    first, second = list(world.in_state())[:2]
    markets = socket(world, MARKETS)
    subscribe(markets, "r1", "MARKET_DATA", [first.symbol])
    fault(world, {"drop": True}, 0, plane="stream", symbol=first.symbol)
    world.place(first, "buy", 30)
    world.advance("30s")
    frames = markets.take()
    assert {"heartbeat": {}} in frames and not any("marketData" in frame for frame in frames)
    assert subscribe(markets, "r2", "MARKET_DATA", [second.symbol])


def test_fills_are_lost_and_nothing_else(world: Desk, instrument: Instrument) -> None:
    private = socket(world, PRIVATE)
    subscribe(private, "r1", "ORDER", [])
    fault(world, {"drop": True}, 0, plane="stream", execution="*FILL")
    retail = world.retail(key(world.simulation))
    retail.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 40, 2))
    world.place(instrument, "sell", 40, 1)
    types = [line for line in map(str, private.take()) if "EXECUTION_TYPE" in line]
    assert types and not any("FILL" in line for line in types)
    assert counts(world)[0][1] > 0


def test_a_late_snapshot_does_not_hold_up_what_follows(world: Desk, instrument: Instrument) -> None:
    fault(world, {"delay": "5s"}, plane="stream", frame="snapshot")
    markets = socket(world, MARKETS)
    assert subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol]) == []
    world.place(instrument, "buy", 30)
    (update,) = markets.take()
    assert update["marketData"]["bids"]
    world.advance("5s")
    assert [frame["marketData"]["bids"] for frame in markets.take() if "marketData" in frame] == [
        []
    ]


def test_an_execution_comes_twice(world: Desk, instrument: Instrument) -> None:
    fault(world, {"duplicate": True}, 0, plane="stream", execution="CANCELED")
    request = wire.CreateOrderSubscriptionRequest()
    orders = rpc_trader(world).stream("OrderEntryAPI.CreateOrderSubscription", request)
    order = world.place(instrument, "buy", 30)
    orders.take()
    world.cancel(order)
    assert len(orders.take()) == 2


# ---- openings


@pytest.mark.parametrize("act", [{"half_close": True}, {"reset": True, "handled": True}])
def test_what_an_opening_cannot_do_is_counted_or_refused(world: Desk, act: Any) -> None:
    fault(world, act, plane="grpc")
    request = wire.CreateOrderSubscriptionRequest()
    rpc_trader(world).stream("OrderEntryAPI.CreateOrderSubscription", request)
    assert counts(world) == [(1, 0, 1)]
    with pytest.raises(InvalidRequest, match="opens a stream"):
        fault(world, act, plane="grpc", operation="CreateOrderSubscription")


def test_an_opening_later_than_the_edge_allows_is_refused(world: Desk) -> None:
    fault(world, {"delay": "31s"}, operation="CreateOrderSubscription", plane="grpc")
    with pytest.raises(RpcError):
        rpc_trader(world).stream(
            "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()
        )


@pytest.mark.parametrize(("status", "code"), [(401, 1008), (422, 1008), (503, 1013), (504, 1011)])
def test_an_injected_error_closes_a_socket_with_a_code_of_failure(
    world: Desk, instrument: Instrument, status: int, code: int
) -> None:
    markets = socket(world, MARKETS)
    fault(world, {"status": status}, plane="stream")
    subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol])
    assert markets.close_code == code


# ---- the run


def test_altered_runs_replay_rewind_and_fork() -> None:
    file = io.BytesIO()
    sim = Simulation(load_scenario("quickstart"), journal=file)
    world = connect(sim)
    instrument = quiet(sim)
    start = sim.seq
    fault(world, {"patch": "number-as-text"}, 3, plane="exchange")
    fault(world, {"delay": "5s"}, 0, plane="stream", symbol=instrument.symbol)

    def read(client: Any) -> bytes:
        return trader(client).get("/v1/whoami").body

    markets = socket(world, MARKETS)
    subscribe(markets, "r1", "MARKET_DATA", [instrument.symbol])
    forked = connect(sim.fork())
    assert read(forked) == read(world)
    world.advance("10s")
    header, lines = read_journal(io.BytesIO(file.getvalue()))
    replayed = simulation_of(header)
    verify(replayed, lines)
    assert replayed.digest == sim.digest
    sim.rewind(seq=start)
    assert not counts(world)
