"""Requests that wait for a late engine: how long, and in which order they are taken.

Realises rules M35-M37: a participant's requests are processed in order of arrival, each after the
engine's latency, so none before the one before it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sim.kernel.instants import Instant, Span
from sim.oracle.changes import OrderChange
from sim.oracle.hearing import Hearing
from sim.oracle.order_requests import OrderRequest
from sim.oracle.state import Document

STOPGAP: Span = 5_000_000_000
_UNITS = {"d": 86_400 * 10**9, "h": 3_600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6}


class Waiting(NamedTuple):
    """A request that the engine takes at `due`."""

    order_id: str
    participant: str
    symbol: str
    asked: OrderRequest | OrderChange | None
    received: Instant
    due: Instant

    @property
    def stale(self) -> bool:
        """Whether it waits longer than a new order or a change may (rule M37)."""
        return self.due - self.received > STOPGAP


class WaitingRequests:
    """The requests that wait, in order of arrival."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._waiting: list[Waiting] = []

    def add(
        self, event: Document, participant: str, asked: OrderRequest | OrderChange | None
    ) -> None:
        """Note that a request waits, and judge for how long.

        A fault of the engine may make it longer.
        """
        received: Instant = event["at"]
        waits = span(event["facts"]["waits"])
        order_id = event["subject"].removeprefix("order/")
        latency: Span = self._hearing.exchange.assumed("engine.latency")
        exchange = self._hearing.exchange
        order = exchange.orders.get(order_id) or exchange.received.get(order_id)
        symbol = order.symbol if order else ""
        owner = participant, symbol
        before = [each.due for each in self._waiting if (each.participant, each.symbol) == owner]
        due = max([received + latency, *before])
        faults = [each for each in self._hearing.observed.events if each["event"] == "FaultStruck"]
        if received + waits != due and not (faults and received + waits > due):
            sentence = f"{order_id} waits {waits} ns for the engine, not {due - received}"
            self._hearing.disagree("M36", f"{due - received}", f"{waits}", sentence)
        self._waiting.append(Waiting(order_id, *owner, asked, received, received + waits))

    def take(self, order_id: str, kind: type[OrderRequest] | type[OrderChange]) -> Waiting | None:
        """Take the oldest request about an order, and judge whether its turn has come (M35)."""
        for each in self._waiting:
            if each.order_id == order_id and isinstance(each.asked, (kind, type(None))):
                earlier = [other for other in self._waiting if other.due < each.due]
                earlier = [other for other in earlier if other[1:3] == each[1:3]]
                now = self._hearing.exchange.now
                if earlier or each.due != now:
                    sentence = f"{order_id} was processed at {now}, due at {each.due}"
                    self._hearing.disagree("M35", f"{each.due}", f"{now}", sentence)
                self._waiting.remove(each)
                return each
        return None

    def waits(self) -> bool:
        """Return whether any request waits."""
        return bool(self._waiting)

    def busy(self, participant: str) -> bool:
        """Return whether a request of a participant would have to wait now."""
        latency: Span = self._hearing.exchange.assumed("engine.latency")
        return latency > 0 or any(each.participant == participant for each in self._waiting)

    def overdue(self, now: Instant) -> list[Waiting]:
        """Take the requests that should have been processed by now."""
        due = [each for each in self._waiting if each.due <= now]
        self._waiting = [each for each in self._waiting if each.due > now]
        return due


def span(text: str) -> Span:
    """Return the nanoseconds of a text such as "1m30s" or "0.5s"."""
    parts = re.findall(r"([0-9.]+)(ms|[dhms])", text)
    return sum(round(float(number) * _UNITS[unit]) for number, unit in parts)
