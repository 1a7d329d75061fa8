"""The tour of the OpenAPI examples as valid requests, with more that it leaves out: for tests that
spoil each field of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import openapi_tour

from sim import load_scenario
from sim.api.pipeline.routing import Router
from sim.contract.contract import Operation, load_contract
from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import Field, fields_of
from tests.kit import Desk, begin

ACCOUNT = "firms/atlas-fcm/accounts/8f3a61c4"
MARA = "firms/atlas/users/mara-voss"
PERSON = load_scenario("kyc-approval-window").steps[0].call.json | {"external_id": "somebody"}
LIMIT = {"type": "ORDER_TYPE_LIMIT", "side": "SIDE_BUY", "symbol": "rain", "price": "40"}
BID = LIMIT | {"orderQty": "1"}
FILTER = {"field": "symbol", "operator": "FILTER_OPERATOR_EQ", "stringValue": "rain"}
MARKET = {
    "marketSlug": "rain",
    "type": "ORDER_TYPE_MARKET",
    "tif": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL",
    "outcomeSide": "OUTCOME_SIDE_YES",
    "action": "ORDER_ACTION_BUY",
    "cashOrderQty": {"value": "5", "currency": "USD"},
    "slippageTolerance": {"currentPrice": {"value": "0.40", "currency": "USD"}, "bips": 500},
}
TRANSFER = {
    "reason": "TRANSFER_REASON_DEPOSIT",
    "participantAccountId": ACCOUNT,
    "amount": "5",
    "currency": "USD",
    "externalReference": "mine",
}
VENDOR = {
    **BID,
    "account": ACCOUNT,
    "timeInForce": "TIME_IN_FORCE_FILL_OR_KILL",
    "clordId": "vendor-1",
    "manualOrderIndicator": "MANUAL_ORDER_INDICATOR_AUTOMATED",
}
FEE = {"value": "0.10", "currency": "USD"}
SEARCH = "POST /v1/report/trades/search"
# Valid requests that are not among the OpenAPI examples: (who, call, body).
MORE: tuple[tuple[str, str, Any], ...] = (
    ("firm", "POST /v1/kyc/start", PERSON),
    ("firm", "GET /v1/kyc/status?external_id=somebody", None),
    ("mara", SEARCH, {"symbol": "rain", "fieldFilter": [FILTER]}),
    ("key", "POST /v1/orders", MARKET),
    ("mara", "POST /v1/trading/orders", LIMIT | {"type": "ORDER_TYPE_STOP_LIMIT"} | {
        "orderQty": "1", "stopPrice": "45",
    }),
    ("mara", "POST /v1/trading/orders", BID | {
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": "2026-09-09T00:00:00Z",
    }),
    ("mara", "POST /v1/trading/orders", BID | {"clordId": "mine"}),
    ("mara", "POST /v1/trading/orders/cancel", {"clordId": "mine"}),
    ("firm", "rpc CashMovementService.CreateCashMovement",
     {"idempotencyKey": "k", "transfer": TRANSFER}),
    ("firm", "rpc CashMovementService.GetFundingAccountBalance", {"currency": "USD"}),
    ("firm", "rpc OrderFundingService.CreateVendorOrder",
     {"order": VENDOR, "vendorFee": FEE, "idempotencyKey": "k"}),
    ("auth", "token /oauth/token", dict.fromkeys(
        ("grant_type", "client_id", "client_assertion_type", "client_assertion", "audience"), ""
    )),
    ("key", "socket /v1/ws/private", {"unsubscribe": {"requestId": "a"}}),
    ("firm", "stream FundingAPI.CreateBalanceLedgerSubscription", {"account": ACCOUNT}),
    ("key", "socket /v1/ws/markets", {"subscribe": {
        "requestId": "a", "subscriptionType": "SUBSCRIPTION_TYPE_MARKET_DATA",
        "marketSlugs": ["rain"],
    }}),
    ("key", "socket /v1/ws/private", {"subscribe": {
        "requestId": "a", "subscriptionType": "SUBSCRIPTION_TYPE_ORDER",
    }}),
)  # fmt: skip
Request: TypeAlias = tuple[str, str, str, Any]  # who, verb, path, body
Way: TypeAlias = tuple[str | int, ...]  # the path of a field in a request

_VERBS = {"socket": "GET", "token": "POST"}


def begun() -> Desk:
    """The exchange of the tour at its beginning."""
    return begin(openapi_tour.WORLD)


def clients(world: Desk) -> Any:
    """The clients of the tour by who calls."""
    return openapi_tour._clients(world)


def requests(world: Desk) -> Iterator[Request]:
    """Yield each valid request of a client where its turn has come, and send it after that."""
    kept: dict[str, str] = {}
    for row in (*openapi_tour.ROWS, *(openapi_tour.Row(*row) for row in MORE)):
        world.advance("1s")  # within the limits of every plane
        verb, path = (openapi_tour._filled(part, kept) for part in row.call.split(" ", 1))
        body = json.loads(openapi_tour._filled(json.dumps(row.body), kept))
        if row.caller == "tester":
            world.simulation.control(verb, path, body)
            continue
        yield row.caller, verb, path, body
        if verb.isupper():
            answer = clients(world)[row.caller].request(verb, path, json=body)
            content = openapi_tour._content(answer)
            kept |= {name: openapi_tour._at(content, at) for name, at in row.kept.items()}


def operation_of(caller: str, verb: str, address: str) -> Operation:
    """The operation that a request is for."""
    contract = load_contract()
    if verb in ("rpc", "stream"):
        return contract.by_name(address)
    planes = {"key": "retail", "other": "retail", "gateway": "gateway", "auth": "auth"}
    plane: Any = planes.get(caller, "exchange")
    match: Any = Router(contract.routes(plane)).match(_VERBS.get(verb, verb), address)
    operation: Operation = match.operation
    return operation


def walk_fields(
    cls: type[Message], value: Any, way: Way = ()
) -> Iterator[tuple[Way, type[Message], Field]]:
    """Return (path in the request, message, field) of every field."""
    fields = {name: item for item in fields_of(cls) for name in (item.name, item.json_name)}
    for name, inner in (value or {}).items():
        field = fields[name]
        yield (*way, name), cls, field
        if field.kind == "message" and isinstance(inner, dict):
            yield from walk_fields(find_message(field.type_name), inner, (*way, name))
        elif field.kind == "message" and isinstance(inner, list):
            for index, each in enumerate(inner):
                yield from walk_fields(find_message(field.type_name), each, (*way, name, index))
