"""The money that clients see against a naive bookkeeper that calculates in fractions: admission,
balances, margins, reservations, positions, fees, ledgers.

The bookkeeper has plain lists, sorts them for every calculation, and implements rules P2-P5, P9,
P11, P12, P22 and M31 from their text alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.run.client.client import Connection, Http, connect
from tests.journeys import operate

TAKER, MAKER = Fraction(695, 10_000), Fraction(125, 10_000)
USERS = ("ann", "bob", "cat")
# symbol: price scale, quantity scale, tick in price units
MARKETS = {"a": (100, 1, 1), "b": (1000, 100, 5), "c": (10_000, 10, 25), "d": (1000, 1000, 10)}
TICKS = {"a": "0.01", "b": "0.005", "c": "0.0025", "d": "0.01"}
LISTED = ", ".join(
    f"{{symbol: {name}, price_scale: {price}, fractional_qty_scale: {qty}, tick_size:"
    f" '{TICKS[name]}', state: OPEN}}"
    for name, (price, qty, _) in MARKETS.items()
)


def cents(amount: Fraction) -> Fraction:
    """Round to the cent, half to even."""
    return Fraction(round(amount * 100), 100)


@dataclass
class Working:
    """One order."""

    id: str
    user: str
    symbol: str
    buying: bool
    price: int
    leaves: int
    time: int
    tif: str
    cum: int = 0
    open: bool = False
    fees: Fraction = Fraction(0)
    charged: Fraction = Fraction(0)

    def unit(self, price: int) -> Fraction:
        """Return the dollars that one contract at a price costs this side."""
        dollars = Fraction(price, MARKETS[self.symbol][0])
        return dollars if self.buying else 1 - dollars


@dataclass
class Held:
    """One position, in the integers of the wire."""

    net: int = 0
    cost: int = 0
    realized: int = 0

    def move(self, qty: int, price: int) -> None:
        if self.net * qty >= 0:
            self.cost += qty * price
        else:
            closed = min(abs(qty), abs(self.net))
            removed = round(Fraction(self.cost * closed, abs(self.net)))
            sign = 1 if self.net > 0 else -1
            self.realized += sign * closed * price - removed
            self.cost += -removed - sign * (abs(qty) - closed) * price
        self.net += qty


@dataclass
class Bookkeeper:
    """The money, positions and orders of all accounts."""

    start: int
    cash: dict[str, Fraction] = field(default_factory=dict)
    held: dict[tuple[str, str], Held] = field(
        default_factory=lambda: {(user, symbol): Held() for user in USERS for symbol in MARKETS}
    )
    orders: list[Working] = field(default_factory=list)
    clock: int = 0

    def __post_init__(self) -> None:
        self.cash = dict.fromkeys(USERS, Fraction(self.start))

    def margin(self, user: str) -> Fraction:
        return sum(
            (
                Fraction(-self.held[user, symbol].net, MARKETS[symbol][1])
                for symbol in MARKETS
                if self.held[user, symbol].net < 0
            ),
            Fraction(0),
        )

    def power(self, user: str) -> Fraction:
        return self.cash[user] - self.margin(user)

    def side(
        self, user: str, symbol: str, buying: bool, new: Working | None = None
    ) -> tuple[Fraction, int]:
        """Return the maximum cost of a side of a market, and the part of a new order that would
        open a position; orders at the best prices close first (P3).
        """
        mine = [
            order
            for order in self.orders
            if order.open and (order.user, order.symbol, order.buying) == (user, symbol, buying)
        ]
        mine += [new] if new is not None and new.buying is buying else []
        net, cost, opens = self.held[user, symbol].net, Fraction(0), 0
        closable = max(0, -net if buying else net)
        for order in sorted(
            mine, key=lambda order: (-order.price if buying else order.price, order is new)
        ):
            closing = min(closable, order.leaves)
            closable -= closing
            cost += order.unit(order.price) * (order.leaves - closing) / MARKETS[symbol][1]
            opens = order.leaves - closing if order is new else opens
        return cost, opens

    def reserved(self, user: str, symbol: str) -> Fraction:
        return max(self.side(user, symbol, True)[0], self.side(user, symbol, False)[0])

    def affords(self, order: Working) -> bool:
        sides = [self.side(order.user, order.symbol, buying, order) for buying in (True, False)]
        fee = (
            cents(self.fee(TAKER, order, order.leaves, order.price))
            * sum(opens for _, opens in sides)
            / order.leaves
        )
        return max(cost for cost, _ in sides) + fee <= self.power(order.user)

    def fee(self, theta: Fraction, order: Working, qty: int, price: int) -> Fraction:
        scale, contracts, _ = MARKETS[order.symbol]
        return (
            theta * Fraction(qty, contracts) * Fraction(price, scale) * (1 - Fraction(price, scale))
        )

    def work(self, order: Working, tif: str) -> None:
        """Match by price, then time; the remainder rests or expires. Then cancel orders of other
        markets that the account can no longer pay for, newest first (P5).
        """
        met = [
            other
            for other in self.orders
            if other.open and other.symbol == order.symbol and other.buying is not order.buying
            and (other.price <= order.price if order.buying else other.price >= order.price)
        ]  # fmt: skip
        if tif == "FILL_OR_KILL" and sum(other.leaves for other in met) < order.leaves:
            met = []
        touched: dict[str, None] = {}
        for other in sorted(
            met, key=lambda other: (other.price if order.buying else -other.price, other.time)
        ):
            qty = min(order.leaves, other.leaves)
            if qty:
                self.fill(order, other, qty)
                touched |= {order.user: None, other.user: None}
        order.open = order.leaves > 0 and tif not in ("IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")
        order.leaves = order.leaves if order.open else 0
        for user in touched:
            for symbol in sorted(set(MARKETS) - {order.symbol}):
                for other in sorted(self.orders, key=lambda other: -other.time):
                    if (
                        other.open
                        and (other.user, other.symbol) == (user, symbol)
                        and self.side(user, symbol, other.buying)[0] > self.power(user)
                    ):
                        other.open, other.leaves = False, 0

    def fill(self, taker: Working, maker: Working, qty: int) -> None:
        exact, price = self.fee(TAKER, taker, qty, maker.price), maker.price
        charge = min(cents(exact), cents(taker.fees + exact) - taker.charged)
        taker.fees += exact
        taker.charged += charge
        dollars = Fraction(qty, MARKETS[taker.symbol][1]) * Fraction(
            price, MARKETS[taker.symbol][0]
        )
        for order, commission in (
            (taker, charge),
            (maker, -cents(self.fee(MAKER, taker, qty, price))),
        ):
            self.cash[order.user] -= (dollars if order.buying else -dollars) + commission
            self.held[order.user, order.symbol].move(qty if order.buying else -qty, price)
            order.leaves -= qty
            order.cum += qty
            order.open = order.open and order.leaves > 0

    def settle(self, symbol: str, price: Fraction) -> None:
        for (user, of), held in self.held.items():
            if of == symbol and held.net:
                self.cash[user] += price * Fraction(held.net, MARKETS[symbol][1])
                held.move(-held.net, int(price * MARKETS[symbol][0]))


class Both:
    """The exchange through its surfaces, and the bookkeeper."""

    def __init__(self, start: int) -> None:
        people = ", ".join(
            f"{{name: {user}, account: firms/naive/accounts/{user}, balance: '{start}'}}"
            for user in USERS
        )
        keys = ", ".join(
            f"{{key_id: 7a1f0f5e-0000-4000-a000-00000000000{number}, account:"
            f" firms/naive/accounts/{user}}}"
            for number, user in enumerate(USERS)
        )
        self.world: Connection = connect(
            Simulation(
                load_scenario(
                    "name: naive\nextends: quickstart\nclock: {start:"
                    f" 2026-10-06T14:00:00Z}}\nworld:\n  games: 0\n  instruments: [{LISTED}]\n "
                    " firms: [{name: firms/naive, key: spare-1, client_id: naive-client, users:"
                    f" [{people}]}}]\n  api_keys: [{keys}]\n"
                )
            )
        )
        firm = self.world.simulation.exchange.firms.require("firms/naive")
        self.clients: dict[str, Http] = {
            user: self.world.exchange(firm, f"firms/naive/users/{user}") for user in USERS
        }
        self.naive = Bookkeeper(start)
        self.refused = 0

    def place(self, user: str, symbol: str, buying: bool, tick: int, qty: int, tif: str) -> None:
        price, _, step = MARKETS[symbol]
        asked = min(max(tick * price // 100 // step * step, step), price - step)
        body: dict[str, Any] = {
            "type": "ORDER_TYPE_LIMIT",
            "symbol": symbol,
            "price": str(asked),
            "orderQty": str(qty),
        }
        body |= {
            "side": "SIDE_BUY" if buying else "SIDE_SELL",
            "timeInForce": f"TIME_IN_FORCE_{tif}",
        }
        answer = self.clients[user].post("/v1/trading/orders", json=body)
        self.naive.clock += 1
        order = Working(
            answer.json().get("orderId", ""),
            user,
            symbol,
            buying,
            asked,
            qty,
            self.naive.clock,
            tif,
        )
        assert self.naive.affords(order) is (answer.status == 200), answer
        self.refused += answer.status != 200
        if answer.status == 200:
            self.naive.work(order, tif)
            self.naive.orders.append(order)

    def change(self, number: int, tick: int | None, qty: int) -> None:
        """Replace the order with another price, if one is given, and a change of quantity; without
        either, cancel it.
        """
        working = [order for order in self.naive.orders if order.open]
        if not working:
            return
        order = working[number % len(working)]
        body = {"orderId": order.id, "symbol": order.symbol}
        if tick is None and not qty:
            assert (
                self.clients[order.user].post("/v1/trading/orders/cancel", json=body).status == 200
            )
            order.open, order.leaves = False, 0
            return
        price, _, step = MARKETS[order.symbol]
        asked = (
            order.price
            if tick is None
            else min(max(tick * price // 100 // step * step, step), price - step)
        )
        expected = replace(order, price=asked, leaves=max(1, order.leaves + qty))
        answer = self.clients[order.user].post(
            "/v1/trading/orders/replace",
            json={**body, "price": str(asked), "orderQty": str(order.cum + expected.leaves)},
        )
        keeps = asked == order.price and expected.leaves <= order.leaves
        order.open = False
        fine = keeps or self.naive.affords(expected)
        order.open = True
        assert fine is (answer.status == 200), answer
        if fine:
            order.price, order.leaves = asked, expected.leaves
            if not keeps:
                self.naive.clock += 1
                order.time, order.open = self.naive.clock, False
                self.naive.work(order, "GOOD_TILL_CANCEL")

    def settle(self, symbol: str, price: str) -> None:
        """Close and settle a market; its DAY orders expire."""
        operate(self.world, "instrument.settle", symbol, price=price)
        self.naive.settle(symbol, Fraction(price))
        for order in self.naive.orders:
            if order.open and order.symbol == symbol and order.tif == "DAY":
                order.open, order.leaves = False, 0

    def compare(self) -> None:
        for user, client in self.clients.items():
            account = f"firms/naive/accounts/{user}"
            displayed = client.post(
                "/v1/positions/balance", json={"name": account, "currency": "USD"}
            ).json()
            expected = {
                "balance": self.naive.cash[user],
                "marginRequirement": self.naive.margin(user),
                "buyingPower": self.naive.power(user),
            }
            expected["openOrders"] = max(self.naive.reserved(user, symbol) for symbol in MARKETS)
            assert {name: Fraction(displayed[name]) for name in expected} == expected
            rows = {
                row["symbol"]: row
                for row in client.get("/v1/positions", params={"name": account}).json()["positions"]
            }
            for symbol in MARKETS:
                observed = (
                    Held(*(int(rows[symbol][name]) for name in ("netPosition", "cost", "realized")))
                    if symbol in rows
                    else Held()
                )
                assert observed == self.naive.held[user, symbol]
            working = {
                row["id"]: int(row["leavesQty"])
                for row in client.get("/v1/trading/orders/open").json()["orders"]
            }
            assert working == {
                order.id: order.leaves
                for order in self.naive.orders
                if order.open and order.user == user
            }

    def compare_ledgers(self) -> None:
        for user, client in self.clients.items():
            asked = {"account": f"firms/naive/accounts/{user}", "pageSize": "1000"}
            cash = client.get("/v1/funding/balance-ledger", params=asked).json()["entries"]
            assert [row["beforeBalance"] for row in cash[1:]] == [
                row["afterBalance"] for row in cash[:-1]
            ]
            assert Fraction(cash[-1]["afterBalance"]) == self.naive.cash[user]
            moved = {symbol: Held() for symbol in MARKETS}
            for row in client.get("/v1/positions/ledger", params=asked).json()["entries"]:
                held = moved[row["symbol"]]
                held.net, held.cost, held.realized = (
                    item + int(row[name])
                    for item, name in (
                        (held.net, "quantityChange"),
                        (held.cost, "costChange"),
                        (held.realized, "realizedChange"),
                    )
                )
            assert moved == {symbol: self.naive.held[user, symbol] for symbol in MARKETS}


TIFS = ("GOOD_TILL_CANCEL", "GOOD_TILL_CANCEL", "DAY", "IMMEDIATE_OR_CANCEL", "FILL_OR_KILL")


def act(both: Both, rng: Random) -> None:
    """Return an order, or a change of one, with sizes and prices that interact."""
    price = rng.randint(48, 52) if rng.random() < 0.9 else rng.randint(1, 99)
    if rng.random() < 0.75:
        symbol = rng.choice(sorted(MARKETS))
        qty = max(
            1,
            int(
                rng.choice((1, 3, 5, 8, 20))
                * MARKETS[symbol][1]
                * rng.choice((1, 1, Fraction(1, 3), Fraction(7, 10)))
            ),
        )
        both.place(rng.choice(USERS), symbol, rng.random() < 0.5, price, qty, rng.choice(TIFS))
    else:
        both.change(rng.randrange(20), rng.choice((None, price)), rng.choice((0, -5, 10, 400)))


@pytest.mark.spec("S4.3-14", "S4.3-17", "S4.3-18")
@pytest.mark.parametrize("seed", range(8))
def test_money_is_what_an_obviously_correct_bookkeeper_says(seed: int) -> None:
    """P2-P5, P9, P11, P12, P20-P23, M31."""
    random = Random(seed)
    both = Both(random.choice((10, 15, 25)))
    for _ in range(60):
        act(both, random)
        both.compare()
    assert sum(order.charged > 0 for order in both.naive.orders) > 5
    for symbol in MARKETS:
        both.settle(symbol, random.choice(("0", "1", "0.5", "0.37")))
        both.compare()
    both.compare_ledgers()
