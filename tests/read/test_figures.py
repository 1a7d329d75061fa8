"""What became of an account, recomputed from what its client saw: its executions, its positions and
its balance as the exchange's own interface answers them.
"""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from sim.cli.main import main
from sim.read.report.figures import TABLES, figures_of
from tests.kit import begin

ORDER = st.tuples(
    st.sampled_from(["partner", "retail"]), st.booleans(), st.integers(40, 60), st.integers(1, 9)
)
START = Decimal(250_000)


class Bot:
    """A partner who trades one instrument with a retail customer."""

    def __init__(self, file: Any = None) -> None:
        self.world = begin(journal=file)
        self.sim, self.terms = self.world.simulation, self.world.quiet()
        self.client = self.world.trader()
        self.user, self.account = self.world.user().name, self.world.account()

    def trade(self, orders: list[tuple[str, bool, int, int]]) -> None:
        for caller, buys, cents, contracts in orders:
            if caller == "partner":
                self.world.place(self.terms, "buy" if buys else "sell", cents, contracts)
            else:
                intent = "BUY_LONG" if buys else "BUY_SHORT"
                answer = self.world.retail_enter(self.terms, intent, cents, contracts)
                assert answer.status == 200
            self.world.advance("1s")

    def fills(self) -> list[dict[str, Any]]:
        asked = {"symbol": self.terms.symbol, "pageSize": 1000}
        rows = self.client.post("/v1/report/executions/search", json=asked).json()["executions"]
        return [row for row in rows if int(row["lastShares"])]

    def position(self) -> dict[str, Any]:
        rows = self.client.get("/v1/positions", params={"name": self.account}).json()["positions"]
        return next((row for row in rows if row["symbol"] == self.terms.symbol), {})

    def balance(self) -> Decimal:
        asked = {"name": self.account, "currency": "USD"}
        return Decimal(self.client.post("/v1/positions/balance", json=asked).json()["balance"])


def amount(raw: str, scale: int) -> Decimal:
    return Decimal(raw) / scale


@settings(max_examples=12)
@given(orders=st.lists(ORDER, min_size=1, max_size=14))
def test_they_are_what_the_client_saw(orders: list[tuple[str, bool, int, int]]) -> None:
    bot = Bot()
    bot.trade(orders)
    prices, sizes = bot.terms.price_scale, bot.terms.qty_scale
    observed, figures = bot.fills(), figures_of(bot.sim, bot.user)
    assert {row["id"] for row in figures["fills"]} == {row["id"] for row in observed}
    net = cash = fees = Decimal(0)
    for row in observed:
        sign = 1 if row["order"]["side"] == "SIDE_BUY" else -1
        signed = sign * amount(row["lastShares"], sizes)
        net += signed
        cash -= signed * amount(row["lastPx"], prices)
        fees += amount(row["commissionNotionalCollected"], prices * sizes)
    assert sum(Decimal(row["fee"]) for row in figures["fills"]) == fees
    assert bot.balance() == START + cash - fees == Decimal(figures["balance"])
    if not observed:
        assert figures["positions"] == [] and figures["totals"]["total"] == "0.00"
        return
    (position,), held = figures["positions"], bot.position()
    *_, newest = sorted(observed, key=lambda row: row["transactTime"])  # stable within an instant
    last = amount(newest["lastPx"], prices)
    assert Decimal(position["mark"]) == last
    assert Decimal(position["net"]) == net == amount(held["netPosition"], sizes)
    assert Decimal(position["cost"]) == amount(held["cost"], prices * sizes)
    assert Decimal(position["realised"]) == amount(held["realized"], prices * sizes)
    # However cost is averaged: what was paid, what it is worth, and what it cost to trade.
    assert Decimal(position["total"]) == cash + net * last - fees
    assert Decimal(figures["totals"]["total"]) == Decimal(position["total"])


def test_a_busted_trade_leaves_no_fees_and_no_result() -> None:
    bot = Bot()
    bot.trade([("retail", False, 50, 4), ("partner", True, 50, 4)])
    (fill,) = bot.fills()
    before = figures_of(bot.sim, bot.user)["positions"][0]
    assert Decimal(before["fees"]) > 0
    bot.sim.control("trade.bust", fill["tradeId"], {})
    (position,) = figures_of(bot.sim, bot.user)["positions"]
    assert [Decimal(position[name]) for name in ("net", "fees", "total")] == [0, 0, 0]
    assert bot.balance() == START


def test_quotes_and_their_spread_follow_the_account_s_own_orders() -> None:
    bot = Bot()
    bot.trade([("partner", True, 40, 5), ("partner", False, 55, 4), ("partner", True, 42, 2)])
    bot.trade([("retail", False, 42, 2), ("partner", False, 50, 1)])
    rows = figures_of(bot.sim, bot.user)["quotes"]
    columns = ("bid", "bid_qty", "offer", "offer_qty", "spread")
    assert [[row[column] for column in columns] for row in rows] == [
        ["0.4", "5", "", "", ""],
        ["0.4", "5", "0.55", "4", "0.15"],
        ["0.42", "2", "0.55", "4", "0.13"],
        ["0.4", "5", "0.55", "4", "0.15"],
        ["0.4", "5", "0.5", "1", "0.1"],
    ]
    assert len({row["at"] for row in rows}) == 5


def test_a_settlement_realises_what_is_left() -> None:
    bot = Bot()
    bot.trade([("partner", True, 40, 5), ("retail", False, 40, 5)])
    bot.sim.control("instrument.settle", bot.terms.symbol, {"price": "1"})
    figures = figures_of(bot.sim, bot.user)
    (position,) = figures["positions"]
    assert (position["net"], position["mark"]) == ("0", "1")
    assert (position["realised"], position["unrealised"]) == ("3.00", "0.00")
    assert START + Decimal(figures["totals"]["total"]) == bot.balance()


def test_the_command_writes_csv_and_json(capsys: Any, tmp_path: Path) -> None:
    journal = tmp_path / "run.ndjson"
    with journal.open("w+b", buffering=0) as file:
        bot = Bot(file)
        bot.trade([("partner", True, 45, 5), ("retail", False, 45, 3), ("partner", False, 50, 2)])
        expected = figures_of(bot.sim, bot.user)

    def sim(*arguments: object) -> tuple[int, str, str]:
        code = main(["report", str(journal), *map(str, arguments)])
        return code, *capsys.readouterr()

    code, out, _ = sim("--account", bot.user, "--json")
    assert code == 0 and json.decode(out) == expected
    code, out, _ = sim("--account", bot.account, "--csv", tmp_path / "csv")
    assert code == 0 and str(tmp_path / "csv" / "fills.csv") in out.split()
    for name in (*TABLES, "positions"):
        rows = list(csv.DictReader(io.StringIO((tmp_path / "csv" / f"{name}.csv").read_text())))
        assert rows == [{key: str(value) for key, value in row.items()} for row in expected[name]]
    code, out, _ = sim("--account", bot.user)
    assert code == 0 and bot.account in out and expected["totals"]["total"] in out
    code, _, err = sim("--account", "nobody")
    assert code == 2 and "no account is called 'nobody'; known: firms/" in err
    code, _, err = sim("--csv", tmp_path / "csv")
    assert code == 2 and "--account NAME" in err


@pytest.mark.parametrize("view", ["fills", "performance", "quotes"])
def test_they_are_views_of_any_moment(exchange: Any, view: str) -> None:
    entry = {"symbol": "mine", "tick_size": "0.01", "state": "OPEN"}
    exchange.control("POST", "/instruments", entry)
    observed = {}
    for caller, side in (("maker", "buy"), ("taker", "sell"), ("maker", "sell"), ("taker", "buy")):
        body = {"as": caller, "symbol": "mine", "side": side, "price": "0.40", "qty": "2"}
        exchange.control("POST", "/orders", body)
        exchange.clock.advance("1s")
        seq = exchange.control("GET", "/digest")["seq"]
        observed[seq] = exchange.control("GET", f"/state/{view}")[view]
    assert len(observed[seq]) > len(observed[min(observed)])
    assert {seq: exchange.state_at(seq, view) for seq in observed} == observed
    rows = [row for row in observed[seq] if row["account"] == "firms/sandbox/accounts/maker"]
    account = exchange.control("GET", f"/state/{view}?account=firms/sandbox/accounts/maker")
    assert account[view] == rows
