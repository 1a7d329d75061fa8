"""No request makes work without bound: pages have a maximum, repeated values have no cost."""

from __future__ import annotations

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.refusals import Code
from tests.journeys import key, rpc_trader, trader
from tests.kit import Desk, begin, refused

MANY = 1_000_000
MAXIMA = {
    "/v1/markets": ("markets", 500),
    "/v1/events": ("events", 100),
    "/v1/search": ("events", 100),
    "/v2/leagues/nba/events": ("events", 100),
    "/v2/sports/basketball/events": ("events", 100),
    "/v2/leagues": ("leagues", 50),
    "/v2/tags": ("tags", 500),
    "/v1/series": ("series", 500),
    "/v1/sports/teams": ("teams", 500),
    "/v1/sports/players": ("players", 500),
}


@pytest.fixture(scope="module")
def world() -> Desk:
    return begin("quickstart", limits=False)


@pytest.mark.parametrize("path", MAXIMA)
def test_a_page_of_the_gateway_has_a_maximum(world: Desk, path: str) -> None:
    name, most = MAXIMA[path]
    page = world.read(path, name, limit=MANY)
    assert 0 < len(page) <= most
    if path in ("/v1/markets", "/v1/events"):
        assert len(page) == most


@pytest.mark.parametrize("path", ["/v1/markets", "/v1/events", "/v1/series", "/v1/sports/teams"])
def test_a_name_to_sort_by_may_be_repeated(world: Desk, path: str) -> None:
    key = "volume" if path in ("/v1/markets", "/v1/events") else "id"
    once = world.gateway.get(f"{path}?limit=3&orderBy={key}")
    many = world.gateway.get(f"{path}?limit=3&" + "&".join(["orderBy=" + key] * 5000))
    assert many.status == 200
    assert once.json() == many.json()


def test_trade_statistics_have_a_maximum_of_bars(world: Desk) -> None:
    asked = {"symbol": next(iter(world.core.instruments)).symbol, "bars": 1_001}
    answer = trader(world).post("/v1/report/trades/stats", json=asked)
    assert (answer.status, "between 0 and 1000" in answer.json()["message"]) == (400, True)


BATCHES = {
    "/v1/trading/orders/list": "requests",
    "/v1/trading/orders/cancel/list": "requests",
    "/v1/orders/batched": "orders",
    "/v1/orders/batched/cancel": "orders",
}


@pytest.mark.parametrize("path", BATCHES)
def test_a_body_has_a_maximum_of_values(world: Desk, path: str) -> None:
    client = world.retail(key(world.simulation)) if "batched" in path else trader(world)
    body = {BATCHES[path]: [{}] * 200_000}
    answer = client.post(path, json=body)
    assert (answer.status, answer.json()["message"]) == (400, "more than 10000 values")


def test_a_message_has_a_maximum_of_entries(world: Desk) -> None:
    many = wire.InsertOrderListRequest(requests=[wire.InsertOrderRequest()] * 10_001)
    with refused(Code.INVALID_ARGUMENT):
        rpc_trader(world).call("OrderEntryAPI.InsertOrderList", many)


def test_a_list_is_prepared_in_small_steps_and_then_at_once(world: Desk) -> None:
    """The steps change nothing: the answer is that of an exchange that was not prepared."""
    fresh = Desk(world.simulation.fork())
    before, query = fresh.simulation.digest, "limit=100"
    steps = list(fresh.simulation.prepare("gateway", "GET", "/v1/events", query))
    assert len(steps) > 50
    assert fresh.simulation.digest == before
    assert len(list(fresh.simulation.prepare("gateway", "GET", "/v1/events", query))) == 100
    prepared = fresh.gateway.get(f"/v1/events?{query}")
    assert prepared.json() == world.gateway.get(f"/v1/events?{query}").json()
