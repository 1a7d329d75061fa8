"""Webhooks of firms (§6.1): registration, deliveries, retries.

This component decides and never sends. It puts attempts into `outbox`; the server takes them, posts
them, and reports each answer as an input (`answer`). So a run replays without a network.

**Registration.** A firm has one URL. A registration is pending until the receiver has acknowledged
its signed test delivery; only then does it replace the former one. The call that asked for it is
answered at that moment.

**Delivery.** An event becomes one delivery of at most `webhook.attempts` attempts. Any 2xx
acknowledges it. After every other answer, or none within `webhook.timeout`, the next attempt
follows after `webhook.retry_first`, doubled each time up to `webhook.retry_longest`, plus or minus
20 %; a Retry-After of 408 or 429 replaces that wait. Every attempt carries the same body and event
id and goes to the URL that is registered when it is made.

**What a client may rely on.** An event is delivered at least once, in no promised order; duplicates
have the same event id. Events raised while the breaker of a firm is open are lost (`breaker.py`):
polling the status is the only complete source.

**Signing.** The server signs each attempt when it is sent, by Standard Webhooks: HMAC-SHA256 of
"event id.timestamp.body" (`payloads.py`). State and journal hold only a fingerprint of the secret.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import TypeAlias

from msgspec import convert

from sim.core.catalogue.assumptions import (
    WEBHOOK_ALLOW_PRIVATE,
    WEBHOOK_ATTEMPTS,
    WEBHOOK_BREAKER_BUFFERS,
    WEBHOOK_RETRY_FIRST,
    WEBHOOK_RETRY_LONGEST,
    WEBHOOK_SHAPE,
    WEBHOOK_TIMEOUT,
)
from sim.core.catalogue.quirks import WEBHOOK_DUPLICATES
from sim.core.model.context import Context
from sim.core.model.events import KycDecided
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound
from sim.core.service.fault_spec import FaultAction
from sim.core.webhooks.breaker import BREAKER_TIMER, Breakers
from sim.core.webhooks.payloads import (
    APPROVED,
    REJECTED,
    TEST,
    body_of,
    decided_payload,
    is_secret,
    test_payload,
    url_problem,
)
from sim.core.webhooks.records import (
    Attempt,
    Breaker,
    Delivery,
    DeliveryRecord,
    InFlight,
    Notice,
    PendingRegistration,
    Registration,
    WebhooksState,
)
from sim.kernel.instants import Span, format_span
from sim.kernel.timers import Timer, TimerHandlers

DUE_TIMER, TIMEOUT_TIMER = "webhook.due", "webhook.timeout"

__all__ = ["Attempt", "DeliveryRecord", "PendingRegistration", "Webhooks", "WebhooksState"]

KEPT_EVENTS = 1_000
KEPT_RECORDS = 2_000

Tamper: TypeAlias = Callable[[str, str], FaultAction | None]


class Webhooks:
    """Registrations and deliveries of all firms. `hosts` may be delivered to besides loopback;
    `tamper(type, firm)` is the injected fault of a delivery.
    """

    def __init__(
        self, ctx: Context, *, hosts: tuple[str, ...] = (), tamper: Tamper | None = None
    ) -> None:
        self._ctx = ctx
        self.hosts = hosts
        self._tamper = tamper
        self._state = WebhooksState()
        self._breakers = Breakers(ctx)
        self.outbox: list[Attempt] = []
        self.settled: list[PendingRegistration] = []

    # ---- registration

    def register(self, firm: str, url: str, secret: str = "") -> PendingRegistration:
        """Send the test delivery that makes a URL the firm's. InvalidRequest for an unacceptable
        URL or secret (rule K8).
        """
        ctx = self._ctx
        allow_private = ctx.assumptions.flag(WEBHOOK_ALLOW_PRIVATE)
        if problem := url_problem(url, allow_private=allow_private, hosts=self.hosts):
            remedy = "use https and a listed host, or a receiver on 127.0.0.1"
            raise InvalidRequest(problem, rule="K8", remedy=remedy)
        if secret and not is_secret(secret):
            raise InvalidRequest(
                "signing_secret must be whsec_ and base64 of at least 24 bytes",
                rule="S6.1-5",
                remedy="decoded, 24 bytes or more",
            )
        order = ctx.ids.count("webhook.registration")
        pending = PendingRegistration(f"r{order}", firm, url, secret, order, ctx.trace_id)
        self._state.pending[pending.id] = pending
        event_id = ctx.ids.uuid("webhook.event")
        body = body_of(test_payload(event_id, firm, ctx.now, ctx.assumptions.text(WEBHOOK_SHAPE)))
        notice = Notice(event_id, TEST, firm, body, ctx.now)
        pending.attempt = self._post(pending.id, notice, url, secret, 1)
        return pending

    def take_settled(self) -> list[PendingRegistration]:
        """Registrations settled since last asked, in order: whoever holds a reply for them
        completes it now.
        """
        settled, self.settled = self.settled, []
        return settled

    def registration(self, firm: str) -> Registration | None:
        """Where the firm's events go; not shown to the firm (§6.1: no read-back)."""
        return self._state.registrations.get(firm)

    def urls(self) -> list[str]:
        """Where events of any firm go."""
        return sorted({one.url for one in self._state.registrations.values()})

    def _settle(self, pending: PendingRegistration, validated: bool, message: str) -> None:
        del self._state.pending[pending.id]
        pending.validated, pending.message = validated, message
        self.settled.append(pending)
        current = self._state.registrations.get(pending.firm)
        if validated and (current is None or current.order < pending.order):
            registration = Registration(pending.url, pending.secret, pending.order, self._ctx.now)
            self._state.registrations[pending.firm] = registration
            self._resume(pending.firm)

    # ---- events

    def decided(self, decided: KycDecided) -> str:
        """Tell a firm that a verification became terminal. Returns the event id, "" where the firm
        has no webhook.
        """
        registration = self._state.registrations.get(decided.firm)
        if registration is None:
            return ""
        ctx = self._ctx
        event_id = ctx.ids.uuid("webhook.event")
        body = body_of(decided_payload(event_id, decided, ctx.assumptions.text(WEBHOOK_SHAPE)))
        kind = APPROVED if decided.approved else REJECTED
        notice = Notice(event_id, kind, decided.firm, body, ctx.now)
        self._state.notices[event_id] = notice
        _keep_last(self._state.notices, KEPT_EVENTS)
        action = self._tamper(notice.type, notice.firm) if self._tamper else None
        open = self._breakers.of(decided.firm).state == "open"
        if open and not ctx.assumptions.flag(WEBHOOK_BREAKER_BUFFERS):
            self._lose(notice, "circuit breaker open")
        elif action is not None and action.effect == "drop":
            self._lose(notice, f"fault {action.fault}")
        else:
            self._deliver(notice, action)
            doubled = action is not None and action.effect == "duplicate"
            if ctx.quirks.strikes(WEBHOOK_DUPLICATES) or doubled:
                self._deliver(notice, None)
        return event_id

    def redeliver(self, firm: str, event_id: str = "") -> list[str]:
        """Send again, by hand: one event, or all that were never acknowledged and are not under
        way. Closes the breaker. Returns the event ids.
        """
        if firm not in self._state.registrations:
            remedy = "register one first: POST /v1/kyc/webhook"
            raise Conflict(f"{firm} has no webhook", rule="S6.1-5", remedy=remedy)
        own = [notice for notice in self._state.notices.values() if notice.firm == firm]
        if event_id:
            chosen = [notice for notice in own if notice.event_id == event_id]
        else:
            under_way = {delivery.event_id for delivery in self._state.deliveries.values()}
            missed = [notice for notice in own if not notice.delivered]
            chosen = [notice for notice in missed if notice.event_id not in under_way]
        if event_id and not chosen:
            raise NotFound(f"no event {event_id!r} of {firm}")
        self._resume(firm)
        for notice in chosen:
            self._deliver(notice, None)
        return [notice.event_id for notice in chosen]

    # ---- attempts

    def _deliver(self, notice: Notice, action: FaultAction | None) -> None:
        """Begin a delivery. An injected delay comes before its first attempt; an injected status or
        reset is the first attempt's, which is then not made.
        """
        ctx = self._ctx
        name = f"d{ctx.ids.count('webhook.delivery')}"
        delivery = Delivery(name, notice.event_id, notice.firm)
        self._state.deliveries[delivery.id] = delivery
        if action is not None and (action.status or action.effect == "reset"):
            delivery.attempts = 1
            url = self._state.registrations[notice.firm].url
            record = self._record(f"{delivery.id}-{action.fault}", notice, url, 1)
            record.status, record.outcome = action.status, "failed"
            record.error = f"fault {action.fault}"
            self._failed(delivery, "", action.retry_after)
        elif action is not None and action.delay:
            ctx.timers.schedule(ctx.now + action.delay, DUE_TIMER, delivery.id)
        else:
            self._attempt(delivery)

    def _lose(self, notice: Notice, why: str) -> None:
        url = self._state.registrations[notice.firm].url
        record = self._record(f"lost-{notice.event_id}", notice, url, 0)
        record.outcome, record.error = "lost", why

    def _record(self, name: str, notice: Notice, url: str, number: int) -> DeliveryRecord:
        event_id, kind, firm = notice.event_id, notice.type, notice.firm
        record = DeliveryRecord(event_id, kind, firm, url, number, self._ctx.now)
        self._state.log[name] = record
        _keep_last(self._state.log, KEPT_RECORDS)
        return record

    def _attempt(self, delivery: Delivery) -> None:
        """Make the next attempt, unless the breaker holds it back."""
        if self._breakers.park(delivery.firm, delivery.id):
            return
        notice = self._state.notices.get(delivery.event_id)
        registration = self._state.registrations[delivery.firm]
        if notice is None:
            del self._state.deliveries[delivery.id]
            return
        delivery.attempts += 1
        url, secret = registration.url, registration.secret
        attempt = self._post(delivery.id, notice, url, secret, delivery.attempts)
        self._breakers.attempted(delivery.firm, attempt)

    def _post(self, subject: str, notice: Notice, url: str, secret: str, number: int) -> str:
        """Make an attempt for the server to send; `subject` is a delivery or registration."""
        ctx = self._ctx
        name = f"a{ctx.ids.count('webhook.attempt')}"
        timeout = ctx.assumptions.number(WEBHOOK_TIMEOUT)
        self.outbox.append(
            Attempt(
                id=name,
                event_id=notice.event_id,
                type=notice.type,
                firm=notice.firm,
                url=url,
                attempt=number,
                body=notice.body,
                secret=secret,
                due=ctx.now,
                timeout=timeout,
            )
        )
        timer = ctx.timers.schedule(ctx.now + timeout, TIMEOUT_TIMER, name)
        self._state.in_flight[name] = InFlight(subject, timer)
        self._record(name, notice, url, number)
        return name

    def timer_of(self, attempt: str) -> int:
        """The timer that ends an attempt under way, which was set with it; 0 when it is over."""
        under_way = self._state.in_flight.get(attempt)
        return 0 if under_way is None else under_way.timer

    def take_attempts(self) -> list[Attempt]:
        """Attempts to make now, in order."""
        attempts, self.outbox = self.outbox, []
        return attempts

    def answer(
        self, attempt: str, status: int = 0, error: str = "", retry_after: Span | None = None
    ) -> bool:
        """Take a receiver's answer; `status` 0 is no HTTP answer. False when it came too late."""
        in_flight = self._state.in_flight.pop(attempt, None)
        if in_flight is None:
            return False
        self._ctx.timers.cancel(in_flight.timer)
        acknowledged = 200 <= status < 300
        record = self._state.log.get(attempt)
        if record is not None:
            record.status, record.error = status, error
            record.outcome = "delivered" if acknowledged else "failed"
        pending = self._state.pending.get(in_flight.subject)
        if pending is not None:
            what = f"HTTP {status}" if status else error or "no answer"
            message = "webhook validated" if acknowledged else f"test delivery failed: {what}"
            self._settle(pending, acknowledged, message)
            return True
        delivery = self._state.deliveries[in_flight.subject]
        if acknowledged:
            self._acknowledged(delivery)
        else:
            self._failed(delivery, attempt, retry_after if status in (408, 429) else None)
        return True

    def _acknowledged(self, delivery: Delivery) -> None:
        notice = self._state.notices.get(delivery.event_id)
        if notice is not None:
            notice.delivered = True
        del self._state.deliveries[delivery.id]
        self._resume(delivery.firm)

    def _failed(self, delivery: Delivery, attempt: str, retry_after: Span | None) -> None:
        ctx = self._ctx
        self._breakers.failed(delivery.firm, attempt)
        if delivery.attempts >= ctx.assumptions.number(WEBHOOK_ATTEMPTS):
            del self._state.deliveries[delivery.id]
            return
        wait = self._backoff(delivery.attempts) if retry_after is None else retry_after
        ctx.timers.schedule(ctx.now + wait, DUE_TIMER, delivery.id)

    def _backoff(self, attempts: int) -> Span:
        """Wait after that many attempts: doubling, capped, give or take 20 % (rule K11)."""
        first = self._ctx.assumptions.number(WEBHOOK_RETRY_FIRST)
        wait = min(first << (attempts - 1), self._ctx.assumptions.number(WEBHOOK_RETRY_LONGEST))
        return self._ctx.entropy.stream("webhook.jitter").between(wait * 4 // 5, wait * 6 // 5)

    def _resume(self, firm: str) -> None:
        """The receiver works: close the breaker and continue what it held back."""
        for name in self._breakers.close(firm):
            self._attempt(self._state.deliveries[name])

    # ---- time

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {
            DUE_TIMER: self._attempt_due,
            TIMEOUT_TIMER: self._unanswered,
            BREAKER_TIMER: self._cooled_down,
        }

    def _attempt_due(self, timer: Timer) -> None:
        delivery = self._state.deliveries.get(timer.subject)
        if delivery is not None:
            self._attempt(delivery)

    def _unanswered(self, timer: Timer) -> None:
        timeout = self._ctx.assumptions.number(WEBHOOK_TIMEOUT)
        self.answer(timer.subject, error=f"no answer within {format_span(timeout)}")

    def _cooled_down(self, timer: Timer) -> None:
        breaker = self._breakers.cool_down(timer.subject)
        while breaker.parked and not breaker.probe:
            self._attempt(self._state.deliveries[breaker.parked.pop(0)])

    # ---- reading and state

    def deliveries(self) -> tuple[DeliveryRecord, ...]:
        """The delivery log, oldest first."""
        return tuple(self._state.log.values())

    def body_of(self, event_id: str) -> bytes:
        """Body of an event; empty for a forgotten one and for test deliveries."""
        notice = self._state.notices.get(event_id)
        return notice.body if notice is not None else b""

    def breakers(self) -> dict[str, Breaker]:
        """Breakers by firm, sorted."""
        return dict(sorted(self._breakers.by_firm.items()))

    def save(self) -> WebhooksState:
        """Everything but the outbox, which is empty between inputs."""
        self._state.breakers = self._breakers.by_firm
        return self._state

    def load(self, state: object) -> None:
        """Take a saved state."""
        self._state = convert(state, WebhooksState)
        self._breakers.by_firm = self._state.breakers
        self.outbox, self.settled = [], []


def _keep_last(records: dict[str, Notice] | dict[str, DeliveryRecord], bound: int) -> None:
    for name in list(islice(records, max(0, len(records) - bound))):
        del records[name]
