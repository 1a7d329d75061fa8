"""Every REST operation as a request to a new exchange, for collections of API clients.

The requests are made once in process, in their order, on the scenario that will be served. So each
has names that exist there, and its expected status.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import quote

from msgspec import Struct, json, structs

from sim.contract.contract import Plane, load_contract
from sim.contract.operation import VARIABLE
from sim.core.identity.firms import User
from sim.kernel import resources
from sim.run.client.client import Connection, Http, connect
from sim.run.simulation import Simulation

FOLDERS: tuple[Plane, ...] = ("gateway", "retail", "exchange")
# Orders that other requests read, amend and cancel: the first request, and the key of its id.
_FIRST = {
    "RetailOrdersAPI.CreateOrder": ("retail_order", "id"),
    "OrderEntryAPI.InsertOrder": ("exchange_order", "orderId"),
}
_LAST = re.compile(r"Cancel(?!Replace)|Delete|Close|Remove")
# Queries that an operation needs for a useful answer, by rpc.
_QUERIES = {
    "GetAssetPriceHistory": "?assets=crypto:btc&bucket=BUCKET_1H",
    "GetPriceHistory": "?symbol={symbol}&fidelity=60",
    "ListTeams": "?league=nfl",
    "ListPlayers": "?league=nfl",
    "GetAccountBalanceLedger": "?account={account}",
    "DownloadBalanceLedger": "?account={account}",
    "ListAccountPositions": "?name={account}",
    "GetPositionLedger": "?account={account}",
    "DownloadPositionLedger": "?account={account}",
    "GetKYCStatus": "?externalId={user}",
}


class Request(Struct, frozen=True, kw_only=True):
    """A request. `{{name}}` in path and body is a variable; `keeps` is the variable that gets the
    value of the answer's key. `status` is the status of the answer of a new exchange.
    """

    plane: Plane
    name: str
    summary: str
    verb: str
    path: str
    body: str = ""
    status: int = 0
    keeps: tuple[str, str] | None = None


def requests(simulation: Simulation) -> list[Request]:
    """A request for every REST operation, in the order in which they must be sent."""
    world = connect(simulation)
    parties = simulation.world.parties
    firm = next(
        firm for firm in parties.firms if firm.client_id in parties.key_files and firm.users
    )
    clients = {
        "gateway": world.gateway,
        "retail": world.retail(parties.api_keys[0]),
        "exchange": world.exchange(firm, firm.users[0].name),
    }
    names = _names(world, firm.users[0])
    variables: dict[str, str] = {}
    listed = []
    for plane in FOLDERS:
        for draft in _drafts(plane, names):
            world.advance("200ms")  # within the limits of every plane
            listed.append(_with_status(draft, clients[plane], variables))
    return listed


def _with_status(draft: Request, client: Http, variables: dict[str, str]) -> Request:
    """The request with its status. `variables` then has the value that it keeps."""

    def filled(text: str) -> str:
        return re.sub(r"\{\{(\w+)\}\}", lambda match: variables.get(match[1], "1"), text)

    answer = client.request(
        draft.verb, filled(draft.path), body=filled(draft.body).encode() or None
    )
    if draft.keeps is not None and answer.status == 200:
        variables[draft.keeps[0]] = str(answer.json()[draft.keeps[1]])
    _ = answer.body  # a download ends
    return structs.replace(draft, status=answer.status)


def _drafts(plane: Plane, names: dict[str, str]) -> Iterator[Request]:
    """Requests without their status, those first that others need."""
    content = resources.path("fixtures", "openapi-examples.json").read_bytes()
    examples: dict[str, Any] = json.decode(content).get(plane, {})
    used_names: set[str] = set()
    routes = []
    for route in load_contract().routes(plane):
        if route.operation.name not in used_names and route.operation.content != "web_socket":
            used_names.add(route.operation.name)
            routes.append(route)
    routes.sort(
        key=lambda route: (route.operation.name not in _FIRST, _is_last(route.operation.rpc))
    )
    order = "{{exchange_order}}" if plane == "exchange" else "{{retail_order}}"
    for route in routes:
        operation = route.operation
        path = VARIABLE.sub(partial(_value, names, operation.rpc, order), route.template)
        body = ""
        if route.body:
            body = _body(operation.name, examples.get(operation.name, {}), names, order)
        yield Request(
            plane=plane,
            name=operation.name,
            summary=operation.summary,
            verb=route.verb,
            path=path + (_query(operation.rpc, names) if route.verb == "GET" else ""),
            body=body,
            keeps=_FIRST.get(operation.name),
        )


def _query(rpc: str, names: dict[str, str]) -> str:
    return _QUERIES.get(rpc, "").format(**{name: quote(text) for name, text in names.items()})


def _is_last(rpc: str) -> int:
    return len(_LAST.findall(rpc)) + ("Open" in rpc)


def _body(name: str, example: dict[str, Any], names: dict[str, str], order: str) -> str:
    """The body of an operation: our own if it must fit the world, else that of a real run."""
    symbol = names["symbol"]
    retail = {
        "marketSlug": symbol,
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": "0.05", "currency": "USD"},
        "quantity": 1,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }
    partner = {
        "symbol": symbol,
        "side": "SIDE_BUY",
        "type": "ORDER_TYPE_LIMIT",
        "orderQty": "1",
        "price": names["price"],
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }
    person = {"userId": "person-17", "phoneNumber": "12125550123"}
    own: dict[str, Any] = {
        "RetailOrdersAPI.CreateOrder": retail,
        "RetailOrdersAPI.PreviewOrder": {"request": retail},
        "RetailOrdersAPI.CreateOrders": {"orders": [retail, retail]},
        "RetailOrdersAPI.ModifyOrder": {**retail, "quantity": 2},
        "RetailOrdersAPI.CancelOrder": {"marketSlug": symbol},
        "RetailOrdersAPI.ClosePosition": {"marketSlug": symbol},
        "OrderEntryAPI.InsertOrder": partner,
        "OrderEntryAPI.PreviewOrder": {"request": partner},
        "OrderEntryAPI.InsertOrderList": {"requests": [partner, partner]},
        "OrderEntryAPI.CancelReplaceOrder": {**partner, "orderId": order, "orderQty": "2"},
        "OrderEntryAPI.CancelOrder": {"orderId": order, "symbol": symbol},
        "PositionAPI.GetAccountBalance": {"name": names["account"], "currency": "USD"},
        "PositionAPI.ListAccountBalances": {"name": names["account"]},
        "ReportAPI.GetTradeStats": {"symbol": symbol},
        "ReportAPI.SearchTrades": {"symbol": symbol, "pageSize": 10},
        "KYCAPI.StartKYCPrefill": person,
        "KYCAPI.CreateISVReferralCode": {"userId": "person-17", "referralCode": "FRIEND"},
        "UsersAPI.CreateUser": {"userId": "person-17"},
    }
    body = own.get(name, example.get("body", {}))
    return json.encode(body).decode()


def _value(names: dict[str, str], rpc: str, order: str, variable: re.Match[str]) -> str:
    """The value of a path variable: the object of the operation, or its general name."""
    if variable[1] in ("order_id", "orderId"):
        return order
    return names.get(f"{rpc}.{variable[1]}") or names.get(variable[1], "1")


def _names(world: Connection, user: User) -> dict[str, str]:
    """Values of path variables that exist in the world; `Rpc.variable` for one operation."""
    events = world.gateway.get("/v1/events?limit=1").json()["events"] or [{"id": 1, "slug": "1"}]
    markets = world.gateway.get("/v1/markets?limit=1").json()["markets"] or [{"id": 1}]
    listed = world.simulation.exchange.instruments.listed()
    symbol, price = "none", "1"
    for instrument in listed:
        if world.gateway.get(f"/v1/markets/{instrument.symbol}/book").status == 200:
            symbol, price = instrument.symbol, str(instrument.price_scale // 20)
            break
        world.advance("200ms")
    return {
        "symbol": symbol,
        "slug": symbol,
        "price": price,
        "asset": "crypto:btc",
        "account": user.account,
        "user": user.name.rpartition("/")[2],
        "GetEvent.id": str(events[0]["id"]),
        "GetEventBySlug.slug": str(events[0]["slug"]),
        "GetMarketById.id": str(markets[0]["id"]),
        "GetLeague.slug": "nfl",
        "ListLeagueEvents.slug": "nfl",
        "GetSport.slug": "football",
        "ListSportEvents.slug": "football",
    }
