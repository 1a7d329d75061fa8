"""The person to verify, and the checks of an application (rule K2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from ipaddress import ip_address

from msgspec import Struct

from sim.kernel.instants import Instant, eastern_date, parse_instant

EXTERNAL_ID_MAX = 49
NAME_MAX = 50

_SSN = re.compile(r"\d{9}|sealed:d9:[0-9a-f]{32}", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+")
_PHONE = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
_STATE = re.compile(r"[A-Za-z]{2}", re.ASCII)
_POSTAL_CODE = re.compile(r"\d{5}", re.ASCII)
_COUNTRIES = ("", "US", "USA")


class KycAddress(Struct, frozen=True, kw_only=True):
    """An address in the United States."""

    address_line_1: str = ""
    address_line_2: str = ""
    city: str = ""
    state: str = ""
    postal_code: str = ""
    country: str = ""


class KycApplication(Struct, frozen=True, kw_only=True):
    """Fields of an application.

    `ssn` is redacted before it arrives here, in a form that still shows whether it had nine digits;
    `agreement_signed_at` is ISO 8601 UTC text.
    """

    external_id: str = ""
    ssn: str = ""
    first_name: str = ""
    middle_name: str = ""
    last_name: str = ""
    date_of_birth: str = ""
    email: str = ""
    phone_number: str = ""
    address: KycAddress | None = None
    agreement_version: str = ""
    agreement_signed_at: str = ""
    ip_address: str = ""
    session_token: str = ""
    docv_eligible: bool = False
    referral_code: str = ""


def problems(application: KycApplication, now: Instant) -> list[str]:
    """Return one text per invalid field, beginning with its name; none for a valid application."""
    return [*_person(application, now), *_address(application.address), *_consent(application)]


def _person(application: KycApplication, now: Instant) -> Iterator[str]:
    if not application.external_id.strip() or len(application.external_id) > EXTERNAL_ID_MAX:
        yield f"external_id: 1 to {EXTERNAL_ID_MAX} characters"
    if not _SSN.fullmatch(application.ssn):
        yield "ssn: nine digits, nothing else"
    for name in ("first_name", "last_name"):
        value = getattr(application, name)
        if not value.strip() or len(value) > NAME_MAX:
            yield f"{name}: 1 to {NAME_MAX} characters"
    if not is_birthday(application.date_of_birth, now):
        yield "date_of_birth: a past date, YYYY-MM-DD"
    if not is_email(application.email):
        yield "email: an e-mail address"
    if not is_phone(application.phone_number):
        yield "phone_number: E.164, such as +14155551212"


def _address(address: KycAddress | None) -> Iterator[str]:
    if address is None:
        yield "address: required"
        return
    for name in ("address_line_1", "city"):
        if not getattr(address, name).strip():
            yield f"address.{name}: required"
    if not _STATE.fullmatch(address.state):
        yield "address.state: two letters"
    if not _POSTAL_CODE.fullmatch(address.postal_code):
        yield "address.postal_code: five digits"
    if address.country.upper() not in _COUNTRIES:
        yield "address.country: US"


def _consent(application: KycApplication) -> Iterator[str]:
    if not application.agreement_version.strip():
        yield "agreement.version: required"
    if not _is_utc(application.agreement_signed_at):
        yield "agreement.signed_at: ISO 8601 UTC, such as 2026-07-09T06:00:00Z"
    try:
        ip_address(application.ip_address)
    except ValueError:
        yield "ip_address: an IPv4 or IPv6 address"


def is_email(text: str) -> bool:
    """Return whether a text has the form of an e-mail address."""
    return _EMAIL.fullmatch(text) is not None


def is_phone(text: str) -> bool:
    """Return whether a text is a phone number in E.164."""
    return _PHONE.fullmatch(text) is not None


def is_birthday(text: str, now: Instant) -> bool:
    """Return whether a text is a date, YYYY-MM-DD, since 1900 and before today."""
    if not _DATE.fullmatch(text):
        return False
    try:
        return date(1900, 1, 1) <= date.fromisoformat(text) < eastern_date(now)
    except ValueError:
        return False


def _is_utc(text: str) -> bool:
    try:
        parse_instant(text)
    except ValueError:
        return False
    return text.endswith(("Z", "z", "+00:00"))
