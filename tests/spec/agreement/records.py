"""What reports, downloads, lists by id, unary gRPC and partners' services say, as rows."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any

from sim.contract.messages import exchange_cashmovement_v1 as cash
from sim.contract.messages import exchange_settlement_v1 as settlement
from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import format_instant, parse_instant
from sim.run.client.client import Http, Rpc, RpcError
from tests.spec.agreement.rows import Row

if TYPE_CHECKING:
    from tests.spec.agreement.surfaces import Person, Surfaces

PAGE = {"pageSize": 1000}
NOT_FOUND = 5
_WORDS = {"true": True, "false": False}
_NEWEST = 3  # of a list, which are read one by one too


def records(surfaces: Surfaces) -> Iterator[Row]:
    """Everything that `doors.answers` does not ask for."""
    if surfaces.simulation.exchange.maintenance.active:
        return
    trades = _trades(surfaces)
    for symbol in surfaces.symbols:
        yield from _market(surfaces, symbol)
        yield from _statistics(surfaces, symbol, trades)
    for person in surfaces.people:
        yield from _downloads(person)
        yield from _one_by_one(person)
        yield from _unary(surfaces, person)
        yield from _trades_by_quote(person)
    yield from _programs(surfaces.people[0])
    yield from _partners(surfaces)


# ---- markets


def _market(surfaces: Surfaces, symbol: str) -> Iterator[Row]:
    gateway, rpc = surfaces.world.gateway, surfaces.people[0].rpc
    x = surfaces.people[0].exchange
    listed = gateway.get("/v1/markets", params={"slug": symbol}).json()["markets"]
    for row in listed:
        yield Row("list of markets", "market", symbol, "gateway", row)
        market = gateway.get(f"/v1/market/id/{row['id']}").json()["market"]
        yield Row("market by number", "market", symbol, "gateway", market)
    for path in ("instruments", "instruments/search"):
        answer = x.post(f"/v1/refdata/{path}", json={"symbols": [symbol], "query": symbol})
        for row in answer.json()["instruments"]:
            if row["symbol"] == symbol:
                yield Row(f"refdata {path}", "market", symbol, "refdata", row)
    for operation, request, dialect, part in (
        (
            "OrderBookAPI.GetOrderBook",
            wire.GetOrderBookRequest(symbol=symbol, depth=100),
            "book",
            "",
        ),
        ("OrderBookAPI.GetBBO", wire.GetBBORequest(symbol=symbol), "bbo", ""),
        (
            "RefDataAPI.GetInstrument",
            wire.GetInstrumentRequest(symbol=symbol),
            "refdata",
            "instrument",
        ),
    ):
        body = _said(surfaces, rpc, operation, request)
        if body:
            yield Row(f"gRPC {operation}", "market", symbol, dialect, body[part] if part else body)
    name = "SettlementService.GetInstrumentSettlement"
    request = settlement.GetInstrumentSettlementRequest(symbol=symbol)
    if body := _said(surfaces, rpc, name, request):
        yield Row(f"gRPC {name}", "market", symbol, "settlement", body)
    for surface, http in (("combos", x), ("retail combos", surfaces.people[0].retail)):
        answer = http.get("/v1/combos", params={"symbol": symbol})
        for row in answer.json().get("combos", ()) if answer.status == 200 else ():
            yield Row(surface, "market", row["id"], "combo", row)


def _said(surfaces: Surfaces, rpc: Rpc, name: str, request: Any) -> dict[str, Any]:
    """An answer of gRPC; nothing where there is no such thing."""
    try:
        return dict(surfaces.as_json(rpc.call(name, request)))
    except RpcError as error:
        assert error.code == NOT_FOUND, error
        return {}


def _statistics(surfaces: Surfaces, symbol: str, trades: list[dict[str, Any]]) -> Iterator[Row]:
    """Statistics of all trades of a market, in total and of the bars they are cut into."""
    x = surfaces.people[0].exchange
    answer = x.post("/v1/report/trades/stats", json={"symbol": symbol, "bars": 7})
    assert answer.status in (200, 400), answer  # 400 before the market is listed
    if answer.status == 200:
        result = answer.json()
        yield Row("trade statistics", "market", symbol, "trade stats", result["stats"])
        yield Row("bars of trade statistics", "market", symbol, "bars", {"bars": result["bars"]})
    reported = [trade for trade in trades if trade["order"]["symbol"] == symbol]
    yield Row("reported trades", "market", symbol, "trades", {"trades": reported})


def _trades(surfaces: Surfaces) -> list[dict[str, Any]]:
    """Return the aggressors' executions of all trades that were not busted."""
    result = {
        row["id"]: row["aggressor"]
        for person in surfaces.people
        for row in person.exchange.post("/v1/report/trades/search", json=PAGE).json()["trade"]
        if row["state"] not in ("TRADE_STATE_BUSTED", "TRADE_STATE_RETRY_REQUESTED")
    }
    return list(result.values())


# ---- what belongs to a person


def _downloads(person: Person) -> Iterator[Row]:
    x, account = person.exchange, person.account
    for kind in ("order", "execution", "trade"):
        text = x.post(f"/v1/report/{kind}s/csv", json={}).body.decode()
        chunks = (json.loads(line)["result"]["filechunk"] for line in text.splitlines() if line)
        for row in _lines("".join(chunks)):
            yield Row(f"CSV of {kind}s", kind, row["id"], "exchange", row)
    path, params = "/v1/funding/balance-ledger/download", {"account": account}
    rows = _lines(x.get(path, params=params).body.decode())
    for row in rows:
        yield Row("CSV of the balance ledger", "move", row["id"], "exchange", row)
    rows = _lines(x.get("/v1/positions/ledger/download", params=params).body.decode())
    for symbol, row in {row["symbol"]: row for row in rows}.items():
        subject = f"{account} {symbol}"
        yield Row("CSV of the position ledger", "position", subject, "position ledger", row)


def _lines(text: str) -> list[dict[str, Any]]:
    """Lines of CSV as the objects that they were made of, in names of JSON."""
    header, *lines = csv.reader(StringIO(text)) if text else [[]]
    columns = [[_camel(part) for part in name.split(".")] for name in header]
    results: list[dict[str, Any]] = []
    for line in lines:
        total: dict[str, Any] = {}
        for (*outer, last), written in zip(columns, line, strict=True):
            into = total
            for part in outer:
                into = into.setdefault(part, {})
            if last.endswith("Time"):
                into[last] = format_instant(parse_instant(written)) if written else None
            else:
                into[last] = _WORDS.get(written, written)
        results.append(total)
    return results


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)


def _one_by_one(person: Person) -> Iterator[Row]:
    x = person.exchange
    rows = x.post("/v1/report/executions/search", json=PAGE).json()["executions"]
    for row in rows[-_NEWEST:]:
        execution = x.get(f"/v1/report/executions/{row['id']}").json()["execution"]
        yield Row("report of an execution", "execution", row["id"], "exchange", execution)
    rows = x.get("/v1/funding/transactions", params={"pageSize": 100}).json()["transactions"]
    for row in rows:
        if row["riskTransactionId"]:
            yield Row("funding list", "move", row["riskTransactionId"], "transaction", row)
        if row["transactionType"] == "TRANSACTION_TYPE_TRANSFER":
            subject = row["fundingTransactionId"]
            yield Row("funding list", "transfer", subject, "transaction", row)
    for row in rows[-_NEWEST:]:
        execution = x.get(f"/v1/funding/transactions/{row['transactionId']}").json()["transaction"]
        yield Row("one transaction", "transaction", row["transactionId"], "exchange", execution)


def _unary(surfaces: Surfaces, person: Person) -> Iterator[Row]:
    """The same reports and balances over gRPC."""

    def printed(name: str, request: Any) -> Any:
        return surfaces.as_json(person.rpc.call(name, request))

    page = {"page_size": 1000}
    for kind, name, request, part in (
        ("order", "SearchOrders", wire.SearchOrdersRequest(**page), "order"),
        ("execution", "SearchExecutions", wire.SearchExecutionsRequest(**page), "executions"),
        ("trade", "SearchTrades", wire.SearchTradesRequest(**page), "trade"),
    ):
        for row in printed(f"ReportAPI.{name}", request)[part]:
            yield Row(f"gRPC {name}", kind, row["id"], "exchange", row)
    for row in printed("OrderEntryAPI.GetOpenOrders", wire.GetOpenOrdersRequest())["orders"]:
        yield Row("gRPC open orders", "order", row["id"], "exchange", row)
    balance = wire.GetAccountBalanceRequest(name=person.account, currency="USD")
    body = printed("PositionAPI.GetAccountBalance", balance)
    yield Row("gRPC balance", "balance", person.account, "exchange", body)
    me = printed("AccountsAPI.GetWhoAmI", wire.GetWhoAmIRequest())
    text = {"name": me["userDisplayName"], "firm": me["firm"].removeprefix("firms/")}
    yield Row("gRPC whoami", "identity", me["user"], "whoami", text)


def _trades_by_quote(person: Person) -> Iterator[Row]:
    for surface, http in _hosts(person):
        for row in http.get("/v1/rfqs/trades").json()["trades"]:
            yield Row(f"{surface} of trades by quote", "trade", row["tradeId"], "by quote", row)


def _programs(person: Person) -> Iterator[Row]:
    for surface, http in _hosts(person):
        for market in http.get("/v1/incentives").json()["programs"]:
            for row in market["timePeriods"]:
                subject = f"{market['marketSlug']} {row['programId']}"
                yield Row(f"{surface} of programs", "program", subject, "both", row)


def _hosts(person: Person) -> tuple[tuple[str, Http], ...]:
    return ("exchange lists", person.exchange), ("retail lists", person.retail)


# ---- partners


def _partners(surfaces: Surfaces) -> Iterator[Row]:
    """Partner orders, repeated with their keys; transfers; and the balance of the pool."""
    for call in surfaces.partner_orders:
        body = surfaces.as_json(call())
        if body["id"]:
            yield Row("partner order", "order", body["id"], "partner", body)
    rpc = surfaces.partner
    for id in surfaces.transfers:
        request = cash.GetCashMovementRequest(workflow_id=id)
        body = surfaces.as_json(rpc.call("CashMovementService.GetCashMovement", request))
        row = body["cashMovement"]
        yield Row("transfer", "transfer", row["dcoTransferId"], "transfer", row)
    if surfaces.transfers:
        request = cash.GetFundingAccountBalanceRequest(currency="USD")
        name = "CashMovementService.GetFundingAccountBalance"
        body = surfaces.as_json(rpc.call(name, request))
        yield Row("pool", "balance", body["fundingAccountId"], "pool", body)
