"""Problems of a client assertion, and the OAuth error that answers each (§5.1)."""

from __future__ import annotations

from typing import TypeAlias

from sim.core.model.refusals import Code, Refusal


class OAuthRefusal(Refusal):
    """A refusal by the token endpoint: an HTTP status and an OAuth error (RFC 6749 §5.2, and
    the documented `invalid_client_assertion`).
    """

    code = Code.UNAUTHENTICATED
    section = "5.1"

    def __init__(
        self, error: str, http: int, description: str, *, rule: str = "E3", remedy: str = ""
    ) -> None:
        super().__init__(description, rule=rule, remedy=remedy)
        self.error = error
        self.http = http


Problem: TypeAlias = tuple[str, int, str, str]  # OAuth error, HTTP status, description, remedy


def _assertion(description: str, remedy: str) -> Problem:
    return "invalid_client_assertion", 400, description, remedy


def _client(description: str, remedy: str) -> Problem:
    return "invalid_client", 401, description, remedy


PROBLEMS: dict[str, Problem] = {
    "missing": (
        "invalid_request",
        400,
        "client_assertion is required",
        "send the signed assertion as client_assertion",
    ),
    "malformed": _assertion(
        "client_assertion is not a JWT", "send header.payload.signature, each part base64url"
    ),
    "algorithm": _assertion(
        "client_assertion must be signed with RS256",
        "sign with the registered RSA key and alg RS256",
    ),
    "unknown_client": _client(
        "unknown client", "use the client id that the firm received for this environment"
    ),
    "environment": _client(
        "unknown client", "these credentials belong to another environment; each needs its own"
    ),
    "signature": _client(
        "client authentication failed", "sign with the private half of the registered key"
    ),
    "subject": _assertion("iss and sub must both be the client id", "set iss = sub = client_id"),
    "audience": _assertion(
        "aud is not this token endpoint",
        "set aud to the token endpoint's URL or to the API address",
    ),
    "claims": _assertion(
        "iat, exp and jti are required", "send iat and exp in unix seconds and a fresh jti"
    ),
    "lifetime": _assertion(
        "exp must be after iat, and not too long after it", "set exp to 4 minutes after iat"
    ),
    "early": _assertion(
        "client_assertion is not valid yet", "check the clock of the machine that sets iat and nbf"
    ),
    "expired": _assertion("client_assertion has expired", "sign a new assertion for every call"),
    "reused": _assertion("jti has been used before", "use a new jti for every assertion"),
}
# What rule E3 demands of an assertion. The others miss what the specification says itself.
_BY_E3 = frozenset({"algorithm", "subject", "lifetime", "expired", "reused"})


def refusal_of(problem: str) -> OAuthRefusal:
    """Return the refusal for a problem, a key of `PROBLEMS`."""
    error, http, description, remedy = PROBLEMS[problem]
    rule = "E3" if problem in _BY_E3 else "S5.1-1"
    return OAuthRefusal(error, http, description, rule=rule, remedy=remedy)
