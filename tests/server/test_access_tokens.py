"""Access tokens as stock OAuth clients see them: RS256, with published keys."""

from __future__ import annotations

from typing import Any

import jwt
import pytest
import requests
from joserfc import errors
from joserfc import jwt as jose
from joserfc.jwk import KeySet

from sim import load_scenario
from sim.read.replay import replay_file
from sim.testing.exchange_fixture import ServedExchange
from tests.server.stock_oauth import token as authlib_token

NO_CLOCK = {"verify_exp": False, "verify_iat": False}  # the exchange has a clock of its own


def metadata(exchange: ServedExchange) -> dict[str, Any]:
    result = requests.get(f"{exchange.auth}/.well-known/openid-configuration", timeout=5)
    assert result.headers["Cache-Control"] == "public, max-age=15"
    document: dict[str, Any] = result.json()
    return document


def part_of(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, None, "none").split(".")[1]


def whoami(exchange: ServedExchange, token: str) -> requests.Response:
    headers = {"Authorization": f"Bearer {token}"}
    return requests.get(f"{exchange.exchange}/v1/whoami", headers=headers, timeout=5)


@pytest.mark.observed("auth.access_tokens")
def test_pyjwt_finds_the_key_and_verifies_issuer_audience_and_life(exchange):
    """§5.1: what was asked for as audience is in the token, and whoami repeats it."""
    token = authlib_token(exchange)
    issuer = metadata(exchange)
    key = jwt.PyJWKClient(issuer["jwks_uri"]).get_signing_key_from_jwt(token)
    audience = exchange.ready["firms"][0]["audience"]
    claims = jwt.decode(
        token, key, ["RS256"], audience=audience, issuer=issuer["issuer"], options=NO_CLOCK
    )
    assert issuer["issuer"] == f"{exchange.auth}/"
    assert issuer["token_endpoint"] == f"{exchange.auth}/oauth/token"
    assert claims["exp"] - claims["iat"] == 180
    assert claims["iat"] == exchange.now.timestamp()
    assert whoami(exchange, token).json()["audience"] == audience == claims["aud"]
    with pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(token, key, ["RS256"], audience="https://elsewhere.test", options=NO_CLOCK)


def test_the_library_of_authlib_verifies_a_token_by_the_published_keys(exchange):
    token = authlib_token(exchange)
    published = requests.get(metadata(exchange)["jwks_uri"], timeout=5).json()
    result = jose.decode(token, KeySet.import_key_set(published), ["RS256"])
    issuer: Any = {"essential": True, "value": f"{exchange.auth}/"}
    now = int(exchange.now.timestamp())
    jose.JWTClaimsRegistry(now=now, iss=issuer).validate(result.claims)
    with pytest.raises(errors.ExpiredTokenError):
        jose.JWTClaimsRegistry(now=now + 181, iss=issuer).validate(result.claims)


def test_the_key_of_an_environment_is_the_same_in_every_run_and_no_other_has_it(tmp_path):
    served = {}
    for name, seed in (("sandbox", 1), ("sandbox", 2), ("development", 1), ("production", 1)):
        text = f"name: t\nextends: quickstart\nenvironment: {name}\n"
        exchange = ServedExchange(load_scenario(text), seed=seed, journal=tmp_path / "journal")
        keys = requests.get(f"{exchange.auth}/.well-known/jwks.json", timeout=5)
        served[name, seed] = keys.json()["keys"]
        exchange.close()
    assert served["sandbox", 1] == served["sandbox", 2]
    assert len({keys[0]["kid"] for keys in served.values()}) == 3


@pytest.mark.parametrize("part", ["header", "claims", "signature", "name"])
def test_a_token_that_was_changed_is_unknown(exchange, part):
    token = authlib_token(exchange)
    header, claims, signature = token.split(".")
    unsigned = jwt.decode(token, options={"verify_signature": False})
    changed = {
        "header": ".".join((jwt.encode({}, None, "none").split(".")[0], claims, signature)),
        "claims": ".".join((header, part_of(unsigned | {"sub": "x"}), signature)),
        "signature": ".".join((header, claims, signature[::-1])),
        # the claims that name addresses are no part of the token's name in the journal
        "name": ".".join((header, part_of(unsigned | {"aud": "https://x.test"}), signature)),
    }[part]
    assert whoami(exchange, changed).status_code == 401
    assert whoami(exchange, token).status_code == 200


def test_neither_tokens_nor_ports_stand_in_the_journal_and_digests_do_not_know_them(tmp_path):
    digests = set()
    for number in range(2):
        journal = tmp_path / f"{number}.ndjson"
        exchange = ServedExchange(load_scenario("quickstart"), journal=journal)
        token = authlib_token(exchange)
        metadata(exchange)
        assert whoami(exchange, token).status_code == 200
        digests.add(exchange.digest)
        exchange.close()
        text = journal.read_text()
        assert token not in text and token.split(".")[2][:20] not in text
        assert replay_file(journal).simulation.digest in digests
        assert not any("127.0.0.1:" in line.split('"aside"')[0] for line in text.splitlines()[1:])
    assert len(digests) == 1


@pytest.mark.parametrize("field", ["client_assertion", "grant_type", "audience"])
def test_a_field_that_comes_twice_is_refused(exchange, field):
    """RFC 6749 §3.2: parameters must not be included more than once."""
    form = [("grant_type", "client_credentials"), ("audience", exchange.exchange)]
    form += [("client_assertion", "eyJhbGciOiJSUzI1NiJ9.e30.x"), (field, "again")]
    answer = requests.post(f"{exchange.auth}/oauth/token", data=form, timeout=5)
    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_request"
    assert f"{field}: given more than once" in answer.json()["error_description"]
