"""Identity verification over REST: start, status, and where the firm wants to be told (§3.5, §4.3,
§6.1).
"""

from __future__ import annotations

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.deferred import DeferredResponse
from sim.api.pipeline.handler import handles
from sim.core.exchange import Exchange
from sim.core.identity.kyc import Docv, KycStatus
from sim.core.identity.kyc_application import KycAddress, KycApplication
from sim.core.model.refusals import InvalidRequest
from sim.core.webhooks.records import PendingRegistration
from sim.messages import exchange_kyc_v1 as wire


@handles("KYCAPI.StartKYCVerification")
def start_kyc_verification(
    exchange: Exchange, caller: Caller, request: wire.StartKYCVerificationRequest
) -> wire.StartKYCVerificationResponse:
    """Start a verification. An approved person has a participant_id only once provisioned."""
    firm = firm_of(exchange, caller).name
    case = exchange.kyc.start(firm, _application(request))
    found = exchange.kyc.status(firm, case.external_id)
    return wire.StartKYCVerificationResponse(
        status=_status_message(found),
        docv=_docv_message(found.docv),
        participant_id=found.participant,
        decision=found.decision,
        sub_status=found.sub_status,
    )


@handles("KYCAPI.GetKYCStatus")
def get_kyc_status(
    exchange: Exchange, caller: Caller, request: wire.GetKYCStatusRequest
) -> wire.GetKYCStatusResponse:
    """Where a verification stands; NOT_STARTED for an id the firm never used."""
    if not request.external_id:
        raise InvalidRequest(
            "external_id is required", rule="K2", remedy="send the external_id of the start"
        )
    found = exchange.kyc.status(firm_of(exchange, caller).name, request.external_id)
    return wire.GetKYCStatusResponse(
        status=_status_message(found),
        participant_id=found.participant,
        provisioned_account=found.provisioned_account,
        docv=_docv_message(found.docv),
        decision=found.decision,
        sub_status=found.sub_status,
    )


@handles("KYCAPI.SetWebhookURL")
def set_webhook_url(
    exchange: Exchange, caller: Caller, request: wire.SetWebhookURLRequest
) -> DeferredResponse:
    """Ask for a URL to become the firm's. The answer waits until the test delivery is answered: see
    `webhook_registration`.
    """
    pending = exchange.webhooks.register(
        firm_of(exchange, caller).name, request.webhook_url, request.signing_secret
    )
    return DeferredResponse(pending.id)


def webhook_registration(
    exchange: Exchange, settled: PendingRegistration
) -> wire.SetWebhookURLResponse:
    """Answer a registration whose test delivery was acknowledged, refused or ignored (rule K8)."""
    return wire.SetWebhookURLResponse(validated=settled.validated is True, message=settled.message)


def _application(request: wire.StartKYCVerificationRequest) -> KycApplication:
    agreement = request.agreement or wire.KYCAgreement()
    return KycApplication(
        external_id=request.external_id,
        ssn=request.ssn,
        first_name=request.first_name,
        middle_name=request.middle_name,
        last_name=request.last_name,
        date_of_birth=request.date_of_birth,
        email=request.email,
        phone_number=request.phone_number,
        address=_address(request.address),
        agreement_version=agreement.version,
        agreement_signed_at=agreement.signed_at,
        ip_address=request.ip_address,
        session_token=request.session_token,
        docv_eligible=bool(request.docv_eligible),
        referral_code=request.referral_code or "",
    )


def _address(given: wire.KYCAddress | None) -> KycAddress | None:
    if given is None:
        return None
    return KycAddress(
        address_line_1=given.address_line_1,
        address_line_2=given.address_line_2,
        city=given.city,
        state=given.state,
        postal_code=given.postal_code,
        country=given.country,
    )


def _status_message(found: KycStatus) -> wire.KYCStatus:
    return wire.KYCStatus(
        decision=found.decision,
        status=found.status,
        sub_status=found.sub_status,
        external_id=found.external_id,
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
