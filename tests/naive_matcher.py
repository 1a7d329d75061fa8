"""The obviously correct matcher, to compare the exchange's with: one plain list of resting orders,
sorted again for every question.

It knows price-time priority, limit and market-to-limit orders, GTC, IOC and FOK, minimum quantity,
all-or-none, post-only, stops, cancel and replace. It reports what the exchange reports: (type,
order, quantity, price, aggressor), in order. It has no money, accounts or self-match prevention.
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
    """One order. `time` is its place in the queue; `stop` is 0 once it waits for no price."""

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
        """Enter an order, then the stop orders that its trades trigger."""
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
        """Change price and total quantity of a resting order.

        Nothing happens unless it rests, the total is above what filled, and a post-only order still
        crosses nothing.
        """
        order = next((item for item in self.resting if item.number == number), None)
        if order is None or total <= order.filled:
            return
        leaves = total - order.filled
        moved = Resting(number, order.buying, price, leaves, order.time)
        if order.post_only and price != order.price and self._reached(moved):
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
        side = [order for order in self.resting if order.buying is buying]
        prices = sorted({order.price for order in side}, reverse=buying)
        levels: dict[int, list[int]] = {price: [] for price in prices}
        for order in side:
            levels[order.price].append(order.leaves)
        return [(price, sum(leaves), len(leaves)) for price, leaves in levels.items()]

    def _stamp(self, order: Resting) -> None:
        self.clock += 1
        order.time = self.clock

    def _reached(self, order: Resting) -> list[Resting]:
        """Resting orders that an order may trade with, in order of priority."""
        opposite = (other for other in self.resting if other.buying is not order.buying)
        within = [other for other in opposite if _within(order, other.price)]
        sign = 1 if order.buying else -1
        return sorted(within, key=lambda other: (sign * other.price, other.time))

    def _run(self, order: Resting) -> None:
        within = self._reached(order)
        available = sum(other.leaves for other in within)
        entirely = order.tif == "FOK" or order.all_or_none
        needed = order.leaves if entirely else min(order.min_qty, order.leaves)
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
            kind = "PARTIAL_FILL" if order.leaves else "FILL"
            self.reports.append(Report(kind, order.number, qty, maker.price, aggressor))
        if not maker.leaves:
            self.resting.remove(maker)
        self.trades.append(maker.price)

    def _release(self) -> None:
        """Run the stop orders whose price was traded.

        All stops that one order's trades trigger run by time, before those that their own trades
        trigger.
        """
        queue: list[Resting] = []
        while True:
            hit = [
                stop
                for stop in self.waiting
                if any(_triggers(trade, stop) for trade in self.trades)
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


def _triggers(price: int, stop: Resting) -> bool:
    return price >= stop.stop if stop.buying else price <= stop.stop


def _within(order: Resting, price: int) -> bool:
    return order.market or (price <= order.price if order.buying else price >= order.price)
