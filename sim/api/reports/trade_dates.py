"""Converts trade dates of a report to instants: a trade day begins and ends at 17:00
Eastern (rule L11).
"""

from __future__ import annotations

from datetime import date, timedelta

from sim.contract.messages.exchange_v1 import Date
from sim.core.catalogue.assumptions import REVERSED_WINDOW
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import TRADE_DAY_ROLL_HOUR, Instant, eastern


def trade_days(
    first: Date | None, last: Date | None, *, name: str = "transact_trade_date"
) -> tuple[Instant | None, Instant | None]:
    """Return the first and the last instant of a range of trade days; None without a bound.

    `name` is the name of the request's fields without start_ or end_.
    """
    start = None if first is None else _end_of_day(first, f"start_{name}", days=-1)
    end = None if last is None else _end_of_day(last, f"end_{name}") - 1
    return start, end


def in_order(exchange: Exchange, start: Instant | None, end: Instant | None) -> None:
    """Refuse a window that ends before it starts, unless the assumption treats it as empty."""
    if start is None or end is None or start <= end:
        return
    if exchange.ctx.assumptions.text(REVERSED_WINDOW) == "refuse":
        raise InvalidRequest(
            "the end of the window is before its start",
            rule="S7.1-1",
            remedy="send a window with start before end",
        )


def _end_of_day(day: Date, name: str, days: int = 0) -> Instant:
    """Return the end of the trade day some days after a date."""
    try:
        shifted = date(day.year, day.month, day.day) + timedelta(days=days)
        return eastern(shifted, TRADE_DAY_ROLL_HOUR)
    except (ValueError, OverflowError):
        raise InvalidRequest(
            f"{name} is not a date", rule="R11", remedy="send year, month and day"
        ) from None
