"""Stop orders that wait beside a book until a trade reaches their stop price (rule M12).

They are not part of depth or market data.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from sim.core.model.enums import BUY
from sim.core.model.orders import Order
from sim.core.model.quantities import Price


class Stops:
    """The waiting stop orders of one instrument.

    Each side is a heap of (stop price towards its trigger, priority, id). An entry whose order was
    removed or has a different stop price is skipped when it reaches the top. Few books have stops,
    so they must cost no more than two empty lists: a sorted container takes 1.5 kB each.
    """

    __slots__ = ("_buys", "_orders", "_sells")

    def __init__(self) -> None:
        self._orders: dict[str, Order] = {}
        self._buys: list[tuple[int, int, str]] = []
        self._sells: list[tuple[int, int, str]] = []

    def __len__(self) -> int:
        return len(self._orders)

    def add(self, order: Order) -> None:
        """Add an order. An order that waits already gets its new stop price."""
        self._orders[order.id] = order
        if order.side is BUY:
            heappush(self._buys, (order.stop_price, order.priority, order.id))
        else:
            heappush(self._sells, (-order.stop_price, order.priority, order.id))

    def remove(self, order: Order) -> None:
        """Remove an order."""
        self._orders.pop(order.id, None)

    def orders(self) -> Iterator[Order]:
        """Yield the waiting orders."""
        return iter(self._orders.values())

    def triggered(self, low: Price, high: Price) -> list[Order]:
        """Remove and return the orders that trades in a price range trigger, oldest first.

        These are buys stopped at or below the high, and sells stopped at or above the low.
        """
        released = self._release(self._buys, high) + self._release(self._sells, -low)
        released.sort(key=lambda order: order.priority)
        return released

    def _release(self, heap: list[tuple[int, int, str]], reached: int) -> list[Order]:
        released = []
        while heap and heap[0][0] <= reached:
            key, _, order_id = heappop(heap)
            order = self._orders.get(order_id)
            if order is not None and abs(key) == order.stop_price:
                del self._orders[order_id]
                released.append(order)
        return released
