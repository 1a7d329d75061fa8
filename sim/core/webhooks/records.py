"""Records of webhooks: registrations, events, deliveries, breakers and the delivery log."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct, field

from sim.core.service.fault_spec import FaultAction
from sim.kernel.instants import Instant, Span

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]


class Registration(Struct, frozen=True):
    """A firm's registered URL.

    `secret` is the fingerprint of the signing secret, "" for unsigned; `order` numbers
    registrations in order of request.
    """

    url: str
    secret: str
    order: int
    at: Instant


class Notice(Struct):
    """An event for a firm. `delivered` is true once any attempt was acknowledged."""

    event_id: str
    type: str
    firm: str
    body: bytes
    raised: Instant
    delivered: bool = False


class PendingRegistration(Struct):
    """A registration whose test delivery (`notice`) is in flight, made by the request `request_id`.

    `validated` is None until it is decided.
    """

    id: str
    firm: str
    url: str
    secret: str
    order: int
    request_id: str
    notice: Notice
    attempt: str = ""
    validated: bool | None = None
    message: str = ""


class Delivery(Struct):
    """One event on its way to its firm. `attempts` is the number of attempts made.

    `rule` is why the event is sent at all: K10, or K13 for a duplicate and a redelivery.
    """

    id: str
    event_id: str
    firm: str
    rule: str
    attempts: int = 0


class Attempt(Struct, frozen=True, kw_only=True):
    """One request for the server to send now. `secret` is the fingerprint of the signing secret;
    `skew` moves the timestamp that is signed.
    """

    id: str
    event_id: str
    type: str
    firm: str
    url: str
    attempt: int
    body: bytes
    secret: str
    due: Instant
    timeout: Span
    skew: Span = 0


class InFlight(Struct, frozen=True):
    """An attempt that waits for its answer: the delivery or pending registration that it belongs
    to, and its timeout timer.
    """

    subject: str
    timer: int


class DeliveryRecord(Struct):
    """A line of the delivery log.

    `status` is the HTTP status or 0; `outcome` is in_flight, delivered, failed or lost. `fault` is
    the injected fault that delayed, failed or lost it.
    """

    event_id: str
    type: str
    firm: str
    url: str
    attempt: int
    at: Instant
    status: int = 0
    outcome: str = "in_flight"
    error: str = ""
    fault: str = ""


class Breaker(Struct, kw_only=True):
    """The circuit breaker of a firm.

    `failures` counts failures in a row, `openings` those since the last success; `parked` are the
    deliveries that wait for it.
    """

    state: BreakerState = "closed"
    failures: int = 0
    openings: int = 0
    until: Instant = 0
    timer: int = 0
    probe: str = ""
    parked: list[str] = field(default_factory=list)


class WebhooksState(Struct):
    """Everything by its id or firm.

    `in_flight` is by attempt id, `deliveries` are the unfinished ones, `held_up` are the injected
    delays by delivery or registration, `log` is by attempt id, oldest first.
    """

    registrations: dict[str, Registration] = field(default_factory=dict)
    pending: dict[str, PendingRegistration] = field(default_factory=dict)
    notices: dict[str, Notice] = field(default_factory=dict)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    in_flight: dict[str, InFlight] = field(default_factory=dict)
    held_up: dict[str, FaultAction] = field(default_factory=dict)
    breakers: dict[str, Breaker] = field(default_factory=dict)
    log: dict[str, DeliveryRecord] = field(default_factory=dict)
