"""Calls that no bundled scenario makes, one after the other in one run: what `openapi_examples.py`
shows of operations that change something, or that search.

A path or body may name what an earlier answer has: `{order}` is what a row keeps as `order`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

from sim import Simulation, load_scenario
from sim.run.client.client import Connection, Http, Response, connect

WORLD = """\
name: tour
extends: quickstart
assumptions: {reports.bulk_export: served}
world:
  instruments:
  - {symbol: rain, tick_size: "0.01", state: OPEN}
  - {symbol: snow, tick_size: "0.01", state: OPEN, event: storm}
  events:
  - {slug: storm, title: The storm, partners: {newsroom: storm-1}}
"""
MARA, JON = "firms/atlas/users/mara-voss", "firms/atlas/users/jon-adeyemi"
ACCOUNT = "firms/atlas-fcm/accounts/8f3a61c4"
LIMIT = {"type": "ORDER_TYPE_LIMIT", "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL"}
BID = {**LIMIT, "symbol": "rain", "side": "SIDE_BUY", "price": "40", "orderQty": "5"}
OFFER = {**LIMIT, "symbol": "rain", "side": "SIDE_SELL", "price": "60", "orderQty": "5"}
RETAIL = {
    "marketSlug": "rain",
    "intent": "ORDER_INTENT_BUY_LONG",
    "type": "ORDER_TYPE_LIMIT",
    "price": {"value": "0.40", "currency": "USD"},
    "quantity": 5,
    "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
}
JONS = "firms/atlas-fcm/accounts/1d77e0b9"
KNOWN = {"user_id": "u-1", "phone_number": "14155551212", "date_of_birth": "1985-03-30"}
RFQ = {"symbol": "{combo}", "restRemainder": False, "qtyDecimal": "10"}
PRICES = {"buyPrice": "0.51", "sellPrice": "0.50", "restRemainder": False}
QUOTE = {**PRICES, "account": JONS}
LEGS = [{"symbol": "rain", "side": "SIDE_BUY"}, {"symbol": "snow", "side": "SIDE_SELL"}]
CROSSED = [
    {**BID, "price": "50", "account": ACCOUNT, "clordId": "b"},
    {**OFFER, "price": "50", "account": JONS, "clordId": "s"},
]
FROM = "2026-09-08T18:00:00Z"


class Row(NamedTuple):
    """A call: who makes it, the address, the body, and paths into the answer that are kept. What
    the tester does is an action of the control plane and its subject.
    """

    caller: str
    call: str
    body: Any = None
    kept: dict[str, str] = {}


ROWS = (
    Row("auth", "GET /.well-known/jwks.json"),
    Row("auth", "GET /.well-known/openid-configuration"),
    Row("mara", "POST /v1/trading/orders/preview", {"request": BID}),
    Row("jon", "POST /v1/trading/orders", OFFER),
    Row("mara", "POST /v1/trading/orders", {**BID, "price": "60", "orderQty": "2"}),
    Row(
        "key",
        "POST /v1/orders",
        {**RETAIL, "price": {"value": "0.60", "currency": "USD"}, "quantity": 2},
    ),
    Row("mara", "POST /v1/trading/orders", BID, {"order": "orderId"}),
    Row(
        "mara",
        "POST /v1/trading/orders/replace",
        {"orderId": "{order}", "symbol": "rain", "price": "41", "orderQty": "6"},
    ),
    Row(
        "mara",
        "POST /v1/trading/orders/list",
        {"requests": [BID]},
        {"second": "responses.0.orderId"},
    ),
    Row(
        "mara",
        "POST /v1/trading/orders/replace/list",
        {"requests": [{"orderId": "{order}", "symbol": "rain", "price": "42", "orderQty": "6"}]},
    ),
    Row("mara", "POST /v1/report/orders/search", {"symbol": "rain"}),
    Row("mara", "GET /v1/report/orders/{order}"),
    Row(
        "mara", "POST /v1/report/executions/search", {"symbol": "rain"}, {"exec": "executions.0.id"}
    ),
    Row("mara", "GET /v1/report/executions/{exec}"),
    Row("mara", "POST /v1/report/trades/search", {"symbol": "rain"}),
    Row("mara", "POST /v1/report/trades/stats", {"symbol": "rain", "startTime": FROM, "bars": 1}),
    Row("mara", "POST /v1/trading/orders/cancel", {"orderId": "{order}", "symbol": "rain"}),
    Row(
        "mara",
        "POST /v1/trading/orders/cancel/list",
        {"requests": [{"orderId": "{second}", "symbol": "rain"}]},
    ),
    Row("firm", "POST /v1/refdata/instruments", {"pageSize": 1}),
    Row("firm", "POST /v1/refdata/instruments/search", {"symbols": ["rain"], "pageSize": 1}),
    Row("firm", "POST /v1/refdata/symbols", {}),
    Row("firm", "POST /v1/refdata/metadata", {}),
    Row("mara", "GET /v1/positions?name=" + ACCOUNT),
    Row("mara", "POST /v1/positions/balance", {"name": ACCOUNT, "currency": "USD"}),
    Row("mara", "POST /v1/positions/balances", {"name": ACCOUNT}),
    Row("firm", f"GET /v1/positions/ledger?account={ACCOUNT}&symbol=rain"),
    Row("firm", f"GET /v1/funding/balance-ledger?account={ACCOUNT}"),
    Row("firm", "POST /v1/kyc/webhook", {"webhook_url": "https://127.0.0.1:9443/kyc"}),
    Row("firm", "POST /v1/kyc/referral-codes", {"user_id": MARA, "referral_code": "FRIEND1"}),
    Row("firm", "POST /v1/participant/tokens", {"participantId": MARA}),
    Row("firm", "POST /v1/users", {"user_id": "ada-moreno", "display_name": "Ada Moreno"}),
    Row(
        "mara",
        "POST /v1/combos",
        {"legs": [{"symbol": "rain", "side": "SIDE_BUY"}, {"symbol": "snow", "side": "SIDE_BUY"}]},
        {"combo": "combo.id"},
    ),
    Row("mara", "GET /v1/combos?symbol={combo}"),
    Row("firm", "POST /v1/kyc/prefill", KNOWN),
    Row("firm", "POST /v1/kyc/prefill/otp", {"otp": "123456", "external_id": "u-1"}),
    Row("mara", "POST /v1/rfqs", {**RFQ, "account": ACCOUNT}, {"rfq": "rfqId"}),
    Row("jon", "POST /v1/rfqs/quotes", {"rfqId": "{rfq}", **QUOTE}, {"quote": "quoteId"}),
    Row("jon", "GET /v1/rfqs/quotes?rfqId={rfq}"),
    Row("mara", "PUT /v1/rfqs/{rfq}/quotes/{quote}/accept", {"acceptedSide": "SIDE_BUY"}),
    Row("jon", "PUT /v1/rfqs/{rfq}/quotes/{quote}/confirm", {}),
    Row("mara", "POST /v1/rfqs", {**RFQ, "account": ACCOUNT}, {"rfq": "rfqId"}),
    Row("jon", "POST /v1/rfqs/quotes", {"rfqId": "{rfq}", **QUOTE}, {"quote": "quoteId"}),
    Row("jon", "DELETE /v1/rfqs/{rfq}/quotes/{quote}"),
    Row("mara", "DELETE /v1/rfqs/{rfq}"),
    Row(
        "mara",
        "POST /v1/trading/orders/cross",
        {"requests": CROSSED, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": "cross-1"},
    ),
    Row(
        "gateway",
        "GET /v1/asset-prices/history?assets=crypto:btc&from=0&bucket=ASSET_PRICE_BUCKET_1D",
    ),
    Row("gateway", "GET /v2/tags?limit=1", None, {"tag": "tags.0.slug"}),
    Row("gateway", "GET /v2/tags/slug/{tag}"),
    Row("gateway", "GET /v2/tags/{tag}/events"),
    Row("key", "POST /v1/order/preview", {"request": RETAIL}),
    Row("key", "POST /v1/orders", RETAIL, {"mine": "id"}),
    Row("key", "GET /v1/order/{mine}"),
    Row(
        "key",
        "POST /v1/order/{mine}/modify",
        {"marketSlug": "rain", "price": {"value": "0.41", "currency": "USD"}, "quantity": 6},
    ),
    Row("key", "POST /v1/order/{mine}/cancel", {"marketSlug": "rain"}),
    Row("key", "POST /v1/orders/batched", {"orders": [RETAIL]}, {"batched": "createdOrderIds.0"}),
    Row(
        "key",
        "POST /v1/orders/batched/modify",
        {
            "orders": [
                {
                    "orderId": "{batched}",
                    "marketSlug": "rain",
                    "price": {"value": "0.42", "currency": "USD"},
                    "quantity": 6,
                }
            ]
        },
    ),
    Row(
        "key",
        "POST /v1/orders/batched/cancel",
        {"orders": [{"orderId": "{batched}", "marketSlug": "rain"}]},
    ),
    Row("key", "POST /v1/orders/open/cancel", {}),
    Row("key", "POST /v1/order/close-position", {"marketSlug": "rain"}),
    Row("key", "POST /v1/combos", {"legs": LEGS}, {"combo": "combo.id"}),
    Row("key", "POST /v1/rfqs", RFQ, {"rfq": "rfqId"}),
    Row("other", "POST /v1/rfqs/quotes", {"rfqId": "{rfq}", **PRICES}, {"quote": "quoteId"}),
    Row("other", "GET /v1/rfqs/quotes?rfq_id={rfq}"),
    Row("other", "DELETE /v1/rfqs/{rfq}/quotes/{quote}"),
    Row("key", "DELETE /v1/rfqs/{rfq}"),
    Row("gateway", "GET /v1/price-history?symbol=rain&fidelity=1&fixedInterval=INTERVAL_1D"),
    Row("gateway", "GET /v1/series?limit=1", None, {"series": "series.0.id"}),
    Row("gateway", "GET /v1/series/id/{series}"),
    Row("gateway", "GET /v1/partners/newsroom/events/storm-1"),
    Row("firm", "PATCH /v1/users/ada-moreno", {"first_name": "Ada", "last_name": "Moreno"}),
    Row("firm", "POST /v1/participant/admin-tokens", {"participantId": MARA}),
    Row("mara", "GET /v1/funding/transactions", None, {"money": "transactions.0.transactionId"}),
    Row("mara", "GET /v1/funding/transactions/{money}"),
    Row(
        "firm",
        "PATCH /v1/funding/accounts/" + quote(ACCOUNT, safe=""),
        {"account": {"destinationFundingSource": "atlas-bank"}},
    ),
    Row("mara", "POST /v1/report/orders/csv", {"startTime": FROM}),
    Row("mara", "POST /v1/report/executions/csv", {"startTime": FROM}),
    Row("mara", "POST /v1/report/trades/csv", {"startTime": FROM}),
    Row("mara", f"GET /v1/funding/balance-ledger/download?account={ACCOUNT}"),
    Row("mara", f"GET /v1/positions/ledger/download?account={ACCOUNT}"),
    Row("mara", "POST /v1beta1/get_who_am_i", {}),
    Row("mara", "POST /v1beta1/list_accounts", {}),
    Row("mara", "POST /v1beta1/get_open_orders", {}),
    Row("mara", "POST /v1beta1/list_account_positions", {"name": ACCOUNT}),
    Row("firm", "POST /v1beta1/list_users", {}),
    Row("tester", "instrument.settle snow", {"price": "1"}),
    Row("key", "GET /v1/markets/snow/settlement"),
)


def tour() -> Iterator[tuple[str, str, Any, Any]]:
    """(plane, operation, body, answer) of each call. AssertionError for one that is refused."""
    world = connect(Simulation(load_scenario(WORLD)))
    clients, kept = _clients(world), dict[str, str]()
    for row in ROWS:
        world.advance("1s")  # within the limits of every plane
        verb, path = (_filled(part, kept) for part in row.call.split(" ", 1))
        body = json.loads(_filled(json.dumps(row.body), kept)) if row.body is not None else None
        if row.caller == "tester":
            world.simulation.control(verb, path, body)
            continue
        answer = clients[row.caller].request(verb, path, json=body)
        assert answer.status == 200, (row.call, answer.body)
        entry, content = world.simulation.requests()[-1], _content(answer)
        yield entry["plane"], entry["operation"], body, content
        kept |= {name: _at(content, position) for name, position in row.kept.items()}
    yield _token(world)


def _token(world: Connection) -> tuple[str, str, Any, Any]:
    """The request for a token: a form, in which the assertion is too long to be shown."""
    firm = next(item for item in world.simulation.world.parties.firms if item.name == "firms/atlas")
    answer = world.token(firm)
    assert answer.status == 200, answer.body
    form = {
        "grant_type": "client_credentials",
        "client_id": firm.client_id,
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": world.assertion(firm)[:40] + "…",
        "audience": world.audience,
    }
    return "auth", "TokenIssuerAPI.IssueToken", form, answer.json()


def _content(answer: Response) -> Any:
    """An answer as JSON, or as the text that it is."""
    try:
        return answer.json()
    except ValueError:
        return answer.body.decode()


def _filled(text: str, kept: dict[str, str]) -> str:
    for name, value in kept.items():
        text = text.replace("{" + name + "}", value)
    return text


def _at(value: Any, path: str) -> str:
    for part in path.split("."):
        value = value[int(part)] if part.isdecimal() else value[part]
    return str(value)


def _clients(world: Connection) -> dict[str, Http]:
    parties = world.simulation.world.parties
    firm = next(item for item in parties.firms if item.name == "firms/atlas")
    return {
        "auth": world.auth,
        "gateway": world.gateway,
        "firm": world.exchange(firm),
        "mara": world.exchange(firm, MARA),
        "jon": world.exchange(firm, JON),
        "key": world.retail(parties.api_keys[0]),
        "other": world.retail(parties.api_keys[2]),
    }
