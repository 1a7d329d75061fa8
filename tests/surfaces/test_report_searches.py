"""Searches of orders, executions and trades against a naive search that tests every row, and the
number of rows that they read.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.quirks import UNFILTERED_SEARCH_TIMES_OUT
from sim.core.model.commands import CancelOrder
from sim.core.model.enums import Side
from sim.kernel.instants import format_instant
from sim.run.client.client import RpcError, Stream
from tests.kit import Desk, streams
from tests.surfaces.callers import caller, counted, place, unlimited_world

SIDES = (Side.BUY, Side.SELL)
USERS = 2


@pytest.fixture(scope="module")
def world() -> Desk:
    """Two participants of one firm trade two instruments over some minutes; some orders are
    canceled, some rest.
    """
    world = unlimited_world()
    sim = world.simulation
    # bounds are drawn independently
    sim.control("assumption.set", "report.reversed_window", {"value": "empty"})
    first = world.quiet()
    other = next(
        row.symbol
        for row in world.core.instruments
        if (row.tick, row.min_qty) == (first.tick, first.min_qty) and row.symbol != first.symbol
    )
    symbols = [first.symbol, *([other] if world.trading.state(other).name == "OPEN" else [])]
    for number in range(480):
        order = place(
            *(world, number % 7 % USERS, symbols[number % 5 % len(symbols)]),
            *(SIDES[number % 3 % 2], 40 + number % 4, (1 + number % 3) * first.min_qty),
            clord_id=f"c-{number}",
            client_account_id=f"desk-{number % 9}",
            client_participant_id="" if number % 3 else "ann",
        )
        if number % 6 == 0 and order.live:
            command = CancelOrder(accounts=(order.account,), order_id=order.id)
            world.trading.order_service.cancel(command)
        if number % 10 == 9:
            world.advance("1m")
    return world


def search(world: Desk, kind: str, **asked: Any) -> list[Any]:
    """Return the rows of all pages of a search."""
    operation, request, field = {
        "orders": ("ReportAPI.SearchOrders", wire.SearchOrdersRequest, "order"),
        "executions": ("ReportAPI.SearchExecutions", wire.SearchExecutionsRequest, "executions"),
        "trades": ("ReportAPI.SearchTrades", wire.SearchTradesRequest, "trade"),
    }[kind]
    results: list[Any] = []
    token = ""
    while True:
        answer = world.rpc_trader().call(
            operation, request(accounts=accounts(world), page_size=70, page_token=token, **asked)
        )
        results += getattr(answer, field)
        token = answer.next_page_token
        if not token:
            return results


def accounts(world: Desk) -> list[str]:
    return [user.account for user in world.firm.users[:USERS]]


def everything(world: Desk, kind: str) -> list[Any]:
    """Return all rows, in the order of a search."""
    rows = search(world, kind)
    expected = getattr(world.trading, kind)
    assert [row.id for row in rows] == [
        row.id
        for row in (list(expected.rows) if kind == "executions" else list(expected.rows)[::-1])
        if not OWNERS[kind](row).isdisjoint(accounts(world))
    ]
    return rows


OWNERS: dict[str, Any] = {
    "orders": lambda row: {row.account},
    "executions": lambda row: {row.order.account},
    "trades": lambda row: {row.aggressor.order.account, row.passive.order.account},
}


def _equal(path: str) -> tuple[Any, Any]:
    """A filter by the value of an attribute."""
    read = attrgetter(path)
    return read, lambda row, value: read(row) == value


def _among(path: str, *others: Any) -> tuple[Any, Any]:
    """A filter by a list of values of an attribute."""
    read = attrgetter(path)
    return lambda row: [read(row), *others], lambda row, values: read(row) in values


def _either(first: str, second: str) -> tuple[Any, Any]:
    """A filter by the value of either of two attributes."""
    item, other = attrgetter(first), attrgetter(second)
    return item, lambda row, value: value in (item(row), other(row))


def _window(path: str) -> dict[str, tuple[Any, Any]]:
    """The filters by an instant."""
    read = attrgetter(path)
    return {
        "start_time": (read, lambda row, value: read(row) >= value),
        "end_time": (read, lambda row, value: read(row) <= value),
    }


# For each filter: values to search for, and whether a row matches one.
FILTERS: dict[str, dict[str, tuple[Any, Any]]] = {
    "orders": {
        "order_id": _equal("id"),
        "clord_id": _equal("clord_id"),
        "client_account_id": _equal("client_account_id"),
        "client_participant_id": (
            lambda row: "ann",
            lambda row, value: row.client_participant_id == value,
        ),
        "order_state_filter": (
            lambda row: row.leaves_qty == 0,
            lambda row, closed: (row.leaves_qty == 0) is closed,
        ),
        "symbol": _equal("symbol"),
        **_window("create_time"),
    },
    "executions": {
        "exec_ids": _among("id", "nope"),
        "order_id": _equal("order.id"),
        "clord_id": _equal("order.clord_id"),
        "client_account_id": _equal("order.client_account_id"),
        "symbol": _equal("order.symbol"),
        "types": _among("type"),
        **_window("transact_time"),
    },
    "trades": {
        "trade_id": _equal("id"),
        "order_id": _either("passive.order.id", "aggressor.order.id"),
        "exec_id": _either("aggressor.id", "passive.id"),
        "symbol": _equal("aggressor.order.symbol"),
        **_window("aggressor.transact_time"),
    },
}

# Equivalent columns of a where_clause, and the form of a value there.
CLAUSES: dict[str, str] = {
    "order_id": "order_id = '{}'",
    "trade_id": "trade_id = '{}'",
    "symbol": "symbol = '{}'",
    "clord_id": "clord_id = '{}'",
    "start_time": "create_time >= '{}'",
    "end_time": "create_time <= '{}'",
}


@pytest.fixture(scope="module")
def rows(world: Desk) -> dict[str, list[Any]]:
    return {kind: everything(world, kind) for kind in FILTERS}


@pytest.mark.long
@pytest.mark.spec("S4.3-9", "S4.3-10")
@settings(max_examples=60)
@given(data=st.data())
@pytest.mark.parametrize("kind", FILTERS)
def test_a_search_finds_what_going_through_every_row_finds(
    world: Desk, rows: dict[str, list[Any]], kind: str, data: st.DataObject
) -> None:
    filters = FILTERS[kind]
    expected = rows[kind]
    asked: dict[str, Any] = {}
    clause: list[str] = []
    for name in data.draw(st.lists(st.sampled_from(sorted(filters)), unique=True, max_size=3)):
        value_of, fits = filters[name]
        value = value_of(data.draw(st.sampled_from(rows[kind])))
        if name == "order_id" and kind == "trades" and clause:
            continue
        if name in CLAUSES and (kind, name) != ("trades", "order_id") and data.draw(st.booleans()):
            clause.append(
                CLAUSES[name].format(format_instant(value) if isinstance(value, int) else value)
            )
        else:
            asked[name] = (
                wire.OrderStateFilter(1 + value) if name == "order_state_filter" else value
            )
        expected = [row for row in expected if fits(row, value)]
    result = search(world, kind, **asked, where_clause=" AND ".join(clause))
    assert result == expected
    if kind == "executions":
        assert (
            search(world, kind, **asked, where_clause=" AND ".join(clause), newest_first=True)
            == expected[::-1]
        )


@pytest.mark.parametrize("name", ["trade_id", "order_id", "exec_id"])
@pytest.mark.parametrize("by_clause", [False, True])
@pytest.mark.spec("S4.3-9")
def test_a_search_of_trades_by_an_id_is_a_narrow_one(
    world: Desk, rows: dict[str, list[Any]], name: str, by_clause: bool
) -> None:
    trade = rows["trades"][5]
    value = {
        "trade_id": trade.id,
        "order_id": trade.aggressor.order.id,
        "exec_id": trade.aggressor.id,
    }[name]
    quirks = world.core.ctx.quirks
    quirks.change(UNFILTERED_SEARCH_TIMES_OUT.name, "always")
    try:
        assert trade in search(
            world,
            "trades",
            **({"where_clause": f"{name} = '{value}'"} if by_clause else {name: value}),
        )
        with pytest.raises(RpcError, match="timeout"):
            search(world, "trades", where_clause="price > 0")
    finally:
        quirks.change(UNFILTERED_SEARCH_TIMES_OUT.name, "never")


@pytest.mark.parametrize(
    ("kind", "asked", "most"),
    [
        ("orders", lambda row: {"order_id": row.id}, 1),
        ("orders", lambda row: {"where_clause": f"order_id IN ('{row.id}', 'nope')"}, 1),
        ("orders", lambda row: {"start_time": row.create_time, "end_time": row.create_time}, 40),
        ("orders", lambda row: {"clord_id": row.clord_id}, 4),
        ("orders", lambda row: {"where_clause": f"clord_id = '{row.clord_id}'"}, 4),
        ("orders", lambda row: {"client_account_id": row.client_account_id}, 56),
        ("executions", lambda row: {"clord_id": row.order.clord_id}, 12),
        ("executions", lambda row: {"exec_ids": [row.id]}, 1),
        ("executions", lambda row: {"order_id": row.order.id}, 6),
        (
            "executions",
            lambda row: {"start_time": row.transact_time, "end_time": row.transact_time},
            60,
        ),
        ("trades", lambda row: {"trade_id": row.id}, 1),
        ("trades", lambda row: {"exec_id": row.passive.id}, 1),
        ("trades", lambda row: {"order_id": row.aggressor.order.id}, 6),
        (
            "trades",
            lambda row: {
                "where_clause": f"transact_time >= '{format_instant(row.passive.transact_time)}'",
                "end_time": row.passive.transact_time,
            },
            50,
        ),
    ],
)
def test_a_search_by_id_word_or_time_reads_hardly_more_rows_than_it_finds(
    world: Desk, rows: dict[str, list[Any]], kind: str, asked: Any, most: int
) -> None:
    row = rows[kind][len(rows[kind]) // 2]
    record = getattr(world.trading, kind)
    record = record.rows if kind == "orders" else record
    search(world, kind, **asked(row))  # an index is built on first use
    with counted(record, "rows") as read:
        assert row in search(world, kind, **asked(row))
        assert read.read <= most < len(read) // 4


@pytest.mark.spec("S4.3-8")
def test_open_orders_are_found_without_reading_those_that_are_done(
    world: Desk, rows: dict[str, list[Any]]
) -> None:
    live = [row for row in rows["orders"] if row.leaves_qty]
    with counted(world.trading.orders.rows, "rows") as read:
        assert (
            search(
                world, "orders", order_state_filter=wire.OrderStateFilter.ORDER_STATE_FILTER_OPEN
            )
            == live
        )
        open_orders = len(list(world.trading.orders.open()))
        assert read.read <= open_orders < len(world.trading.orders.rows)


@pytest.mark.spec("S4.3-8", "S4.3-10")
def test_nothing_has_a_parent_unless_the_orders_of_a_list_are_told_to() -> None:
    world = unlimited_world()
    trader = world.rpc_trader()
    instrument = world.quiet()

    def listed(mark: str) -> list[str]:
        entry = wire.InsertOrderRequest(
            symbol=instrument.symbol,
            side=1,
            type=2,
            price=instrument.price_scale // 100,
            order_qty=instrument.min_qty,
        )
        requests = [structs.replace(entry, clord_id=f"{mark}-{number}") for number in range(3)]
        answer = trader.call(
            "OrderEntryAPI.InsertOrderList", wire.InsertOrderListRequest(requests=requests)
        )
        return [response.order_id for response in answer.responses]

    def children(parent: str) -> tuple[list[str], list[str]]:
        orders = trader.call(
            "ReportAPI.SearchOrders", wire.SearchOrdersRequest(parent_order_id=parent)
        ).order
        executions = trader.call(
            "ReportAPI.SearchExecutions", wire.SearchExecutionsRequest(parent_order_id=parent)
        ).executions
        assert all(order.parent_order_id == parent for order in orders)
        return [order.id for order in orders], [execution.order.id for execution in executions]

    plain = listed("plain")
    assert children(plain[0]) == ([], [])
    world.core.ctx.assumptions.change("orders.parent", "list")
    first, *others = listed("family")
    assert children(first) == (others[::-1], others)
    assert children(others[0]) == ([], [])


@pytest.mark.spec("S6.2-2")
def test_resuming_position_changes_reads_no_more_than_the_day_they_resume_in() -> None:
    world = unlimited_world()
    trading, instrument = world.trading, world.quiet()

    def trade(times: int) -> None:
        for number in range(2 * times):
            place(world, number % USERS, instrument.symbol, SIDES[number % 2], 40)
        world.advance("1s")

    def stream(token: bytes = b"") -> Stream:
        return streams.position_changes(world, resume_token=token)

    trade(30)
    world.advance("24h")
    trade(1)
    first = stream()
    world.advance("1m")
    token = first.take()[-1].resume_token
    trade(2)
    with counted(trading.positions, "_rows") as read:
        assert sum(len(frame.position_changes) for frame in stream(token).take()) == 2 * 2
        assert read.read < len(read) // 2


def test_a_trade_date_that_is_none_is_refused_and_the_others_bound_trade_days(
    world: Desk, rows: dict[str, list[Any]]
) -> None:
    for day in (
        wire.Date(year=2026, month=13, day=1),
        wire.Date(year=1, month=1, day=1),
        wire.Date(),
    ):
        for kind in ("orders", "executions"):
            with pytest.raises(RpcError, match="start_transact_trade_date is not a date"):
                search(world, kind, start_transact_trade_date=day)
    today = rows["executions"][0].transact_trade_date
    yesterday = wire.Date(year=today.year, month=today.month, day=today.day - 1)
    assert (
        search(world, "executions", start_transact_trade_date=today, end_transact_trade_date=today)
        == rows["executions"]
    )
    assert search(world, "executions", end_transact_trade_date=yesterday) == []
    assert search(world, "orders", start_transact_trade_date=today) == rows["orders"]


# ---- findings of an external audit


SEARCHES = ("/v1/report/orders/search", "/v1/report/executions/search", "/v1/report/trades/search")


@pytest.mark.spec("S4.3-4")
@pytest.mark.parametrize("path", [*SEARCHES, "/v1/report/trades/stats"])
def test_both_spellings_of_structured_filters_have_the_same_allowlist(path: str) -> None:
    """`field_filter`, and `filter` in the syntax of ListInstruments: neither is ignored."""
    world = unlimited_world()
    client, symbol = caller(world, "exchange"), world.quiet().symbol
    for column in ("update_time", "create_time"):
        comparison = {
            "field": column,
            "operator": "FILTER_OPERATOR_GT",
            "stringValue": "2026-09-08T18:00:00Z",
        }
        for asked in (
            {"field_filter": [comparison]},
            {"filter": {"fieldFilters": [comparison]}},
            {"filter": {"field_filters": [comparison]}},
        ):
            answer = client.post(path, json={"symbol": symbol, **asked})
            assert (answer.status, answer.json()["code"], answer.json()["message"]) == (
                400,
                3,
                "field not allowed",
            )
        clause = f"symbol = '{symbol}' AND {column} >= '2026-09-08T18:00:00Z'"
        for allowed in ({"where_clause": clause}, {"filter": {"whereClause": clause}}):
            assert client.post(path, json=allowed).status == 200


@pytest.mark.spec("S4.3-4", "S4.3-8")
def test_a_clause_in_a_filter_filters(world: Desk) -> None:
    client = caller(world, "exchange")
    every = client.post(SEARCHES[0], json={"pageSize": 1000}).json()["order"]
    symbol = every[0]["symbol"]
    order = client.post(
        SEARCHES[0],
        json={
            "pageSize": 1000,
            "filter": {"whereClause": f"symbol = '{symbol}'"},
            "where_clause": "side = 'BUY'",
        },
    ).json()["order"]
    assert (
        [row["id"] for row in order]
        == [row["id"] for row in every if row["symbol"] == symbol and row["side"] == "SIDE_BUY"]
        != []
    )


@pytest.mark.spec("S7.1-9", "S4.3-8", "S4.3-10")
@pytest.mark.parametrize("path", SEARCHES[:2])
def test_other_unfiltered_searches_time_out_where_that_is_wanted(path: str) -> None:
    """R6: "not for unfiltered report queries" (§7.1) has no probability, so the quirk is off."""
    world = unlimited_world()
    client = caller(world, "exchange")
    assert {client.post(path, json={}).status for _ in range(8)} == {200}
    world.quirk("unfiltered_reports_time_out", "always")
    answer = client.post(path, json={"pageSize": 10})
    assert (answer.status, answer.json()["code"]) == (504, 4)
    symbol = world.quiet().symbol
    for narrow in (
        {"symbol": symbol},
        {"orderId": "NONE"},
        {"clordId": "none"},
        {"where_clause": f"symbol = '{symbol}'"},
    ):
        assert client.post(path, json=narrow).status == 200
    assert client.post(path, json={"pageSize": -1}).status == 400  # refused at once


@pytest.mark.spec("S7.1-1")
def test_a_call_that_names_nothing_is_told_what_is_missing() -> None:
    """gRPC delivers an empty field; the answer must not call it an unknown name."""
    world = unlimited_world()
    for operation, request, missing in (
        ("OrderBookAPI.GetOrderBook", wire.GetOrderBookRequest(), "symbol"),
        ("OrderBookAPI.GetBBO", wire.GetBBORequest(), "symbol"),
        ("RefDataAPI.GetInstrument", wire.GetInstrumentRequest(), "symbol"),
        ("ReportAPI.GetOrder", wire.GetOrderRequest(), "order_id"),
        ("ReportAPI.GetExecution", wire.GetExecutionRequest(), "exec_id"),
    ):
        with pytest.raises(RpcError) as refused:
            world.rpc_trader().call(operation, request)
        assert (refused.value.code, refused.value.message) == (3, f"{missing} is required")


@pytest.mark.spec("S4.3-3", "S2.4-2")
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"bars": 3},
        {"endTime": "2020-01-01T00:00:00Z", "bars": 2},
        {"endTradeDate": {"year": 2020, "month": 1, "day": 1}},
    ],
)
def test_statistics_of_a_time_in_which_an_instrument_could_not_trade_are_zero(
    asked: dict[str, Any],
) -> None:
    """An instrument that was listed at this instant, or a range that ends before its listing, is no
    error. A reversed range is one.
    """
    world = unlimited_world()
    world.operate("instrument.create", symbol="new-born", tick_size="0.01", state="OPEN")
    client = caller(world, "exchange")
    answer = client.post("/v1/report/trades/stats", json={"symbol": "new-born", **asked})
    assert answer.status == 200
    bars = asked.get("bars", 0)
    assert [len(answer.json()[name]) for name in ("bars", "barStartTime", "barEndTime")] == [
        bars
    ] * 3
    assert {
        value for bar in [answer.json()["stats"], *answer.json()["bars"]] for value in bar.values()
    } == {"0"}
    wrong = {
        "symbol": "new-born",
        "startTime": "2026-09-08T18:00:00Z",
        "endTime": "2026-09-08T17:00:00Z",
    }
    assert client.post("/v1/report/trades/stats", json=wrong).status == 400


TIMES = {"startTime": "2026-09-08T18:00:01Z", "endTime": "2026-09-08T18:00:00Z"}
DATES = {
    "startTransactTradeDate": {"year": 2026, "month": 9, "day": 8},
    "endTransactTradeDate": {"year": 2026, "month": 9, "day": 7},
}
LEDGERS = (
    "/v1/positions/ledger",
    "/v1/positions/ledger/download",
    "/v1/funding/balance-ledger",
    "/v1/funding/balance-ledger/download",
)


@pytest.mark.spec("S7.1-1")
def test_a_window_that_ends_before_it_starts_is_a_bad_combination() -> None:
    """All searches refuse it before they read rows. With assumption report.reversed_window they
    return no rows instead.
    """
    world = unlimited_world()
    client, account = caller(world, "exchange"), world.account()
    asked = [
        ("POST", path, TIMES)
        for path in (*SEARCHES, *(path.replace("search", "csv") for path in SEARCHES))
    ]
    asked += [("POST", path, DATES) for path in SEARCHES[:2]]
    asked += [("GET", path, {"account": account, **TIMES}) for path in LEDGERS]
    asked += [("GET", "/v1/funding/transactions", TIMES)]
    for expected in ((400, 3), (200, None)):
        for verb, path, body in asked:
            answer = (
                client.post(path, json=body) if verb == "POST" else client.get(path, params=body)
            )
            assert (
                answer.status,
                answer.json()["code"] if answer.status == 400 else None,
            ) == expected, path
        world.assume("report.reversed_window", "empty")
    instant = {"startTime": TIMES["endTime"], "endTime": TIMES["endTime"]}
    world.assume("report.reversed_window", "refuse")
    assert client.post(SEARCHES[0], json=instant).status == 200
    # its start is raised to the earliest instant with data, which is no error
    before_the_floor = {"account": account, "endTime": "2026-04-01T00:00:00Z"}
    assert client.get(LEDGERS[0], params=before_the_floor).json()["entries"] == []


@pytest.mark.spec("S5.1-6", "S4.3-9", "S4.3-11")
def test_single_records_are_as_private_as_the_lists_they_are_in(world: Desk) -> None:
    """R8: what a participant's search does not show, its single reads do not show either."""
    placed = world.place(world.quiet(), "buy", 20, account=world.account())
    (execution,) = world.search("executions", orderId=placed)
    for records, item in (("orders", placed), ("executions", execution["id"])):
        path = f"/v1/report/{records}/{item}"
        assert world.trader().get(path).status == 200
        assert world.search(records, 1, orderId=placed) == []
        answer = world.trader(1).get(path)
        assert (answer.status, answer.json()["code"]) == (404, 5)
