"""Retention: from 2026-07-16 on, each weekly maintenance hides rows that have become too old (§8,
R10).

Nothing is deleted: reports omit the old rows. Trades, positions and ledgers are kept for ever.
"""

from __future__ import annotations

from sim.core.catalogue.assumptions import MAINTENANCE_HOURS, WIPE_DATES
from sim.core.exchange import Exchange
from sim.core.market_data.statistics import SymbolStats
from sim.core.model.orders import Execution, Order
from sim.core.service.maintenance_calendar import WINDOWS
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant, Span, days, next_weekly

ORDER_RETENTION: Span = days(90)
MARKET_DATA_RETENTION: Span = days(45)
EXECUTION_RETENTION: Span = days(7)
_LASTING = ("settlement_", "open_interest")
PURGES = Dated(
    False,
    ("2026-07-16T02:00:00-04:00", True),
    name="retention.purges",
    section="§8, rule R10",
    title="each weekly maintenance removes rows that have become too old",
)
WIPES = Dated(
    0,
    ("2026-08-27T02:00:00-04:00", 1),
    ("2026-09-01T02:00:00-04:00", 2),
    ("2026-09-02T02:00:00-04:00", 3),
    name="retention.wipes",
    section="rule R10",
    title="how often all executions were removed, where retention.wipe_dates is announced",
)


def purged_before(exchange: Exchange, retention: Span) -> Instant:
    """Return the instant before which rows are hidden; 0 before the first purge.

    That is the start of the last weekly maintenance less the retention period; for executions, a
    later wipe if there was one.
    """
    now = exchange.now
    weekly = WINDOWS[exchange.ctx.assumptions.text(MAINTENANCE_HOURS)].at(now)
    last = next_weekly(now - days(8), weekly.weekday, weekly.hour)
    # Because of daylight saving, a week of Eastern time may be an hour longer or shorter.
    following = next_weekly(last, weekly.weekday, weekly.hour)
    if following <= now:
        last = following
    boundary = last - retention if last <= now and PURGES.at(last) else 0
    if (
        retention == EXECUTION_RETENTION
        and exchange.ctx.assumptions.text(WIPE_DATES) == "announced"
    ):
        boundary = max(boundary, WIPES.since(now) or 0)
    return boundary


def is_order_retained(order: Order, boundary: Instant) -> bool:
    """Return whether an order is still shown. A working order always is."""
    return order.live or order.changed >= boundary


def is_execution_retained(execution: Execution, boundary: Instant) -> bool:
    """Return whether an execution is still shown."""
    return execution.at >= boundary


def retained_stats(exchange: Exchange, symbol: str) -> SymbolStats:
    """Return the statistics of a market.

    Once the last trade is too old for market data, prices and volumes are omitted. Settlement and
    open interest are not market data and stay.
    """
    stats = exchange.trading.stats(symbol)
    traded = stats.last_trade_at
    if traded is None or traded >= purged_before(exchange, MARKET_DATA_RETENTION):
        return stats
    lasting = (name for name in stats.__struct_fields__ if name.startswith(_LASTING))
    return SymbolStats(**{name: getattr(stats, name) for name in lasting})
