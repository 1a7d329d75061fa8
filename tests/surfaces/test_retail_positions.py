"""Positions, activities and prices of retail users: after a bust, a settlement, its correction, a
rewind, a first deposit, a close.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.streams import PRIVATE, subscribe
from tests.oracle.session import Session

ANN, BOB, CAT = range(3)


class Holders:
    """Three owners of API keys, and what their sockets tell of positions."""

    def __init__(self, cash: int = 25) -> None:
        session = Session(0, cash=str(cash))
        self.desk, self.retail = session.desk, session.customers
        self.sockets = [self.desk.web_socket(key, PRIVATE) for key in self.desk.keys]
        for user in (ANN, BOB):
            subscribe(self.sockets[user], "1", "POSITION")

    def trade(self, *prices: int) -> None:
        """Let Ann buy a contract from Bob at each price, in cents, a second apart."""
        for cents in prices:
            self.desk.advance("1s")
            self.desk.trade(self.desk.instrument("plain"), cents)
        for user in (ANN, BOB):
            self.notices(user)

    def notices(self, user: int) -> list[Any]:
        """Return the positions that a socket has sent since the last call."""
        frames = self.sockets[user].take()
        return [row["positionSubscription"] for row in frames if "positionSubscription" in row]

    def activities(self, user: int, kind: str) -> list[Any]:
        """Return the activities of a type, the newest first."""
        params = {"types": f"ACTIVITY_TYPE_{kind}", "limit": 100}
        result = self.retail[user].get("/v1/portfolio/activities", params=params).json()
        return [list(row.values())[1] for row in result["activities"]]


def test_a_busted_trade_leaves_a_flat_position_worth_nothing() -> None:
    holders = Holders()
    holders.trade(50)
    trade = holders.activities(ANN, "TRADE")[0]["id"]
    holders.desk.advance_to("2026-10-07T14:00:00Z")
    holders.desk.operate("trade.bust", trade)
    for user, side in ((ANN, "LONG"), (BOB, "SHORT")):
        (frame,) = holders.notices(user)
        before, after = frame["beforePosition"], frame["afterPosition"]
        assert (before["netPosition"], after["netPosition"]) == (f"{2 * (user == ANN) - 1}", "0")
        assert after["positionId"].split(":")[1] == side
        assert after["cashValue"]["value"] == after["cost"]["value"] == "0.0000"
        (row,) = holders.activities(user, "TRADE")
        assert row["state"] == "TRADE_STATE_BUSTED"
        dates = row["createTradeDate"], row["updateTradeDate"]
        assert dates == ("2026-10-06T00:00:00Z", "2026-10-07T00:00:00Z")


def test_a_settlement_and_its_correction_are_told_with_what_was_held_before() -> None:
    holders = Holders()
    holders.trade(40, 50)
    rows = holders.retail[ANN].get("/v1/portfolio/positions").json()["positions"]
    now = rows["plain"]["updateTime"]
    for number, (price, profit) in enumerate((("1", "1.1000"), ("0", "-0.9000"))):
        holders.desk.operate("instrument.settle", "plain", price=price)
        for user, sign in ((ANN, ""), (BOB, "-")):
            (frame,) = holders.notices(user)
            before, after = frame["beforePosition"], frame["afterPosition"]
            kind = ("RESOLUTION", "CORRECTION")[number]
            assert frame["entryType"] == f"LEDGER_ENTRY_TYPE_{kind}"
            assert after["realized"]["value"] == f"{sign}{profit}".replace("--", "")
            assert before["updateTime"] == now
            ids = {side["positionId"].split(":")[1] for side in (before, after)}
            assert ids == {"SHORT" if sign else "LONG"}
            moved = before["netPosition"], before["cost"]["value"] != "0.0000"
            assert moved == (("0", False) if number else (f"{sign}2", True))
            assert after["cost"]["value"] == "0.0000"
            newest, *older = holders.activities(user, "POSITION_RESOLUTION")
            side = ("LONG", "SHORT")[number]
            assert (newest["side"], len(older)) == (f"POSITION_RESOLUTION_SIDE_{side}", number)
            for displayed, moved_to in (
                (newest["beforePosition"], before),
                (newest["afterPosition"], after),
            ):
                assert displayed["realized"] == moved_to["realized"]
                assert displayed["netPosition"] == moved_to["netPosition"]
        holders.desk.advance("1s")


def test_activities_follow_a_rewind() -> None:
    holders = Holders()
    sim = holders.desk.simulation
    account = "firms/atlas/accounts/ann"
    holders.trade(40)
    holders.desk.settle("thin", "1")
    seq = sim.seq
    for price in ("1", "0"):
        sim.control("account.fund", account, {"amount": "1"})
        holders.desk.absorb(sim.control("instrument.settle", "plain", {"price": price}))
        kinds = "POSITION_RESOLUTION", "ACCOUNT_DEPOSIT", "TRADE"
        assert [len(holders.activities(ANN, kind)) for kind in kinds] == [1, 2, 1]
        side = {"1": "LONG", "0": "SHORT"}[price]
        (row,) = holders.activities(ANN, "POSITION_RESOLUTION")
        assert row["side"] == f"POSITION_RESOLUTION_SIDE_{side}"
        sim.rewind(seq=seq)
        assert [len(holders.activities(ANN, kind)) for kind in kinds] == [0, 1, 1]


def test_the_first_deposit_of_an_account_without_cash_is_an_activity() -> None:
    holders = Holders(0)
    holders.desk.simulation.control("account.fund", "firms/atlas/accounts/bob", {"amount": "1"})
    assert len(holders.activities(BOB, "ACCOUNT_DEPOSIT")) == 1


@pytest.mark.observed("statistics.daily_mark")
def test_only_an_open_market_without_a_settlement_shows_the_mark_of_the_day() -> None:
    holders = Holders()
    sim, public = holders.desk.simulation, holders.retail[CAT]

    def view() -> tuple[Any, Any]:
        stats = public.get("/v1/markets/plain/book").json()["marketData"]["stats"]
        kind = str(stats.get("settlementPriceCalculationMethod"))[-1]
        return (stats.get("settlementPx") or {}).get("value"), kind

    holders.trade(40, 50)
    assert view() == (None, "e")
    holders.desk.advance_to("2026-10-06T17:00:00-04:00")
    assert view() == ("0.5000", "3")
    for state, noticed in (("HALTED", (None, "e")), ("OPEN", ("0.5000", "3"))):
        holders.desk.absorb(sim.control("instrument.state", "plain", {"state": state}))
        assert view() == noticed
    trades = holders.activities(ANN, "TRADE")
    holders.desk.absorb(sim.control("trade.bust", trades[0]["id"], {}))
    assert view() == ("0.4000", "3")
    holders.desk.absorb(sim.control("trade.bust", trades[1]["id"], {}))
    assert view() == (None, "e")
    holders.desk.absorb(sim.control("instrument.settle", "plain", {"price": "1"}))
    assert view() == ("1.0000", "1")
