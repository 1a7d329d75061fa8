"""Statuses, codes and bodies of refusals (§7.1, §7.2) on both protocols of the exchange API, the
retail API and the gateway.

A row says in the specification's words when a status is due; each row brings it about on every
surface that can answer it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages.exchange_cashmovement_v1 import GetFundingAccountBalanceRequest
from sim.core.model.instrument import Instrument
from sim.run.client.client import Response, Rpc, RpcError
from tests.kit import Desk, begin, rpc_order

INSERT, CANCEL = "OrderEntryAPI.InsertOrder", "OrderEntryAPI.CancelOrder"
LEDGER = "/v1/funding/balance-ledger"


class Situation:
    """A desk at the quickstart, and the instrument of its calls."""

    def __init__(self) -> None:
        self.desk = begin()
        self.instrument = self.desk.quiet()

    def enter(self, **fields: Any) -> Response:
        """The answer to an order for one contract at 0.40."""
        return self.desk.enter(self.instrument, "buy", 40, **fields)

    def insert(self, **fields: Any) -> Any:
        """The same over gRPC."""
        return self.call(INSERT, rpc_order(self.instrument, **fields))

    def call(self, operation: str, request: Any) -> Any:
        return self.desk.rpc_trader().call(operation, request)

    def twice(self) -> str:
        """The client order id of an order that rests."""
        self.desk.place(self.instrument, "buy", 40, clordId="twice")
        return "twice"

    def canceled(self) -> str:
        """The id of an order that was canceled."""
        order_id = self.desk.place(self.instrument, "buy", 40)
        self.desk.cancel(order_id)
        return order_id

    def ledger(self) -> wire.GetAccountBalanceLedgerRequest:
        """A request for entries that no ledger shows."""
        return wire.GetAccountBalanceLedgerRequest(account=self.desk.account(), entry_types=[5])


class Row(NamedTuple):
    """Status over REST, code over gRPC, and one call for each that earns it."""

    words: str
    status: int
    code: int
    rest: Callable[[Situation], Response]
    rpc: Callable[[Situation], Any]


ROWS = [
    Row(
        "400: a missing field",
        *(400, 3),
        lambda at: at.desk.trader().post("/v1/trading/orders", json={}),
        lambda at: at.call(INSERT, wire.InsertOrderRequest()),
    ),
    Row(
        "400: a bad combination of parameters",
        *(400, 3),
        lambda at: at.enter(timeInForce="TIME_IN_FORCE_GOOD_TILL_TIME"),
        lambda at: at.insert(time_in_force=6),
    ),
    Row(
        "403: x-participant-id missing on an account-scoped endpoint",
        *(403, 7),
        lambda at: at.desk.partner.get("/v1/trading/orders/open"),
        lambda at: at.desk.rpc_partner.call(
            "OrderEntryAPI.GetOpenOrders", wire.GetOpenOrdersRequest()
        ),
    ),
    Row(
        "404: an unknown resource",
        *(404, 5),
        lambda at: at.desk.trader().get("/v1/report/orders/NOSUCHORDER1"),
        lambda at: at.call("ReportAPI.GetOrder", wire.GetOrderRequest(order_id="NOSUCHORDER1")),
    ),
    Row(
        "409: a duplicate ClOrdID",
        *(409, 6),
        lambda at: at.enter(clordId=at.twice()),
        lambda at: at.insert(clord_id=at.twice()),
    ),
    Row(
        "409: cancel of an order that is done",
        *(409, 9),
        lambda at: at.desk.cancel(at.canceled()),
        lambda at: at.call(CANCEL, wire.CancelOrderRequest(order_id=at.canceled())),
    ),
    Row(
        "409: a suppressed ledger entry type is Aborted",
        *(409, 10),
        lambda at: at.desk.trader().get(
            LEDGER, params={"account": at.desk.account(), "entryTypes": "NETTING"}
        ),
        lambda at: at.call("FundingAPI.GetAccountBalanceLedger", at.ledger()),
    ),
    Row(
        "422: beyond a limit of size",
        *(422, 9),
        lambda at: at.enter(orderQty=str(10_000_000 * at.instrument.qty_scale)),
        lambda at: at.insert(order_qty=10_000_000 * at.instrument.qty_scale),
    ),
    Row(
        "429: a limit of the endpoint",
        *(429, 8),
        lambda at: [at.desk.trader().post("/v1/refdata/symbols", json={}) for _ in range(7)].pop(),
        lambda at: [at.call("RefDataAPI.ListSymbols", wire.ListSymbolsRequest()) for _ in range(7)],
    ),
]


@pytest.mark.spec("S7.1-1", "S7.1-3", "S7.1-4", "S7.1-5", "S7.1-7", "S7.1-8", "S7.2-2")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.words)
def test_a_refusal_has_its_status_over_rest_and_its_code_over_grpc(row: Row) -> None:
    answer = row.rest(Situation())
    assert answer.status == row.status, answer
    body = answer.json()
    assert body["code"] == row.code
    assert isinstance(body["message"], str)
    assert body["message"]
    with pytest.raises(RpcError) as refused:
        row.rpc(Situation())
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
    desk = begin()
    sim, path = desk.simulation, "/v1/trading/orders/open"
    answer = desk.raw("exchange", "GET", path, headers)
    assert (answer.status, answer.json()["code"]) == (401, 16)
    service = "/exchange.v1.OrderEntryAPI"
    for outcome in (
        sim.rpc(f"{service}/GetOpenOrders", headers, b""),
        sim.open(f"{service}/CreateOrderSubscription", headers, b""),
    ):
        assert outcome.reply.code == 16


@pytest.mark.spec("S7.1-7", "S3.1-8", "S3.1-9", "S3.1-10")
@pytest.mark.parametrize("state", ["SUSPENDED", "HALTED", "CLOSED"])
def test_an_instrument_that_is_not_tradable_in_its_state_is_422_and_retail_rejects_by_execution(
    world: Desk, instrument: Instrument, state: str
) -> None:
    world.move(instrument, state)
    answer = world.enter(instrument, "buy", 40)
    assert (answer.status, answer.json()["code"]) == (422, 9)
    with pytest.raises(RpcError) as refused:
        world.rpc_trader().call(INSERT, rpc_order(instrument))
    assert refused.value.code == 9
    rejected = world.retail_enter(instrument, "BUY_LONG", 40, synchronousExecution=True).json()
    (execution,) = rejected["executions"]
    assert execution["type"] == "EXECUTION_TYPE_REJECTED"
    assert execution["order"]["state"] == "ORDER_STATE_REJECTED"


# ---- what one operation alone refuses (§7.2)


@pytest.mark.spec("S7.2-4", "S4.3-14")
def test_a_clearing_account_has_no_balance_for_participants(world: Desk) -> None:
    """P26: on either protocol; the firm reads it by an operation of its own."""
    pool = world.firm.clearing_account
    asked = {"name": pool, "currency": "USD"}
    answer = world.trader().post("/v1/positions/balance", json=asked)
    refusal = {"code": 3, "message": "invalid account", "details": []}
    assert (answer.status, answer.json()) == (400, refusal)
    for operation, request in (
        ("PositionAPI.GetAccountBalance", wire.GetAccountBalanceRequest(**asked)),
        ("PositionAPI.ListAccountBalances", wire.ListAccountBalancesRequest(name=pool)),
    ):
        with pytest.raises(RpcError) as refused:
            world.rpc_trader().call(operation, request)
        assert (refused.value.code, refused.value.message) == (3, "invalid account")
    result = world.rpc_partner.call(
        "CashMovementService.GetFundingAccountBalance",
        GetFundingAccountBalanceRequest(currency="USD"),
    )
    assert result.funding_account_id == pool


@pytest.mark.spec("S8-6", "S4.3-15")
@pytest.mark.parametrize("amount", ["0.001", "1.005", "0", "-1.00", "1e2", "", "NaN"])
def test_a_transfer_of_more_than_two_decimals_or_of_no_amount_moves_nothing(
    world: Desk, amount: str
) -> None:
    before = world.balance()
    with pytest.raises(RpcError) as refused:
        world.transfer(amount)
    assert refused.value.code == 3
    assert world.balance() == before


@pytest.mark.spec("S8-6")
def test_a_balance_carries_more_decimals_than_a_transfer_may_have(world: Desk) -> None:
    """A contract at 30.5 cents takes half a cent from a balance of whole cents."""
    half_cents = world.listed("half-cents", tick_size="0.005")
    price = str(305 * half_cents.price_scale // 1000)
    for user, side in ((1, "sell"), (0, "buy")):
        world.place(half_cents, side, 30, user=user, price=price)
    balance = world.balance()["balance"]
    assert balance.partition(".")[2].rstrip("0")[2:] == "5", balance


def aborts(rpc: Rpc, account: str, kind: wire.LedgerEntryType) -> bool:
    """Whether gRPC aborts a request for entries of a type."""
    request = wire.GetAccountBalanceLedgerRequest(account=account, entry_types=[kind])
    try:
        rpc.call("FundingAPI.GetAccountBalanceLedger", request)
    except RpcError as refused:
        return refused.code == 10
    return False


@pytest.mark.spec("S4.3-20")
def test_exactly_twelve_entry_types_are_suppressed(world: Desk) -> None:
    """P18. §4.3 counts twelve and names four of them; both protocols abort the same."""
    aborted = set()
    for kind in wire.LedgerEntryType:
        name = kind.name.removeprefix("LEDGER_ENTRY_TYPE_BALANCE_").removeprefix(
            "LEDGER_ENTRY_TYPE_"
        )
        params = {"account": world.account(), "entryTypes": name}
        answer = world.trader().get(LEDGER, params=params)
        assert answer.status in (200, 400, 409), answer
        assert aborts(world.rpc_partner, world.account(), kind) is (answer.status == 409), name
        if answer.status == 409:
            assert answer.json()["code"] == 10
            aborted.add(name)
    assert len(aborted) == 12, aborted
    assert aborted >= {"NETTING", "GIVE_UP", "INTEREST", "SETTLEMENT_FEE"}
    displayed = {"DEPOSIT", "WITHDRAWAL", "ORDER_EXECUTION", "COMMISSION", "CORRECTION"}
    assert not aborted & displayed  # "deposits, withdrawals, fills, fees, corrections"


@pytest.mark.spec("S7.1-6")
@pytest.mark.parametrize("character", [b"a", "é".encode(), b"\xff"])
def test_a_body_is_as_large_as_its_bytes(world: Desk, character: bytes) -> None:
    """A mebibyte is accepted, whatever its characters are; a little more is not."""
    most = (1 << 20) // len(character)
    for count, status in ((most, 400), (most + 1, 413)):
        assert world.partner.post("/v1/kyc/start", body=character * count).status == status
