"""Default and maximum numbers of rows of lists (§4.1, §4.2, public API reference).

The numbers are copied from the documents; these tests do not use constants of the exchange.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sim.run.client.client import Http
from tests.journeys import firm
from tests.kit import Desk, begin, order

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
    List("GET", "/v1/events", _gateway, "events", 100, "limit", 100),
    List("GET", "/v1/markets", _gateway, "markets", 100, "limit", 500),
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
        value = {**account, **size}
        if listed.verb == "POST":
            answer = client.post(listed.path, json=value)
        else:
            answer = client.get(listed.path, params=value)
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


@pytest.mark.parametrize("listed", LISTS[:3], ids=lambda listed: listed.path)
def test_pages_put_together_are_the_list(busy: Desk, listed: List) -> None:
    """Three pages by offset are the first rows; surfaces/test_page_tokens.py has those by token."""

    def page(length: int, offset: int = 0) -> list[Any]:
        answer = busy.gateway.get(listed.path, params={"limit": length, "offset": offset})
        assert answer.status == 200, answer
        return list(answer.json()[listed.rows])

    rows = [row for offset in (0, 3, 6) for row in page(3, offset)]
    assert rows == page(9) and len(rows) == 9


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
    world.firm = world.core.firms.require("firms/many")
    for name in every:
        world.trade(world.instrument(name), 50)
    return world


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
    name, client = {}, many.partner
    if "positions" in path:
        name, client = {"name": many.account()}, many.trader()

    def length(**size: int) -> int:
        answer = client.get(path, params=name | size)
        assert answer.status == 200, answer
        return len(answer.json()[rows])

    assert [length(), length(pageSize=0)] == [default, default]
    assert [length(pageSize=7), length(pageSize=TRADES)] == [7, TRADES]


def quiet_symbol(world: Desk) -> str:
    """Return the symbol of all trades."""
    asked = {"pageSize": 1, "accounts": [world.account()]}
    result = world.trader().post("/v1/report/orders/search", json=asked).json()
    return str(result["order"][0]["symbol"])
