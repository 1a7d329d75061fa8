"""The parts of state that every component of matching and trading uses."""

from __future__ import annotations

from msgspec import Struct

from sim.core.market_data.execution_log import ExecutionLog
from sim.core.market_data.statistics import Statistics
from sim.core.matching.books import OrderBooks
from sim.core.model.orders import Orders


class MarketState(Struct, frozen=True):
    """Orders, the books in which they rest, the execution log, and statistics."""

    orders: Orders
    books: OrderBooks
    execution_log: ExecutionLog
    statistics: Statistics
