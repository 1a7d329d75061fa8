"""The records that every component of matching and trading reads and writes."""

from __future__ import annotations

from msgspec import Struct

from sim.core.market_data.execution_log import ExecutionLog
from sim.core.market_data.statistics import Statistics
from sim.core.matching.books import Books
from sim.core.model.orders import Orders


class MarketState(Struct, frozen=True):
    """Orders, the books where they rest, what was reported and traded, and its statistics."""

    orders: Orders
    books: Books
    execution_log: ExecutionLog
    statistics: Statistics
