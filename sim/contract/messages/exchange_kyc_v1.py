# generated from proto/, do not edit
from __future__ import annotations

from sim.contract.messages import Message


class KYCStatus(Message, kw_only=True):
    """Where a verification stands."""

    decision: str = ""
    status: str = ""
    sub_status: str = ""
    external_id: str = ""

    __full_name__ = "exchange.kyc.v1.KYCStatus"
    __wire__ = (
        (1, "decision", "decision", "string", "", "", ()),
        (2, "status", "status", "string", "", "", ()),
        (3, "sub_status", "subStatus", "string", "", "", ()),
        (4, "external_id", "externalId", "string", "", "", ()),
    )


class KYCAddress(Message, kw_only=True):
    """An address in the United States."""

    address_line_1: str = ""
    address_line_2: str = ""
    city: str = ""
    state: str = ""  # two letters
    postal_code: str = ""  # five digits
    country: str = ""

    __full_name__ = "exchange.kyc.v1.KYCAddress"
    __wire__ = (
        (1, "address_line_1", "addressLine1", "string", "", "", (("required", True),)),
        (2, "address_line_2", "addressLine2", "string", "", "", ()),
        (3, "city", "city", "string", "", "", (("required", True),)),
        (4, "state", "state", "string", "", "", (("required", True),)),
        (6, "postal_code", "postalCode", "string", "", "", (("required", True),)),
        (7, "country", "country", "string", "", "", ()),
    )


class KYCAgreement(Message, kw_only=True):
    """The agreement the person accepted."""

    version: str = ""
    signed_at: str = ""  # ISO 8601, UTC

    __full_name__ = "exchange.kyc.v1.KYCAgreement"
    __wire__ = (
        (1001, "version", "version", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "signed_at", "signedAt", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class KYCDocv(Message, kw_only=True):
    """Where to capture a document."""

    docv_transaction_token: str = ""
    event_id: str = ""
    qr_code: str = ""  # PNG as a data URL: data:image/png;base64,…
    url: str = ""
    sdk_key: str = ""  # always empty

    __full_name__ = "exchange.kyc.v1.KYCDocv"
    __wire__ = (
        (1, "docv_transaction_token", "docvTransactionToken", "string", "", "", ()),
        (2, "event_id", "eventId", "string", "", "", ()),
        (3, "qr_code", "qrCode", "string", "", "", (("address", True),)),
        (4, "url", "url", "string", "", "", (("address", True),)),
        (5, "sdk_key", "sdkKey", "string", "", "", ()),
    )


class StartKYCVerificationRequest(Message, kw_only=True):
    """The person to verify."""

    ssn: str = ""  # digits
    address: KYCAddress | None = None
    date_of_birth: str = ""  # YYYY-MM-DD
    phone_number: str = ""  # E.164
    email: str = ""
    first_name: str = ""
    middle_name: str = ""
    last_name: str = ""
    session_token: str = ""
    referral_code: str | None = None
    ip_address: str = ""
    external_id: str = ""  # at most 49 characters, unique per firm
    agreement: KYCAgreement | None = None
    docv_eligible: bool | None = None  # may be sent to document verification (§3.5)

    __full_name__ = "exchange.kyc.v1.StartKYCVerificationRequest"
    __wire__ = (
        (1, "ssn", "ssn", "string", "", "", (("secret", True), ("required", True),)),
        (2, "address", "address", "message", "", "exchange.kyc.v1.KYCAddress", (("required", True),)),
        (3, "date_of_birth", "dateOfBirth", "string", "", "", (("required", True),)),
        (4, "phone_number", "phoneNumber", "string", "", "", (("required", True),)),
        (5, "email", "email", "string", "", "", (("required", True),)),
        (6, "first_name", "firstName", "string", "", "", (("required", True),)),
        (7, "middle_name", "middleName", "string", "", "", ()),
        (8, "last_name", "lastName", "string", "", "", (("required", True),)),
        (9, "session_token", "sessionToken", "string", "", "", ()),
        (12, "referral_code", "referralCode", "string", "optional", "", ()),
        (13, "ip_address", "ipAddress", "string", "", "", (("required", True),)),
        (1001, "external_id", "externalId", "string", "", "", (("unpublished", True), ("required", True),)),
        (1002, "agreement", "agreement", "message", "", "exchange.kyc.v1.KYCAgreement", (("unpublished", True), ("required", True),)),
        (1003, "docv_eligible", "docvEligible", "bool", "optional", "", (("unpublished", True),)),
    )


class StartKYCVerificationResponse(Message, kw_only=True):
    """First result of a verification."""

    status: KYCStatus | None = None
    docv: KYCDocv | None = None  # only while a document is asked for
    participant_id: str = ""  # empty until provisioned
    decision: str = ""  # copy of status.decision (§4.3 reads it here)
    sub_status: str = ""  # copy of status.sub_status

    __full_name__ = "exchange.kyc.v1.StartKYCVerificationResponse"
    __wire__ = (
        (1, "status", "status", "message", "", "exchange.kyc.v1.KYCStatus", ()),
        (2, "docv", "docv", "message", "", "exchange.kyc.v1.KYCDocv", (("omit_empty", True),)),
        (3, "participant_id", "participantId", "string", "", "", ()),
        (1001, "decision", "decision", "string", "", "", (("unpublished", True),)),
        (1002, "sub_status", "subStatus", "string", "", "", (("unpublished", True),)),
    )


class GetKYCStatusRequest(Message, kw_only=True):
    """Whose verification."""

    external_id: str = ""

    __full_name__ = "exchange.kyc.v1.GetKYCStatusRequest"
    __wire__ = (
        (1, "external_id", "externalId", "string", "", "", (("required", True),)),
    )


class GetKYCStatusResponse(Message, kw_only=True):
    """The verification as it stands."""

    status: KYCStatus | None = None
    participant_id: str = ""  # empty until provisioned
    provisioned_account: str = ""
    docv: KYCDocv | None = None  # only while a document is asked for
    decision: str = ""  # copy of status.decision
    sub_status: str = ""  # copy of status.sub_status

    __full_name__ = "exchange.kyc.v1.GetKYCStatusResponse"
    __wire__ = (
        (1, "status", "status", "message", "", "exchange.kyc.v1.KYCStatus", ()),
        (2, "participant_id", "participantId", "string", "", "", ()),
        (4, "provisioned_account", "provisionedAccount", "string", "", "", ()),
        (5, "docv", "docv", "message", "", "exchange.kyc.v1.KYCDocv", (("omit_empty", True),)),
        (1001, "decision", "decision", "string", "", "", (("unpublished", True),)),
        (1002, "sub_status", "subStatus", "string", "", "", (("unpublished", True),)),
    )


class SetWebhookURLRequest(Message, kw_only=True):
    """Where to deliver, and with which secret."""

    webhook_url: str = ""  # https
    signing_secret: str = ""  # whsec_<base64>, at least 24 bytes decoded; empty clears it

    __full_name__ = "exchange.kyc.v1.SetWebhookURLRequest"
    __wire__ = (
        (1, "webhook_url", "webhookUrl", "string", "", "", (("required", True),)),
        (1001, "signing_secret", "signingSecret", "string", "", "", (("secret", True), ("unpublished", True),)),
    )


class SetWebhookURLResponse(Message, kw_only=True):
    """Result of the test delivery."""

    validated: bool = False  # the test delivery was acknowledged; false: nothing was saved
    message: str = ""  # what came of the test delivery

    __full_name__ = "exchange.kyc.v1.SetWebhookURLResponse"
    __wire__ = (
        (1, "validated", "validated", "bool", "", "", ()),
        (2, "message", "message", "string", "", "", ()),
    )


class StartKYCPrefillRequest(Message, kw_only=True):
    """Whose phone."""

    date_of_birth: str = ""
    phone_number: str = ""  # E.164
    session_token: str = ""
    user_id: str = ""
    ip_address: str = ""

    __full_name__ = "exchange.kyc.v1.StartKYCPrefillRequest"
    __wire__ = (
        (1, "date_of_birth", "dateOfBirth", "string", "", "", (("required", True),)),
        (2, "phone_number", "phoneNumber", "string", "", "", (("required", True),)),
        (3, "session_token", "sessionToken", "string", "", "", ()),
        (4, "user_id", "userId", "string", "", "", (("required", True),)),
        (5, "ip_address", "ipAddress", "string", "", "", ()),
    )


class StartKYCPrefillResponse(Message, kw_only=True):
    """The code is on its way."""

    status: KYCStatus | None = None
    external_id: str = ""

    __full_name__ = "exchange.kyc.v1.StartKYCPrefillResponse"
    __wire__ = (
        (1, "status", "status", "message", "", "exchange.kyc.v1.KYCStatus", ()),
        (2, "external_id", "externalId", "string", "", "", ()),
    )


class SubmitKYCPrefillOTPRequest(Message, kw_only=True):
    """The code."""

    otp: str = ""  # four to eight digits
    external_id: str = ""

    __full_name__ = "exchange.kyc.v1.SubmitKYCPrefillOTPRequest"
    __wire__ = (
        (1, "otp", "otp", "string", "", "", (("secret", True), ("required", True),)),
        (2, "external_id", "externalId", "string", "", "", (("required", True),)),
    )


class SubmitKYCPrefillOTPResponse(Message, kw_only=True):
    """What is known of the person."""

    status: KYCStatus | None = None
    address: KYCAddress | None = None
    ssn: str | None = None  # last four digits
    date_of_birth: str | None = None
    phone_number: str | None = None  # E.164
    email: str | None = None
    first_name: str | None = None
    middle_name: str | None = None
    last_name: str | None = None

    __full_name__ = "exchange.kyc.v1.SubmitKYCPrefillOTPResponse"
    __wire__ = (
        (1, "status", "status", "message", "", "exchange.kyc.v1.KYCStatus", ()),
        (2, "address", "address", "message", "", "exchange.kyc.v1.KYCAddress", ()),
        (3, "ssn", "ssn", "string", "optional", "", (("secret", True),)),
        (4, "date_of_birth", "dateOfBirth", "string", "optional", "", ()),
        (5, "phone_number", "phoneNumber", "string", "optional", "", ()),
        (6, "email", "email", "string", "optional", "", ()),
        (7, "first_name", "firstName", "string", "optional", "", ()),
        (8, "middle_name", "middleName", "string", "optional", "", ()),
        (9, "last_name", "lastName", "string", "optional", "", ()),
    )


class ReferralCode(Message, kw_only=True):
    """A referral code and its use."""

    referral_code: str = ""
    user_id: str = ""
    isv_id: str = ""
    used_count: int = 0
    category: str | None = None

    __full_name__ = "exchange.kyc.v1.ReferralCode"
    __wire__ = (
        (1, "referral_code", "referralCode", "string", "", "", ()),
        (2, "user_id", "userId", "string", "", "", ()),
        (3, "isv_id", "isvId", "string", "", "", ()),
        (4, "used_count", "usedCount", "int64", "", "", ()),
        (5, "category", "category", "string", "optional", "", ()),
    )


class ReferralAmount(Message, kw_only=True):
    """What a referral is worth."""

    value: str = ""  # decimal text
    currency: str = ""  # ISO 4217 code

    __full_name__ = "exchange.kyc.v1.ReferralAmount"
    __wire__ = (
        (1, "value", "value", "string", "", "", ()),
        (2, "currency", "currency", "string", "", "", ()),
    )


class CreateISVReferralCodeRequest(Message, kw_only=True):
    """The code and its owner."""

    user_id: str = ""
    referral_code: str = ""
    category: str | None = None

    __full_name__ = "exchange.kyc.v1.CreateISVReferralCodeRequest"
    __wire__ = (
        (1, "user_id", "userId", "string", "", "", (("required", True),)),
        (2, "referral_code", "referralCode", "string", "", "", (("required", True),)),
        (3, "category", "category", "string", "optional", "", ()),
    )


class CreateISVReferralCodeResponse(Message, kw_only=True):
    """The code exists."""

    __full_name__ = "exchange.kyc.v1.CreateISVReferralCodeResponse"


class GetReferralCodesRequest(Message, kw_only=True):
    """Which codes."""

    user_id: str | None = None
    category: str | None = None
    code: str | None = None
    cursor: str = ""  # next_cursor of the page before
    limit: int = 0

    __full_name__ = "exchange.kyc.v1.GetReferralCodesRequest"
    __wire__ = (
        (1, "user_id", "userId", "string", "optional", "", ()),
        (2, "category", "category", "string", "optional", "", ()),
        (3, "code", "code", "string", "optional", "", ()),
        (4, "cursor", "cursor", "string", "", "", ()),
        (5, "limit", "limit", "int32", "", "", ()),
    )


class GetReferralCodesResponse(Message, kw_only=True):
    """One page of codes."""

    referral_codes: list[ReferralCode] = []
    next_cursor: str = ""
    eof: bool = False  # true on the last page

    __full_name__ = "exchange.kyc.v1.GetReferralCodesResponse"
    __wire__ = (
        (1, "referral_codes", "referralCodes", "message", "repeated", "exchange.kyc.v1.ReferralCode", ()),
        (2, "next_cursor", "nextCursor", "string", "", "", (("omit_empty", True),)),
        (3, "eof", "eof", "bool", "", "", ()),
    )


class CheckReferralCodeRequest(Message, kw_only=True):
    """Which code."""

    referral_code: str = ""

    __full_name__ = "exchange.kyc.v1.CheckReferralCodeRequest"
    __wire__ = (
        (1, "referral_code", "referralCode", "string", "", "", (("required", True),)),
    )


class CheckReferralCodeResponse(Message, kw_only=True):
    """Whether it is valid, and for how much."""

    is_valid: bool = False
    user_id: str | None = None
    amount: ReferralAmount | None = None

    __full_name__ = "exchange.kyc.v1.CheckReferralCodeResponse"
    __wire__ = (
        (1, "is_valid", "isValid", "bool", "", "", ()),
        (2, "user_id", "userId", "string", "optional", "", ()),
        (3, "amount", "amount", "message", "", "exchange.kyc.v1.ReferralAmount", ()),
    )
