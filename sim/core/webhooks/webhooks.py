"""Webhooks of firms (§6.1): registration, deliveries, retries.

This component performs no I/O. It puts attempts into `outbox`; the server takes them, posts them,
and reports each answer as an input (`answer`). So a run can be replayed without a network.

**Registration.** A firm has one URL. A registration is pending until the receiver has acknowledged
its signed test delivery; only then does it replace the previous one. The call that requested it is
answered at that moment.

**Delivery.** An event becomes one delivery of at most `webhook.attempts` attempts. Any 2xx
acknowledges it. After any other answer, or none within `webhook.timeout`, the next attempt follows
after `webhook.retry_first`, doubled each time up to `webhook.retry_longest`, plus or minus 20 %; a
Retry-After of 408 or 429 replaces that wait. Every attempt carries the same body and event id and
goes to the URL that is registered at the time.

**Guarantees.** An event is delivered at least once, in no promised order; duplicates have the same
event id. Events raised while the breaker of a firm is open are lost (`breaker.py`): polling the
status is the only complete source.

**Signing.** The server signs each attempt when it is sent, by Standard Webhooks: HMAC-SHA256 of
"event id.timestamp.body" (`payloads.py`). State and journal hold only a fingerprint of the secret.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

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
from sim.core.catalogue.quirks import WEBHOOK_BODY_SPACING, WEBHOOK_DUPLICATES
from sim.core.model.context import Context
from sim.core.model.events import KycDecided
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound
from sim.core.model.why import Why, because
from sim.core.service.fault_spec import FaultAction
from sim.core.webhooks.attempts import DUE_TIMER, TIMEOUT_TIMER, Alter, Attempts, Tamper, keep_last
from sim.core.webhooks.breaker import BREAKER_TIMER, Breakers
from sim.core.webhooks.payloads import (
    APPROVED,
    REJECTED,
    TEST,
    Payload,
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
    Notice,
    PendingRegistration,
    Registration,
    WebhooksState,
)
from sim.kernel.instants import Span, format_span
from sim.kernel.timers import Timer, TimerHandlers

__all__ = ["Attempt", "DeliveryRecord", "PendingRegistration", "WebhookService", "WebhooksState"]

KEPT_EVENTS = 1_000
_SAVED, _NOT_SAVED = because("K8", webhook="saved"), because("K8", webhook="not saved")


class WebhookService:
    """Registrations and deliveries of all firms.

    `hosts` are allowed receivers besides loopback. Nothing is sent to the URLs in `scripted`, so
    these may name any host. `tamper(type, firm, event_id, attempt)` returns the injected fault of
    an attempt; attempt 0 is the whole delivery. `alter(action, type, firm, event_id, attempt,
    body)` returns the body that a patch has altered.
    """

    def __init__(
        self,
        ctx: Context,
        *,
        hosts: tuple[str, ...] = (),
        scripted: Collection[str] = (),
        tamper: Tamper = lambda kind, firm, event_id, attempt: None,
        alter: Alter = lambda action, kind, firm, event_id, attempt, body: body,
    ) -> None:
        self._ctx = ctx
        self.hosts = hosts
        self._scripted = frozenset(scripted)
        self._tamper = tamper
        self._state = WebhooksState()
        self._breakers = Breakers(ctx)
        self._attempts = Attempts(ctx, self._state, tamper, alter)
        self.outbox = self._attempts.outbox
        self.settled: list[PendingRegistration] = []

    # ---- registration

    def register(self, firm: str, url: str, secret: str = "") -> PendingRegistration:
        """Send the test delivery that makes a URL the firm's.

        Refuses an invalid URL or secret (rule K8).
        """
        ctx = self._ctx
        allow_private = ctx.assumptions.flag(WEBHOOK_ALLOW_PRIVATE)
        problem = url_problem(url, allow_private=allow_private, hosts=self.hosts)
        if problem and url not in self._scripted:
            remedy = "use https and a listed host, or a receiver on 127.0.0.1"
            raise InvalidRequest(problem, rule="K8", remedy=remedy)
        if secret and not is_secret(secret):
            raise InvalidRequest(
                "signing_secret must be whsec_ and base64 of at least 24 bytes",
                rule="S6.1-5",
                remedy="decoded, 24 bytes or more",
            )
        order = ctx.ids.count("webhook.registration")
        event_id = ctx.ids.uuid("webhook.event")
        body = body_of(test_payload(event_id, firm, ctx.now, ctx.assumptions.text(WEBHOOK_SHAPE)))
        notice = Notice(event_id, TEST, firm, body, ctx.now)
        pending = PendingRegistration(f"r{order}", firm, url, secret, order, ctx.trace_id, notice)
        self._state.pending[pending.id] = pending
        self._test(pending)
        return pending

    def begin_registered(self, firm: str, url: str) -> None:
        """Register a firm's URL at the start, unsigned and without a test delivery."""
        order = self._ctx.ids.count("webhook.registration")
        self._state.registrations[firm] = Registration(url, "", order, self._ctx.now)

    def _test(self, pending: PendingRegistration) -> None:
        """Make the only attempt of a test delivery."""
        action, held_up = self._attempts.fault_of(pending.id, pending.notice, 1)
        if not held_up:
            url, secret = pending.url, pending.secret
            pending.attempt = self._attempts.make(
                pending.id, pending.notice, url, secret, 1, action
            )
            self._apply_fault(pending.attempt, action)

    def take_settled(self) -> list[PendingRegistration]:
        """Return the registrations decided since the last call, in order.

        The caller completes their pending replies.
        """
        settled, self.settled = self.settled, []
        return settled

    def registration(self, firm: str) -> Registration | None:
        """Return the firm's registration; no call shows it to the firm (§6.1: no read-back)."""
        return self._state.registrations.get(firm)

    def urls(self) -> list[str]:
        """Return the URLs of all firms."""
        return sorted({registration.url for registration in self._state.registrations.values()})

    def _finish_registration(
        self, pending: PendingRegistration, validated: bool, message: str
    ) -> None:
        del self._state.pending[pending.id]
        pending.validated, pending.message = validated, message
        self._ctx.apply(_SAVED if validated else _NOT_SAVED, pending.firm)
        self.settled.append(pending)
        current = self._state.registrations.get(pending.firm)
        if validated and (current is None or current.order < pending.order):
            registration = Registration(pending.url, pending.secret, pending.order, self._ctx.now)
            self._state.registrations[pending.firm] = registration
            self._resume(pending.firm)

    # ---- events

    def decided(self, decided: KycDecided) -> str:
        """Notify a firm of a terminal verification.

        Return the event id, "" if it has no webhook.
        """
        kind = APPROVED if decided.approved else REJECTED
        shape = self._ctx.assumptions.text(WEBHOOK_SHAPE)
        return self._notify(kind, decided.firm, lambda id: decided_payload(id, decided, shape))

    def _notify(self, kind: str, firm: str, payload: Callable[[str], Payload]) -> str:
        """Begin the delivery of an event to a firm. `payload` returns its content for an event id.

        Return the event id, "" if the firm has no webhook.
        """
        if firm not in self._state.registrations:
            return ""
        ctx = self._ctx
        event_id = ctx.ids.uuid("webhook.event")
        body = body_of(payload(event_id), spaced=ctx.quirks.applies(WEBHOOK_BODY_SPACING))
        notice = Notice(event_id, kind, firm, body, ctx.now)
        self._state.notices[event_id] = notice
        keep_last(self._state.notices, KEPT_EVENTS)
        open = self._breakers.of(firm).state == "open"
        if open and not ctx.assumptions.flag(WEBHOOK_BREAKER_BUFFERS):
            self._record_loss(notice, "circuit breaker open", "K12")
            return event_id
        action = self._tamper(notice.type, notice.firm, event_id, 0)
        if action is not None and action.effect == "drop":
            self._record_loss(notice, f"fault {action.fault}", "T2", action.fault)
            return event_id
        self._deliver(notice, "K10")
        if ctx.quirks.applies(WEBHOOK_DUPLICATES) or action is not None:
            self._deliver(notice, "K13", action.delay if action is not None else 0)
        return event_id

    def redeliver(self, firm: str, event_id: str = "") -> list[str]:
        """Redeliver one event, or all that are neither acknowledged nor in flight; return their
        ids.

        Requested by an operator. Closes the breaker.
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
            self._deliver(notice, "K13")
        return [notice.event_id for notice in chosen]

    # ---- attempts

    def _deliver(self, notice: Notice, rule: str, delay: Span = 0) -> None:
        """Begin a delivery, after an injected delay if there is one."""
        ctx = self._ctx
        name = f"d{ctx.ids.count('webhook.delivery')}"
        delivery = Delivery(name, notice.event_id, notice.firm, rule)
        self._state.deliveries[delivery.id] = delivery
        if delay:
            ctx.timers.schedule(ctx.now + delay, DUE_TIMER, delivery.id)
        else:
            self._attempt(delivery)

    def _record_loss(self, notice: Notice, error: str, rule: str, fault: str = "") -> None:
        url = self._state.registrations[notice.firm].url
        record = self._attempts.record(f"lost-{notice.event_id}", notice, url, 0)
        record.outcome, record.error, record.fault = "lost", error, fault
        self._ctx.apply(because(rule, outcome="lost"), f"webhook/{notice.event_id}")

    def _attempt(self, delivery: Delivery) -> None:
        """Make the next attempt, unless the breaker parks it."""
        if self._breakers.park(delivery.firm, delivery.id):
            return
        notice = self._state.notices.get(delivery.event_id)
        registration = self._state.registrations[delivery.firm]
        if notice is None:
            del self._state.deliveries[delivery.id]
            return
        number = delivery.attempts + 1
        action, held_up = self._attempts.fault_of(delivery.id, notice, number)
        if held_up:
            return
        delivery.attempts = number
        url, secret = registration.url, registration.secret
        attempt = self._attempts.make(delivery.id, notice, url, secret, number, action)
        rule = delivery.rule if number == 1 else "K11"
        why = because(rule, attempt=attempt, number=number)
        self._ctx.apply(why, f"webhook/{notice.event_id}")
        self._breakers.attempted(delivery.firm, attempt)
        self._apply_fault(attempt, action)

    def _apply_fault(self, attempt: str, action: FaultAction | None) -> None:
        """Fail an attempt as its injected fault says. A hanging attempt ends by its timeout."""
        if action is not None and action.answers and action.effect != "hang":
            self.answer(attempt, action.status, f"fault {action.fault}", action.retry_after)

    def timer_of(self, attempt: str) -> int:
        """Return the timer that ends an attempt in flight, which was set with it.

        0 if it has ended.
        """
        under_way = self._state.in_flight.get(attempt)
        return 0 if under_way is None else under_way.timer

    def take_attempts(self) -> list[Attempt]:
        """Return the attempts to make now, in order."""
        attempts, self.outbox[:] = self.outbox[:], []
        return attempts

    def answer(
        self, attempt: str, status: int = 0, error: str = "", retry_after: Span | None = None
    ) -> bool:
        """Apply a receiver's answer; `status` 0 means no HTTP answer.

        Return False if it came too late.
        """
        in_flight = self._state.in_flight.pop(attempt, None)
        if in_flight is None:
            return False
        self._ctx.timers.cancel(in_flight.timer)
        acknowledged = 200 <= status < 300
        self._ctx.apply(_answered(status, error, acknowledged), f"attempt/{attempt}")
        record = self._state.log.get(attempt)
        if record is not None:
            record.status, record.error = status, error
            record.outcome = "delivered" if acknowledged else "failed"
        pending = self._state.pending.get(in_flight.subject)
        if pending is not None:
            result = f"HTTP {status}" if status else error or "no answer"
            message = "webhook validated" if acknowledged else f"test delivery failed: {result}"
            self._finish_registration(pending, acknowledged, message)
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
        """Return the wait after a number of attempts: doubling, capped, plus or minus 20
        % (rule K11).
        """
        first = self._ctx.assumptions.number(WEBHOOK_RETRY_FIRST)
        wait = min(
            first << min(attempts - 1, 63), self._ctx.assumptions.number(WEBHOOK_RETRY_LONGEST)
        )
        return self._ctx.entropy.stream("webhook.jitter").between(wait * 4 // 5, wait * 6 // 5)

    def _resume(self, firm: str) -> None:
        """Close the breaker after a success and continue parked deliveries."""
        for name in self._breakers.close(firm):
            self._attempt(self._state.deliveries[name])

    # ---- time

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {
            DUE_TIMER: self._attempt_due,
            TIMEOUT_TIMER: self._unanswered,
            BREAKER_TIMER: self._on_cooldown_end,
        }

    def _attempt_due(self, timer: Timer) -> None:
        delivery = self._state.deliveries.get(timer.subject)
        pending = self._state.pending.get(timer.subject)
        if delivery is not None:
            self._attempt(delivery)
        elif pending is not None:
            self._test(pending)

    def _unanswered(self, timer: Timer) -> None:
        timeout = self._ctx.assumptions.number(WEBHOOK_TIMEOUT)
        self.answer(timer.subject, error=f"no answer within {format_span(timeout)}")

    def _on_cooldown_end(self, timer: Timer) -> None:
        breaker = self._breakers.cool_down(timer.subject)
        # An injected fault ends an attempt at once, so the breaker may be open again after the
        # first.
        while breaker.parked and breaker.state == "half_open" and not breaker.probe:
            self._attempt(self._state.deliveries[breaker.parked.pop(0)])

    # ---- reading and state

    def deliveries(self) -> tuple[DeliveryRecord, ...]:
        """The delivery log, oldest first."""
        return tuple(self._state.log.values())

    def record_of(self, attempt: str) -> DeliveryRecord | None:
        """Return the line of an attempt in the delivery log; None if it was dropped."""
        return self._state.log.get(attempt)

    def body_of(self, event_id: str) -> bytes:
        """Return the body of an event; empty for a dropped one and for test deliveries."""
        notice = self._state.notices.get(event_id)
        return notice.body if notice is not None else b""

    def breakers(self) -> dict[str, Breaker]:
        """Return the breakers by firm, sorted."""
        return dict(sorted(self._breakers.by_firm.items()))

    def save(self) -> WebhooksState:
        """Return everything but the outbox, which is empty between inputs."""
        self._state.breakers = self._breakers.by_firm
        return self._state

    def load(self, state: object) -> None:
        """Restore a saved state."""
        self._state = convert(state, WebhooksState)
        self._breakers.by_firm = self._state.breakers
        self._attempts.state = self._state
        self.outbox.clear()
        self.settled = []


def _answered(status: int, error: str, acknowledged: bool) -> Why:
    """Return the decision about an attempt: whether its answer acknowledges it (rule K11)."""
    outcome = "acknowledged" if acknowledged else "failed"
    return because("K11", outcome=outcome, answer=status or error or "none")
