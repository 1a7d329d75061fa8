"""Statuses, codes and bodies of refusals (§7.1, §7.2) on both protocols of the exchange API, the
retail API and the gateway.

A row says in the specification's words when a status is due; each row brings it about on every
surface that can answer it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sim import Simulation
from sim.contract.messages import Message
from sim.contract.messages import exchange_cashmovement_v1 as cash
from sim.contract.messages import exchange_v1 as wire
from sim.run.client.client import Response, RpcError
from tests.journeys import quiet
from tests.kit import Desk, begin, order, retail_order


def insert(sim: Simulation, **fields: Any) -> wire.InsertOrderRequest:
    """A limit order for one contract at 0.40, as gRPC sends it."""
    instrument = quiet(sim)
    values: dict[str, Any] = {
        "type": 2,
        "side": 1,
        "symbol": instrument.symbol,
        "order_qty": instrument.qty_scale,
        "price": 40 * instrument.price_scale // 100,
        "time_in_force": 2,
        **fields,
    }
    return wire.InsertOrderRequest(**values)


def placed(world: Desk, **fields: Any) -> str:
    """Id of an order that rests."""
    body = order(world.quiet(), "buy", 40, 1, **fields)
    return str(world.trader().post("/v1/trading/orders", json=body).json()["orderId"])


def canceled(world: Desk) -> str:
    """Id of an order that was canceled."""
    order_id = placed(world)
    world.trader().post("/v1/trading/orders/cancel", json={"orderId": order_id})
    return order_id


class Row(NamedTuple):
    """Status over REST, code over gRPC, and one call for each that earns it."""

    words: str
    status: int
    code: int
    rest: Callable[[Desk], Response]
    rpc: Callable[[Desk], Any]


def _call(operation: str, request: Callable[[Desk], Message]) -> Callable[[Desk], Any]:
    return lambda world: world.rpc_trader().call(operation, request(world))


def _body(world: Desk, **fields: Any) -> dict[str, object]:
    return order(world.quiet(), "buy", 40, 1, **fields)


def _twice(world: Desk) -> str:
    placed(world, clordId="twice")
    return "twice"


ROWS = [
    Row(
        "400: a missing field",
        400,
        3,
        lambda world: world.trader().post("/v1/trading/orders", json={}),
        _call("OrderEntryAPI.InsertOrder", lambda world: wire.InsertOrderRequest()),
    ),
    Row(
        "400: a bad combination of parameters",
        400,
        3,
        lambda world: world.trader().post(
            "/v1/trading/orders", json=_body(world, timeInForce="TIME_IN_FORCE_GOOD_TILL_TIME")
        ),
        _call("OrderEntryAPI.InsertOrder", lambda world: insert(world.simulation, time_in_force=6)),
    ),
    Row(
        "403: x-participant-id missing on an account-scoped endpoint",
        403,
        7,
        lambda world: world.partner.get("/v1/trading/orders/open"),
        lambda world: world.rpc_partner.call(
            "OrderEntryAPI.GetOpenOrders", wire.GetOpenOrdersRequest()
        ),
    ),
    Row(
        "404: an unknown resource",
        404,
        5,
        lambda world: world.trader().get("/v1/report/orders/NOSUCHORDER1"),
        _call("ReportAPI.GetOrder", lambda world: wire.GetOrderRequest(order_id="NOSUCHORDER1")),
    ),
    Row(
        "409: a duplicate ClOrdID",
        409,
        6,
        lambda world: world.trader().post(
            "/v1/trading/orders", json=_body(world, clordId=_twice(world))
        ),
        _call(
            "OrderEntryAPI.InsertOrder",
            lambda world: insert(world.simulation, clord_id=_twice(world)),
        ),
    ),
    Row(
        "409: cancel of an order that is done",
        409,
        9,
        lambda world: world.trader().post(
            "/v1/trading/orders/cancel", json={"orderId": canceled(world)}
        ),
        _call(
            "OrderEntryAPI.CancelOrder",
            lambda world: wire.CancelOrderRequest(order_id=canceled(world)),
        ),
    ),
    Row(
        "409: a suppressed ledger entry type is Aborted",
        409,
        10,
        lambda world: world.trader().get(
            "/v1/funding/balance-ledger",
            params={"account": world.account(), "entryTypes": "NETTING"},
        ),
        _call(
            "FundingAPI.GetAccountBalanceLedger",
            lambda world: wire.GetAccountBalanceLedgerRequest(
                account=world.account(), entry_types=[5]
            ),
        ),
    ),
    Row(
        "422: beyond a limit of size",
        422,
        9,
        lambda world: world.enter(world.quiet(), "buy", 40, 10_000_000),
        _call(
            "OrderEntryAPI.InsertOrder",
            lambda world: insert(world.simulation, order_qty=10_000_000 * world.quiet().qty_scale),
        ),
    ),
    Row(
        "429: a limit of the endpoint",
        429,
        8,
        lambda world: [world.trader().post("/v1/refdata/symbols", json={}) for _ in range(7)].pop(),
        lambda world: [
            world.rpc_trader().call("RefDataAPI.ListSymbols", wire.ListSymbolsRequest())
            for _ in range(7)
        ],
    ),
]


@pytest.mark.spec("S7.1-1", "S7.1-3", "S7.1-4", "S7.1-5", "S7.1-7", "S7.1-8", "S7.2-2")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.words)
def test_a_refusal_has_its_status_over_rest_and_its_code_over_grpc(row: Row) -> None:
    answer = row.rest(begin())
    assert answer.status == row.status, answer
    body = answer.json()
    assert body["code"] == row.code
    assert isinstance(body["message"], str)
    assert body["message"]
    with pytest.raises(RpcError) as refused:
        row.rpc(begin())
    assert refused.value.code == row.code


@pytest.mark.spec("S7.1-2", "S5.1-4")
@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": "Bearer nonsense"}, {"authorization": "Basic YTpi"}],
    ids=["missing", "invalid", "another scheme"],
)
def test_a_token_that_is_missing_or_invalid_is_401_and_unauthenticated(
    headers: dict[str, str],
) -> None:
    sim = begin(limits=False).simulation
    reply = sim.rest("exchange", "GET", "/v1/trading/orders/open", "", headers, b"").reply
    assert reply is not None
    assert reply.status == 401
    assert b'"code":16' in reply.body
    method = "/exchange.v1.OrderEntryAPI/GetOpenOrders"
    rpc = sim.rpc(method, headers, b"").reply
    assert rpc is not None
    assert rpc.code == 16
    stream = sim.open("/exchange.v1.OrderEntryAPI/CreateOrderSubscription", headers, b"").reply
    assert stream is not None
    assert stream.code == 16


STATES = {"SUSPENDED": 422, "HALTED": 422, "CLOSED": 422}


@pytest.mark.spec("S7.1-7", "S3.1-8", "S3.1-9", "S3.1-10")
@pytest.mark.parametrize("state", STATES)
def test_an_instrument_that_is_not_tradable_in_its_state_is_422_and_retail_rejects_by_execution(
    state: str,
) -> None:
    world = begin(limits=False)
    instrument = world.quiet()
    body = order(instrument, "buy", 40, 1)
    retail = retail_order(instrument, "BUY_LONG", 40, 1, synchronousExecution=True)
    request = insert(world.simulation)
    world.move(instrument, state)
    answer = world.trader().post("/v1/trading/orders", json=body)
    assert (answer.status, answer.json()["code"]) == (422, 9)
    with pytest.raises(RpcError) as refused:
        world.rpc_trader().call("OrderEntryAPI.InsertOrder", request)
    assert refused.value.code == 9
    rejected = world.customer().post("/v1/orders", json=retail).json()
    (execution,) = rejected["executions"]
    assert execution["type"] == "EXECUTION_TYPE_REJECTED"
    assert execution["order"]["state"] == "ORDER_STATE_REJECTED"


# ---- what one operation alone refuses (§7.2)


@pytest.mark.spec("S7.2-4")
def test_a_clearing_account_has_no_balance_for_participants_over_grpc_either() -> None:
    world = begin(limits=False)
    pool = world.firm.clearing_account
    for operation, request in (
        ("PositionAPI.GetAccountBalance", wire.GetAccountBalanceRequest(name=pool, currency="USD")),
        ("PositionAPI.ListAccountBalances", wire.ListAccountBalancesRequest(name=pool)),
    ):
        with pytest.raises(RpcError) as refused:
            world.rpc_trader().call(operation, request)
        assert (refused.value.code, refused.value.message) == (3, "invalid account")


@pytest.mark.spec("S8-6", "S4.3-15")
@pytest.mark.parametrize("amount", ["0.001", "1.005", "0", "-1.00", "1e2", "", "NaN"])
def test_a_transfer_of_more_than_two_decimals_or_of_no_amount_moves_nothing(amount: str) -> None:
    world = begin(limits=False)
    mine = world.account()

    def balance() -> str:
        asked = {"name": mine, "currency": "USD"}
        found = world.trader().post("/v1/positions/balance", json=asked).json()["balance"]
        return str(found)

    before = balance()
    transfer = cash.Transfer(
        reason=1, participant_account_id=mine, amount=amount, currency="USD", external_reference="r"
    )
    request = cash.CreateCashMovementRequest(idempotency_key="k", transfer=transfer)
    with pytest.raises(RpcError) as refused:
        world.rpc_partner.call("CashMovementService.CreateCashMovement", request)
    assert refused.value.code == 3
    assert balance() == before


@pytest.mark.spec("S8-6")
def test_a_balance_carries_more_decimals_than_a_transfer_may_have() -> None:
    """A contract at 30.5 cents takes half a cent from a balance of whole cents."""
    world = begin(limits=False)
    made = {"symbol": "half-cents", "tick_size": "0.005", "state": "OPEN"}
    world.simulation.control("instrument.create", "", made)
    half_cents = world.instrument("half-cents")
    price = {"price": str(305 * half_cents.price_scale // 1000)}
    for user, side in ((1, "sell"), (0, "buy")):
        body = order(half_cents, side, 30, 1) | price
        assert world.trader(user).post("/v1/trading/orders", json=body).status == 200
    asked = {"name": world.account(), "currency": "USD"}
    balance = world.trader().post("/v1/positions/balance", json=asked).json()["balance"]
    assert balance.partition(".")[2].rstrip("0")[2:] == "5", balance


@pytest.mark.spec("S4.3-20")
def test_exactly_twelve_entry_types_are_suppressed() -> None:
    """§4.3 counts twelve and names four of them."""
    world = begin(limits=False)
    mine = world.account()
    aborted = set()
    for kind in wire.LedgerEntryType:
        name = kind.name.removeprefix("LEDGER_ENTRY_TYPE_BALANCE_").removeprefix(
            "LEDGER_ENTRY_TYPE_"
        )
        params = {"account": mine, "entryTypes": name}
        answer = world.trader().get("/v1/funding/balance-ledger", params=params)
        assert answer.status in (200, 400, 409), answer
        if answer.status == 409:
            aborted.add(name)
    assert len(aborted) == 12, aborted
    assert aborted >= {"NETTING", "GIVE_UP", "INTEREST", "SETTLEMENT_FEE"}
    shown = {"DEPOSIT", "WITHDRAWAL", "ORDER_EXECUTION", "COMMISSION", "CORRECTION"}
    assert not aborted & shown  # "deposits, withdrawals, fills, fees, corrections"
