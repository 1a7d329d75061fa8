"""The token endpoint's handler: from a sealed request to a token (§4.5)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sim.api.auth.tokens import issue_token
from sim.api.pipeline.access_tokens import fingerprint_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.inputs import NOBODY, VerifiedCredential
from sim.contract.messages.issuer_v1 import IssueTokenRequest
from sim.core.identity.assertion_problems import OAuthRefusal
from sim.core.identity.credentials import ASSERTION_TYPE, Credentials
from sim.core.identity.firms import Firm, Firms
from sim.core.model.context import Context
from sim.kernel.instants import parse_instant

FOUND = VerifiedCredential("assertion", "client-acme", claims={"audience": "known"}, nonce="n1")


@pytest.fixture
def exchange() -> Any:
    ctx = Context(seed=7, now=parse_instant("2026-09-08T18:00:00Z"))
    firms = Firms(ctx, [Firm(name="firms/Acme", client_id="client-acme", scopes=("read:orders",))])
    return SimpleNamespace(ctx=ctx, credentials=Credentials(ctx, firms))


def request(**fields: str) -> IssueTokenRequest:
    content = {
        "grant_type": "client_credentials",
        "client_id": "client-acme",
        "client_assertion_type": ASSERTION_TYPE,
        "client_assertion": "sealed",
        "audience": "https://api.sandbox.test",
    }
    return IssueTokenRequest(**(content | fields))


def test_a_good_request_gets_a_bearer_token_for_180_seconds(exchange: Any) -> None:
    response = issue_token(exchange, Caller(plane="auth", credential=FOUND), request())
    assert (response.token_type, response.expires_in) == ("Bearer", 180)
    token = exchange.credentials.authenticate(
        fingerprint_of(response.access_token), exchange.ctx.now
    )
    assert (token.firm, token.scopes) == ("firms/Acme", ("read:orders",))


def test_the_same_jti_works_once(exchange: Any) -> None:
    caller = Caller(plane="auth", credential=FOUND)
    issue_token(exchange, caller, request())
    with pytest.raises(OAuthRefusal, match="jti"):
        issue_token(exchange, caller, request())


CASES = [
    (NOBODY, {}, "invalid_request", 400),
    (VerifiedCredential("bearer", "x"), {}, "invalid_request", 400),
    (VerifiedCredential("assertion", "client-acme", "signature"), {}, "invalid_client", 401),
    (
        VerifiedCredential("assertion", "client-acme", "expired"),
        {},
        "invalid_client_assertion",
        400,
    ),
    (
        VerifiedCredential("assertion", "client-acme", claims={"audience": "other"}, nonce="n"),
        {},
        "access_denied",
        403,
    ),
    (FOUND, {"grant_type": "refresh_token"}, "unsupported_grant_type", 400),
    (FOUND, {"client_id": "client-other"}, "invalid_client_assertion", 400),
    (FOUND, {"audience": ""}, "invalid_request", 400),
]


@pytest.mark.parametrize(("verified_credential", "fields", "error", "http"), CASES)
def test_refusals_are_oauth_errors(
    exchange: Any,
    verified_credential: VerifiedCredential,
    fields: dict[str, str],
    error: str,
    http: int,
) -> None:
    with pytest.raises(OAuthRefusal) as refused:
        issue_token(
            exchange, Caller(plane="auth", credential=verified_credential), request(**fields)
        )
    assert (refused.value.error, refused.value.http) == (error, http)
