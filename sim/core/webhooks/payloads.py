"""The wire format of webhooks (§6.1): valid URLs and secrets, payloads, signatures.

These are pure functions of text and bytes. A signing key in clear is only ever an argument: the
server stores it, and it is not part of any state or journal.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import json

from sim.core.model.events import KycDecided
from sim.kernel.instants import NS_PER_S, Instant, Span, format_instant, seconds

Payload: TypeAlias = "dict[str, str | dict[str, str]]"

SECRET_MIN = 24  # bytes after decoding
# The largest difference between a timestamp and its own clock that the reference receiver accepts.
CLOCK_TOLERANCE: Span = seconds(300)

APPROVED = "kyc.approved"
REJECTED = "kyc.rejected"
TEST = "webhook.test"
# Every type of event, and what it tells a firm.
WEBHOOK_TYPES = {
    APPROVED: "A person was approved and provisioned; trading may begin.",
    REJECTED: "A person was rejected; no reason is sent.",
    TEST: "A test delivery that a firm asked for; nothing in it is actionable.",
}

SEALED = "sealed"
_URL_REST = re.compile(r"([^?#]*)([?#]?)(.*)", re.DOTALL)
_URL_USER = re.compile(r"(://)[^/\\]*@")
_URL_VALUE = re.compile(r"([?#&;])([^=?#&;]*=)?([^?#&;]*)")
_SEALED_SECRET = re.compile(r"sealed:w(\d+):[0-9a-f]{32}", re.ASCII)


# ---- registration


def url_problem(url: str, *, allow_private: bool, hosts: tuple[str, ...]) -> str:
    """Return why a URL is not acceptable for a webhook; empty if it is.

    Loopback is allowed with `allow_private`, with or without TLS. Every other host must be listed
    in `hosts` and use TLS (rule K8).
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "webhook_url is not a valid URL"
    if parts.scheme not in ("http", "https") or not host or any(mark <= " " for mark in url):
        return "webhook_url must be an https URL"
    if parts.username is not None or parts.password is not None or parts.fragment:
        return "webhook_url must not contain credentials or a fragment"
    if _is_loopback(host):
        return "" if allow_private else "webhook_url must not point to a private address"
    if parts.scheme != "https":
        return "webhook_url must use https"
    if host.lower() not in hosts:
        return (
            f"webhook_url: this sandbox delivers to loopback and to listed hosts only, {host} is"
            f" not listed (sim serve --webhook-host {host} lists it)"
        )
    return ""


def shown_url(url: str) -> str:
    """Return a webhook's URL for display and files.

    `sealed` replaces user information and the values of the query, which may be secrets
    of the receiver.
    """
    address, mark, rest = _URL_REST.match(url).groups()  # type: ignore[union-attr]
    values = (
        f"{separator}{name}{SEALED if value else ''}"
        for separator, name, value in _URL_VALUE.findall(mark + rest)
    )
    return _URL_USER.sub(rf"\1{SEALED}@", address) + "".join(values)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def secret_key(secret: str) -> bytes | None:
    """Return the HMAC key of a clear signing secret: the base64 text after `whsec_`, decoded.

    None if it is malformed or shorter than 24 bytes.
    """
    encoded = secret.removeprefix("whsec_")
    if encoded == secret:
        return None
    try:
        key = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) >= SECRET_MIN else None


def is_secret(text: str) -> bool:
    """Return whether a text is an acceptable signing secret, sealed or clear."""
    sealed = _SEALED_SECRET.fullmatch(text)
    return int(sealed[1]) >= SECRET_MIN if sealed else secret_key(text) is not None


# ---- payloads


def decided_payload(event_id: str, decided: KycDecided, shape: str) -> Payload:
    """Return the payload of a terminal verification.

    `shape` is the assumption `webhook.shape`. Empty fields are omitted, and a rejection gives
    no reason (§6.1).
    """
    kind = APPROVED if decided.approved else REJECTED
    spec: Payload = {
        "event_id": event_id,
        "type": kind,
        "external_id": decided.external_id,
        "participant_id": decided.participant,
    }
    at = format_instant(decided.at)
    details = {
        "external_id": decided.external_id,
        "user_id": decided.external_id,
        "firm_id": decided.firm.removeprefix("firms/"),
        "status": "KYC_STATUS_APPROVED" if decided.approved else "KYC_STATUS_REJECTED",
        "status_set_at": at,
        "provisioned_participant": decided.participant,
        "provisioned_account": decided.account,
    }
    docs: Payload = {
        "event_type": kind,
        "event_id": event_id,
        "event_time": at,
        "data": {name: text for name, text in details.items() if text},
    }
    chosen = {"spec": spec, "docs": docs}.get(shape) or spec | docs
    return {name: value for name, value in chosen.items() if value}


def test_payload(event_id: str, firm: str, at: Instant, shape: str) -> Payload:
    """Return the payload of the test delivery, which requires no action."""
    spec: Payload = {"event_id": event_id, "type": TEST}
    docs: Payload = {
        "event_type": TEST,
        "event_id": event_id,
        "event_time": format_instant(at),
        "data": {"firm_id": firm.removeprefix("firms/")},
    }
    return {"spec": spec, "docs": docs}.get(shape) or spec | docs


def sample_payloads(shape: str, at: Instant) -> dict[str, Payload]:
    """Return a payload of each type with every possible key, for the documentation."""
    firm, person = "firms/atlas", "person-17"
    participant, account = f"{firm}/users/{person}", f"{firm}/accounts/{person}"
    approved = KycDecided(firm, person, True, participant, account, at)
    rejected = KycDecided(firm, person, False, "", "", at)
    return {
        APPROVED: decided_payload("evt-1", approved, shape),
        REJECTED: decided_payload("evt-2", rejected, shape),
        TEST: test_payload("evt-3", firm, at, shape),
    }


def body_of(payload: Payload, *, spaced: bool = False) -> bytes:
    """Return the bytes of a payload, the same for every attempt. `spaced`: with spaces that no JSON
    library writes by default.
    """
    body = json.encode(payload)
    return json.format(body, indent=3) + b"\n" if spaced else body


# ---- signing


def stamp(now: Instant, wall: Instant | None, clock: str) -> int:
    """Return the unix seconds with which to stamp an attempt, according to `webhook.clock`.

    "auto" is virtual now as long as a real receiver would accept it, else the wall clock.
    """
    if (
        wall is None
        or clock == "virtual"
        or (clock == "auto" and abs(now - wall) <= CLOCK_TOLERANCE)
    ):
        return now // NS_PER_S
    return wall // NS_PER_S


def sign(key: bytes, event_id: str, timestamp: int, body: bytes) -> str:
    """Return the value of the `webhook-signature` header (Standard Webhooks v1)."""
    digest = hmac.digest(key, f"{event_id}.{timestamp}.".encode() + body, "sha256")
    return "v1," + base64.b64encode(digest).decode()


def signed_headers(key: bytes | None, event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three signature headers; none without a key."""
    if key is None:
        return {}
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": sign(key, event_id, timestamp, body),
    }
