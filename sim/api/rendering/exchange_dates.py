"""Calendar days as messages of the exchange contract."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from sim.contract.messages import exchange_v1 as wire
from sim.kernel.instants import Instant, trade_date


@lru_cache(maxsize=1024)
def date_message(day: date) -> wire.Date:
    """Return a calendar day as a message."""
    return wire.Date(year=day.year, month=day.month, day=day.day)


def trade_date_message(at: Instant) -> wire.Date:
    """Return the trade date of an instant as a message."""
    return date_message(trade_date(at))
