"""The token issuer's operations (§4.5, §5.1).

`pipeline/verification.py` has verified the assertion, and `core/identity/credentials.py`
decides. Keys and metadata have the usual addresses of an issuer (RFC 7517, RFC 8414), because
§5.1 names none.
"""

from __future__ import annotations

from sim.api.pipeline.access_tokens import ALGORITHM, key_id, public_numbers, signed
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import issuer_v1 as wire
from sim.core.exchange import Exchange
from sim.core.identity.credentials import GRANT_TYPE, TokenRequest


@handles("TokenIssuerAPI.IssueToken")
def issue_token(
    exchange: Exchange, caller: Caller, request: wire.IssueTokenRequest
) -> wire.IssueTokenResponse:
    """Issue a bearer token for 180 seconds (assumption `token.life`).

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
            audience_asked=credential.audience,
            subject=credential.key if is_assertion else "",
            problem=credential.problem if is_assertion else "missing",
            nonce=credential.nonce,
        )
    )
    token = signed(exchange.credentials.environment.name, grant.claims)
    return wire.IssueTokenResponse(
        access_token=token, token_type="Bearer", expires_in=grant.expires_in
    )


@handles("TokenIssuerAPI.GetSigningKeys")
def get_signing_keys(
    exchange: Exchange, request: wire.GetSigningKeysRequest
) -> wire.GetSigningKeysResponse:
    """Return the public key of this environment's access tokens."""
    environment = exchange.credentials.environment.name
    exponent, modulus = public_numbers(environment)
    key = wire.SigningKey(
        kty="RSA", use="sig", alg=ALGORITHM, kid=key_id(environment), n=modulus, e=exponent
    )
    return wire.GetSigningKeysResponse(keys=[key])


@handles("TokenIssuerAPI.GetIssuerMetadata")
def get_issuer_metadata(
    exchange: Exchange, request: wire.GetIssuerMetadataRequest
) -> wire.GetIssuerMetadataResponse:
    """Return the issuer's addresses and what its token endpoint takes."""
    issuer = exchange.credentials.issuer
    return wire.GetIssuerMetadataResponse(
        issuer=f"{issuer}/",
        token_endpoint=f"{issuer}/oauth/token",
        jwks_uri=f"{issuer}/.well-known/jwks.json",
        grant_types_supported=[GRANT_TYPE],
        token_endpoint_auth_methods_supported=["private_key_jwt"],
        token_endpoint_auth_signing_alg_values_supported=[ALGORITHM],
    )
