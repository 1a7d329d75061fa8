"""Identity verification on the exchange API: start, status, webhook (§3.5, §4.3, §6.1)."""

from __future__ import annotations

from msgspec import convert
from msgspec.structs import replace

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.deferred import DeferredResponse
from sim.api.pipeline.handler import handles
from sim.contract.messages import exchange_kyc_v1 as wire
from sim.core.exchange import Exchange
from sim.core.identity.kyc import Docv, KycStatus
from sim.core.identity.kyc_application import KycApplication
from sim.core.model.refusals import InvalidRequest
from sim.core.webhooks.records import PendingRegistration


@handles("KYCAPI.StartKYCVerification")
def start_kyc_verification(
    exchange: Exchange, caller: Caller, request: wire.StartKYCVerificationRequest
) -> wire.StartKYCVerificationResponse:
    """Start a verification. An approved person has no participant_id until provisioned."""
    firm = firm_of(exchange, caller).name
    case = exchange.kyc.start(firm, _application(request))
    status = exchange.kyc.status(firm, case.external_id)
    return wire.StartKYCVerificationResponse(
        status=_status_message(status),
        docv=_docv_message(status.docv),
        participant_id=status.participant,
        decision=status.decision,
        sub_status=status.sub_status,
    )


@handles("KYCAPI.GetKYCStatus")
def get_kyc_status(
    exchange: Exchange, caller: Caller, request: wire.GetKYCStatusRequest
) -> wire.GetKYCStatusResponse:
    """Return the status of a verification; NOT_STARTED for an id the firm has not used."""
    if not request.external_id:
        raise InvalidRequest(
            "external_id is required",
            rule="K2",
            remedy="send the external_id with which the verification started",
        )
    status = exchange.kyc.status(firm_of(exchange, caller).name, request.external_id)
    return wire.GetKYCStatusResponse(
        status=_status_message(status),
        participant_id=status.participant,
        provisioned_account=status.provisioned_account,
        docv=_docv_message(status.docv),
        decision=status.decision,
        sub_status=status.sub_status,
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


def _status_message(status: KycStatus) -> wire.KYCStatus:
    return wire.KYCStatus(
        decision=status.decision,
        status=status.status,
        sub_status=status.sub_status,
        external_id=status.external_id,
    )


def _docv_message(docv: Docv | None) -> wire.KYCDocv | None:
    if docv is None:
        return None
    return wire.KYCDocv(
        docv_transaction_token=docv.transaction_token,
        event_id=docv.event_id,
        qr_code=docv.qr_code,
        url=docv.url,
    )
