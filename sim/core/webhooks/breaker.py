"""The circuit breaker of a firm's webhook (rule K12).

| State | Deliveries | What ends it |
|---|---|---|
| closed | every attempt is made | `webhook.breaker_threshold` failed attempts in a row open it |
| open | attempts are parked; new events are lost unless `webhook.breaker_buffers` | the cooldown |
| half_open | one attempt, the probe, is made; others are parked | success closes, failure opens |

The cooldown doubles at each opening since the last success. A success, a new registration or a
manual redelivery closes the breaker, and parked deliveries continue.
"""

from __future__ import annotations

from sim.core.catalogue.assumptions import (
    WEBHOOK_BREAKER_COOLDOWN,
    WEBHOOK_BREAKER_LONGEST,
    WEBHOOK_BREAKER_THRESHOLD,
)
from sim.core.model.context import Context
from sim.core.model.why import because
from sim.core.webhooks.records import Breaker

BREAKER_TIMER = "webhook.breaker"


class Breakers:
    """The breakers of all firms."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.by_firm: dict[str, Breaker] = {}

    def of(self, firm: str) -> Breaker:
        """The breaker of a firm."""
        return self.by_firm.setdefault(firm, Breaker())

    def park(self, firm: str, delivery: str) -> bool:
        """Park a delivery if the breaker does not allow an attempt, and return whether it did."""
        breaker = self.of(firm)
        parks = breaker.state == "open" or (breaker.state == "half_open" and breaker.probe != "")
        if parks:
            breaker.parked.append(delivery)
        return parks

    def attempted(self, firm: str, attempt: str) -> None:
        """Note an attempt. While half open, it is the probe."""
        breaker = self.of(firm)
        if breaker.state == "half_open":
            breaker.probe = attempt

    def failed(self, firm: str, attempt: str) -> None:
        """Count a failed attempt."""
        breaker, threshold = self.of(firm), self._ctx.assumptions.number(WEBHOOK_BREAKER_THRESHOLD)
        breaker.failures += 1
        if breaker.state == "half_open":
            if attempt == breaker.probe:
                self._open(firm, breaker)
        elif breaker.state == "closed" and breaker.failures >= threshold:
            self._open(firm, breaker)

    def close(self, firm: str) -> list[str]:
        """Close the breaker and return the parked deliveries, which may continue now."""
        breaker = self.of(firm)
        if breaker.state != "closed":
            self._report(firm, "closed", 0)
        if breaker.timer:
            self._ctx.timers.cancel(breaker.timer)
        self.by_firm[firm] = Breaker()
        return breaker.parked

    def cool_down(self, firm: str) -> Breaker:
        """End the cooldown, so that the breaker is half open."""
        breaker = self.of(firm)
        breaker.state, breaker.timer = "half_open", 0
        self._report(firm, "half_open", breaker.failures)
        return breaker

    def _open(self, firm: str, breaker: Breaker) -> None:
        number = self._ctx.assumptions.number
        cooldown = number(WEBHOOK_BREAKER_COOLDOWN) << breaker.openings
        breaker.state, breaker.probe = "open", ""
        breaker.openings += 1
        breaker.until = self._ctx.now + min(cooldown, number(WEBHOOK_BREAKER_LONGEST))
        breaker.timer = self._ctx.timers.schedule(breaker.until, BREAKER_TIMER, firm)
        self._report(firm, "open", breaker.failures)

    def _report(self, firm: str, state: str, failures: int) -> None:
        self._ctx.apply(because("K12", breaker=state, failures=failures), firm)
