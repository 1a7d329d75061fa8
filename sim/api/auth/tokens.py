"""The token issuer's one operation (§4.5, §5.1). Decisions are `core/credentials.py`'s, findings on
the assertion the door's.
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
    """A bearer token for 180 seconds. `request.client_assertion` was sealed; what it proves is
    `caller.credential`.
    """
    found = caller.credential
    judged = found.kind == "assertion"
    grant = exchange.credentials.issue(
        TokenRequest(
            grant_type=request.grant_type,
            client_id=request.client_id,
            assertion_type=request.client_assertion_type,
            audience=request.audience,
            audience_known=found.claims.get("audience") == "known",
            subject=found.key if judged else "",
            problem=found.problem if judged else "missing",
            nonce=found.nonce,
        )
    )
    return IssueTokenResponse(
        access_token=grant.access_token, token_type="Bearer", expires_in=grant.expires_in
    )
