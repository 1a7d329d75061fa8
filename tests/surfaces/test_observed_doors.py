"""How callers get in, as probes and recordings show it: the key before the address, what a signature
covers, one subscription to every market, headers and caches.
"""

from __future__ import annotations

import base64
import json
from email.message import Message
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sim.core.catalogue.observations import READINGS
from sim.kernel.instants import NS_PER_S
from sim.run.actors.operator import views
from sim.run.client.client import Stream
from tests.kit import Desk, streams

PUBLIC = "/v1/markets", "/v1/events", "/v1/search"


def unsigned(world: Desk, path: str) -> tuple[int, str, bytes]:
    """Status, content type and body of a retail call without any header."""
    answer = world.raw("retail", "GET", path.partition("?")[0])
    return answer.status, answer.reply.content_type, answer.body


@pytest.mark.spec("S5.2-1")
@pytest.mark.observed("retail.key_first")
def test_without_a_key_every_retail_path_is_401_in_plain_text(world: Desk) -> None:
    for path in ("/v1/account/balances", "/v1/markets", "/v1/nothing-of-this-kind", "/"):
        assert unsigned(world, path) == (401, "text/plain", b"Missing required API key headers")
    status, content_type, body = unsigned(world, "/v1/health")
    assert (status, content_type, json.loads(body)) == (200, "application/json", {"status": "ok"})
    assert world.customer().get("/v1/nothing-of-this-kind").status == 404


@pytest.mark.spec("S8-1")
@pytest.mark.observed("retail.key_first")
def test_unsigned_retail_calls_count_against_their_address(world: Desk) -> None:
    unsigneds = [unsigned(world, "/v1/account/balances")[0] for _ in range(22)]
    assert unsigneds == [401] * 20 + [429] * 2
    assert unsigned(world, "/v1/health")[0] == 429
    assert world.customer().get("/v1/account/balances").status == 200


@pytest.mark.parametrize("path", PUBLIC)
@pytest.mark.observed("retail.catalogue")
def test_the_retail_host_serves_the_catalogue_to_signed_callers(world: Desk, path: str) -> None:
    params = {"limit": "2", "query": "a", "marketTypes": "moneyline"}
    signed = world.customer().get(path, params=params)
    assert signed.status == 200 and signed.json() == world.gateway.get(path, params=params).json()


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.observed("retail.timestamp_tolerance")
def test_a_timestamp_may_be_older_in_observed(world: Desk, reading: str) -> None:
    world.simulation.control("reading.set", "", {"name": reading})
    path = "/v1/account/balances"
    headers = world.retail_headers(world.keys[0], "GET", path)
    statuses = []
    for wait in ("29s", "2s", "148s", "2s"):
        world.advance(wait)
        statuses.append(world.raw("retail", "GET", path, headers).status)
    assert statuses == ([200, 401, 401, 401] if reading == "documented" else [200, 200, 200, 401])
    world.assume("auth.timestamp_tolerance", "1s")
    headers = world.retail_headers(world.keys[0], "GET", path)
    world.advance("2s")
    assert world.raw("retail", "GET", path, headers).status == 401


@pytest.mark.spec("S5.2-1")
@pytest.mark.observed("retail.signed_path")
def test_a_signature_covers_the_path_without_its_query(world: Desk) -> None:
    query, path, api_key = "limit=1", "/v1/portfolio/activities", world.keys[0]
    secret = world.simulation.world.parties.secrets[api_key.key_id]
    signer = Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret)[:32])
    for signed, status in ((path, 200), (f"{path}?{query}", 401)):
        headers = world.retail_headers(api_key, "GET", path)
        signature = signer.sign(f"{headers['x-pm-timestamp']}GET{signed}".encode())
        headers["x-pm-signature"] = base64.b64encode(signature).decode()
        assert world.raw("retail", "GET", path, headers, query=query).status == status


# ---- sockets


def listening(world: Desk, kind: str, slugs: list[str], **more: Any) -> Stream:
    socket = world.web_socket(world.keys[0], streams.MARKETS)
    socket.frames = streams.subscribe(socket, "all", kind, slugs, **more)
    return socket


@pytest.mark.spec("S4.2-15")
@pytest.mark.parametrize("debounced", [False, True])
@pytest.mark.observed("sockets.every_market")
def test_a_subscription_without_slugs_follows_every_market(world: Desk, debounced: bool) -> None:
    everything = listening(world, "MARKET_DATA", [], responsesDebounced=debounced)
    trades = listening(world, "TRADE", [])
    first = {frame["marketData"]["marketSlug"] for frame in everything.take()}
    assert len(first) > 10
    slugs = [world.quiet().symbol, sorted(first)[0]]
    for slug in slugs:
        for caller, side in (("maker", "sell"), ("taker", "buy")):
            world.place_as(caller, slug, side, "0.99")
    world.advance("1s")
    followed = {frame["marketData"]["marketSlug"] for frame in everything.take()}
    assert set(slugs) <= followed
    assert {frame["trade"]["marketSlug"] for frame in trades.take() if "trade" in frame} <= {*slugs}


@pytest.mark.spec("S4.2-15")
@pytest.mark.observed("sockets.every_market")
def test_a_subscription_without_slugs_begins_with_the_same_markets_whoever_read_or_went_back(
    world: Desk,
) -> None:
    sim, books = world.simulation, world.trading.books
    traded = world.quiet().symbol
    read = next(row.symbol for row in world.in_state() if books.touched(row.symbol) is None)
    for caller, side in (("maker", "sell"), ("taker", "buy")):
        world.place_as(caller, traded, side, "0.99")
    sim.snapshot("traded")

    def begun() -> set[str]:
        frames = listening(world, "MARKET_DATA", []).take()
        return {frame["marketData"]["marketSlug"] for frame in frames}

    before = begun()
    assert traded in before and read not in before
    assert world.gateway.get(f"/v1/markets/{read}/book").status == 200
    assert books.touched(read) is not None
    assert begun() == before
    sim.restore("traded")
    assert begun() == before


@pytest.mark.observed("sockets.unsubscribed")
def test_the_end_of_a_subscription_is_acknowledged(world: Desk) -> None:
    socket = listening(world, "TRADE", [world.quiet().symbol])
    socket.take()
    socket.send(b'{"unsubscribe":{"requestId":"all"}}')
    assert socket.take() == [{"requestId": "all", "unsubscribed": True}]


@pytest.mark.observed("sockets.per_key")
def test_a_key_may_have_many_sockets_unless_a_limit_is_set(world: Desk) -> None:
    world.assume("limits.extra", "true")
    sockets = [listening(world, "TRADE", []) for _ in range(12)]
    assert all(socket.end is None for socket in sockets)
    world.assume("retail.sockets_per_key", 12)
    headers = world.retail_headers(world.keys[0], "GET", streams.MARKETS)
    refused = world.simulation.open(streams.MARKETS, headers, b"", web_socket=True)
    assert refused.reply is not None and refused.reply.status == 429


# ---- headers and caches


def fetched(url: str, **headers: str) -> tuple[int, Message]:
    try:
        with urlopen(Request(url, headers=headers)) as answer:
            return answer.status, answer.headers
    except HTTPError as error:
        return error.code, error.headers


@pytest.mark.observed("http.headers")
def test_answers_can_be_traced_and_books_cached(exchange: Any) -> None:
    slug = exchange.symbols["open"][0]
    url = f"{exchange.gateway}/v1/markets/{slug}/book"
    status, headers = fetched(url)
    cached = headers["Vary"], headers["Cache-Control"]
    assert (status, *cached) == (200, "Origin", "public, max-age=30")
    assert len(headers["x-trace-id"]) == 32 and int(headers["x-trace-id"], 16)
    assert headers["x-server-latency"].isdigit()
    since = headers["Last-Modified"]
    exchange.clock.advance("10s")
    assert fetched(url, **{"If-Modified-Since": since})[0] == 304
    order = {"as": "maker", "symbol": slug, "side": "buy", "price": "0.01", "qty": "1"}
    exchange.control("POST", "/orders", order)
    status, headers = fetched(url, **{"If-Modified-Since": since})
    assert status == 200 and headers["Last-Modified"] != since
    retail = fetched(f"{exchange.retail}/v1/health")
    assert retail[0] == 200 and "Cache-Control" not in retail[1]


@pytest.mark.observed("gateway.paths")
def test_old_paths_of_the_gateway_answer(world: Desk) -> None:
    gateway = world.gateway
    assert gateway.get("/v1/tags").json() == gateway.get("/v2/tags").json()
    series = gateway.get("/v1/series").json()["series"][0]["id"]
    events = gateway.get(f"/v1/sports/{series}/events", params={"limit": "5"}).json()
    filtered = gateway.get("/v1/events", params={"seriesId": series, "limit": "5"}).json()
    assert events == filtered and events["events"]
    assert gateway.get("/v1/sports/999999/events").json() == {"events": []}


# ---- published limits, assertions, replaced orders


@pytest.mark.parametrize("preset", ["ideal", "realistic"])
@pytest.mark.observed("limits.published")
def test_published_limits_are_counted_where_they_are_off_and_enforced_in_presets(
    world: Desk, preset: str
) -> None:
    """Twelve books a minute: a polling client learns of it before its first day elsewhere."""
    sim = world.simulation
    world.preset(preset)
    for fault in [item["id"] for item in views.view(sim.engine, "faults")["faults"]]:
        sim.control("fault.remove", fault, {})
    atlas, path = world.partner, f"/v1/orderbook/{world.quiet().symbol}"
    statuses = [atlas.get(path).status for _ in range(14)]
    rows = sim.requests(operation="GetOrderBook")
    over_limits = [row["over_limit"] for row in rows]
    (usage,) = (row for row in views.view(sim.engine, "limits")["limits"] if row["limit"] == "book")
    if preset == "realistic":
        assert statuses == [200] * 12 + [429] * 2 and over_limits == [[]] * 14
        return
    assert statuses == [200] * 14 and over_limits == [[]] * 12 + [["book"]] * 2
    assert (usage["used"], usage["allowed"], usage["would_refuse"]) == (12, 12, 2)
    world.advance("5s")
    assert sim.requests(operation="GetOrderBook")[-1]["over_limit"] == ["book"]
    assert atlas.get(path).status == 200
    assert sim.requests(operation="GetOrderBook")[-1]["over_limit"] == []


@pytest.mark.spec("S5.1-2")
@pytest.mark.observed("auth.assertion_life")
def test_an_assertion_lives_five_minutes_at_most(world: Desk) -> None:
    atlas, now = world.firm, world.now // NS_PER_S

    def status(life: int) -> int:
        assertion = world.assertion(atlas, iat=now, exp=now + life)
        return world.token(atlas, client_assertion=assertion).status

    assert (status(300), status(301)) == (200, 400)
    world.assume("token.assertion_life_max", "1h")
    assert status(3600) == 200


@pytest.mark.parametrize("price", ["40", "41"])
@pytest.mark.observed("orders.insert_time")
def test_a_replaced_order_is_inserted_anew(world: Desk, price: str) -> None:
    instrument = world.quiet()
    placed = world.place(instrument, "buy", 40, orderQty="5", price="40")
    world.advance("1m")
    change = {"orderId": placed, "symbol": instrument.symbol, "price": price, "orderQty": "4"}
    assert world.trader().post("/v1/trading/orders/replace", json=change).status == 200
    (order,) = world.open_orders()
    times = order["createTime"], order["insertTime"]
    assert times == ("2026-09-08T18:00:00Z", "2026-09-08T18:01:00Z")


@pytest.mark.spec("S4.5-1")
def test_a_token_is_not_to_be_stored(world: Desk) -> None:
    """RFC 6749 §5.1."""
    assert world.token(world.firm).headers["cache-control"] == "no-store"
    assert "cache-control" not in world.auth.post("/oauth/token", form={}).headers


def test_a_price_history_may_be_kept_for_half_a_minute(world: Desk) -> None:
    """Retail facts §2.8."""
    asked = {"symbol": "aec-nfl-dal-phi-2026-09-10", "fixedInterval": "INTERVAL_1H", "fidelity": 1}
    assert (
        world.gateway.get("/v1/price-history", params=asked).headers["cache-control"]
        == "public, max-age=30"
    )
    assert "cache-control" not in world.gateway.get("/v2/leagues").headers
