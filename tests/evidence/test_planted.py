"""Each check reports the contradiction planted for it and accepts a consistent history."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import urlencode

import pytest

from sim.cli.main import main
from sim.evidence.witness.checks import CHECKS
from sim.evidence.witness.facts import number as exact
from tests.evidence.story import (
    ACCOUNT,
    SYMBOL,
    Story,
    book,
    cash,
    execution,
    fill,
    order,
    position,
)

DROP_COPY = "DropCopyAPI/CreateDropCopySubscription"
TRADES = "DropCopyAPI/CreateTradeCaptureReportSubscription"
POSITIONS = "DropCopyAPI/CreatePositionChangeSubscription"
BOOKS = "MarketDataSubscriptionAPI/CreateMarketDataSubscription"
LEDGER = "FundingAPI/CreateBalanceLedgerSubscription"
STATES = "DropCopyAPI/CreateInstrumentStateChangeSubscription"
Tell: TypeAlias = Callable[[Story], object]


class Planted(NamedTuple):
    """A check, a history that it must accept, one that it must report, and the lines to name."""

    check: str
    fine: Tell
    wrong: Tell
    lines: list[int]


def two(item: dict[str, Any], other: dict[str, Any]) -> Tell:
    """Two searches of executions."""
    return lambda story: [story.reports(item), story.reports(other)]


def lists(*orders: dict[str, Any]) -> Tell:
    """Return a list of open orders for each order."""
    return lambda story: [story.open_orders(order) for order in orders]


def copied(*executions: dict[str, Any], later: dict[str, Any]) -> Tell:
    """A drop copy with these executions, then a report of another execution of the same order."""

    def tell(story: Story) -> None:
        stream = story.stream(DROP_COPY)
        for report in executions:
            story.frame(stream, {"executions": [report]})
        story.reports(later)

    return tell


def resumed(*after: dict[str, Any], doubled: bool = False) -> Tell:
    """A drop copy that is resumed at its first frame, and the frames that follow. The first frame
    may be repeated.
    """

    def tell(story: Story) -> None:
        first = story.stream(DROP_COPY)
        for _ in range(1 + doubled):
            story.frame(first, {"resumeToken": "T1", "executions": [execution("E1", second=1)]})
        reported = [fill("E2", 3, 3, 2), fill("E3", 5, 2, 3)]
        story.frame(first, {"resumeToken": "T2", "executions": reported})
        story.frame(story.stream(DROP_COPY, {"resumeToken": "T1"}), {"executions": list(after)})

    return tell


def framed(*books: dict[str, Any], read: dict[str, Any] | None = None) -> Tell:
    """Frames of a book, with a read of the book before the last frame."""

    def tell(story: Story) -> None:
        stream = story.stream(BOOKS, {"symbols": [SYMBOL]})
        for number, item in enumerate(books):
            if read is not None and number == len(books) - 1:
                story.get(f"/v1/orderbook/{SYMBOL}", read)
            story.frame(stream, {"update": item})

    return tell


def resting(displayed: int) -> Tell:
    """An order that rests for four seconds, and a book read meanwhile."""

    def tell(story: Story) -> None:
        story.open_orders(order(second=1))
        story.get(f"/v1/orderbook/{SYMBOL}", book([(50, displayed), (49, 5)], second=3))
        story.second = 9
        story.open_orders(order(second=1))

    return tell


def held(*nets: int) -> Tell:
    """Frames of a position of which one more is bought each time."""

    def tell(story: Story) -> None:
        stream = story.stream(POSITIONS)
        for number, net in enumerate(nets, 1):
            change = {"position": position(net, number, 0, number)}
            story.frame(stream, {"positionChanges": [change]})

    return tell


def refused(trace: str) -> Tell:
    """A refused order of a retail client, and an execution with a trace id."""

    def tell(story: Story) -> None:
        story.get("/v1/orders", {"message": "no"}, asked={"quantity": 3}, plane="retail")
        story.lines[-1]["answer"] |= {"status": 422, "headers": {"x-trace-id": "00000a1"}}
        story.reports(fill("E1", 3, 3, 2) | {"traceId": trace})

    return tell


def grown(bought: int) -> Tell:
    """A position before and after a fill of three."""

    def tell(story: Story) -> None:
        story.get("/v1/positions", {"positions": [position(2, 2, 0, 1)]})
        story.reports(fill("E1", 3, 3, 2))
        story.get("/v1/positions", {"positions": [position(bought, bought, 0, 9)]})

    return tell


def entries(*result: Any, **asked: Any) -> Tell:
    """One page of the balance ledger."""
    path, query = "/v1/funding/balance-ledger", urlencode(asked)
    return lambda story: story.get(path, {"entries": list(result)}, query=query)


def keys(after: str, *, named: bool = True) -> Tell:
    """An entry of the balance ledger on the sockets of two keys of one account, with the balance
    that the second socket shows after it. Without `named`, the account is omitted.
    """

    def tell(story: Story) -> None:
        for client, stands in (("k-1", "25.50"), ("k-2", after)):
            change: dict[str, Any] = {"id": "C1", "updateTime": "2026-09-08T18:00:01Z"}
            change |= {"entryType": "LEDGER_ENTRY_TYPE_ORDER_EXECUTION"}
            for side, balance in (("beforeBalance", "25.00"), ("afterBalance", stands)):
                change |= {side: {"currentBalance": balance, "currency": "USD"}}
            change |= {"accountName": "firms/retail/accounts/7"} if named else {}
            body = {"requestId": "r1", "accountBalancesUpdate": {"balanceChange": change}}
            story.frame(story.socket(client, "ACCOUNT_BALANCE"), body, "retail", client)

    return tell


def chained(before: str) -> Tell:
    """A stream of the balance ledger: a frame of two entries that is delivered twice, then one
    entry whose initial balance is `before`.
    """

    def tell(story: Story) -> None:
        stream = story.stream(LEDGER, {"account": ACCOUNT})
        pair = [cash("C1", "10", "9"), cash("C2", "9", "8")]
        for _ in range(2):
            story.frame(stream, {"entries": pair})
        story.frame(stream, {"entries": [cash("C3", before, "1")]})

    return tell


def holdings(second: int) -> Tell:
    """Two entries of the position ledger: two contracts, then three more."""

    def tell(story: Story) -> None:
        rows = [
            {"id": name, "account": ACCOUNT, "symbol": SYMBOL, "quantityChange": change}
            | {"netPosition": net, "updateTime": f"2026-09-08T18:00:0{name[1]}Z"}
            for name, change, net in (("L1", "2", "2"), ("L2", "3", str(second)))
        ]
        story.get("/v1/positions/ledger", {"entries": rows})

    return tell


def busted(back: int, paid: str) -> Tell:
    """A fill of three at 50, its bust, and ledgers that move back a quantity and an amount."""

    def tell(story: Story) -> None:
        side = fill("E1", 3, 3, 2, trade="TR1", aggressor=True)
        side["order"] |= {"priceScale": "100", "fractionalQuantityScale": "1"}
        trade = {"id": "TR1", "aggressor": side, "state": "TRADE_STATE_BUSTED"}
        story.get("/v1/report/trades/search", {"trade": [trade]}, asked={"symbol": SYMBOL})
        rows = [
            {"id": name, "account": ACCOUNT, "symbol": SYMBOL, "quantityChange": str(change)}
            | {"netPosition": str(net), "costChange": str(change * 50), "cost": str(net * 50)}
            | {"updateTime": f"2026-09-08T18:00:0{second}Z"}
            for name, change, net, second in (("L1", 3, 3, 2), ("L2", -back, 3 - back, 4))
        ]
        story.get("/v1/positions/ledger", {"entries": rows})
        entries(cash("C1", "10", "8.5", second=2), cash("C2", "8.5", paid, second=4))(story)

    return tell


def settled(price: int, *, corrected: bool = False, since: float = 9) -> Tell:
    """A final settlement price, twice, and later entries of a ledger."""

    def tell(story: Story) -> None:
        for px in (100, price):
            stats = {"settlementPx": str(px), "settlementPreliminary": False}
            body = book([], state="EXPIRED") | {"stats": stats}
            story.get(f"/v1/orderbook/{SYMBOL}", body)
        kind = "CORRECTION" if corrected else "ORDER_EXECUTION"
        paid = cash("C1", "1", "2", "RESOLUTION", second=0)
        entries(paid, cash("C2", "2", "1", kind, second=since))(story)

    return tell


def states(*names: str) -> Tell:
    """States of an instrument on their stream."""

    def tell(story: Story) -> None:
        stream = story.stream(STATES)
        for name in names:
            instrument = {"symbol": SYMBOL, "state": f"INSTRUMENT_STATE_{name}"}
            story.frame(stream, {"instruments": [instrument]})

    return tell


def keyed(*ids: str) -> Tell:
    """A transfer that is sent twice under one key."""
    rpc = "/exchange.cashmovement.v1.CashMovementService/CreateCashMovement"
    asked = {"idempotencyKey": "K1", "transfer": {"amount": "5.00"}}
    return lambda story: [
        story.call(rpc, asked, {"cashMovement": {"workflowId": item}}) for item in ids
    ]


def traded(*states: str) -> Tell:
    """A trade, state by state."""

    def tell(story: Story) -> None:
        stream = story.stream(TRADES)
        for state in states:
            trade = {"id": "TR1", "state": f"TRADE_STATE_{state}"}
            story.frame(stream, {"tradeCaptureReports": [trade]})

    return tell


PLANTED = (
    Planted("order figures", lists(order(cum=4, leaves=6)), lists(order(cum=4, leaves=5)), [1]),
    Planted(
        "order life",
        lists(order(second=1), order(cum=4, leaves=6, second=2)),
        lists(order(cum=4, leaves=6, second=1), order(second=2)),
        [1, 2],
    ),
    Planted(
        "order life",
        lists(order(second=1), order(state="CANCELED", leaves=0, second=2)),
        lists(order(state="CANCELED", leaves=0, second=1), order(second=2)),
        [1, 2],
    ),
    Planted(
        "execution content",
        two(fill("E1", 3, 3, 2), fill("E1", 3, 3, 2)),
        two(fill("E1", 3, 3, 2), fill("E1", 3, 3, 2, px=51)),
        [1, 2],
    ),
    Planted(
        "fills once",
        two(fill("E1", 3, 3, 2), fill("E2", 5, 2, 3)),
        two(fill("E1", 3, 3, 2), fill("E2", 5, 3, 3)),
        [1, 2],
    ),
    Planted(
        "fills once",
        two(fill("E1", 3, 3, 2), fill("E2", 5, 2, 3, px=55, average=52)),
        two(fill("E1", 3, 3, 2), fill("E2", 5, 2, 3, px=55, average=54)),
        [1, 2],
    ),
    Planted(
        "one end",
        two(
            fill("E1", 3, 3, 2),
            execution("E2", "CANCELED", cum=3, leaves=0, average=50, state="CANCELED", second=3),
        ),
        two(execution("E1", "CANCELED", leaves=0, state="CANCELED", second=2), fill("E2", 3, 3, 3)),
        [1, 2],
    ),
    Planted(
        "one end",
        two(
            execution("E1", "CANCELED", leaves=0, state="CANCELED"),
            execution("E1", "CANCELED", leaves=0, state="CANCELED"),
        ),
        two(
            execution("E1", "CANCELED", leaves=0, state="CANCELED"),
            execution("E2", "CANCELED", leaves=0, state="CANCELED"),
        ),
        [1, 2],
    ),
    Planted(
        "one trade",
        two(
            fill("E1", 3, 3, 2, trade="TR1", aggressor=True),
            fill("E2", 3, 3, 2, trade="TR1", id="ORDER2", side="SELL"),
        ),
        two(
            fill("E1", 3, 3, 2, trade="TR1", aggressor=True),
            fill("E2", 3, 3, 2, trade="TR1", id="ORDER2", side="SELL", px=51),
        ),
        [1, 2],
    ),
    Planted("trade state", traded("NEW", "CLEARED"), traded("BUSTED", "CLEARED"), [3, 4]),
    Planted(
        "nothing missed",
        copied(
            execution("E1"), fill("E2", 3, 3, 2), fill("E3", 5, 2, 3), later=fill("E2", 3, 3, 2)
        ),
        copied(execution("E1"), fill("E3", 5, 2, 3), later=fill("E2", 3, 3, 2)),
        [4, 5],
    ),
    Planted(
        "nothing missed",
        resumed(fill("E2", 3, 3, 2), fill("E3", 5, 2, 3)),
        resumed(fill("E3", 5, 2, 3), fill("E4", 6, 1, 4)),
        [4, 7],
    ),
    Planted(
        "resumed",
        resumed(fill("E2", 3, 3, 2), fill("E2", 3, 3, 2)),
        resumed(execution("E1", second=1), fill("E2", 3, 3, 2)),
        [7],
    ),
    Planted(  # a duplicated frame may be before and after its resume token
        "nothing missed",
        resumed(fill("E2", 3, 3, 2), fill("E3", 5, 2, 3), doubled=True),
        resumed(fill("E3", 5, 2, 3), fill("E4", 6, 1, 4), doubled=True),
        [5, 8],
    ),
    Planted("book form", framed(book([(50, 1), (49, 1)])), framed(book([(49, 1), (50, 1)])), [3]),
    Planted(  # a strict limit order to buy at 52 does not trade at 50
        "book form", framed(book([(52, 1)], [(50, 1)])), framed(book([(50, 1), (50, 1)])), [3]
    ),
    Planted(  # a strict limit order to sell at 50 waited behind a bid at 51 that has left
        "book form", framed(book([(50, 1)], [(50, 1)])), framed(book([(50, 0)], [(51, 1)])), [3]
    ),
    Planted(
        "books in order",
        framed(book([(50, 1)], second=1), book([(50, 2)], second=1)),
        framed(book([(50, 1)], second=2), book([(50, 2)], second=1)),
        [3, 4],
    ),
    Planted(
        "book between frames",
        framed(book([(50, 1)]), book([(50, 1)], second=9), read=book([(50, 1)], second=1)),
        framed(book([(50, 1)]), book([(50, 1)], second=9), read=book([(50, 2)], second=1)),
        [3, 4, 5],
    ),
    Planted("own orders in the book", resting(10), resting(9), [1, 2, 3]),
    Planted("position sum", held(0, 1), held(0, 0), [3, 4]),  # after a bust that nobody saw
    Planted("position fills", grown(5), grown(4), [1, 2, 3]),
    Planted("position ledger", holdings(5), holdings(6), [1]),
    Planted(
        "balance ledger",
        entries(cash("C1", "10", "9"), cash("C2", "9", "8")),
        entries(cash("C1", "10", "9"), cash("C2", "8", "7")),
        [1],
    ),
    Planted("balance ledger", chained("8"), chained("10"), [3, 5]),
    Planted("balance ledger", keys("25.50"), keys("25.51"), [3, 6]),
    Planted("balance ledger", keys("25.50", named=False), keys("25.51", named=False), [3, 6]),
    Planted("position ledger", busted(3, "10"), busted(2, "10"), [1, 2]),
    Planted("balance ledger", busted(3, "10"), busted(3, "9.5"), [1, 3]),
    Planted("settled once", settled(100), settled(0), [1, 2, 3]),
    Planted(
        "settled once",
        entries(cash("C1", "1", "2", "RESOLUTION"), cash("C1", "1", "2", "RESOLUTION")),
        entries(cash("C1", "1", "2", "RESOLUTION"), cash("C2", "2", "3", "RESOLUTION")),
        [1],
    ),
    Planted(
        "reads go on",
        lists(order(second=1), order(second=2)),
        lists(order(second=2), order(second=1)),
        [1, 2],
    ),
    Planted("states go on", states("EXPIRED", "TERMINATED"), states("TERMINATED", "OPEN"), [3, 4]),
    Planted("keys mean one", keyed("W1", "W1"), keyed("W1", "W2"), [1, 2]),
    Planted("refused changes nothing", refused("0b2"), refused("0a1"), [1, 2]),
)


def judged(file: Path, tmp_path: Path) -> tuple[int, dict[str, Any]]:
    """Run `sim witness FILE --json`; return the exit code and the checks."""
    out = tmp_path / "verdict.json"
    code = main(["witness", str(file), "--json", str(out)])
    return code, json.loads(out.read_text())["checks"]


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.check)
def test_what_is_planted_is_found_at_its_lines_and_its_twin_is_not(
    planted: Planted, tmp_path: Path
) -> None:
    fine, wrong = Story(), Story()
    planted.fine(fine)
    planted.wrong(wrong)
    code, checks = judged(fine.write(tmp_path / "fine.ndjson"), tmp_path)
    reported = {name: check["contradictions"] for name, check in checks.items()}
    assert (code, [item for item in reported.values() if item]) == (0, [])
    assert checks[planted.check]["applied"] or not planted.fine
    code, checks = judged(wrong.write(tmp_path / "wrong.ndjson"), tmp_path)
    contradictions = checks[planted.check]["contradictions"]
    assert code == 1
    assert [item["evidence"] for item in contradictions] == [planted.lines]
    assert all(1 <= len(item["evidence"]) <= 5 and item["says"] for item in contradictions)


def test_amounts_keep_their_decimals() -> None:
    assert exact({"value": Decimal("0.5"), "currency": "USD"}) == exact("0.50") == Decimal("0.5")
    assert (exact("7"), exact(""), exact(None), exact({})) == (7, 0, 0, 0)


def test_every_check_has_a_case() -> None:
    assert {planted.check for planted in PLANTED} == {check.name for check in CHECKS}


@pytest.mark.parametrize(
    ("check", "tell"),
    [
        ("settled once", settled(0, corrected=True)),
        ("settled once", settled(0, since=1)),
        ("balance ledger", entries(cash("C1", "10", "9"), cash("C2", "8", "7"), symbol=SYMBOL)),
    ],
)
def test_what_may_have_an_unseen_reason_is_no_contradiction(
    check: str, tell: Tell, tmp_path: Path
) -> None:
    story = Story()
    tell(story)
    code, checks = judged(story.write(tmp_path / "story.ndjson"), tmp_path)
    assert code == 0
    assert checks[check]["cannot_tell"]


def test_who_is_shown_less_sees_no_contradiction(tmp_path: Path) -> None:
    """Older messages have no commission, and the other side of a trade has no account."""

    def side(party: str, second: int, account: str, **more: str) -> dict[str, Any]:
        about: Any = {"trade": f"T{second}", "side": party, "id": f"{party}{second}"}
        report = fill(f"E{party}{second}", 3, 3, second, aggressor=party == "BUY", **about)
        report["order"]["account"] = account
        return report | more

    story = Story()
    story.reports(
        *(side("SELL", second, "B", commissionNotionalCollected="6") for second in (1, 3, 5))
    )
    stream = story.stream(TRADES)
    for second in (1, 5):
        sides = {"aggressor": side("BUY", second, "A"), "passive": side("SELL", second, "")}
        trade = {"id": f"T{second}", "state": "TRADE_STATE_NEW", **sides}
        story.frame(stream, {"tradeCaptureReports": [trade]})
    assert judged(story.write(tmp_path / "story.ndjson"), tmp_path)[0] == 0


def test_answers_that_overlap_are_not_put_in_order(tmp_path: Path) -> None:
    story = Story()
    story.open_orders(order(second=2))
    story.get("/v1/trading/orders/open", {"orders": [order(second=1)]}, began=0)
    code, checks = judged(story.write(tmp_path / "story.ndjson"), tmp_path)
    assert (code, checks["reads go on"]["applied"]) == (0, 0)
