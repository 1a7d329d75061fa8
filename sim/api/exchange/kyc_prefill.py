"""Prefill on the exchange API: start it, and submit the one-time code.

Codes are redacted before they arrive here, so they are compared in their redacted form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address

from msgspec import convert

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles, require
from sim.api.pipeline.redaction import redact_text
from sim.contract.messages import exchange_kyc_v1 as wire
from sim.core.exchange import Exchange
from sim.core.identity.kyc_application import EXTERNAL_ID_MAX, is_birthday
from sim.core.identity.prefill import (
    CODES,
    DECISIONS,
    CodeEffect,
    Prefill,
    PrefillStage,
    SandboxPerson,
)
from sim.core.model.refusals import InvalidRequest

_PHONE = re.compile(r"\+?[1-9]\d{6,14}", re.ASCII)
_CODE = re.compile(r"\d{4,8}|sealed:d[4-8]:[0-9a-f]{32}", re.ASCII)


@handles("KYCAPI.StartKYCPrefill")
def start_kyc_prefill(
    exchange: Exchange, caller: Caller, request: wire.StartKYCPrefillRequest
) -> wire.StartKYCPrefillResponse:
    """Send a code to a phone. The prefill is identified by the firm's own id for the person."""
    problems = list(_problems(exchange, request))
    if problems:
        raise InvalidRequest("; ".join(problems), remedy="correct the named fields")
    prefill = exchange.prefills.start(
        firm_of(exchange, caller).name, request.user_id, request.phone_number, request.date_of_birth
    )
    return wire.StartKYCPrefillResponse(status=_status(prefill), external_id=prefill.external_id)


def _problems(exchange: Exchange, request: wire.StartKYCPrefillRequest) -> Iterator[str]:
    if not request.user_id.strip() or len(request.user_id) > EXTERNAL_ID_MAX:
        yield f"user_id: 1 to {EXTERNAL_ID_MAX} characters"
    if not _PHONE.fullmatch(request.phone_number):
        yield "phone_number: country code and number, such as 14155551212"
    if not is_birthday(request.date_of_birth, exchange.now):
        yield "date_of_birth: a past date, YYYY-MM-DD"
    if request.ip_address:
        try:
            ip_address(request.ip_address)
        except ValueError:
            yield "ip_address: an IPv4 or IPv6 address"


@handles("KYCAPI.SubmitKYCPrefillOTP")
def submit_kyc_prefill_otp(
    exchange: Exchange, caller: Caller, request: wire.SubmitKYCPrefillOTPRequest
) -> wire.SubmitKYCPrefillOTPResponse:
    """Return the status, and the person's data if the code is right and the person is known."""
    require(
        request.external_id,
        "external_id",
        remedy="send the externalId that startKYCPrefill returned",
    )
    if not _CODE.fullmatch(request.otp):
        raise InvalidRequest("otp: four to eight digits")
    firm, code = firm_of(exchange, caller).name, _code(exchange, request.otp)
    prefill = exchange.prefills.submit(firm, request.external_id, code)
    if prefill.stage is not PrefillStage.COMPLETE:
        return wire.SubmitKYCPrefillOTPResponse(status=_status(prefill))
    person = SandboxPerson()
    return wire.SubmitKYCPrefillOTPResponse(
        status=_status(prefill),
        address=convert(person.address, wire.KYCAddress, from_attributes=True),
        ssn=person.ssn_last_four,
        date_of_birth=prefill.date_of_birth,
        phone_number=prefill.phone,
        email=person.email,
        first_name=person.first_name,
        middle_name=person.middle_name,
        last_name=person.last_name,
    )


def _code(exchange: Exchange, otp: str) -> CodeEffect:
    """Return the code that a text stands for: redacted, or in clear in calls of a scenario."""
    key = exchange.ctx.entropy.key("sealing")
    for text, code in CODES.items():
        if otp in (text, redact_text(text, key, {})):
            return code
    return CodeEffect.BAD


def _status(prefill: Prefill) -> wire.KYCStatus:
    stage = prefill.stage
    return wire.KYCStatus(
        decision=DECISIONS[stage], status=str(stage), external_id=prefill.external_id
    )
