"""Identity verification and its webhooks over real sockets (§3.5, §6.1), signatures checked by the
independent `standardwebhooks`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import struct
import zlib
from datetime import datetime
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest
import segno
from standardwebhooks import Webhook, WebhookVerificationError

from sim.testing.control import ControlError
from sim.testing.webhook_receiver import WebhookReceiver
from tests.kit.bodies import APPLICATION
from tests.kit.clients import Partner
from tests.kit.http import call

REJECTED = APPLICATION | {"external_id": "c-2", "ssn": "223456789", "email": "reject@example.com"}


def secret(letter: str, length: int = 24) -> str:
    return "whsec_" + base64.b64encode(letter.encode() * length).decode()


@pytest.fixture
def partner(exchange):
    return Partner(exchange)


@pytest.fixture
def receiver(exchange):
    return exchange.webhooks.receiver


def events(receiver: WebhookReceiver):
    """Bodies of deliveries but test deliveries."""
    return [got.payload for got in receiver.received if got.payload["type"] != "webhook.test"]


@pytest.mark.spec("S0-6", "S3.5-2", "S6.1-1", "S6.1-2", "S6.1-3")
def test_an_approval_is_told_once_in_snake_case_with_the_participant(exchange, partner, receiver):
    validated = {"validated": True, "message": "webhook validated"}
    assert partner.register(receiver.url) == (200, validated)
    (test,) = receiver.received
    assert test.payload["type"] == "webhook.test"
    assert partner.start()["participantId"] == ""
    exchange.clock.advance("26m")
    (event,) = events(receiver)
    assert (event["type"], bool(event["event_id"])) == ("kyc.approved", True)
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in event)
    assert event["participant_id"] == partner.status()["participantId"]
    assert event["participant_id"].startswith("firms/atlas/users/")


@pytest.mark.spec("S6.1-2")
def test_the_newer_body_nests_the_participant_and_both_can_be_sent_at_once(
    exchange, partner, receiver
):
    exchange.control("PUT", "/assumptions/webhook.shape", {"value": "both"})
    partner.verified(receiver.url)
    (event,) = events(receiver)
    assert event["participant_id"] == event["data"]["provisioned_participant"]
    assert event["event_type"]


@pytest.mark.spec("S6.1-3")
def test_a_duplicate_carries_the_same_event_id_and_body(exchange, partner, receiver):
    exchange.control("PUT", "/quirks/webhook_duplicates", {"value": "always"})
    partner.verified(receiver.url)
    first, second = events(receiver)
    assert first == second


@pytest.mark.spec("S3.5-3")
def test_a_rejection_is_told_without_a_reason(exchange, partner, receiver):
    partner.register(receiver.url)
    started = partner.start(**REJECTED)
    assert (started["status"]["decision"], started["status"]["status"]) == ("REJECT", "CLOSED")
    exchange.clock.advance("1s")
    (event,) = events(receiver)
    assert event["type"] == "kyc.rejected"
    assert not any("reason" in name for name in event)
    assert not event.get("participant_id")
    assert partner.status("c-2")["participantId"] == ""


# ---- documents and review


def modules_of(picture: str) -> list[list[bool]]:
    """The modules of a QR code, read from the pixels of a data URL: dark is True. Each module is 4
    pixels wide and high, and 4 light ones are around the code.
    """
    kind, _, text = picture.partition(",")
    assert kind == "data:image/png;base64"
    png = base64.b64decode(text, validate=True)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(png):
        (size,), name = struct.unpack_from(">I", png, at), png[at + 4 : at + 8]
        chunks[name], at = png[at + 8 : at + 8 + size], at + 12 + size
    width, height, depth, colours, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (width, depth, colours) == (height, 1, 0)  # black and white
    rows, step = zlib.decompress(chunks[b"IDAT"]), (width + 7) // 8 + 1
    pixels, above = [], bytes(step - 1)
    for row in (rows[n : n + step] for n in range(0, len(rows), step)):
        assert row[0] in (0, 2)  # as it is, or as the difference from the row above
        above = bytes((a * (row[0] == 2) + b) % 256 for a, b in zip(above, row[1:], strict=True))
        pixels.append([not above[x // 8] >> (7 - x % 8) & 1 for x in range(width)])
    assert pixels[0] == [False] * width
    return [row[16:-16:4] for row in pixels[16:-16:4]]


def modules_of_link(url: str) -> list[list[bool]]:
    return [[bool(module) for module in row] for row in segno.make_qr(url, error="m").matrix]


@pytest.mark.spec("S3.5-4", "S3.5-6")
@pytest.mark.parametrize(("result", "ends"), [("uploaded", "ACCEPT"), ("failed", "RESUBMIT")])
def test_a_document_is_asked_for_on_a_page_where_a_tester_says_how_it_went(
    exchange, partner, receiver, result, ends
):
    partner.register(receiver.url)
    started = partner.start(date_of_birth="1985-09-02", docv_eligible=True)
    assert started["status"]["subStatus"] == "docv_required"
    docv = started["docv"]
    assert set(docv) >= {"url", "qrCode", "docvTransactionToken", "eventId", "sdkKey"}
    assert docv["url"].startswith(f"{exchange.docs}/docv/")
    assert modules_of(docv["qrCode"]) == modules_of_link(docv["url"])
    assert b"The document was uploaded" in call(docv["url"]).body
    exchange.clock.advance("48h")
    assert partner.status()["docv"]["docvTransactionToken"] == docv["docvTransactionToken"]
    assert b"<button" not in call(docv["url"], urlencode({"result": result}).encode()).body
    exchange.clock.advance("30m")
    assert partner.status()["status"]["decision"] == ends
    assert len(events(receiver)) == (ends == "ACCEPT")
    assert "docv" not in partner.status() or partner.status()["docv"] is None


@pytest.mark.spec("S3.5-5")
@pytest.mark.parametrize(
    ("decision", "ends", "type"),
    [("approve", "ACCEPT", "kyc.approved"), ("reject", "REJECT", "kyc.rejected")],
)
def test_a_tester_decides_by_hand(exchange, partner, receiver, decision, ends, type):
    partner.register(receiver.url)
    partner.start(first_name="Paulina", last_name="Gizela")
    (row,) = exchange.control("GET", "/state/verifications")["verifications"]
    assert (row["external_id"], row["decision"]) == ("c-1", "REVIEW")
    decided = exchange.control("POST", "/kyc/c-1/decision", {"decision": decision})
    assert (decided["external_id"], decided["decision"]) == ("c-1", ends)
    exchange.clock.advance("26m")
    assert [event["type"] for event in events(receiver)] == [type]
    with pytest.raises(ControlError) as again:
        exchange.control("POST", "/kyc/c-1/decision", {"decision": "approve"})
    assert again.value.status == 409


def test_a_tester_uploads_a_document_by_hand(exchange, partner):
    partner.start(date_of_birth="1985-09-05", docv_eligible=True)
    uploaded = exchange.control("POST", "/kyc/c-1/document", {"result": "uploaded"})
    assert uploaded["sub_status"] == "pending"
    exchange.clock.advance("5s")
    assert partner.status()["status"]["decision"] == "REJECT"


def test_a_document_page_that_leads_nowhere_says_so(exchange):
    assert call(f"{exchange.docs}/docv/nothing").status == 404


@pytest.mark.long
@pytest.mark.spec("S3.5-5", "S3.5-6")
def test_manual_review_takes_one_to_two_business_days_and_is_silent_until_it_ends(
    exchange, partner, receiver
):
    partner.register(receiver.url)
    # wants a document, and docv_eligible was not sent
    started = partner.start(first_name="Paulina", last_name="Gizela")
    assert (started["status"]["decision"], started.get("docv")) == ("REVIEW", None)
    begun = exchange.clock.now
    while (result := partner.call("GET", "/v1/kyc/status?external_id=c-1"))[0] == 503 or result[1][
        "status"
    ]["decision"] == "REVIEW":
        assert events(receiver) == []
        exchange.clock.advance("3h")  # Thursday's maintenance may lie on the way
    eastern = ZoneInfo("America/New_York")
    took = (exchange.clock.now.astimezone(eastern).date() - begun.astimezone(eastern).date()).days
    assert took in (1, 2)  # a Tuesday, so no weekend lies between
    exchange.clock.advance("30m")
    (event,) = events(receiver)
    assert event["type"] == "kyc.approved"


@pytest.mark.spec("S3.5-5")
def test_a_weekend_is_no_business_day(exchange, partner):
    exchange.clock.to("2026-09-11T15:00:00-04:00")
    partner.start(first_name="Paulina", last_name="Gizela")
    assert exchange.clock.now.astimezone(ZoneInfo("America/New_York")).strftime("%A") == "Friday"
    exchange.clock.to("2026-09-13T23:59:00-04:00")
    assert partner.status()["status"]["decision"] == "REVIEW"
    exchange.clock.to("2026-09-15T23:59:00-04:00")
    assert partner.status()["status"]["decision"] == "ACCEPT"


@pytest.mark.spec("S3.5-1")
def test_the_window_is_between_half_a_second_and_26_minutes_and_trading_waits_for_it(
    exchange, partner
):
    windows = []
    for number in range(6):
        started = partner.start(external_id=f"w-{number}", ssn=f"3{number:08d}")
        displayed = started["status"]
        ended = (displayed["decision"], displayed["status"], started["participantId"])
        assert ended == ("ACCEPT", "CLOSED", "")
        begun = exchange.clock.now
        due = datetime.fromisoformat(exchange.control("GET", "/clock")["next_due"])
        windows.append((due - begun).total_seconds())
        exchange.clock.advance("26m")
        assert partner.status(f"w-{number}")["participantId"]
    assert all(0.5 <= window <= 26 * 60 for window in windows)
    assert len(set(windows)) == 6


# ---- registration and signatures


@pytest.mark.spec("S6.1-6")
def test_signatures_hold_for_an_independent_implementation_over_the_exact_bytes(
    exchange, partner, receiver
):
    assert partner.register(receiver.url, secret("a"))[1]["validated"]
    partner.start()
    exchange.clock.advance("26m")
    checker = Webhook(secret("a"))
    for got in receiver.received:
        assert checker.verify(got.body, got.headers) == got.payload
        assert got.headers["webhook-signature"].startswith("v1,")
        with pytest.raises(WebhookVerificationError):
            checker.verify(got.body + b" ", got.headers)
        with pytest.raises(WebhookVerificationError):
            Webhook(secret("b")).verify(got.body, got.headers)
    event = receiver.received[-1]
    assert event.headers["webhook-id"] == event.payload["event_id"]


@pytest.mark.spec("S6.1-5")
def test_the_last_registration_wins_and_clears_the_secret_unless_it_is_sent_again(
    exchange, partner, receiver
):
    with WebhookReceiver() as second:
        partner.register(receiver.url, secret("a"))
        partner.verified(second.url)
        assert events(receiver) == []
        (event,) = [got for got in second.received if got.payload["type"] == "kyc.approved"]
        assert not {"webhook-id", "webhook-timestamp", "webhook-signature"} & set(event.headers)
    for verb in ("GET", "PUT", "DELETE"):
        assert partner.call(verb, "/v1/kyc/webhook")[0] == 405


@pytest.mark.spec("S6.1-5")
@pytest.mark.parametrize(
    "bad", [secret("a", 23), "a" * 40, "whsec_!!!", "whsec_", secret("a").replace("whsec", "sk")]
)
def test_a_secret_is_whsec_and_base64_of_at_least_24_bytes(partner, receiver, bad):
    status, body = partner.register(receiver.url, bad)
    assert (status, body["code"]) == (400, 3)
    assert receiver.received == []


@pytest.mark.spec("S6.1-5")
def test_a_receiver_that_does_not_acknowledge_the_test_is_not_registered(
    exchange, partner, receiver
):
    partner.register(receiver.url)
    with WebhookReceiver() as broken:
        broken.answer_always(500)
        assert partner.register(broken.url)[1]["validated"] is False
    assert partner.register("http://192.0.2.1/hook")[0] == 400
    partner.start()
    exchange.clock.advance("26m")
    assert len(events(receiver)) == 1


@pytest.mark.spec("S6.1-7")
def test_a_secret_is_rotated_by_accepting_both_then_registering_the_new_one(
    exchange, partner, receiver
):
    old, new = Webhook(secret("o")), Webhook(secret("n"))

    def accepts(got) -> str:
        for name, checker in (("old", old), ("new", new)):
            try:
                checker.verify(got.body, got.headers)
                return name
            except WebhookVerificationError:
                continue
        return "neither"

    partner.verified(receiver.url, secret("o"))
    partner.verified(receiver.url, secret("n"), external_id="c-9", ssn="923456789")
    assert [accepts(got) for got in receiver.received] == ["old", "old", "new", "new"]


@pytest.mark.spec("S6.1-3", "S6.1-6", "S6.1-7")
def test_an_event_that_failed_before_a_rotation_is_retried_under_the_new_secret(
    exchange, partner, receiver
):
    partner.register(receiver.url, secret("o"))
    partner.start()
    receiver.answer_always(500)
    exchange.control("PUT", "/assumptions/webhook.retry_first", {"value": "1h"})
    exchange.control("PUT", "/assumptions/webhook.retry_longest", {"value": "1h"})
    exchange.clock.advance("26m")
    receiver.answer_always(200)
    partner.register(receiver.url, secret("n"))
    exchange.clock.advance("2h")
    failed, again = (got for got in receiver.received if got.payload["type"] == "kyc.approved")
    assert failed.payload == again.payload
    Webhook(secret("o")).verify(failed.body, failed.headers)
    Webhook(secret("n")).verify(again.body, again.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret("o")).verify(again.body, again.headers)


# ---- a receiver in the event loop of the test


def test_time_moves_while_the_loop_of_a_receiver_goes_on(exchange, partner):
    received = []

    async def answer(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])
        received.append(json.loads(await reader.readexactly(length))["type"])
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async def journey():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
        assert (await asyncio.to_thread(partner.register, url))[0] == 200
        await asyncio.to_thread(partner.start)
        with pytest.raises(RuntimeError, match=r"blocks the event loop .*advance_async"):
            exchange.clock.advance("26m")
        noticed = []
        exchange.at("+1m", lambda: noticed.append(exchange.now.minute))
        fired = await exchange.clock.advance_async("26m")
        exchange.at("+1m", lambda: noticed.append(exchange.now.minute))
        await exchange.clock.until_async({"maintenance": True}, within="7d")
        server.close()
        return noticed, fired

    observed, fired = asyncio.run(journey())
    assert received == ["webhook.test", "kyc.approved"]
    assert observed == [1, 27] and "kyc.provision firms/atlas|c-1" in fired
    assert exchange.now.isoformat() == "2026-09-10T06:00:00+00:00"


# ---- the circuit breaker


@pytest.mark.spec("S6.1-4")
def test_repeated_failures_stop_deliveries_and_what_was_missed_is_polled(
    exchange, partner, receiver
):
    exchange.control("PUT", "/assumptions/webhook.breaker_cooldown", {"value": "1h"})
    partner.register(receiver.url)
    receiver.answer_always(500)
    partner.start()
    exchange.clock.advance("26m")
    attempts = [row for row in exchange.webhooks.deliveries if row["type"] == "kyc.approved"]
    assert len(attempts) == 5
    assert {row["status"] for row in attempts} == {500}
    (breaker,) = exchange.control("GET", "/state/breakers")["breakers"]
    assert breaker["state"] == "open"
    before = len(receiver.received)
    partner.start(**REJECTED)
    assert len(receiver.received) == before
    lost = [row for row in exchange.webhooks.deliveries if row["type"] == "kyc.rejected"]
    assert [(row["outcome"], row["error"]) for row in lost] == [("lost", "circuit breaker open")]
    assert partner.status("c-2")["status"]["decision"] == "REJECT"
    # It recovers by itself: after a pause one probe, and once that is acknowledged everything flows
    # again.
    receiver.answer_always(200)
    exchange.clock.advance("2h")
    partner.start(external_id="c-3", ssn="323456789")
    exchange.clock.advance("26m")
    assert events(receiver)[-1]["type"] == "kyc.approved"
    assert exchange.control("GET", "/state/breakers")["breakers"][0]["state"] == "closed"


@pytest.mark.spec("S6.1-4")
@pytest.mark.parametrize(("answer", "attempts"), [(200, 1), (204, 1), (302, 8), (400, 8)])
def test_only_2xx_acknowledges(exchange, partner, receiver, answer, attempts):
    exchange.control("PUT", "/assumptions/webhook.breaker_threshold", {"value": 100})
    partner.register(receiver.url)
    receiver.answer_always(answer)
    partner.start()
    exchange.clock.advance("1h")
    kinds = [row["type"] for row in exchange.webhooks.deliveries]
    assert kinds.count("kyc.approved") == attempts
