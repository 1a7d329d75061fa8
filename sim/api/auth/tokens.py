"""The token issuer's one operation (§4.5, §5.1).

`pipeline/verification.py` has verified the assertion, and `core/identity/credentials.py` decides.
"""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.core.exchange import Exchange
from sim.core.identity.credentials import TokenRequest
from sim.messages.issuer_v1 import IssueTokenRequest, IssueTokenResponse


@handles("TokenIssuerAPI.IssueToken")
def issue_token(
    exchange: Exchange, caller: Caller, request: IssueTokenRequest
) -> IssueTokenResponse:
    """Issue a bearer token for 180 seconds.

    The assertion itself is redacted in the request; `caller.credential` holds its verification.
    """
    credential = caller.credential
    is_assertion = credential.kind == "assertion"
    grant = exchange.credentials.issue(
        TokenRequest(
            grant_type=request.grant_type,
            client_id=request.client_id,
            assertion_type=request.client_assertion_type,
            audience=request.audience,
            audience_known=credential.claims.get("audience") == "known",
            subject=credential.key if is_assertion else "",
            problem=credential.problem if is_assertion else "missing",
            nonce=credential.nonce,
        )
    )
    return IssueTokenResponse(
        access_token=grant.access_token, token_type="Bearer", expires_in=grant.expires_in
    )
