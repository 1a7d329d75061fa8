"""One history recorded on every surface of the exchange: no two surfaces contradict each other, in
spite of different spellings and omitted fields. A false value on one surface is detected by the
others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sim.contract.messages import Message
from sim.contract.messages import exchange_v1 as wire
from sim.evidence.witness.witness import Witness, witness_file
from tests.evidence.clients import Clients, base
from tests.evidence.in_process import record
from tests.evidence.lines import lines, write
from tests.journeys import firm

STREAMS: tuple[Message, ...] = (
    wire.CreateDropCopySubscriptionRequest(),
    wire.CreateTradeCaptureReportSubscriptionRequest(),
    wire.CreatePositionChangeSubscriptionRequest(),
    wire.CreateInstrumentStateChangeSubscriptionRequest(),
)
LEDGER = "balance ledger"


def told_everywhere(file: Path, scenario: str) -> Path:
    """Record fills, a cancel and a rejection on every surface that reports them."""
    clients = Clients(record(file, scenario, 11))
    world, symbol = clients.world, clients.market.symbol
    account = firm(world.simulation).users[0].account
    for request in STREAMS:
        name = type(request).__name__.removesuffix("Request")
        clients.rpc.stream(f"DropCopyAPI.{name}", request)
    ledger = wire.CreateBalanceLedgerSubscriptionRequest(account=account)
    clients.rpc.stream("FundingAPI.CreateBalanceLedgerSubscription", ledger)
    for cents in (44, 45, 47):
        clients.order(clients.seller, "sell", cents, 5)
        world.advance("1s")
        clients.order(clients.buyer, "buy", cents, 3)
        world.advance("1s")
    rests = clients.order(clients.buyer, "buy", 12, 3)
    clients.buyer.post("/v1/trading/orders/cancel", json={"orderId": rests, "symbol": symbol})
    clients.order(clients.buyer, "buy", 250, 3)
    world.advance("5s")
    asked = {"account": account}
    for order in ({}, {"newest_first": "true"}):
        for path in ("/v1/positions/ledger", "/v1/funding/balance-ledger"):
            clients.buyer.get(path, params=asked | order)
    reads: tuple[tuple[str, Message], ...] = (
        (
            "FundingAPI.GetAccountBalanceLedger",
            wire.GetAccountBalanceLedgerRequest(account=account),
        ),
        ("PositionAPI.GetPositionLedger", wire.GetPositionLedgerRequest(account=account)),
        ("ReportAPI.SearchExecutions", wire.SearchExecutionsRequest(symbol=symbol)),
        ("ReportAPI.SearchOrders", wire.SearchOrdersRequest(symbol=symbol)),
        ("ReportAPI.SearchTrades", wire.SearchTradesRequest(symbol=symbol)),
        ("OrderBookAPI.GetOrderBook", wire.GetOrderBookRequest(symbol=symbol)),
        ("PositionAPI.ListAccountPositions", wire.ListAccountPositionsRequest(name=account)),
    )
    for name, request in reads:
        clients.rpc.call(name, request)
    for kind in ("executions", "orders", "trades"):
        clients.buyer.post(f"/v1/report/{kind}/search", json={"symbol": symbol})
    clients.buyer.get(f"/v1/orderbook/{symbol}")
    clients.buyer.get("/v1/positions", params={"name": account})
    return file


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The history, recorded once."""
    folder = tmp_path_factory.mktemp("told")
    return told_everywhere(folder / "told.ndjson", str(base(folder)))


def verdict(witness: Witness) -> dict[str, list[str]]:
    """Return the findings of each check that has some."""
    checks = witness.checks.items()
    return {
        name: [contradiction.sentence for contradiction in result.contradictions]
        for name, result in checks
        if result.contradictions
    }


def test_surfaces_that_spell_and_leave_out_differently_tell_one_history(recorded: Path) -> None:
    witness = witness_file(recorded)
    assert verdict(witness) == {}
    for name in (LEDGER, "position ledger", "execution content", "one trade", "fills once"):
        assert witness.checks[name].applied > 0, name


@pytest.mark.parametrize(
    ("rpc", "entries", "field", "check"),
    [
        ("GetAccountBalanceLedger", "entries", "afterBalance", LEDGER),
        ("GetAccountBalanceLedger", "entries", "entryType", LEDGER),
        ("GetPositionLedger", "entries", "netPosition", "position ledger"),
        ("SearchExecutions", "executions", "lastPx", "execution content"),
    ],
)
def test_a_lie_on_one_surface_is_found_beside_the_others(
    recorded: Path, tmp_path: Path, rpc: str, entries: str, field: str, check: str
) -> None:
    result = lines(recorded)
    [line, *_] = [item for item in result if rpc in item.get("request", {}).get("path", "")]
    lie(line["answer"]["body"][entries], field)
    contradictions = (
        witness_file(write(tmp_path / "lie.ndjson", result)).checks[check].contradictions
    )
    assert contradictions
    assert any(line["n"] in contradiction.evidence for contradiction in contradictions)


def lie(entries: list[dict[str, Any]], field: str) -> None:
    """Change a field in the last entry that has it."""
    entry = [item for item in entries if field in item][-1]
    entry[field] = "LEDGER_ENTRY_TYPE_CORRECTION" if field == "entryType" else "7"
