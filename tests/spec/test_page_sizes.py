"""Default and maximum numbers of rows of lists (§4.1, §4.2, public API reference).

The numbers are copied from the documents; these tests do not use constants of the exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sim.run.client.client import Http
from tests.journeys import firm
from tests.kit import Desk, begin, order, retail_order

TRADES = 130


@pytest.fixture(scope="module")
def busy() -> Desk:
    """A world in which 130 orders of one key and of one firm have traded."""
    world = begin(limits=False)
    world.preset("ideal")
    instrument = world.quiet()
    atlas = world.trader()
    for number in range(TRADES):
        offer = order(instrument, "sell", 50, 1, clordId=f"o{number}")
        assert atlas.post("/v1/trading/orders", json=offer).status == 200
        bought = world.retail_enter(instrument, "BUY_LONG", 50, 1)
        assert bought.status == 200
    return world


def _gateway(world: Desk) -> Http:
    return world.gateway


def _retail(world: Desk) -> Http:
    return world.customer()


def _firm(world: Desk) -> Http:
    return world.trader()


class List(NamedTuple):
    """A list: its default size, the size parameter, its maximum, and the result above it."""

    verb: str
    path: str
    client: Callable[[Desk], Http]
    rows: str
    default: int
    size: str
    # A page above `most` is shortened or refused; None if no maximum is documented.
    most: int | None = None
    refused: bool = False
    ledger: bool = False


LISTS = [
    # §4.1: "limit (number, default 100)" of events; at most 50 leagues on a page.
    List("GET", "/v1/events", _gateway, "events", 100, "limit"),
    List("GET", "/v1/markets", _gateway, "markets", 100, "limit"),
    List("GET", "/v2/leagues", _gateway, "leagues", 50, "limit", 50),
    # Public reference: instruments 50 unless asked, 1000 at most.
    List("POST", "/v1/refdata/instruments", _firm, "instruments", 50, "pageSize", 1000),
    List("POST", "/v1/report/orders/search", _firm, "order", 100, "pageSize", 1000),
    List("POST", "/v1/report/executions/search", _firm, "executions", 100, "pageSize", 1000),
    List("POST", "/v1/report/trades/search", _firm, "trade", 100, "pageSize", 1000),
    # Public reference of the ledgers: a page size above 1000 is 400.
    List("GET", "/v1/positions/ledger", _firm, "entries", 100, "pageSize", 1000, True, ledger=True),
    List(
        "GET",
        "/v1/funding/balance-ledger",
        _firm,
        "entries",
        100,
        "pageSize",
        1000,
        True,
        ledger=True,
    ),
    List("GET", "/v1/portfolio/activities", _retail, "activities", 100, "limit", 100),
]


@pytest.mark.spec("S4.1-8", "S4.1-10", "S4.2-6", "S4.3-5", "S4.3-17", "S4.3-18")
@pytest.mark.parametrize("listed", LISTS, ids=lambda listed: listed.path)
def test_a_page_is_as_long_as_its_document_says(busy: Desk, listed: List) -> None:
    client = listed.client(busy)
    account = {"account": firm(busy.simulation).users[0].account} if listed.ledger else {}
    if "/report/" in listed.path:
        account = {"symbol": quiet_symbol(busy)}

    def length(status: int = 200, **size: Any) -> int:
        given = {**account, **size}
        if listed.verb == "POST":
            answer = client.post(listed.path, json=given)
        else:
            answer = client.get(listed.path, params=given)
        assert answer.status == status, answer
        return len(answer.json()[listed.rows]) if status == 200 else -1

    assert length() == listed.default
    assert length(**{listed.size: 0}) == listed.default
    assert length(**{listed.size: 7}) == 7
    assert length(400, **{listed.size: -1}) == -1
    if listed.refused:
        length(400, **{listed.size: (listed.most or 0) + 1})
        length(200, **{listed.size: listed.most})
    elif listed.most is not None:
        assert length(**{listed.size: listed.most + 1}) == length(**{listed.size: listed.most})
    if listed.most != listed.default:
        assert length(**{listed.size: 120}) == 120


@pytest.mark.parametrize("listed", LISTS, ids=lambda listed: listed.path)
def test_pages_put_together_are_the_list(busy: Desk, listed: List) -> None:
    """Three pages, each with the token of the one before, are the first rows of the list."""
    client = listed.client(busy)
    asked: dict[str, Any] = {}
    if listed.ledger:
        asked = {"account": firm(busy.simulation).users[0].account}

    def page(length: int, **more: Any) -> dict[str, Any]:
        given = {**asked, listed.size: length, **more}
        if listed.verb == "POST":
            answer = client.post(listed.path, json=given)
        else:
            answer = client.get(listed.path, params=given)
        assert answer.status == 200, answer
        document: dict[str, Any] = answer.json()
        return document

    whole, rows, more = page(9)[listed.rows], list[Any](), dict[str, Any]()
    for _ in range(3):
        part = page(3, **more)
        rows += part[listed.rows]
        token = part.get("nextPageToken")
        cursor = part.get("nextCursor")
        more = {"pageToken": token} if token else {"cursor": cursor} if cursor else {}
        more = more or {"offset": len(rows)}
    assert rows == whole and len(rows) == min(9, len(whole))


@pytest.fixture(scope="module")
def many() -> Desk:
    """A firm with many users, sources and positions, in many markets with a program each."""
    every = [f"m{number:03}" for number in range(TRADES)]
    users = ", ".join(f'{{name: {name}, balance: "500"}}' for name in every)
    sources = ", ".join(f"{{id: {name}, type: bank}}" for name in every)
    markets = ", ".join(f'{{symbol: {name}, state: OPEN, tick_size: "0.01"}}' for name in every)
    period = 'periods: [{program_id: p, program_type: liquidityProgram, start: 2026-09-01T00:00:00Z, end: 2026-10-01T00:00:00Z, reward_pool: "100"}]'
    programs = ", ".join(f"{{symbol: {name}, {period}}}" for name in every)
    firms = f"[{{name: firms/many, key: atlas, users: [{users}], funding_sources: [{sources}]}}]"
    world = begin(
        more=f"world: {{firms: {firms}, instruments: [{markets}], incentives: [{programs}]}}\n",
        limits=False,
    )
    buyer, seller = (_of_many(world, user) for user in (0, 1))
    for name in every:
        instrument = world.instrument(name)
        for client, side in ((buyer, "buy"), (seller, "sell")):
            placed = client.post("/v1/trading/orders", json=order(instrument, side, 50, 1))
            assert placed.status == 200
    return world


def _of_many(world: Desk, user: int) -> Http:
    many = world.core.firms.require("firms/many")
    return world.exchange(many, many.users[user].name)


@pytest.mark.parametrize(
    ("path", "rows", "default"),
    [
        ("/v1/funding/accounts", "accounts", 100),
        ("/v1/funding/sources", "fundingSources", 100),
        ("/v1/positions", "positions", 100),
        ("/v1/incentives", "programs", 100),
    ],
)
def test_a_list_of_a_firm_has_a_hundred_rows_unless_asked_otherwise(
    many: Desk, path: str, rows: str, default: int
) -> None:
    whole = many.simulation.exchange.firms.require("firms/many")
    name, client = {}, many.exchange(whole)
    if "positions" in path:
        name, client = {"name": whole.users[0].account}, _of_many(many, 0)

    def length(**size: int) -> int:
        answer = client.get(path, params=name | size)
        assert answer.status == 200, answer
        return len(answer.json()[rows])

    assert [length(), length(pageSize=0)] == [default, default]
    assert [length(pageSize=7), length(pageSize=TRADES)] == [7, TRADES]


def quiet_symbol(world: Desk) -> str:
    """Return the symbol of all trades."""
    asked = {"pageSize": 1, "accounts": [world.account()]}
    found = world.trader().post("/v1/report/orders/search", json=asked).json()
    return str(found["order"][0]["symbol"])


@pytest.mark.spec("S4.2-13")
@pytest.mark.parametrize(("count", "status"), [(20, 200), (21, 400)])
def test_a_batch_has_at_most_twenty_orders_on_either_api(count: int, status: int) -> None:
    """Public reference: at most 20 in a batch of the retail API and in a list of the exchange."""
    world = begin(limits=False)
    instrument = world.quiet()
    orders = [retail_order(instrument, "BUY_LONG", 10, 1) for _ in range(count)]
    retail = world.customer()
    answer = retail.post("/v1/orders/batched", json={"orders": orders})
    assert answer.status == status, answer
    listed = {"requests": [order(instrument, "buy", 10, 1) for _ in range(count)]}
    answer = world.trader().post("/v1/trading/orders/list", json=listed)
    assert answer.status == status, answer
    if status == 400:
        params = {"symbols": instrument.symbol}
        assert world.trader().get("/v1/trading/orders/open", params=params).json()["orders"] == []
        assert retail.get("/v1/orders/open").json()["orders"] == []
