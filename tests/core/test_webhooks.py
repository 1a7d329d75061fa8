"""Webhooks (§6.1; behaviour rules K8-K13)."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec
import pytest
from standardwebhooks import Webhook

from sim.core.model.context import Context
from sim.core.model.events import KycDecided
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound
from sim.core.service.faults import FaultAction
from sim.core.webhooks.payloads import (
    decided_payload,
    is_secret,
    sample_payloads,
    secret_key,
    sign,
    signed_headers,
    stamp,
    url_problem,
)
from sim.core.webhooks.records import Attempt, WebhooksState
from sim.core.webhooks.webhooks import WebhookService
from sim.kernel.instants import Instant, hours, minutes, parse_instant, seconds

START = parse_instant("2026-09-08T18:00:00Z")
FIRM = "firms/Acme"
URL = "http://127.0.0.1:9000/hook"
SECRET = "whsec_" + base64.b64encode(bytes(range(24))).decode()


@dataclass
class Bench:
    """A webhooks component, the attempts it made, and a clock. Nothing answers by itself."""

    ctx: Context = field(default_factory=lambda: Context(seed=7, now=START))
    action: FaultAction | None = None
    created: list[Attempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.webhooks = WebhookService(self.ctx, hosts=("hooks.example.com",), tamper=self._fault)

    def _fault(self, kind: str, firm: str, event_id: str, attempt: int) -> FaultAction | None:
        asked = self.action is not None and self.action.of_delivery is (attempt == 0)
        return self.action if asked else None

    def registered(self) -> Bench:
        self.webhooks.register(FIRM, URL)
        self.answer(200)
        self.created.clear()
        return self

    def saved(self) -> tuple[str, str]:
        """The address and the secret that are registered."""
        registration = self.webhooks.registration(FIRM)
        return registration.url, registration.secret

    def decided(self, external_id: str = "user-1", approved: bool = True) -> str:
        return self.webhooks.decided(
            KycDecided(
                FIRM, external_id, approved, f"{FIRM}/users/1" if approved else "", "", self.ctx.now
            )
        )

    def take(self) -> list[Attempt]:
        taken = self.webhooks.take_attempts()
        self.created += taken
        return taken

    def answer(self, status: int, retry_after: int | None = None) -> None:
        for attempt in self.take():
            assert self.webhooks.answer(attempt.id, status, retry_after=retry_after)

    def advance(self, to: Instant, status: int | None = None) -> None:
        """Move time; with a status every attempt made on the way is answered with it at once."""
        while (timer := self.ctx.timers.pop_due(to)) is not None:
            self.ctx.now = timer.due
            self.webhooks.timers[timer.kind](timer)
            if status is not None:
                while len(self.webhooks.save().in_flight) > 0:
                    self.answer(status)
        self.ctx.now = to

    def outcomes(self) -> list[str]:
        return [record.outcome for record in self.webhooks.deliveries()]


@pytest.fixture
def bench() -> Bench:
    return Bench()


# ---- registration


def test_a_registration_counts_once_its_test_delivery_was_acknowledged(bench: Bench) -> None:
    """K8."""
    pending = bench.webhooks.register(FIRM, URL, SECRET)
    assert bench.webhooks.registration(FIRM) is None
    (attempt,) = bench.take()
    assert (attempt.type, attempt.url, attempt.secret, attempt.attempt) == (
        "webhook.test",
        URL,
        SECRET,
        1,
    )
    assert json.loads(attempt.body) == {"event_id": attempt.event_id, "type": "webhook.test"}
    assert bench.webhooks.answer(attempt.id, 204)
    assert bench.webhooks.take_settled() == [pending]
    assert (pending.validated, pending.message) == (True, "webhook validated")
    assert bench.saved() == (URL, SECRET)


@pytest.mark.parametrize(
    ("status", "error", "text"),
    [(500, "", "HTTP 500"), (302, "", "HTTP 302"), (0, "refused", "refused")],
)
def test_a_failed_test_delivery_saves_nothing_and_keeps_what_was_there(
    bench: Bench, status: int, error: str, text: str
) -> None:
    """K8."""
    bench.registered()
    pending = bench.webhooks.register(FIRM, URL + "/other")
    (attempt,) = bench.take()
    bench.webhooks.answer(attempt.id, status, error)
    assert (pending.validated, pending.message) == (False, f"test delivery failed: {text}")
    assert bench.saved() == (URL, "")


def test_silence_for_five_virtual_seconds_fails_a_registration(bench: Bench) -> None:
    pending = bench.webhooks.register(FIRM, URL)
    (attempt,) = bench.take()
    bench.advance(START + seconds(5) - 1)
    assert pending.validated is None
    bench.advance(START + seconds(5))
    assert pending.validated is False
    assert "no answer within 5s" in pending.message
    assert not bench.webhooks.answer(attempt.id, 200)
    assert bench.webhooks.registration(FIRM) is None


def test_registering_again_without_a_secret_clears_it_and_the_last_asked_wins(bench: Bench) -> None:
    bench.webhooks.register(FIRM, URL, SECRET)
    bench.webhooks.register(FIRM, URL + "/2")
    first, second = bench.take()
    bench.webhooks.answer(second.id, 200)
    bench.webhooks.answer(first.id, 200)
    assert bench.saved() == (URL + "/2", "")
    assert [pending.url for pending in bench.webhooks.take_settled()] == [URL + "/2", URL]


URLS = [
    ("https://hooks.example.com/x", ""),
    ("http://127.0.0.1:1/x", ""),
    ("https://localhost/x", ""),
    ("http://[::1]:80/", ""),
    ("http://hooks.example.com/x", "must use https"),
    ("https://example.com/x", "example.com is not listed"),
    ("https://10.0.0.1/", "10.0.0.1 is not listed"),
    ("http://127.0.0.1.evil.test/", "must use https"),
    ("https://127.1/", "127.1 is not listed"),
    ("ftp://127.0.0.1/", "https URL"),
    ("//127.0.0.1/", "https URL"),
    ("https://user:pw@127.0.0.1/", "contain credentials"),
    ("https://127.0.0.1/#x", "or a fragment"),
    ("https://127.0.0.1:99999/", "not a valid URL"),
    ("https://127.0.0.1/\r\nX: y", "https URL"),
    ("", "https URL"),
]


@pytest.mark.parametrize(("url", "problem"), URLS)
def test_urls_lead_to_loopback_or_to_listed_hosts_only(url: str, problem: str) -> None:
    result = url_problem(url, allow_private=True, hosts=("hooks.example.com",))
    assert problem in result if problem else result == ""


def test_a_bad_url_or_secret_is_refused_before_anything_is_sent(bench: Bench) -> None:
    for url, secret in (
        ("http://example.com", ""),
        (URL, "whsec_short"),
        (URL, "plain"),
        (URL, "sealed:w23:" + "0" * 32),
    ):
        with pytest.raises(InvalidRequest):
            bench.webhooks.register(FIRM, url, secret)
    bench.ctx.assumptions.change("webhook.allow_private", False)
    with pytest.raises(InvalidRequest, match="private"):
        bench.webhooks.register(FIRM, URL)
    assert bench.take() == []


def test_a_secret_is_whsec_and_base64_of_24_bytes_sealed_or_clear() -> None:
    assert secret_key(SECRET) == bytes(range(24))
    assert secret_key("whsec_" + base64.b64encode(bytes(23)).decode()) is None
    assert secret_key("whsec_!!!!") is None
    assert is_secret("sealed:w24:" + "a" * 32)
    assert not is_secret("sealed:d24:" + "a" * 32)


# ---- payloads and signatures

DECIDED = KycDecided(FIRM, "user-1", True, f"{FIRM}/users/1", "firms/C/accounts/1", START)


def test_the_specified_shape_is_flat_snake_case_without_reasons() -> None:
    """K9."""
    assert decided_payload("e1", DECIDED, "spec") == {
        "event_id": "e1",
        "type": "kyc.approved",
        "external_id": "user-1",
        "participant_id": f"{FIRM}/users/1",
    }
    rejected = KycDecided(FIRM, "user-1", False, "", "", START)
    assert decided_payload("e1", rejected, "spec") == {
        "event_id": "e1",
        "type": "kyc.rejected",
        "external_id": "user-1",
    }


def test_the_documented_shape_nests_and_both_is_their_union() -> None:
    docs = decided_payload("e1", DECIDED, "docs")
    assert docs["event_type"] == "kyc.approved"
    assert docs["event_time"] == "2026-09-08T18:00:00Z"
    assert isinstance(docs["data"], dict)
    assert docs["data"]["provisioned_account"] == "firms/C/accounts/1"
    assert docs["data"]["firm_id"] == "Acme"
    assert decided_payload("e1", DECIDED, "both") == decided_payload("e1", DECIDED, "spec") | docs


def test_the_samples_of_the_documents_are_payloads_of_one_firm_and_person() -> None:
    result = sample_payloads("docs", DECIDED.at)
    data = {kind: payload["data"] for kind, payload in result.items()}
    assert {item["firm_id"] for item in data.values()} == {"atlas"}
    assert {data[kind]["external_id"] for kind in ("kyc.approved", "kyc.rejected")} == {"person-17"}
    approved = data["kyc.approved"]
    assert approved["provisioned_participant"] == "firms/atlas/users/person-17"
    assert approved["provisioned_account"] == "firms/atlas/accounts/person-17"
    assert result["webhook.test"].keys() == result["kyc.approved"].keys()


def test_an_independent_implementation_accepts_the_signature() -> None:
    """K10."""
    body = b'{"event_id":"e1"}'
    key = secret_key(SECRET)
    now = int(datetime.now(UTC).timestamp())
    headers = signed_headers(key, "e1", now, body)
    assert Webhook(SECRET).verify(body, headers) == {"event_id": "e1"}
    assert headers["webhook-signature"] == sign(bytes(range(24)), "e1", now, body)
    assert signed_headers(None, "e1", now, body) == {}


STAMPS = [
    ("auto", 0, 0),
    ("auto", 300, 0),
    ("auto", 301, 301),
    ("auto", -301, -301),
    ("wall", 10, 10),
    ("virtual", 9999, 0),
    ("auto", None, 0),
]


@pytest.mark.parametrize(("clock", "wall_s", "stamped_s"), STAMPS)
def test_a_stamp_is_virtual_while_a_real_receiver_would_believe_it(
    clock: str, wall_s: int | None, stamped_s: int
) -> None:
    wall = None if wall_s is None else START + seconds(wall_s)
    assert stamp(START, wall, clock) == START // seconds(1) + stamped_s


# ---- deliveries


def test_without_a_webhook_nothing_is_sent(bench: Bench) -> None:
    assert bench.decided() == ""
    assert bench.take() == []


def test_retries_keep_event_id_and_body_and_back_off_with_jitter(bench: Bench) -> None:
    """K11."""
    bench.registered()
    bench.ctx.assumptions.change("webhook.breaker_threshold", 100)
    bench.decided()
    bench.answer(500)
    bench.advance(START + hours(1), status=500)
    assert [attempt.attempt for attempt in bench.created] == list(range(1, 9))
    assert len({(attempt.event_id, attempt.body) for attempt in bench.created}) == 1
    waits = [
        later.due - earlier.due
        for earlier, later in zip(bench.created, bench.created[1:], strict=False)
    ]
    for number, wait in enumerate(waits):
        assert seconds(2**number) * 4 // 5 <= wait <= seconds(2**number) * 6 // 5
    assert waits != [seconds(2**number) for number in range(7)]


def test_a_success_ends_the_delivery(bench: Bench) -> None:
    bench.registered().decided()
    bench.answer(503)
    bench.advance(START + minutes(5), status=201)
    assert [attempt.attempt for attempt in bench.created] == [1, 2]
    assert bench.outcomes()[1:] == ["failed", "delivered"]


@pytest.mark.parametrize(("status", "honoured"), [(408, True), (429, True), (503, False)])
def test_retry_after_is_honoured_on_408_and_429_only(
    bench: Bench, status: int, honoured: bool
) -> None:
    """K11."""
    bench.registered().decided()
    bench.answer(status, retry_after=seconds(77))
    due = bench.ctx.timers.next_due()
    assert (due == START + seconds(77)) is honoured


def test_an_unanswered_attempt_fails_after_five_seconds(bench: Bench) -> None:
    bench.registered().decided()
    bench.take()
    bench.advance(START + seconds(5))
    assert bench.webhooks.deliveries()[-1].error == "no answer within 5s"
    assert bench.outcomes()[-1] == "failed"


def test_a_retry_goes_to_whatever_is_registered_by_then(bench: Bench) -> None:
    bench.registered().decided()
    bench.answer(500)
    bench.webhooks.register(FIRM, URL + "/new", SECRET)
    bench.answer(200)
    bench.advance(START + minutes(1), status=200)
    assert (bench.created[-1].url, bench.created[-1].secret, bench.created[-1].attempt) == (
        URL + "/new",
        SECRET,
        2,
    )


def test_duplicates_carry_the_same_event_id(bench: Bench) -> None:
    """K13."""
    bench.registered()
    bench.ctx.quirks.change("webhook_duplicates", "always")
    bench.decided()
    first, second = bench.take()
    assert first.event_id == second.event_id
    assert first.id != second.id


@pytest.mark.parametrize(
    ("action", "sent_at_once", "outcome", "status"),
    [
        (FaultAction(fault="f1", effect="drop"), 0, "lost", 0),
        (FaultAction(fault="f1", effect="duplicate"), 2, "in_flight", 0),
        (FaultAction(fault="f1", delay=seconds(30)), 0, "delivered", 200),
        (FaultAction(fault="f1", status=503), 0, "failed", 503),
    ],
)
def test_injected_faults_lose_double_delay_or_fail_a_delivery(
    bench: Bench, action: FaultAction, sent_at_once: int, outcome: str, status: int
) -> None:
    bench.registered()
    bench.action = action
    bench.decided()
    assert len(bench.take()) == sent_at_once
    if action.delay:
        bench.advance(START + seconds(30))
        bench.answer(200)
        assert bench.created[-1].due == START + seconds(30)
    record = bench.webhooks.deliveries()[-1]
    assert (record.outcome, record.status) == (outcome, status)


# ---- breaker


def trip(bench: Bench) -> None:
    """Five events, each refused once."""
    for number in range(5):
        bench.decided(f"user-{number}")
        bench.answer(500)
    assert bench.webhooks.breakers()[FIRM].state == "open"


def test_five_failures_in_a_row_open_the_breaker_and_events_are_lost(bench: Bench) -> None:
    """K12."""
    trip(bench.registered())
    bench.decided("user-lost")
    assert bench.take() == []
    assert bench.outcomes()[-1] == "lost"


def test_a_success_in_between_keeps_the_breaker_closed(bench: Bench) -> None:
    bench.registered()
    for status in (500, 500, 500, 500, 200, 500, 500, 500, 500):
        bench.decided()
        bench.answer(status)
    assert bench.webhooks.breakers()[FIRM].state == "closed"


def test_after_the_cooldown_one_probe_decides_and_success_releases_the_rest(bench: Bench) -> None:
    trip(bench.registered())
    bench.created.clear()
    bench.advance(START + seconds(60))
    assert len(bench.take()) == 1
    assert bench.webhooks.breakers()[FIRM].state == "half_open"
    bench.webhooks.answer(bench.created[0].id, 200)
    assert bench.webhooks.breakers()[FIRM].state == "closed"
    assert len(bench.take()) == 4


def test_the_cooldown_doubles_at_each_reopening_up_to_an_hour(bench: Bench) -> None:
    """K12."""
    trip(bench.registered())
    bench.ctx.assumptions.change("webhook.attempts", 1000)
    opened = []
    for _ in range(9):
        breaker = bench.webhooks.breakers()[FIRM]
        opened.append(breaker.until - bench.ctx.now)
        bench.advance(breaker.until)
        bench.answer(500)
    assert opened == [min(seconds(60) << number, hours(1)) for number in range(9)]


def test_a_buffering_breaker_keeps_events_for_later(bench: Bench) -> None:
    bench.ctx.assumptions.change("webhook.breaker_buffers", True)
    trip(bench.registered())
    event = bench.decided("user-late")
    assert bench.take() == []
    bench.advance(START + seconds(60))
    bench.answer(200)
    bench.take()
    assert event in {attempt.event_id for attempt in bench.created}


def test_redelivery_by_hand_sends_what_was_never_acknowledged(bench: Bench) -> None:
    bench.registered()
    delivered = bench.decided("ok")
    bench.answer(200)
    trip(bench)
    lost = bench.decided("lost")
    assert bench.webhooks.redeliver(FIRM) == [lost]
    assert bench.webhooks.redeliver(FIRM, delivered) == [delivered]
    assert {lost, delivered} <= {attempt.event_id for attempt in bench.take()}
    with pytest.raises(NotFound):
        bench.webhooks.redeliver(FIRM, "nothing")
    with pytest.raises(Conflict):
        bench.webhooks.redeliver("firms/Other")


def test_a_saved_state_goes_on_where_it_stopped(bench: Bench) -> None:
    trip(bench.registered())
    other = Bench()
    other.ctx.timers.load(bench.ctx.timers.save())
    other.ctx.entropy.load(bench.ctx.entropy.save())
    other.ctx.ids.load(bench.ctx.ids.save())
    other.webhooks.load(
        msgspec.msgpack.decode(msgspec.msgpack.encode(bench.webhooks.save()), type=WebhooksState)
    )
    other.ctx.now = bench.ctx.now
    for each in (bench, other):
        each.advance(START + hours(2), status=200)
    assert msgspec.json.encode(other.webhooks.save()) == msgspec.json.encode(bench.webhooks.save())
    assert other.created == bench.created[-len(other.created) :]
