"""Positions, trades and resolutions on retail REST and on the private socket, against the
bookkeeper of `test_money_against_naive`, which calculates in fractions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from sim.run.client.client import Stream
from tests.journeys import operate
from tests.kit import unlimited
from tests.surfaces.test_money_against_naive import (
    MAKER,
    MARKETS,
    TAKER,
    USERS,
    Bookkeeper,
    Both,
    Held,
    Working,
    act,
)

SHOWN = Fraction(1, 10_000)  # the last decimal of retail amounts
# Fields of a position that are equal in a frame and in a read, even if the market moves between.
LASTING = (
    *("netPositionDecimal", "qtyBoughtDecimal", "qtySoldDecimal", "cost", "baseCost", "avgPx"),
    *("fees", "realized", "updateTime", "positionId"),
)


@dataclass
class Holding:
    """Further fields of a retail position, besides net, cost and profit."""

    bought: int = 0
    sold: int = 0
    fees: Fraction = Fraction(0)
    settled: int = 0


@dataclass
class RetailBookkeeper(Bookkeeper):
    """A bookkeeper that also records each trade of an account."""

    of: dict[tuple[str, str], Holding] = field(default_factory=lambda: defaultdict(Holding))
    trades: dict[str, list[tuple[Any, ...]]] = field(default_factory=lambda: defaultdict(list))
    last: dict[str, int] = field(default_factory=dict)

    def fill(self, taker: Working, maker: Working, qty: int) -> None:
        before = {
            order.user: Held(**vars(self.held[order.user, order.symbol]))
            for order in (taker, maker)
        }
        super().fill(taker, maker, qty)
        self.last[taker.symbol] = maker.price
        for order, theta, sign in ((taker, TAKER, 1), (maker, MAKER, -1)):
            of = self.of[order.user, order.symbol]
            of.bought += qty if order.buying else 0
            of.sold += 0 if order.buying else qty
            of.fees += sign * self.fee(theta, taker, qty, maker.price)
            if taker.user != maker.user:
                was, now = before[order.user], self.held[order.user, order.symbol]
                changes = abs(now.cost - was.cost), now.realized - was.realized
                self.trades[order.user].append(
                    (order.symbol, maker.price, qty, order is taker, order.buying, *changes)
                )

    def settle(self, symbol: str, price: Fraction) -> None:
        for user in USERS:
            self.of[user, symbol].settled = self.held[user, symbol].net
        super().settle(symbol, price)

    def price(self, symbol: str) -> int | None:
        """Return the midpoint of both sides, rounded down, or else the price of the last trade."""
        of = [order for order in self.orders if order.open and order.symbol == symbol]
        bids = [order.price for order in of if order.buying]
        asks = [order.price for order in of if not order.buying]
        return (max(bids) + min(asks)) // 2 if bids and asks else self.last.get(symbol)


class RetailBoth(Both):
    """The exchange and the bookkeeper, with retail clients of the same accounts."""

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.book = self.naive = RetailBookkeeper(start)
        keys = {
            key.account.rpartition("/")[2]: key
            for key in self.world.simulation.exchange.firms.api_keys()
            if key.account.startswith("firms/naive/")
        }
        self.retail = {user: self.world.retail(keys[user]) for user in USERS}
        unlimited(self.world.simulation)
        self.sockets = {user: self.world.web_socket(keys[user], "/v1/ws/private") for user in USERS}
        for socket in self.sockets.values():
            subscribe(socket)
        self.reported: dict[tuple[str, str], Any] = {}

    def displayed(self, user: str) -> dict[str, Any]:
        positions: dict[str, Any] = (
            self.retail[user].get("/v1/portfolio/positions").json()["positions"]
        )
        return positions

    def compare_retail(self) -> None:
        for user in USERS:
            rows = self.displayed(user)
            markets = {
                symbol
                for symbol in MARKETS
                if self.naive.held[user, symbol].net or self.naive.of[user, symbol].settled
            }
            assert set(rows) == markets
            for symbol, row in rows.items():
                self.compare_position(user, symbol, row)
            self.compare_frames(user, rows)

    def compare_position(self, user: str, symbol: str, row: Any) -> None:
        held, of = self.naive.held[user, symbol], self.naive.of[user, symbol]
        scale, contracts, _ = MARKETS[symbol]
        net, short = Fraction(held.net, contracts), max(Fraction(-held.net, contracts), Fraction(0))
        base = four(Fraction(held.cost, scale * contracts) + short)
        fees = four(of.fees)
        expected: dict[str, Any] = {
            "netPositionDecimal": net,
            "qtyBoughtDecimal": Fraction(of.bought + max(-of.settled, 0), contracts),
            "qtySoldDecimal": Fraction(of.sold + max(of.settled, 0), contracts),
            "cost": Fraction(0) if of.settled else base + fees,
            "baseCost": None if of.settled else base,
            "fees": None if of.settled else fees,
        }
        observed = {name: amount(row[name]) for name in expected}
        assert observed == expected, (user, symbol)
        close(row["realized"], Fraction(held.realized, scale * contracts))
        close(row["avgPx"], Fraction(abs(held.cost), abs(held.net) * scale) if held.net else None)
        price = self.naive.price(symbol)
        assert price is not None
        close(row["cashValue"], net * Fraction(price, scale) + short)
        long = (held.net or of.settled or of.bought - of.sold) >= 0
        account = f"firms/naive/accounts/{user}"
        assert row["positionId"] == f"{account}:{'LONG' if long else 'SHORT'}:{symbol}"

    def compare_frames(self, user: str, rows: dict[str, Any]) -> None:
        """Check that each frame continues the one before it and that the last one equals a read."""
        for frame in self.sockets[user].take():
            if (reported := frame.get("positionSubscription")) is None:
                continue
            before, after = reported["beforePosition"], reported["afterPosition"]
            symbol = after["marketMetadata"]["slug"]
            was = self.reported.get((user, symbol))
            if before is not None and was is not None and amount(after["fees"]) is not None:
                was |= {"updateTime": after["updateTime"]}  # it is equal in both for a fill
            assert lasting(before) == was, symbol
            self.reported[user, symbol] = lasting(after)
        for symbol, row in rows.items():
            assert self.reported[user, symbol] == lasting(row)

    def activities(self, user: str, kind: str, **query: object) -> list[Any]:
        params = {"types": f"ACTIVITY_TYPE_{kind}", "limit": 100, **query}
        result = self.retail[user].get("/v1/portfolio/activities", params=params).json()
        return [list(row.values())[1] for row in result["activities"]]

    def compare_trades(self) -> None:
        for user in USERS:
            for symbol in ("", *MARKETS):
                query = {"market_slug": symbol} if symbol else {}
                rows = self.activities(user, "TRADE", **query)[::-1]
                observed = [
                    self.trade(row)
                    for row in rows
                    if row["aggressor"]["id"] not in self.own(user)
                    or row["passive"]["id"] not in self.own(user)
                ]
                mine = [row for row in self.naive.trades[user] if symbol in ("", row[0])]
                assert observed == mine[-len(observed) :]
                assert len(rows) == 100 or len(observed) == len(mine)

    def own(self, user: str) -> set[str]:
        return {order.id for order in self.naive.orders if order.user == user}

    def trade(self, row: Any) -> tuple[Any, ...]:
        """Return a trade in the integers of the bookkeeper."""
        scale, contracts, _ = MARKETS[row["marketSlug"]]
        qty, price = amount(row["qtyDecimal"]) * contracts, amount(row["price"]) * scale
        own = row["aggressor" if row["isAggressor"] else "passive"]
        close(row["cost"], price * qty / scale / contracts)
        assert row["market"]["slug"] == row["marketSlug"]
        assert row["createTradeDate"] == row["updateTradeDate"] == "2026-10-06T00:00:00Z"
        return (
            *(row["marketSlug"], price, qty, row["isAggressor"], own["side"] == "ORDER_SIDE_BUY"),
            *(amount(row[name]) * scale * contracts for name in ("costBasis", "realizedPnl")),
        )


def subscribe(socket: Stream) -> None:
    asked = {"requestId": "1", "subscriptionType": "SUBSCRIPTION_TYPE_POSITION"}
    socket.send(json.dumps({"subscribe": asked}).encode())
    socket.take()


def four(exact: Fraction) -> Fraction:
    """Round to four decimals, half to even."""
    return round(exact / SHOWN) * SHOWN


def amount(displayed: Any) -> Fraction | None:
    """An amount or a decimal."""
    if displayed is None:
        return None
    return Fraction(displayed["value"] if isinstance(displayed, dict) else displayed)


def close(displayed: Any, exact: Fraction | None) -> None:
    """Compare an amount with a value of more decimals."""
    observed = amount(displayed)
    assert (observed is None) is (exact is None)
    assert observed is None or exact is None or abs(observed - exact) < SHOWN, (displayed, exact)


def lasting(position: Any) -> Any:
    return position and {name: position[name] for name in LASTING}


@pytest.mark.spec("S4.2-5", "S4.2-6", "S2.8-3", "S2.8-4")
@pytest.mark.parametrize("seed", range(6))
def test_retail_positions_and_trades_are_what_a_bookkeeper_says(seed: int) -> None:
    random = Random(seed)
    both = RetailBoth(random.choice((15, 25)))
    for number in range(60):
        both.world.advance("1s")
        act(both, random)
        if number % 3 == 0:
            both.compare_retail()
    both.compare_trades()
    for symbol, price in zip(MARKETS, ("0", "1", "0.5", "0.37"), strict=True):
        both.world.advance("1s")
        held = {user: both.naive.held[user, symbol].net for user in USERS}
        both.settle(symbol, price)
        both.compare_retail()
        for user, net in held.items():
            rows = both.activities(user, "POSITION_RESOLUTION", market_slug=symbol)
            assert len(rows) == bool(net)
            for row in rows:
                side = {"0": "SHORT", "1": "LONG"}.get(price, "NEUTRAL")
                assert row["side"] == f"POSITION_RESOLUTION_SIDE_{side}"
                assert amount(row["beforePosition"]["netPositionDecimal"]) == Fraction(
                    net, MARKETS[symbol][1]
                )
    both.compare_trades()


def notices(both: RetailBoth, user: str) -> list[Any]:
    """Return the positions that a socket has sent since the last call."""
    frames = both.sockets[user].take()
    return [frame["positionSubscription"] for frame in frames if "positionSubscription" in frame]


def market_of(both: RetailBoth, *prices: int) -> None:
    """Let Ann buy a contract from Bob at each price, in cents, a second apart."""
    for price in prices:
        both.world.advance("1s")
        both.place("bob", "a", False, price, 1, "DAY")
        both.place("ann", "a", True, price, 1, "DAY")


def test_a_busted_trade_leaves_a_flat_position_worth_nothing() -> None:
    both = RetailBoth(25)
    market_of(both, 50)
    trade = both.activities("ann", "TRADE")[0]["id"]
    for user in USERS:
        notices(both, user)
    both.world.advance_to("2026-10-07T14:00:00Z")
    operate(both.world, "trade.bust", trade)
    for user, side in (("ann", "LONG"), ("bob", "SHORT")):
        (frame,) = notices(both, user)
        before, after = frame["beforePosition"], frame["afterPosition"]
        assert (before["netPosition"], after["netPosition"]) == (f"{2 * (user == 'ann') - 1}", "0")
        assert after["positionId"].split(":")[1] == side
        assert after["cashValue"]["value"] == after["cost"]["value"] == "0.0000"
        (row,) = both.activities(user, "TRADE")
        assert row["state"] == "TRADE_STATE_BUSTED"
        dates = row["createTradeDate"], row["updateTradeDate"]
        assert dates == ("2026-10-06T00:00:00Z", "2026-10-07T00:00:00Z")


def test_a_settlement_and_its_correction_are_told_with_what_was_held_before() -> None:
    both = RetailBoth(25)
    market_of(both, 40, 50)
    now = str(both.displayed("ann")["a"]["updateTime"])
    for user in USERS:
        notices(both, user)
    for number, (price, profit) in enumerate((("1", "1.1000"), ("0", "-0.9000"))):
        operate(both.world, "instrument.settle", "a", price=price)
        for user, sign in (("ann", ""), ("bob", "-")):
            (frame,) = notices(both, user)
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
            newest, *older = both.activities(user, "POSITION_RESOLUTION")
            side = ("LONG", "SHORT")[number]
            assert (newest["side"], len(older)) == (f"POSITION_RESOLUTION_SIDE_{side}", number)
            for displayed, moved_to in (
                (newest["beforePosition"], before),
                (newest["afterPosition"], after),
            ):
                assert displayed["realized"] == moved_to["realized"]
                assert displayed["netPosition"] == moved_to["netPosition"]
        both.world.advance("1s")


def test_activities_follow_a_rewind() -> None:
    both = RetailBoth(25)
    sim = both.world.simulation
    account = "firms/naive/accounts/ann"
    market_of(both, 40)
    both.settle("b", "1")
    seq = sim.seq
    for price in ("1", "0"):
        sim.control("account.fund", account, {"amount": "1"})
        both.world.absorb(sim.control("instrument.settle", "a", {"price": price}))
        kinds = "POSITION_RESOLUTION", "ACCOUNT_DEPOSIT", "TRADE"
        assert [len(both.activities("ann", kind)) for kind in kinds] == [1, 2, 1]
        side = {"1": "LONG", "0": "SHORT"}[price]
        (row,) = both.activities("ann", "POSITION_RESOLUTION")
        assert row["side"] == f"POSITION_RESOLUTION_SIDE_{side}"
        sim.rewind(seq=seq)
        assert [len(both.activities("ann", kind)) for kind in kinds] == [0, 1, 1]


def test_the_first_deposit_of_an_account_without_cash_is_an_activity() -> None:
    both = RetailBoth(0)
    both.world.simulation.control("account.fund", "firms/naive/accounts/cat", {"amount": "1"})
    assert len(both.activities("cat", "ACCOUNT_DEPOSIT")) == 1


@pytest.mark.observed("statistics.daily_mark")
def test_only_an_open_market_without_a_settlement_shows_the_mark_of_the_day() -> None:
    both = RetailBoth(25)
    sim, public = both.world.simulation, both.retail["cat"]

    def view() -> tuple[Any, Any]:
        stats = public.get("/v1/markets/a/book").json()["marketData"]["stats"]
        kind = str(stats.get("settlementPriceCalculationMethod"))[-1]
        return (stats.get("settlementPx") or {}).get("value"), kind

    market_of(both, 40, 50)
    assert view() == (None, "e")
    both.world.advance_to("2026-10-06T17:00:00-04:00")
    assert view() == ("0.5000", "3")
    for state, noticed in (("HALTED", (None, "e")), ("OPEN", ("0.5000", "3"))):
        both.world.absorb(sim.control("instrument.state", "a", {"state": state}))
        assert view() == noticed
    trades = both.activities("ann", "TRADE")
    both.world.absorb(sim.control("trade.bust", trades[0]["id"], {}))
    assert view() == ("0.4000", "3")
    both.world.absorb(sim.control("trade.bust", trades[1]["id"], {}))
    assert view() == (None, "e")
    both.world.absorb(sim.control("instrument.settle", "a", {"price": "1"}))
    assert view() == ("1.0000", "1")
