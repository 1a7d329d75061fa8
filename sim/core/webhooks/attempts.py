"""Creates attempts to deliver webhooks, and applies injected faults to them.

Every attempt has a line in the delivery log and a timeout. The server does not send an attempt that
a fault answers in place of the receiver. An attempt that a fault delays is created after the delay,
and no further fault is drawn for it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from sim.core.catalogue.assumptions import WEBHOOK_TIMEOUT
from sim.core.model.context import Context
from sim.core.service.fault_spec import FaultAction
from sim.core.webhooks.payloads import shown_url
from sim.core.webhooks.records import Attempt, DeliveryRecord, InFlight, Notice, WebhooksState

DUE_TIMER, TIMEOUT_TIMER = "webhook.due", "webhook.timeout"
KEPT_RECORDS = 2_000

Tamper: TypeAlias = Callable[[str, str, str, int], FaultAction | None]
Alter: TypeAlias = Callable[[FaultAction, str, str, str, int, bytes], bytes]


class Attempts:
    """Creates attempts for the server to send (`outbox`).

    `tamper` and `alter` are the functions of `WebhookService`.
    """

    def __init__(self, ctx: Context, state: WebhooksState, tamper: Tamper, alter: Alter) -> None:
        self._ctx = ctx
        self.state = state
        self._tamper = tamper
        self._alter = alter
        self.outbox: list[Attempt] = []

    def fault_of(
        self, subject: str, notice: Notice, number: int
    ) -> tuple[FaultAction | None, bool]:
        """Return the injected fault of an attempt, and whether it delays the attempt."""
        action = self.state.held_up.pop(subject, None)
        if action is not None:
            return action, False
        action = self._tamper(notice.type, notice.firm, notice.event_id, number)
        if action is None or not action.delay:
            return action, False
        self.state.held_up[subject] = action
        self._ctx.timers.schedule(self._ctx.now + action.delay, DUE_TIMER, subject)
        return action, True

    def make(
        self,
        subject: str,
        notice: Notice,
        url: str,
        secret: str,
        number: int,
        action: FaultAction | None,
    ) -> str:
        """Create an attempt for the server to send, unless an injected fault answers it.

        `subject` is a delivery or registration.
        """
        ctx = self._ctx
        name = f"a{ctx.ids.count('webhook.attempt')}"
        timeout = ctx.assumptions.number(WEBHOOK_TIMEOUT)
        if action is None or not action.answers:
            body = notice.body
            altered = action if action is not None and action.alters else None
            if altered is not None:
                about = notice.type, notice.firm, notice.event_id, number
                signed = body if secret or altered.patch else b""
                body = self._alter(altered, *about, signed) or body
            self.outbox.append(
                Attempt(
                    id=name,
                    event_id=notice.event_id,
                    type=notice.type,
                    firm=notice.firm,
                    url=url,
                    attempt=number,
                    body=body,
                    secret=secret,
                    due=ctx.now,
                    timeout=timeout,
                    skew=altered.skew if altered is not None else 0,
                )
            )
        timer = ctx.timers.schedule(ctx.now + timeout, TIMEOUT_TIMER, name)
        self.state.in_flight[name] = InFlight(subject, timer)
        record = self.record(name, notice, url, number)
        record.fault = action.fault if action is not None else ""
        return name

    def record(self, name: str, notice: Notice, url: str, number: int) -> DeliveryRecord:
        """Add a line to the delivery log."""
        event_id, kind, firm = notice.event_id, notice.type, notice.firm
        record = DeliveryRecord(event_id, kind, firm, shown_url(url), number, self._ctx.now)
        self.state.log[name] = record
        keep_last(self.state.log, KEPT_RECORDS)
        return record


def keep_last(records: dict[str, Notice] | dict[str, DeliveryRecord], bound: int) -> None:
    """Drop the oldest records above a limit."""
    for name in list(islice(records, max(0, len(records) - bound))):
        del records[name]
