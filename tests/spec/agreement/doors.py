"""The present answers of REST, unary gRPC and the control plane, as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sim.contract.messages import exchange_v1 as wire
from sim.run.actors.operator.views import view
from sim.run.client.client import Http
from tests.spec.agreement.rows import Row

if TYPE_CHECKING:
    from tests.spec.agreement.surfaces import Person, Surfaces

PAGE = {"pageSize": 1000}
_SINGLE_ORDERS = 4  # newest ones, which are read one by one too
_VIEWS = ("instruments", "books", "orders", "accounts", "funding", "verifications")


def answers(surfaces: Surfaces) -> Iterator[Row]:
    """Return the answers to all reads."""
    for symbol in surfaces.symbols:
        yield from _market(surfaces, symbol)
    for slug in surfaces.events:
        yield from _event(surfaces, slug)
    for person in surfaces.people:
        yield from _positions(surfaces, person)
        yield from _orders(person)
        yield from _reports(person)
        yield from _money(person)
        yield from _activities(person)
        yield from _requests(person)
        yield from _identity(person)
    yield from _control(surfaces)
    yield from _verifications(surfaces)


def listed(answer: Any, *names: str) -> list[dict[str, Any]]:
    """A list in an answer; nothing where the service is down for maintenance."""
    if answer.status == 503:
        return []
    assert answer.status == 200, answer
    result = answer.json()
    for name in names:
        result = result.get(name) or {}
    return list(result)


def _market(surfaces: Surfaces, symbol: str) -> Iterator[Row]:
    gateway, someone = surfaces.world.gateway, surfaces.people[0]
    x, retail, path = someone.exchange, someone.retail, f"/v1/markets/{symbol}"
    doors: list[tuple[str, Http, str, str, str]] = [
        ("refdata", x, f"/v1/refdata/instruments/{symbol}", "instrument", "refdata"),
        ("order book", x, f"/v1/orderbook/{symbol}?depth=100", "", "book"),
        ("BBO", x, f"/v1/orderbook/{symbol}/bbo", "", "bbo"),
        ("settlement", x, f"/v1/instruments/{symbol}/settlement", "", "settlement"),
    ]
    for plane, http in (("gateway", gateway), ("retail", retail)):
        doors += [
            (f"{plane} market", http, f"/v1/market/slug/{symbol}", "market", "gateway"),
            (f"{plane} book", http, f"{path}/book", "marketData", "retail book"),
            (f"{plane} BBO", http, f"{path}/bbo", "marketData", "retail bbo"),
            (f"{plane} settlement", http, f"{path}/settlement", "", "retail settlement"),
        ]
    for surface, http, address, part, dialect in doors:
        answer = http.get(address)
        assert answer.status in (200, 404, 503), answer
        if answer.status == 200:
            body = answer.json()
            yield Row(surface, "market", symbol, dialect, body[part] if part else body)
        elif answer.status == 404 and dialect == "retail settlement":
            yield Row(surface, "market", symbol, dialect, {"settlement": None})


def _event(surfaces: Surfaces, slug: str) -> Iterator[Row]:
    gateway = surfaces.world.gateway
    first = gateway.get(f"/v1/events/slug/{slug}").json()["event"]
    result = {"event by slug": first}
    result["event by number"] = gateway.get(f"/v1/events/{first['id']}").json()["event"]
    lists = {"list of events": f"/v1/events?slug={slug}", "search": f"/v1/search?query={slug}"}
    if first["teams"]:
        lists["events of the league"] = f"/v2/leagues/{first['subcategory']}/events?limit=100"
        lists["events of the tag"] = f"/v2/tags/{first['subcategory']}/events?limit=100"
    for surface, path in lists.items():
        rows = listed(gateway.get(path), "events")
        row = next((row for row in rows if row["slug"] == slug), None)
        if row is not None:
            result[surface] = row
    for surface, event in result.items():
        yield Row(surface, "event", slug, "gateway", event)
        for market in event["markets"]:
            if market["slug"] in surfaces.symbols:
                yield Row(surface, "market", market["slug"], "event", event)
                yield Row(f"market in {surface}", "market", market["slug"], "gateway", market)


def _positions(surfaces: Surfaces, person: Person) -> Iterator[Row]:
    account, x = person.account, person.exchange
    for row in listed(x.get("/v1/positions", params={"name": account}), "positions"):
        yield Row("positions", "position", f"{account} {row['symbol']}", "exchange", row)
    if not surfaces.simulation.exchange.maintenance.active:
        request = wire.ListAccountPositionsRequest(name=account)
        for held in person.rpc.call("PositionAPI.ListAccountPositions", request).positions:
            row = surfaces.as_json(held)
            yield Row("gRPC positions", "position", f"{account} {held.symbol}", "exchange", row)
    portfolio = person.retail.get("/v1/portfolio/positions", params={"limit": 100})
    assert portfolio.status in (200, 503)
    if portfolio.status == 200:
        for slug, row in portfolio.json()["positions"].items():
            yield Row("portfolio", "position", f"{account} {slug}", "retail", row)
            if row["marketMetadata"]:  # a combo has none
                yield Row("portfolio", "market", slug, "metadata", row["marketMetadata"])
    ledger = {"account": account, "pageSize": 1000}
    answer = x.get("/v1/positions/ledger", params=ledger)
    last = {row["symbol"]: row for row in listed(answer, "entries")}
    for symbol, row in last.items():
        yield Row("position ledger", "position", f"{account} {symbol}", "position ledger", row)


def _orders(person: Person) -> Iterator[Row]:
    x, retail = person.exchange, person.retail
    reported = listed(x.post("/v1/report/orders/search", json=PAGE), "order")
    for surface, dialect, rows in (
        ("open orders", "exchange", listed(x.get("/v1/trading/orders/open"), "orders")),
        ("report of orders", "exchange", reported),
        ("retail open orders", "retail", listed(retail.get("/v1/orders/open"), "orders")),
    ):
        for row in rows:
            yield Row(surface, "order", row["id"], dialect, row)
    for row in reported[-_SINGLE_ORDERS:]:
        for surface, http, path, dialect in (
            ("report of an order", x, f"/v1/report/orders/{row['id']}", "exchange"),
            ("retail order", retail, f"/v1/order/{row['id']}", "retail"),
        ):
            answer = http.get(path)
            assert answer.status in (200, 503), answer
            if answer.status == 200:
                yield Row(surface, "order", row["id"], dialect, answer.json()["order"])


def _reports(person: Person) -> Iterator[Row]:
    for kind, path, name in (
        ("execution", "/v1/report/executions/search", "executions"),
        ("trade", "/v1/report/trades/search", "trade"),
    ):
        for row in listed(person.exchange.post(path, json=PAGE), name):
            yield Row(f"report of {kind}s", kind, row["id"], "exchange", row)


def _money(person: Person) -> Iterator[Row]:
    account, x = person.account, person.exchange
    body = {"name": account, "currency": "USD"}
    item = x.post("/v1/positions/balance", json=body)
    assert item.status in (200, 503)
    if item.status == 200:
        yield Row("balance", "balance", account, "exchange", item.json())
        every = x.post("/v1/positions/balances", json=body).json()
        yield Row("balances", "balance", account, "exchange", every["balances"]["USD"])
    for row in listed(person.retail.get("/v1/account/balances"), "balances"):
        yield Row("retail balances", "balance", account, "retail", row)
    params = {"account": account, "pageSize": 1000}
    rows = listed(x.get("/v1/funding/balance-ledger", params=params), "entries")
    for row in rows:
        yield Row("balance ledger", "move", row["id"], "exchange", row)
    if rows:
        yield Row("balance ledger", "balance", account, "ledger", rows[-1])
    answer = x.get("/v1/funding/transactions", params={"pageSize": 100})
    for row in listed(answer, "transactions"):
        yield Row("funding list", "transaction", row["transactionId"], "exchange", row)


def _activities(person: Person) -> Iterator[Row]:
    answer = person.retail.get("/v1/portfolio/activities", params={"limit": 100})
    for row in listed(answer, "activities"):
        if trade := row.get("trade"):
            yield Row("activities", "trade", trade["id"], "retail", trade)
            if trade["market"]:
                slug = trade["marketSlug"]
                yield Row("activities", "market", slug, "gateway", trade["market"])
            for side in ("aggressorExecution", "passiveExecution"):
                item = trade[side]
                yield Row(f"activities {side}", "execution", item["id"], "retail", item)
        if change := row.get("accountBalanceChange"):
            subject = f"bl_{change['transactionId']}"
            yield Row("activities", "move", subject, "activity", change)


def _requests(person: Person) -> Iterator[Row]:
    for surface, http, dialect in (
        ("exchange lists", person.exchange, "exchange"),
        ("retail lists", person.retail, "retail"),
    ):
        own = {"userFilter": "USER_FILTER_SELF"}
        for kind, path, name in (
            ("rfq", "/v1/rfqs", "rfqs"),
            ("quote", "/v1/rfqs/quotes", "quotes"),
        ):
            for row in listed(http.get(path, params=own), name):
                yield Row(f"{surface} of {kind}s", kind, row["id"], dialect, row)


def _control(surfaces: Surfaces) -> Iterator[Row]:
    accounts = {person.account for person in surfaces.people}
    accounts.add(surfaces.people[0].firm.clearing_account)  # the pool
    observed = {name: view(surfaces.simulation, name)[name] for name in _VIEWS}
    for row in observed["instruments"]:
        if row["symbol"] in surfaces.symbols:
            yield Row("control instruments", "market", row["symbol"], "control", row)
    books = {row["symbol"]: row for row in observed["books"]}
    for symbol in surfaces.symbols:
        row = books.get(symbol, {"symbol": symbol, "bids": [], "offers": []})
        yield Row("control books", "market", symbol, "control book", row)
    for row in observed["orders"]:
        if row["account"] in accounts:
            yield Row("control orders", "order", row["id"], "control", row)
    for row in observed["accounts"]:
        if row["account"] in accounts:
            yield Row("control accounts", "balance", row["account"], "control", row)
            for held in row["positions"]:
                subject = f"{row['account']} {held['symbol']}"
                yield Row("control accounts", "position", subject, "control", held)
    for row in observed["funding"]:
        yield Row("control funding", "transaction", row["transaction"], "control", row)
    for row in observed["verifications"]:
        yield Row("control", "verification", row["external_id"], "control", row)


def _verifications(surfaces: Surfaces) -> Iterator[Row]:
    for case in view(surfaces.simulation, "verifications")["verifications"]:
        subject = case["external_id"]
        path = "/v1/kyc/status"
        answer = surfaces.people[0].exchange.get(path, params={"external_id": subject})
        if answer.status == 200:
            yield Row("KYC status", "verification", subject, "status", answer.json())
    for post in surfaces.world.webhooks:
        body = json.loads(post.body)
        if "external_id" in body:
            yield Row("webhook", "verification", body["external_id"], "webhook", body)


def _identity(person: Person) -> Iterator[Row]:
    """Return the identity and the account of a caller."""
    x, user = person.exchange, person.user
    answer = x.get("/v1/whoami")
    assert answer.status in (200, 503)
    if answer.status == 503:
        return
    me, users, accounts = (
        item.json() for item in (answer, x.get("/v1/users"), x.get("/v1/accounts"))
    )
    output = {"name": me["userDisplayName"], "firm": me["firm"].removeprefix("firms/")}
    yield Row("whoami", "identity", me["user"], "whoami", output)
    position = users["users"].index(user)
    output = {"name": users["displayNames"][position], "firm": users["firms"][position]}
    yield Row("users", "identity", user, "users", output)
    yield Row("accounts", "identity", user, "accounts", {"account": accounts["accounts"][0]})
    yield Row("API key", "identity", user, "key", {"account": person.key.account})
