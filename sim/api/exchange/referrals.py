"""Referral codes. A firm sees its own codes only.

The value of a referral is not published, so answers carry no amount.
"""

from __future__ import annotations

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import page_length, page_of
from sim.contract.messages import exchange_kyc_v1 as wire
from sim.core.exchange import Exchange
from sim.core.identity.referrals import Referral

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
