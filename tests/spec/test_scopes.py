"""The scope that each operation requires (§5.1), compared with a table that is independent of the
contract.

The specification names the scopes of the order book and the best prices (§4.3, §5.1), of whoami and
the list of users (§4.3), and of both ledgers (§4.3); the others follow from the names of the scopes
(§5.1) and from the public table of scopes. Nothing here reads `Operation.scope`: a scope that is
wrong in `proto/` fails here.
"""

from __future__ import annotations

import re

import pytest

from sim import Simulation
from sim.contract.contract import Operation, load_contract
from sim.core.identity.firms import Firm
from tests.kit import Desk, begin

# scope: the operations that need it and no other scope, with the § that says so.
GUARDED = {
    # "requires scope read:marketdata" of the order book, "same authentication" of the best prices
    # (§4.3, §5.1); market data streams and settlement reads by the public table of scopes.
    "read:marketdata": """
        OrderBookAPI.GetOrderBook OrderBookAPI.GetBBO
        MarketDataSubscriptionAPI.CreateMarketDataSubscription
        MarketDataSubscriptionAPI.BiDirectionalStreamMarketData
        SettlementService.GetInstrumentSettlement
    """,
    # "scope read:accounts" of whoami and users (§4.3); accounts, users and participants' tokens are
    # of the same family.
    "read:accounts": """
        AccountsAPI.GetWhoAmI AccountsAPI.ListAccounts
        UsersAPI.ListUsers UsersAPI.CreateUser UsersAPI.UpdateUser
        ParticipantAPI.CreateParticipantAPIToken ParticipantAPI.CreateParticipantAdminToken
    """,
    # "Ledgers (scope read:positions)" (§4.3), their stream (§4.4), positions and balances.
    "read:positions": """
        PositionAPI.GetPositionLedger PositionAPI.DownloadPositionLedger
        FundingAPI.GetAccountBalanceLedger FundingAPI.DownloadBalanceLedger
        FundingAPI.CreateBalanceLedgerSubscription PositionAPI.CreatePositionSubscription
        PositionAPI.ListAccountPositions PositionAPI.GetAccountBalance
        PositionAPI.ListAccountBalances
    """,
    # Reports of orders, executions and trades, their statistics, what incentives earned (§4.3).
    "read:reports": """
        ReportAPI.SearchOrders ReportAPI.GetOrder ReportAPI.DownloadOrders
        ReportAPI.SearchExecutions ReportAPI.GetExecution ReportAPI.DownloadExecutions
        ReportAPI.SearchTrades ReportAPI.DownloadTrades ReportAPI.GetTradeStats
        IncentivesAPI.GetIncentiveEarnings
    """,
    "read:orders": """
        OrderEntryAPI.GetOpenOrders OrderEntryAPI.PreviewOrder
        OrderEntryAPI.CreateOrderSubscription OrderFundingService.GetFundedOrder
        ComboAPI.GetCombos RFQAPI.GetRFQUserID RFQAPI.GetRFQs RFQAPI.GetQuotes
        RFQAPI.GetRFQTrades RFQAPI.StreamRFQEvents
    """,
    "write:orders": """
        OrderEntryAPI.InsertOrder OrderEntryAPI.InsertOrderList OrderEntryAPI.InsertOrderCross
        OrderEntryAPI.CancelOrder OrderEntryAPI.CancelOrderList
        OrderEntryAPI.CancelReplaceOrder OrderEntryAPI.CancelReplaceOrderList
        OrderFundingService.CreateVendorOrder OrderFundingService.CreateFundedOrder
        OrderFundingService.CancelFundedOrder
        ComboAPI.CreateCombo RFQAPI.CreateRFQ RFQAPI.DeleteRFQ RFQAPI.CreateQuote
        RFQAPI.DeleteQuote RFQAPI.AcceptQuote RFQAPI.ConfirmQuote
    """,
    # Verification is started and its webhook registered with write:kyc, and read with read:kyc.
    "write:kyc": """
        KYCAPI.StartKYCVerification KYCAPI.SetWebhookURL KYCAPI.StartKYCPrefill
        KYCAPI.SubmitKYCPrefillOTP KYCAPI.CreateISVReferralCode
    """,
    "read:kyc": "KYCAPI.GetKYCStatus KYCAPI.GetReferralCodes KYCAPI.CheckReferralCode",
    "read:funding": """
        FundingAPI.ListFundingSources FundingAPI.ListFundingAccounts
        FundingAPI.ListFundingTransactions FundingAPI.GetFundingTransaction
        FundingAPI.ListTransactionRequirements FundingAPI.CreateFundingTransactionSubscription
    """,
    "write:funding": "FundingAPI.UpdateFundingAccount",
    # The three below are named by the public table of scopes alone.
    "write:cash-movements": """
        CashMovementService.CreateCashMovement CashMovementService.GetCashMovement
        CashMovementService.GetFundingAccountBalance
    """,
    "read:dropcopy": """
        DropCopyAPI.CreateDropCopySubscription DropCopyAPI.CreateTradeCaptureReportSubscription
        DropCopyAPI.CreatePositionChangeSubscription
    """,
    "read:instruments": """
        DropCopyAPI.CreateInstrumentStateChangeSubscription
        RefDataAPI.ListInstruments RefDataAPI.SearchInstruments RefDataAPI.GetInstrument
        RefDataAPI.ListSymbols RefDataAPI.GetInstrumentMetadata
        RefDataSportsAPI.GetSports RefDataSportsAPI.GetSportsTeams
        RefDataSportsAPI.GetSportsTeamsForProvider
    """,
}
OPEN_TO_ALL = {"HealthAPI.HealthCheck", "IncentivesAPI.GetIncentives"}
NEEDED = {name: scope for scope, names in GUARDED.items() for name in names.split()}
# §5.1 names ten; read:l2marketdata guards nothing here, because §4.3 asks for read:marketdata only.
SCOPES = sorted({*GUARDED, "read:l2marketdata"})
# Funded orders are gone after this day (§9); all other operations are there on it too.
WHILE_FUNDED_ORDERS_EXIST = "2026-08-05T12:00:00-04:00"
MISSING = re.compile(r"permission denied: missing required scope ([a-z0-9:-]+)")


def _firm(name: str, scopes: list[str]) -> str:
    user = "users: [{name: u}]"
    return f"  - {{name: firms/{name}, key: spare-1, scopes: [{', '.join(scopes)}], {user}}}\n"


@pytest.fixture(scope="module")
def world() -> Desk:
    """A firm for each scope alone, one for each scope left out, and one without any."""
    firms = "".join(
        _firm(f"only-{scope.replace(':', '-')}", [scope])
        + _firm(f"all-but-{scope.replace(':', '-')}", [name for name in SCOPES if name != scope])
        for scope in SCOPES
    )
    text = f"world:\n  firms:\n{firms}{_firm('none', [])}"
    text += "assumptions: {reports.bulk_export: served}\n"
    return begin(more=text, start=WHILE_FUNDED_ORDERS_EXIST, limits=False)


def named(sim: Simulation, kind: str, scope: str = "") -> Firm:
    """A firm of the world above."""
    name = f"firms/{kind}-{scope.replace(':', '-')}" if scope else f"firms/{kind}"
    return sim.exchange.firms.require(name)


def answers(world: Desk, operation: Operation, firm: Firm) -> list[tuple[int, str]]:
    """(status or code, message) of the operation on every surface that has it."""
    caller = world.bearer(firm, firm.users[0].name)
    results = []
    if "exchange" in operation.planes:
        for verb, path, body in operation.bindings:
            path = re.sub(r"\{[^}]*\}", "nothing", path)
            content = b"{}" if body else b""
            answer = world.raw("exchange", verb, path, caller, body=content)
            results.append((answer.status, answer.body.decode(errors="replace")))
    if operation.grpc:
        method = operation.full_methods[0]
        if operation.kind == "unary":
            outcome = world.simulation.rpc(method, caller, b"")
        else:
            outcome = world.simulation.open(method, caller, b"")
        if outcome.reply is None:
            results.append((0, ""))
            world.simulation.hangup(outcome.stream)
        else:
            results.append((outcome.reply.code, outcome.reply.message))
    assert results, f"{operation.name} is on no surface"
    return results


def asked_for(answer: tuple[int, str]) -> str:
    """The scope that an answer says is missing; empty when it complains of no scope."""
    status, message = answer
    missing = MISSING.search(message)
    assert bool(missing) is (status in (7, 403) and "scope" in message), answer
    return missing[1] if missing else ""


OPERATIONS = [
    operation
    for operation in load_contract().operations
    if operation.grpc or "exchange" in operation.planes
]


def test_the_table_has_every_operation_of_the_exchange_once() -> None:
    assert len(NEEDED) == sum(len(names.split()) for names in GUARDED.values())
    assert not OPEN_TO_ALL & NEEDED.keys()
    assert {operation.name for operation in OPERATIONS} == OPEN_TO_ALL | NEEDED.keys()


@pytest.mark.spec("S5.1-9", "S7.1-3", "S4.3-1", "S4.3-2", "S4.3-16")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_the_right_scope_alone_is_enough_and_every_other_is_refused(
    world: Desk, operation: Operation
) -> None:
    """With each wrong one, with all others together and with none, the answer names the right
    one.
    """
    needed, sim = NEEDED.get(operation.name, ""), world.simulation
    for scope in SCOPES:
        expected = needed if scope != needed else ""
        for answer in answers(world, operation, named(sim, "only", scope)):
            assert asked_for(answer) == expected, (scope, answer)
    others = named(sim, "all-but", needed) if needed else named(sim, "none")
    for firm in (others, named(sim, "none")):
        for answer in answers(world, operation, firm):
            assert asked_for(answer) == needed, (firm.name, answer)


@pytest.mark.spec("S5.1-3", "S5.1-9")
def test_a_token_request_cannot_ask_for_more_scopes_than_the_firm_was_granted(world: Desk) -> None:
    firm = named(world.simulation, "only", "read:orders")
    issued = world.token(firm, scope="read:accounts write:kyc")
    assert issued.status == 200
    headers = {"authorization": f"Bearer {issued.json()['access_token']}"}
    answer = world.raw("exchange", "GET", "/v1/whoami", headers)
    assert answer.status == 403
    assert b"missing required scope read:accounts" in answer.body


# Scopes that a participant's own token may have: those that show or move what is its own.
OF_A_PARTICIPANT = {
    "read:accounts",
    "read:funding",
    "read:instruments",
    "read:l2marketdata",
    "read:marketdata",
    "read:orders",
    "read:positions",
    "read:reports",
    "write:orders",
}


@pytest.mark.spec("S5.1-9")
@pytest.mark.parametrize("scope", SCOPES)
def test_a_participants_token_has_no_scope_over_what_belongs_to_others(scope: str) -> None:
    rich = begin(more=f"world:\n  firms:\n{_firm('rich', SCOPES)}", limits=False)
    firm = named(rich.simulation, "rich")
    body = {"participant_id": firm.users[0].name, "scopes": [scope]}
    for kind in ("tokens", "admin-tokens"):
        answer = rich.exchange(firm).post(f"/v1/participant/{kind}", json=body)
        assert answer.status == (200 if scope in OF_A_PARTICIPANT else 403), answer
