"""The token issuer's decisions (§4.5, §5.1)."""

from __future__ import annotations

import msgspec
import pytest

from sim.core.identity import credentials as module
from sim.core.identity.assertion_problems import PROBLEMS, OAuthRefusal
from sim.core.identity.credentials import (
    ASSERTION_TYPE,
    Credentials,
    CredentialsState,
    TokenRequest,
    fingerprint,
)
from sim.core.identity.firms import Firm, Firms
from sim.core.model.context import Context
from sim.core.model.refusals import Unauthenticated
from sim.kernel.instants import NS_PER_S, parse_instant, seconds

START = parse_instant("2026-09-08T18:00:00Z")
GOOD = TokenRequest(
    grant_type="client_credentials",
    client_id="client-acme",
    assertion_type=ASSERTION_TYPE,
    audience="https://api.sandbox.test",
    audience_known=True,
    subject="client-acme",
    nonce="n1",
)


def make(seed: int = 7) -> tuple[Context, Credentials]:
    ctx = Context(seed=seed, now=START)
    scopes = ("read:orders", "write:orders")
    acme = Firm(name="firms/Acme", client_id="client-acme", scopes=scopes)
    return ctx, Credentials(ctx, Firms(ctx, [acme]))


def changed(**fields: object) -> TokenRequest:
    return msgspec.structs.replace(GOOD, **fields)


def test_a_token_carries_the_firm_its_scopes_and_180_seconds_of_virtual_time() -> None:
    _, credentials = make()
    grant = credentials.issue(GOOD)
    expected = {
        "sub": "client-acme",
        "firm_id": "Acme",
        "scope": "read:orders write:orders",
        "aud": "https://api.sandbox.test",
        "iat": START // NS_PER_S,
        "exp": START // NS_PER_S + 180,
    }
    assert (grant.expires_in, grant.claims | expected) == (180, grant.claims)


def test_tokens_depend_on_the_seed_alone_and_never_repeat() -> None:
    first, second = (make()[1] for _ in range(2))
    assert first.issue(GOOD).claims == second.issue(GOOD).claims
    assert first.issue(changed(nonce="n2")).claims != make(seed=8)[1].issue(GOOD).claims
    assert first.issue(changed(nonce="n3")).claims != first.issue(changed(nonce="n4")).claims


def test_a_token_works_until_its_180_seconds_have_passed() -> None:
    ctx, credentials = make()
    name = fingerprint("sandbox", credentials.issue(GOOD).claims)
    result = credentials.authenticate(name, START + seconds(180) - 1)
    assert (result.firm, result.scopes) == ("firms/Acme", ("read:orders", "write:orders"))
    with pytest.raises(Unauthenticated) as expired:
        credentials.authenticate(name, START + seconds(180))
    with pytest.raises(Unauthenticated) as unknown:
        credentials.authenticate("0" * 32, ctx.now)
    assert "expired" in expired.value.remedy
    assert "not issued here" in unknown.value.remedy


@pytest.mark.parametrize("problem", sorted(set(PROBLEMS) - {"reused"}))
def test_every_problem_of_an_assertion_has_its_oauth_error(problem: str) -> None:
    """E3."""
    _, credentials = make()
    with pytest.raises(OAuthRefusal) as refused:
        credentials.issue(changed(problem=problem))
    error, http, description, _ = PROBLEMS[problem]
    result = refused.value
    assert (result.error, result.http, result.message) == (error, http, description)
    assert http == (401 if error == "invalid_client" else 400)


@pytest.mark.parametrize(
    ("fields", "error", "http"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type", 400),
        ({"grant_type": ""}, "invalid_request", 400),
        ({"assertion_type": "jwt"}, "invalid_request", 400),
        ({"client_id": "client-other"}, "invalid_client_assertion", 400),
        ({"audience": ""}, "invalid_request", 400),
        ({"audience_known": False}, "access_denied", 403),
        ({"client_id": "nobody", "subject": "nobody"}, "invalid_client", 401),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, object], error: str, http: int) -> None:
    _, credentials = make()
    with pytest.raises(OAuthRefusal) as refused:
        credentials.issue(changed(**fields))
    assert (refused.value.error, refused.value.http) == (error, http)


def test_a_jti_works_once_also_after_a_save_and_load() -> None:
    """E3."""
    _, credentials = make()
    credentials.issue(GOOD)
    restored = make()[1]
    restored.load(
        msgspec.msgpack.decode(msgspec.msgpack.encode(credentials.save()), type=CredentialsState)
    )
    for issuer in (credentials, restored):
        with pytest.raises(OAuthRefusal, match="jti has been used before"):
            issuer.issue(GOOD)


def test_a_refused_assertion_does_not_spend_its_jti() -> None:
    _, credentials = make()
    with pytest.raises(OAuthRefusal):
        credentials.issue(changed(problem="signature"))
    assert credentials.issue(GOOD).expires_in == 180


def test_memory_of_tokens_and_jtis_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REMEMBERED_NONCES", 5)
    monkeypatch.setattr(module, "REMEMBERED_TOKENS", 5)
    _, credentials = make()
    for number in range(20):
        credentials.issue(changed(nonce=f"n{number}"))
    assert list(credentials.save().nonces) == [f"n{number}" for number in range(15, 20)]
    assert len(credentials.save().tokens) == 5


def test_long_expired_tokens_are_forgotten() -> None:
    ctx, credentials = make()
    credentials.issue(GOOD)
    ctx.now = START + seconds(2 * 3600)
    credentials.issue(changed(nonce="n2"))
    assert len(credentials.save().tokens) == 1


def test_the_client_id_field_is_required_unless_a_switch_says_otherwise() -> None:
    """§5.1 item 3; the assertion names the client already, so stock clients send no client_id."""
    ctx, credentials = make()
    with pytest.raises(OAuthRefusal) as refused:
        credentials.issue(changed(client_id=""))
    assert (refused.value.error, refused.value.http) == ("invalid_request", 400)
    ctx.assumptions.change("token.client_id_required", False)
    assert credentials.issue(changed(client_id="")).claims
