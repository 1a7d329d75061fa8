"""Identity verification on the exchange API: start, status, webhook, referral codes (§3.5, §4.3,
§6.1).

A firm sees its own referral codes only. The value of a referral is not published.
"""

from __future__ import annotations

from typing import Any

from msgspec import convert
from msgspec.structs import replace

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import DeferredResponse, handles, require
from sim.api.pipeline.paging import page_length, page_of
from sim.contract.messages import exchange_kyc_v1 as wire
from sim.core.exchange import Exchange
from sim.core.identity.kyc import Docv, KycStatus
from sim.core.identity.kyc_application import KycApplication
from sim.core.identity.referrals import Referral
from sim.core.webhooks.records import PendingRegistration


@handles("KYCAPI.StartKYCVerification")
def start_kyc_verification(
    exchange: Exchange, caller: Caller, request: wire.StartKYCVerificationRequest
) -> wire.StartKYCVerificationResponse:
    """Start a verification. An approved person has no participant_id until provisioned."""
    firm = firm_of(exchange, caller).name
    case = exchange.kyc.start(firm, _application(request))
    status = exchange.kyc.status(firm, case.external_id)
    return wire.StartKYCVerificationResponse(**_facts(status))


@handles("KYCAPI.GetKYCStatus")
def get_kyc_status(
    exchange: Exchange, caller: Caller, request: wire.GetKYCStatusRequest
) -> wire.GetKYCStatusResponse:
    """Return the status of a verification; NOT_STARTED for an id the firm has not used."""
    require(
        request.external_id,
        "external_id",
        rule="K2",
        remedy="send the external_id with which the verification started",
    )
    status = exchange.kyc.status(firm_of(exchange, caller).name, request.external_id)
    return wire.GetKYCStatusResponse(
        provisioned_account=status.provisioned_account, **_facts(status)
    )


@handles("KYCAPI.SetWebhookURL")
def set_webhook_url(
    exchange: Exchange, caller: Caller, request: wire.SetWebhookURLRequest
) -> DeferredResponse:
    """Register the firm's webhook URL.

    The answer is deferred until a test delivery has an outcome: see `webhook_registration`.
    """
    firm = firm_of(exchange, caller).name
    pending = exchange.webhooks.register(firm, request.webhook_url, request.signing_secret)
    return DeferredResponse(pending.id)


def webhook_registration(
    exchange: Exchange, settled: PendingRegistration
) -> wire.SetWebhookURLResponse:
    """Answer a registration according to its test delivery: acknowledged, refused or timed
    out (rule K8).
    """
    return wire.SetWebhookURLResponse(validated=settled.validated is True, message=settled.message)


def _application(request: wire.StartKYCVerificationRequest) -> KycApplication:
    """Return the application in a request. Most fields have the same name in both."""
    agreement = request.agreement or wire.KYCAgreement()
    eligible, code = bool(request.docv_eligible), request.referral_code or ""
    complete = replace(request, docv_eligible=eligible, referral_code=code)
    application = convert(complete, KycApplication, from_attributes=True)
    return replace(
        application, agreement_version=agreement.version, agreement_signed_at=agreement.signed_at
    )


def _facts(status: KycStatus) -> dict[str, Any]:
    """Return what start and status tell of a verification, by field."""
    return {
        "status": wire.KYCStatus(
            decision=status.decision,
            status=status.status,
            sub_status=status.sub_status,
            external_id=status.external_id,
        ),
        "docv": _docv_message(status.docv),
        "participant_id": status.participant,
        "decision": status.decision,
        "sub_status": status.sub_status,
    }


def _docv_message(docv: Docv | None) -> wire.KYCDocv | None:
    if docv is None:
        return None
    return wire.KYCDocv(
        docv_transaction_token=docv.transaction_token,
        event_id=docv.event_id,
        qr_code=docv.qr_code,
        url=docv.url,
    )


# ---- referral codes

_PAGE = 100


@handles("KYCAPI.CreateISVReferralCode")
def create_referral_code(
    exchange: Exchange, caller: Caller, request: wire.CreateISVReferralCodeRequest
) -> wire.CreateISVReferralCodeResponse:
    """Create a referral code of the calling firm; 409 if the firm already has it."""
    firm = firm_of(exchange, caller).name
    exchange.referrals.create(
        Referral(
            code=request.referral_code, user=request.user_id, firm=firm, category=request.category
        )
    )
    return wire.CreateISVReferralCodeResponse()


@handles("KYCAPI.GetReferralCodes")
def get_referral_codes(
    exchange: Exchange, caller: Caller, request: wire.GetReferralCodesRequest
) -> wire.GetReferralCodesResponse:
    """List the firm's codes that match every filter, oldest first.

    A page has 100 codes unless `limit` says otherwise (at most 1000).
    """
    firm = firm_of(exchange, caller).name
    codes = [
        referral
        for referral in exchange.referrals.of(firm).values()
        if request.user_id in (None, referral.user)
        and request.category in (None, referral.category)
        and request.code in (None, referral.code)
    ]
    rows, cursor = page_of(codes, request.cursor, page_length(request.limit, _PAGE))
    used = exchange.kyc.referred(firm)
    return wire.GetReferralCodesResponse(
        referral_codes=[
            wire.ReferralCode(
                referral_code=row.code,
                user_id=row.user,
                isv_id=row.firm,
                used_count=used[row.code],
                category=row.category,
            )
            for row in rows
        ],
        next_cursor=cursor,
        eof=not cursor,
    )


@handles("KYCAPI.CheckReferralCode")
def check_referral_code(
    exchange: Exchange, caller: Caller, request: wire.CheckReferralCodeRequest
) -> wire.CheckReferralCodeResponse:
    """Return whether the code exists at the calling firm, and its owner."""
    existing = exchange.referrals.of(firm_of(exchange, caller).name).get(request.referral_code)
    return wire.CheckReferralCodeResponse(
        is_valid=existing is not None, user_id=existing.user if existing else None
    )
