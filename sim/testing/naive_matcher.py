"""The obviously correct matcher: one plain list of resting orders, sorted anew for every question.
It exists to be compared with `core/matching.py`.

It knows price-time priority, limit and market-to-limit orders, GTC, IOC and FOK, minimum quantity,
all-or-none, post-only, stops, cancel and replace, and reports what the exchange reports: (type,
order, quantity, price, aggressor), in order. Money, accounts and self-match prevention it does not
know.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Report(NamedTuple):
    """One execution: `order` is the number the order was given at entry."""

    kind: str
    order: int
    qty: int = 0
    price: int = 0
    aggressor: bool = False


@dataclass
class Resting:
    """One order. `time` is its place in the queue; `stop` is 0 once there is nothing to wait for."""

    number: int
    buying: bool
    price: int
    leaves: int
    time: int
    tif: str = "GTC"
    market: bool = False
    min_qty: int = 0
    all_or_none: bool = False
    post_only: bool = False
    stop: int = 0
    filled: int = 0


@dataclass
class NaiveMatcher:
    """One book. `reports` grows; `resting` and `waiting` hold what is in the market."""

    reports: list[Report] = field(default_factory=list)
    resting: list[Resting] = field(default_factory=list)
    waiting: list[Resting] = field(default_factory=list)
    clock: int = 0
    trades: list[int] = field(default_factory=list)

    def place(self, order: Resting) -> None:
        """A new order, then the stops that its trades release."""
        self.trades.clear()
        reached = bool(self._reached(order))
        if not order.stop and ((order.market and not reached) or (order.post_only and reached)):
            self.reports.append(Report("REJECTED", order.number))
            return
        self._stamp(order)
        self.reports.append(Report("NEW", order.number))
        if order.stop:
            self.waiting.append(order)
            return
        self._run(order)
        self._release()

    def cancel(self, number: int) -> None:
        """Take an order out, if it is in."""
        order = self._out(number)
        if order is not None:
            self.reports.append(Report("CANCELED", number))

    def replace(self, number: int, price: int, total: int) -> None:
        """Change price and total quantity of a resting order, if it is in and the total is above
        what filled; a post-only order must not come to cross.
        """
        order = next((found for found in self.resting if found.number == number), None)
        if order is None or total <= order.filled:
            return
        leaves = total - order.filled
        if order.post_only and price != order.price and self._crosses(order.buying, price):
            return
        keeps = price == order.price and leaves <= order.leaves
        self.reports.append(Report("REPLACE", number))
        order.price, order.leaves = price, leaves
        if not keeps:
            self.trades.clear()
            self.resting.remove(order)
            self._stamp(order)
            order.min_qty = 0
            self._run(order)
            self._release()

    def depth(self, *, buying: bool) -> list[tuple[int, int, int]]:
        """(price, quantity, orders) of a side, best first."""
        prices = sorted(
            {order.price for order in self.resting if order.buying is buying}, reverse=buying
        )
        at = {
            price: [
                order for order in self.resting if order.buying is buying and order.price == price
            ]
            for price in prices
        }
        return [
            (price, sum(order.leaves for order in at[price]), len(at[price])) for price in prices
        ]

    def _stamp(self, order: Resting) -> None:
        self.clock += 1
        order.time = self.clock

    def _reached(self, order: Resting) -> list[Resting]:
        """Resting orders that an order may trade with, in order of priority."""
        found = [
            other
            for other in self.resting
            if other.buying is not order.buying and _within(order, other.price)
        ]
        return sorted(
            found, key=lambda other: (other.price if order.buying else -other.price, other.time)
        )

    def _crosses(self, buying: bool, price: int) -> bool:
        return any(
            other.buying is not buying
            and (other.price <= price if buying else other.price >= price)
            for other in self.resting
        )

    def _run(self, order: Resting) -> None:
        within = self._reached(order)
        available = sum(other.leaves for other in within)
        needed = (
            order.leaves
            if order.tif == "FOK" or order.all_or_none
            else min(order.min_qty, order.leaves)
        )
        if needed and available < needed:
            self.reports.append(Report("EXPIRED", order.number))
            return
        for other in within:
            if not order.leaves:
                break
            self._trade(order, other)
            if order.market:
                order.price = other.price
        order.market = False
        if order.leaves and order.tif == "IOC":
            self.reports.append(Report("EXPIRED", order.number))
        elif order.leaves:
            self.resting.append(order)

    def _trade(self, taker: Resting, maker: Resting) -> None:
        qty = min(taker.leaves, maker.leaves)
        for order, aggressor in ((taker, True), (maker, False)):
            order.leaves -= qty
            order.filled += qty
            self.reports.append(
                Report(
                    "PARTIAL_FILL" if order.leaves else "FILL",
                    order.number,
                    qty,
                    maker.price,
                    aggressor,
                )
            )
        if not maker.leaves:
            self.resting.remove(maker)
        self.trades.append(maker.price)

    def _release(self) -> None:
        """Run stops that trades have reached: all those of one order at once, by time, before those
        that their own trades reach.
        """
        queue: list[Resting] = []
        while True:
            hit = [
                stop
                for stop in self.waiting
                if any(
                    price >= stop.stop if stop.buying else price <= stop.stop
                    for price in self.trades
                )
            ]
            self.trades.clear()
            for stop in hit:
                self.waiting.remove(stop)
            queue.extend(sorted(hit, key=lambda stop: stop.time))
            if not queue:
                return
            stop = queue.pop(0)
            stop.stop = 0
            self._stamp(stop)
            self.reports.append(Report("NEW", stop.number))
            if stop.market and not self._reached(stop):
                self.reports.append(Report("CANCELED", stop.number))
            else:
                self._run(stop)

    def _out(self, number: int) -> Resting | None:
        for orders in (self.resting, self.waiting):
            for order in orders:
                if order.number == number:
                    orders.remove(order)
                    return order
        return None


def _within(order: Resting, price: int) -> bool:
    return order.market or (price <= order.price if order.buying else price >= order.price)
