"""The limits of §8, row by row, compared with the calls that each surface accepts and refuses.

The numbers are the specification's. Nothing here reads the exchange's own table of limits, so a
wrong number there, or a limit that no operation carries, fails here.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.run.client.client import Http, Response, RpcError, Stream
from tests.journeys import key
from tests.kit import Desk, begin, streams

Caller = Callable[[Desk], Http]


def _retail(number: int) -> Caller:
    return lambda world: world.retail(key(world.simulation, number))


def _partner(number: int) -> Caller:
    """A firm with every scope, as its first user; another firm for another number."""

    def client(world: Desk) -> Http:
        partners = [firm for firm in world.firms if len(firm.scopes) > 9]
        return world.exchange(partners[number], partners[number].users[0].name)

    return client


class Rate(NamedTuple):
    """A row of §8: a number of calls in a number of seconds, per subject."""

    words: str
    calls: int
    seconds: int
    of: Callable[[int], Caller]
    ask: Callable[[Http], Response]


def _get(path: str) -> Callable[[Http], Response]:
    return lambda client: client.get(path)


def _post(path: str) -> Callable[[Http], Response]:
    return lambda client: client.post(path, json={})


def _delete(path: str) -> Callable[[Http], Response]:
    return lambda client: client.request("DELETE", path)


RATES = [
    Rate("retail, authenticated: 20 a second per key", 20, 1, _retail, _get("/v1/orders/open")),
    Rate("incentives: 5 a second", 5, 1, _retail, _get("/v1/incentives")),
    Rate("earnings: 5 a second", 5, 1, _retail, _get("/v1/incentives/earnings")),
    Rate("SearchTrades: 12 a minute per firm", 12, 60, _partner, _post("/v1/report/trades/search")),
    Rate("SearchOrders: 12 a minute per firm", 12, 60, _partner, _post("/v1/report/orders/search")),
    Rate(
        "SearchExecutions: 12 a minute per firm",
        12,
        60,
        _partner,
        _post("/v1/report/executions/search"),
    ),
    Rate("GetTradeStats: 60 a minute per firm", 60, 60, _partner, _post("/v1/report/trades/stats")),
    Rate("ListSymbols: 6 a minute per firm", 6, 60, _partner, _post("/v1/refdata/symbols")),
    Rate("ledger CSV: 5 a minute", 5, 60, _partner, _get("/v1/positions/ledger/download")),
    Rate("ledger CSV: 5 a minute", 5, 60, _partner, _get("/v1/funding/balance-ledger/download")),
]


def admitted(ask: Callable[[], Response], most: int) -> int:
    """Calls at one instant that are not refused with 429, of `most`."""
    return sum(ask().status != 429 for _ in range(most))


@pytest.mark.spec("S8-1", "S8-2", "S7.1-8")
@pytest.mark.parametrize("rate", RATES, ids=lambda rate: rate.words)
def test_so_many_calls_are_answered_and_the_next_is_told_when_to_come_back(rate: Rate) -> None:
    world = begin()
    world.preset("ideal")
    world.assume("limits.extra", False)
    mine, another = rate.of(0)(world), rate.of(1)(world)
    assert admitted(lambda: rate.ask(mine), rate.calls + 1) == rate.calls
    refused = rate.ask(mine)
    wait = int(refused.headers["retry-after"])
    assert (refused.status, 1 <= wait <= rate.seconds) == (429, True)
    body = {"status": 429, "message": "Too Many Requests"}
    assert refused.json() == body if rate.of is _retail else refused.json()["code"] == 8
    # The limit is each caller's own.
    assert admitted(lambda: rate.ask(another), rate.calls + 1) == rate.calls
    world.advance(f"{wait}s")
    assert rate.ask(mine).status != 429
    # A whole period later the whole count is there again, and not one call more.
    world.advance(f"{rate.seconds}s")
    assert admitted(lambda: rate.ask(mine), rate.calls + 1) == rate.calls


# Rule R1: pace of further calls of the exchange API, where `limits.extra` is on.
PACED = [
    Rate("new orders: 30 a second", 30, 1, _partner, _post("/v1/trading/orders")),
    Rate("replaces: 30 a second", 30, 1, _partner, _post("/v1/trading/orders/replace")),
    Rate("cancels: 90 a second", 90, 1, _partner, _post("/v1/trading/orders/cancel")),
    Rate("lists: 50 a second", 50, 1, _partner, _post("/v1/trading/orders/list")),
    Rate("ListInstruments: 6 a minute", 6, 60, _partner, _post("/v1/refdata/instruments")),
    Rate("order book: 12 a minute", 12, 60, _partner, _get("/v1/orderbook/nothing")),
    Rate("best prices: 12 a minute", 12, 60, _partner, _get("/v1/orderbook/nothing/bbo")),
    Rate("ledgers: five at once", 5, 10, _partner, _get("/v1/positions/ledger")),
    Rate("settlements: 10 a second", 10, 1, _partner, _get("/v1/instruments/nothing/settlement")),
    # Public API reference of requests for quotes and combos: a second, per firm and method.
    Rate("whose requests: 1 a second", 1, 1, _partner, _get("/v1/rfqs/user-id")),
    Rate("new requests: 1 a second", 1, 1, _partner, _post("/v1/rfqs")),
    Rate("requests: 10 a second", 10, 1, _partner, _get("/v1/rfqs")),
    Rate("quotes: 10 a second", 10, 1, _partner, _get("/v1/rfqs/quotes")),
    Rate("fills of quotes: 10 a second", 10, 1, _partner, _get("/v1/rfqs/trades")),
    Rate("changes of requests: 100 a second", 100, 1, _partner, _delete("/v1/rfqs/nothing")),
    Rate("new quotes: 400 a second", 400, 1, _partner, _post("/v1/rfqs/quotes")),
    Rate("new combos: 1 a second", 1, 1, _partner, _post("/v1/combos")),
    Rate("combos: 100 a second", 100, 1, _partner, _get("/v1/combos")),
    Rate("requests and combos of a key: 10 in 10 seconds", 10, 10, _retail, _post("/v1/rfqs")),
    Rate("requests and combos of a key: 10 in 10 seconds", 10, 10, _retail, _post("/v1/combos")),
]


@pytest.mark.parametrize("rate", PACED, ids=lambda rate: rate.words)
def test_further_calls_have_a_pace_where_it_is_switched_on(rate: Rate) -> None:
    world = begin()
    client = rate.of(0)(world)
    world.assume("limits.extra", False)
    # While it is off, what it would refuse is marked, and nothing else.
    within = [rate.ask(client) for _ in range(rate.calls)]
    beyond = rate.ask(client)
    assert not [answer for answer in within if "x-sim-over-limit" in answer.headers]
    assert (beyond.status != 429, "x-sim-over-limit" in beyond.headers) == (True, True)
    world.advance(f"{rate.seconds}s")
    world.assume("limits.extra", True)
    assert admitted(lambda: rate.ask(client), rate.calls + 1) == rate.calls
    assert admitted(lambda: rate.ask(rate.of(1)(world)), rate.calls + 1) == rate.calls
    # Most of a period later at most as large a part of the count is there again.
    world.advance(f"{rate.seconds * 900}ms")
    assert admitted(lambda: rate.ask(client), rate.calls + 1) <= rate.calls * 9 // 10
    world.advance(f"{rate.seconds}s")
    assert admitted(lambda: rate.ask(client), rate.calls + 1) == rate.calls


@pytest.mark.parametrize(
    ("method", "calls"),
    [
        ("/exchange.cashmovement.v1.CashMovementService/CreateCashMovement", 5),
        ("/exchange.v1.RFQAPI/CreateRFQ", 1),
        ("/exchange.v1.RFQAPI/AcceptQuote", 100),
        ("/exchange.v1.RFQAPI/ConfirmQuote", 100),
        ("/exchange.v1.RFQAPI/DeleteQuote", 400),
    ],
)
def test_further_calls_of_grpc_have_a_pace_where_it_is_switched_on(method: str, calls: int) -> None:
    world = begin()
    for on in (False, True):
        world.assume("limits.extra", on)
        rpc = world.rpc_trader()
        codes = [rpc.raw(method, b"").code for _ in range(calls + 1)]
        assert [code == 8 for code in codes] == [False] * calls + [on]
        world.advance("1s")


def test_a_new_stream_of_requests_comes_once_a_second_where_that_is_switched_on() -> None:
    world = begin()
    asked = wire.StreamRFQEventsRequest()
    for _ in range(2):
        world.rpc_trader().stream("RFQAPI.StreamRFQEvents", asked)
    world.advance("1s")
    world.assume("limits.extra", True)
    world.rpc_trader().stream("RFQAPI.StreamRFQEvents", asked)
    with pytest.raises(RpcError) as refused:
        world.rpc_trader().stream("RFQAPI.StreamRFQEvents", asked)
    assert refused.value.code == 8
    world.advance("1s")
    world.rpc_trader().stream("RFQAPI.StreamRFQEvents", asked)


@pytest.mark.spec("S8-2", "S7.2-2")
def test_each_search_of_reports_has_a_limit_of_its_own_and_both_doors_share_it() -> None:
    world = begin()
    client, rpc = _partner(0)(world), world.rpc_trader()
    asked = {"symbol": world.quiet().symbol}
    for kind in ("trades", "orders", "executions"):
        path = f"/v1/report/{kind}/search"
        assert admitted(lambda path=path: client.post(path, json=asked), 13) == 12  # type: ignore[misc]
    with pytest.raises(RpcError, match=r"SearchOrders.*endpoint.*retry after") as refused:
        rpc.call("ReportAPI.SearchOrders", wire.SearchOrdersRequest(symbol=asked["symbol"]))
    assert refused.value.code == 8


@pytest.mark.spec("S8-1")
def test_all_authenticated_calls_of_a_key_count_together_on_the_retail_api() -> None:
    world = begin()
    client = world.customer()
    paths = ("/v1/orders/open", "/v1/portfolio/positions", "/v1/account/balances")
    observed = [client.get(paths[number % 3]).status for number in range(21)]
    assert observed == [200] * 20 + [429]
    # A call without identity counts for its address, not for the key.
    slug = world.quiet().symbol
    paths = tuple(f"/v1/markets/{slug}/{kind}" for kind in ("bbo", "book"))

    def public(number: int, peer: str) -> int:
        return world.raw("gateway", "GET", paths[number % 2], peer=peer).status

    assert [public(number, "192.0.2.1") for number in range(21)] == [200] * 20 + [429]
    assert public(0, "192.0.2.2") == 200
    answers = [world.gateway.get("/v1/events") for _ in range(21)]
    assert answers[-1].json() == {"status": 429, "message": "Too Many Requests"}
    assert answers[-1].headers["retry-after"] == "1"


@pytest.mark.spec("S8-2", "S8-3")
def test_limits_of_the_exchange_api_count_for_a_firm_and_not_for_its_users() -> None:
    world = begin()
    atlas = world.firm
    users = [world.exchange(atlas, user.name) for user in atlas.users[:2]]
    observed = [
        users[number % 2].post("/v1/refdata/symbols", json={}).status for number in range(7)
    ]
    assert observed == [200] * 6 + [429]


# ---- sizes of one request


@pytest.mark.spec("S4.3-1")
@pytest.mark.parametrize(("depth", "levels"), [(None, 3), (1, 1), (3, 3), (10, 10), (11, 10)])
def test_an_order_book_has_three_levels_unless_more_are_asked_for_and_ten_at_most(
    depth: int | None, levels: int
) -> None:
    world = begin(limits=False)
    instrument = world.quiet()
    for step in range(12):
        world.place(instrument, "buy", 20 + step)
        world.place(instrument, "sell", 60 + step)
    params = {} if depth is None else {"depth": depth}
    book = world.book(instrument, **params)
    assert (len(book["bids"]), len(book["offers"])) == (levels, levels)
    request = wire.GetOrderBookRequest(symbol=instrument.symbol, depth=depth or 0)
    over_grpc = world.rpc_trader().call("OrderBookAPI.GetOrderBook", request)
    assert (len(over_grpc.bids), len(over_grpc.offers)) == (levels, levels)


BUCKETS = {"1S": 1, "5S": 5, "15S": 15, "1M": 60, "5M": 300, "15M": 900, "1H": 3600, "1D": 86400}


@pytest.mark.spec("S2.2-1", "S4.1-2")
@pytest.mark.parametrize(("bucket", "seconds"), BUCKETS.items())
def test_a_series_has_at_most_3600_candles_of_its_buckets_width(bucket: str, seconds: int) -> None:
    world = begin(limits=False)
    now = world.now // 1_000_000_000
    params = {"assets": "crypto:btc", "from": "0", "bucket": f"ASSET_PRICE_BUCKET_{bucket}"}
    series = world.gateway.get("/v1/asset-prices/history", params=params).json()["series"][0]
    starts = [candle["timestamp"] for candle in series["candles"]]
    assert {later - earlier for earlier, later in pairwise(starts)} <= {seconds}
    assert all(start % seconds == 0 for start in starts)
    assert len(starts) <= 3600
    assert int(series["from"]) >= now - 3600 * seconds
    if bucket != "1D":  # the world has fewer days of prices than 3600
        assert len(starts) == 3600


@pytest.mark.spec("S4.1-1", "S4.1-7", "S2.1-1", "S2.1-2")
@pytest.mark.parametrize(
    ("assets", "status"),
    [
        ([f"crypto:a{number}" for number in range(10)], 200),
        ([f"crypto:a{number}" for number in range(11)], 400),
        (["crypto:btc"] * 11, 200),  # deduped before they are counted
        (["crypto:" + "a" * 64], 200),
        (["crypto:" + "a" * 65], 400),
        (["crypto:a-z0-9"], 200),
        (["crypto:BTC"], 400),
        (["crypto:b_c"], 400),
        (["crypto:"], 400),
        (["btc"], 400),
        (["ASSET_CLASS_CRYPTO:btc"], 400),
        (["fx:eur"], 400),
        ([], 400),
    ],
)
def test_assets_of_a_request_are_at_most_ten_and_spelled_as_documented(
    assets: list[str], status: int
) -> None:
    world = begin(limits=False)
    now = world.now // 1_000_000_000
    params = {"assets": assets, "from": now - 60, "bucket": "ASSET_PRICE_BUCKET_1M"}
    answer = world.gateway.get("/v1/asset-prices/history", params=params)
    assert answer.status == status, answer
    if status == 200:
        displayed = [series["asset"] for series in answer.json()["series"]]
        assert {item["assetClass"] for item in displayed} == {"ASSET_CLASS_CRYPTO"}
        assert [f"crypto:{item['symbol']}" for item in displayed] == sorted(set(assets))


# ---- streams, tokens


@pytest.mark.spec("S8-4")
def test_a_firm_has_twenty_streams_over_all_kinds_and_gets_a_place_back_when_one_ends() -> None:
    world = begin(limits=False)
    symbol = world.quiet().symbol
    kinds: list[Callable[[], Stream]] = [
        lambda: streams.books(world, symbol),
        lambda: streams.instruments(world, symbol),
        lambda: streams.orders(world, symbols=[symbol]),
        lambda: world.rpc_trader().stream(streams.BIDIRECTIONAL),
    ]
    opened = [kinds[number % 4]() for number in range(20)]
    for kind in kinds:
        with pytest.raises(RpcError) as refused:
            kind()
        assert refused.value.code == 8
    opened[7].close()
    kinds[0]()
    assert all(stream.end is None for stream in opened)


@pytest.mark.spec("S5.1-3", "S5.1-4")
def test_a_token_lives_180_seconds_and_its_answer_says_so() -> None:
    world = begin(limits=False)
    issued = world.token(world.firm).json()
    assert (issued["expires_in"], isinstance(issued["access_token"], str)) == (180, True)
    headers = {"authorization": f"Bearer {issued['access_token']}"}

    def noticed() -> tuple[int, int]:
        rpc = world.simulation.rpc("/exchange.v1.AccountsAPI/GetWhoAmI", headers, b"").reply
        return world.raw("exchange", "GET", "/v1/whoami", headers).status, rpc.code

    assert noticed() == (200, 0)
    world.advance("179s")
    assert noticed() == (200, 0)
    world.advance("1s")
    assert noticed() == (401, 16)


@pytest.mark.spec("S2.2-1", "S4.1-7")
@pytest.mark.parametrize("bucket", ["ASSET_PRICE_BUCKET_UNSPECIFIED", "ASSET_PRICE_BUCKET_2M", ""])
def test_no_bucket_the_unspecified_one_and_an_unknown_one_are_refused(bucket: str) -> None:
    params = {"assets": "crypto:btc", "from": "0", **({"bucket": bucket} if bucket else {})}
    answer = begin(limits=False).gateway.get("/v1/asset-prices/history", params=params)
    assert answer.status == 400, answer
