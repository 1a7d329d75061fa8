# generated from proto/, do not edit
from __future__ import annotations

from typing import Annotated

from sim.contract.messages import FieldRule, Int32, Int64, Message


class KYCStatus(Message, kw_only=True):
    """Where a verification stands."""

    decision: str = ""
    status: str = ""
    sub_status: str = ""
    external_id: str = ""


class KYCAddress(Message, kw_only=True):
    """An address in the United States."""

    address_line_1: Annotated[str, FieldRule(required=True)] = ""
    address_line_2: str = ""
    city: Annotated[str, FieldRule(required=True)] = ""
    state: Annotated[str, FieldRule(required=True)] = ""  # two letters
    postal_code: Annotated[str, FieldRule(required=True)] = ""  # five digits
    country: str = ""


class KYCAgreement(Message, kw_only=True):
    """The agreement the person accepted."""

    version: Annotated[str, FieldRule(required=True)] = ""
    signed_at: Annotated[str, FieldRule(required=True)] = ""  # ISO 8601, UTC


class KYCDocv(Message, kw_only=True):
    """Where to capture a document."""

    docv_transaction_token: str = ""
    event_id: str = ""
    # PNG as a data URL: data:image/png;base64,…
    qr_code: Annotated[str, FieldRule(address=True)] = ""
    url: Annotated[str, FieldRule(address=True)] = ""
    sdk_key: str = ""  # always empty


class StartKYCVerificationRequest(Message, kw_only=True):
    """The person to verify."""

    ssn: Annotated[str, FieldRule(secret=True, required=True)] = ""  # digits
    address: Annotated[KYCAddress | None, FieldRule(required=True)] = None
    date_of_birth: Annotated[str, FieldRule(required=True)] = ""  # YYYY-MM-DD
    phone_number: Annotated[str, FieldRule(required=True)] = ""  # E.164
    email: Annotated[str, FieldRule(required=True)] = ""
    first_name: Annotated[str, FieldRule(required=True)] = ""
    middle_name: str = ""
    last_name: Annotated[str, FieldRule(required=True)] = ""
    session_token: str = ""
    referral_code: str | None = None
    ip_address: Annotated[str, FieldRule(required=True)] = ""
    # at most 49 characters, unique per firm
    external_id: Annotated[str, FieldRule(required=True)] = ""
    agreement: Annotated[KYCAgreement | None, FieldRule(required=True)] = None
    docv_eligible: bool | None = None  # may be sent to document verification (§3.5)


class StartKYCVerificationResponse(Message, kw_only=True):
    """First result of a verification."""

    status: KYCStatus | None = None
    # only while a document is asked for
    docv: Annotated[KYCDocv | None, FieldRule(omit_empty=True)] = None
    participant_id: str = ""  # empty until provisioned
    decision: str = ""  # copy of status.decision (§4.3 reads it here)
    sub_status: str = ""  # copy of status.sub_status


class GetKYCStatusRequest(Message, kw_only=True):
    """Whose verification."""

    external_id: Annotated[str, FieldRule(required=True)] = ""


class GetKYCStatusResponse(Message, kw_only=True):
    """The verification as it stands."""

    status: KYCStatus | None = None
    participant_id: str = ""  # empty until provisioned
    provisioned_account: str = ""
    # only while a document is asked for
    docv: Annotated[KYCDocv | None, FieldRule(omit_empty=True)] = None
    decision: str = ""  # copy of status.decision
    sub_status: str = ""  # copy of status.sub_status


class SetWebhookURLRequest(Message, kw_only=True):
    """Where to deliver, and with which secret."""

    webhook_url: Annotated[str, FieldRule(required=True)] = ""  # https
    # whsec_<base64>, at least 24 bytes decoded; empty clears it
    signing_secret: Annotated[str, FieldRule(secret=True)] = ""


class SetWebhookURLResponse(Message, kw_only=True):
    """Result of the test delivery."""

    validated: bool = False  # the test delivery was acknowledged; false: nothing was saved
    message: str = ""  # what came of the test delivery


class StartKYCPrefillRequest(Message, kw_only=True):
    """Whose phone."""

    date_of_birth: Annotated[str, FieldRule(required=True)] = ""
    phone_number: Annotated[str, FieldRule(required=True)] = ""  # E.164
    session_token: str = ""
    user_id: Annotated[str, FieldRule(required=True)] = ""
    ip_address: str = ""


class StartKYCPrefillResponse(Message, kw_only=True):
    """The code is on its way."""

    status: KYCStatus | None = None
    external_id: str = ""


class SubmitKYCPrefillOTPRequest(Message, kw_only=True):
    """The code."""

    otp: Annotated[str, FieldRule(secret=True, required=True)] = ""  # four to eight digits
    external_id: Annotated[str, FieldRule(required=True)] = ""


class SubmitKYCPrefillOTPResponse(Message, kw_only=True):
    """What is known of the person."""

    status: KYCStatus | None = None
    address: KYCAddress | None = None
    ssn: Annotated[str | None, FieldRule(secret=True)] = None  # last four digits
    date_of_birth: str | None = None
    phone_number: str | None = None  # E.164
    email: str | None = None
    first_name: str | None = None
    middle_name: str | None = None
    last_name: str | None = None


class ReferralCode(Message, kw_only=True):
    """A referral code and its use."""

    referral_code: str = ""
    user_id: str = ""
    isv_id: str = ""
    used_count: Int64 = 0
    category: str | None = None


class ReferralAmount(Message, kw_only=True):
    """What a referral is worth."""

    value: str = ""  # decimal text
    currency: str = ""  # ISO 4217 code


class CreateISVReferralCodeRequest(Message, kw_only=True):
    """The code and its owner."""

    user_id: Annotated[str, FieldRule(required=True)] = ""
    referral_code: Annotated[str, FieldRule(required=True)] = ""
    category: str | None = None


class CreateISVReferralCodeResponse(Message, kw_only=True):
    """The code exists."""


class GetReferralCodesRequest(Message, kw_only=True):
    """Which codes."""

    user_id: str | None = None
    category: str | None = None
    code: str | None = None
    cursor: str = ""  # next_cursor of the page before
    limit: Int32 = 0


class GetReferralCodesResponse(Message, kw_only=True):
    """One page of codes."""

    referral_codes: list[ReferralCode] = []
    next_cursor: Annotated[str, FieldRule(omit_empty=True)] = ""
    eof: bool = False  # true on the last page


class CheckReferralCodeRequest(Message, kw_only=True):
    """Which code."""

    referral_code: Annotated[str, FieldRule(required=True)] = ""


class CheckReferralCodeResponse(Message, kw_only=True):
    """Whether it is valid, and for how much."""

    is_valid: bool = False
    user_id: str | None = None
    amount: ReferralAmount | None = None
