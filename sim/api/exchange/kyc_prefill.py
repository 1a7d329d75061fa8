"""Prefill over REST: start and code (wire facts §2.7). Codes are sealed at the door, so a code is
told from another by its seal.
"""

from __future__ import annotations

import re
from ipaddress import ip_address

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.redaction import redact_text
from sim.core.exchange import Exchange
from sim.core.identity.kyc_application import EXTERNAL_ID_MAX, is_birthday
from sim.core.identity.prefill import CODES, DECISIONS, Code, Person, Prefill, Stage
from sim.core.model.refusals import InvalidRequest
from sim.messages import exchange_kyc_v1 as wire

_PHONE = re.compile(r"\+?[1-9]\d{6,14}", re.ASCII)
_CODE = re.compile(r"\d{4,8}|sealed:d[4-8]:[0-9a-f]{32}", re.ASCII)


@handles("KYCAPI.StartKYCPrefill")
def start_kyc_prefill(
    exchange: Exchange, caller: Caller, request: wire.StartKYCPrefillRequest
) -> wire.StartKYCPrefillResponse:
    """Send a code to a phone. The firm's own id of the person names the prefill."""
    wrong = list(_problems(exchange, request))
    if wrong:
        raise InvalidRequest("; ".join(wrong), remedy="correct the named fields")
    made = exchange.prefills.start(
        firm_of(exchange, caller).name, request.user_id, request.phone_number, request.date_of_birth
    )
    return wire.StartKYCPrefillResponse(status=_status(made), external_id=made.external_id)


def _problems(exchange: Exchange, request: wire.StartKYCPrefillRequest) -> list[str]:
    found = []
    if not request.user_id.strip() or len(request.user_id) > EXTERNAL_ID_MAX:
        found.append(f"user_id: 1 to {EXTERNAL_ID_MAX} characters")
    if not _PHONE.fullmatch(request.phone_number):
        found.append("phone_number: country code and number, such as 14155551212")
    if not is_birthday(request.date_of_birth, exchange.now):
        found.append("date_of_birth: a past date, YYYY-MM-DD")
    if request.ip_address:
        try:
            ip_address(request.ip_address)
        except ValueError:
            found.append("ip_address: an IPv4 or IPv6 address")
    return found


@handles("KYCAPI.SubmitKYCPrefillOTP")
def submit_kyc_prefill_otp(
    exchange: Exchange, caller: Caller, request: wire.SubmitKYCPrefillOTPRequest
) -> wire.SubmitKYCPrefillOTPResponse:
    """What is known of the person, once the code is right and the person known; else where the
    prefill stands.
    """
    if not request.external_id:
        raise InvalidRequest(
            "external_id is required", remedy="send the externalId that the start answered"
        )
    if not _CODE.fullmatch(request.otp):
        raise InvalidRequest("otp: four to eight digits")
    found = exchange.prefills.submit(
        firm_of(exchange, caller).name, request.external_id, _code(exchange, request.otp)
    )
    if found.stage is not Stage.COMPLETE:
        return wire.SubmitKYCPrefillOTPResponse(status=_status(found))
    person = Person()
    address = person.address
    return wire.SubmitKYCPrefillOTPResponse(
        status=_status(found),
        address=wire.KYCAddress(
            address_line_1=address.address_line_1,
            city=address.city,
            state=address.state,
            postal_code=address.postal_code,
            country=address.country,
        ),
        ssn=person.ssn_last_four,
        date_of_birth=found.date_of_birth,
        phone_number=found.phone,
        email=person.email,
        first_name=person.first_name,
        middle_name=person.middle_name,
        last_name=person.last_name,
    )


def _code(exchange: Exchange, given: str) -> Code:
    """What a code is, sealed or (in a scenario's own calls) in clear."""
    key = exchange.ctx.entropy.key("sealing")
    return next(
        (code for text, code in CODES.items() if given in (text, redact_text(text, key, {}))),
        Code.BAD,
    )


def _status(found: Prefill) -> wire.KYCStatus:
    return wire.KYCStatus(
        decision=DECISIONS[found.stage], status=str(found.stage), external_id=found.external_id
    )
