"""The door: what is found about credentials and secrets, and what is journalled instead of them."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.api.pipeline.access_tokens import fingerprint_of
from sim.api.pipeline.inputs import NOBODY, RestCall, VerifiedCredential, without_nonce
from sim.api.pipeline.redaction import (
    REDACTED,
    api_key,
    bearer,
    redact_body,
    redact_fields,
    redact_frame,
    redact_open,
    redact_rest,
    redact_rpc,
    redact_text,
)
from sim.api.pipeline.settings import Settings
from sim.api.pipeline.verification import Headers
from sim.contract.contract import Plane, load_contract
from sim.contract.wire_fields import fields_of
from sim.core.identity.credentials import Credentials
from sim.core.identity.firms import ApiKey, Firm, Firms
from sim.core.model.context import Context
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant, days, parse_instant, seconds
from tests.journeys import firm
from tests.kit import Desk

START = parse_instant("2026-09-08T18:00:00Z")
AUDIENCE = "https://api.sandbox.test"
TOKEN_URL = "http://127.0.0.1:18083/oauth/token"


@lru_cache(maxsize=2)
def rsa_key(which: int) -> RSAPrivateKey:
    return generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(key: RSAPrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


RETAIL = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


class Exchange:
    """The parts of an exchange that the door reads."""

    def __init__(self) -> None:
        self.ctx = Context(seed=7, now=START)
        self.firms = Firms(
            self.ctx,
            [
                Firm(
                    name="firms/Acme",
                    client_id="client-acme",
                    public_key_pem=public_pem(rsa_key(0)),
                ),
                Firm(
                    name="firms/Far",
                    client_id="client-far",
                    public_key_pem=public_pem(rsa_key(0)),
                    environment="elsewhere",
                ),
            ],
            [
                ApiKey(
                    key_id="k1",
                    public_key=RETAIL.public_key().public_bytes_raw(),
                    account="retail/1",
                ),
                ApiKey(
                    key_id="k2",
                    public_key=RETAIL.public_key().public_bytes_raw(),
                    account="retail/2",
                    environment="elsewhere",
                ),
            ],
        )
        self.credentials = Credentials(self.ctx, self.firms)


@dataclass
class RedactionContext:
    """What the door needs of a simulation."""

    exchange: Exchange = field(default_factory=Exchange)
    settings: Settings = field(default_factory=lambda: Settings(token_url=TOKEN_URL))
    signing_secrets: dict[str, bytes] = field(default_factory=dict)


@pytest.fixture
def house() -> RedactionContext:
    return RedactionContext()


# ---- bearer tokens


def test_a_bearer_token_is_named_by_its_fingerprint_and_never_shown() -> None:
    sealed = bearer("Bearer aaa.bbb.ccc")
    assert sealed == VerifiedCredential("bearer", fingerprint_of("aaa.bbb.ccc"))
    assert b"aaa.bbb" not in msgspec.json.encode(sealed)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, NOBODY),
        ("", NOBODY),
        ("bearer aaa.bbb.ccc", VerifiedCredential("bearer", fingerprint_of("aaa.bbb.ccc"))),
        ("Basic aaa", VerifiedCredential("bearer", problem="scheme")),
        ("Bearer", VerifiedCredential("bearer", problem="malformed")),
        ("Bearer not a token", VerifiedCredential("bearer", problem="malformed")),
    ],
)
def test_authorization_headers(header: str | None, expected: VerifiedCredential) -> None:
    assert bearer(header) == expected


def test_rpcs_and_streams_are_sealed_alike(house: RedactionContext) -> None:
    metadata = {"authorization": "Bearer a.b.c", "x-participant-id": "firms/Acme/users/u"}
    call = redact_rpc("/x.Y/Z", metadata, b"\x01", "peer")
    stream = redact_open(house, "/x.Y/Z", metadata, b"\x01", "peer", START)
    assert (call.credential, call.participant) == (bearer("Bearer a.b.c"), "firms/Acme/users/u")
    assert (stream.credential, stream.participant, stream.web_socket) == (
        call.credential,
        call.participant,
        False,
    )


# ---- retail signatures


def signed(text: str, at: Instant = START, key_id: str = "k1") -> dict[str, str]:
    timestamp = str(at // NS_PER_MS)
    signature = base64.b64encode(RETAIL.sign(f"{timestamp}{text}".encode())).decode()
    return {"x-pm-access-key": key_id, "x-pm-timestamp": timestamp, "x-pm-signature": signature}


@pytest.mark.parametrize(
    ("text", "problem"), [("GET/v1/orders/open", ""), ("GET/v1/orders/open?limit=5", "signature")]
)
def test_a_signature_covers_the_path_without_its_query(
    house: RedactionContext, text: str, problem: str
) -> None:
    result = api_key(house, "get", "/v1/orders/open", Headers(signed(text)), None)
    assert (result.key, result.problem) == ("k1", problem)


GOOD = signed("GET/v1/x")
BAD_REQUESTS: list[tuple[dict[str, str], str]] = [
    ({"x-pm-access-key": ""}, "missing_key"),
    ({"x-pm-timestamp": ""}, "missing_timestamp"),
    ({"x-pm-signature": ""}, "missing_signature"),
    ({"x-pm-timestamp": "soon"}, "timestamp"),
    ({"x-pm-timestamp": "-5"}, "timestamp"),
    ({"x-pm-timestamp": "٣"}, "timestamp"),
    ({"x-pm-timestamp": "9" * 40}, "timestamp"),
    (signed("GET/v1/x", START - seconds(30) - NS_PER_MS), "stale"),
    (signed("GET/v1/x", START + seconds(30) + NS_PER_MS), "stale"),
    ({"x-pm-access-key": "k9"}, "unknown_key"),
    ({"x-pm-access-key": "k2"}, "unknown_key"),
    ({"x-pm-signature": "!!!"}, "encoding"),
    ({"x-pm-signature": base64.b64encode(bytes(63)).decode()}, "encoding"),
    ({"x-pm-signature": base64.b64encode(bytes(64)).decode()}, "signature"),
    (signed("POST/v1/x"), "signature"),
    (signed("GET/v1/y"), "signature"),
]


@pytest.mark.parametrize(("change", "problem"), BAD_REQUESTS)
def test_what_is_wrong_with_a_signed_request(
    house: RedactionContext, change: dict[str, str], problem: str
) -> None:
    assert api_key(house, "GET", "/v1/x", Headers(GOOD | change), None).problem == problem


def test_thirty_seconds_either_way_are_tolerated(house: RedactionContext) -> None:
    for at in (START - seconds(30), START + seconds(30)):
        assert api_key(house, "GET", "/v1/x", Headers(signed("GET/v1/x", at)), None).problem == ""


def test_no_headers_at_all_are_nobody(house: RedactionContext) -> None:
    assert api_key(house, "GET", "/v1/x", Headers({}), None) == NOBODY


def test_a_web_socket_handshake_is_signed_as_get_of_its_path(house: RedactionContext) -> None:
    sealed = redact_open(
        house, "/v1/ws/private", signed("GET/v1/ws/private"), b"", "peer", None, web_socket=True
    )
    assert sealed.credential == VerifiedCredential("api_key", "k1")


CLOCKS = [
    ("either", 0, True),
    ("either", 90, True),
    ("virtual", 90, False),
    ("wall", 90, True),
    ("wall", 0, False),
    ("virtual", 0, True),
]


@pytest.mark.parametrize("where", ["settings", "assumption"])
@pytest.mark.parametrize(("clock", "signed_days_ahead", "fresh"), CLOCKS)
def test_whose_clock_counts_is_a_choice(
    where: str, clock: str, signed_days_ahead: int, fresh: bool
) -> None:
    house = RedactionContext()
    if where == "settings":
        house.settings = msgspec.convert({"client_clock": clock}, Settings)
    else:
        house.exchange.ctx.assumptions.change("auth.client_clock", clock)
    wall = START + days(90)
    headers = signed("GET/v1/x", START + days(signed_days_ahead))
    assert (api_key(house, "GET", "/v1/x", Headers(headers), wall).problem == "") is fresh


# ---- token requests


def assertion(
    key: RSAPrivateKey | None = None,
    algorithm: str = "RS256",
    at: Instant = START,
    headers: dict[str, object] | None = None,
    **claims: object,
) -> str:
    now = at // NS_PER_S
    content = {
        "iss": "client-acme",
        "sub": "client-acme",
        "aud": TOKEN_URL,
        "iat": now,
        "exp": now + 240,
        "jti": "j1",
    } | claims
    content = {name: value for name, value in content.items() if value is not None}
    return jwt.encode(content, key or rsa_key(0), algorithm=algorithm, headers=headers)


def token_call(
    house: RedactionContext,
    signed_assertion: str,
    *,
    form: bool = True,
    wall: Instant | None = None,
    host: str = "127.0.0.1:5",
    **fields: str,
) -> RestCall:
    content = {
        "grant_type": "client_credentials",
        "client_id": "client-acme",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": signed_assertion,
        "audience": AUDIENCE,
    } | fields
    body = urlencode(content).encode() if form else json.dumps(content).encode()
    content_type = (
        "application/x-www-form-urlencoded; charset=utf-8" if form else "application/json"
    )
    headers = {"host": host, "content-type": content_type}
    return redact_rest(house, "auth", "POST", "/oauth/token", "", headers, body, "peer", wall)


@pytest.mark.parametrize("form", [True, False])
def test_a_good_assertion_becomes_a_finding(house: RedactionContext, form: bool) -> None:
    text = assertion()
    call = token_call(house, text, form=form)
    assert (call.credential.kind, call.credential.key, call.credential.problem) == (
        "assertion",
        "client-acme",
        "",
    )
    assert call.credential.claims == {"audience": "known"}
    assert len(call.credential.nonce) == 32
    assert call.form is form
    fields = dict(parse_qsl(call.body)) if form else json.loads(call.body)
    assert fields["client_assertion"] == "sealed"
    assert fields["audience"] == AUDIENCE
    assert text.encode() not in msgspec.json.encode(call)


def test_a_form_that_repeats_a_field_stays_one_without_its_values(house: RedactionContext) -> None:
    fields = [("grant_type", "client_credentials"), *[("client_assertion", assertion())] * 2]
    headers = {"host": "127.0.0.1", "content-type": "application/x-www-form-urlencoded"}
    body = urlencode(fields).encode()
    call = redact_rest(house, "auth", "POST", "/oauth/token", "", headers, body, "peer", None)
    assert call.body == "grant_type=&client_assertion=&client_assertion="
    assert call.credential == NOBODY


def test_a_nonce_names_client_and_jti_and_is_kept_out_of_the_digest(
    house: RedactionContext,
) -> None:
    first = token_call(house, assertion())
    again = token_call(house, assertion(at=START + seconds(1)))
    other = token_call(house, assertion(jti="j2"))
    assert first.credential.nonce == again.credential.nonce != other.credential.nonce
    assert without_nonce(first)[0] == without_nonce(other)[0]


AUDIENCES: list[object] = [
    TOKEN_URL,
    TOKEN_URL + "/",
    AUDIENCE,
    AUDIENCE + "/",
    ["https://x.test", AUDIENCE],
]


@pytest.mark.parametrize("aud", AUDIENCES)
def test_both_stated_audiences_are_accepted_as_text_or_list(
    house: RedactionContext, aud: object
) -> None:
    assert token_call(house, assertion(aud=aud)).credential.problem == ""


def test_an_address_of_the_api_is_known_and_replaced_by_the_environments_name(
    house: RedactionContext,
) -> None:
    house.exchange.credentials.addresses = ("http://127.0.0.1:49152",)
    call = token_call(
        house, assertion(aud="http://127.0.0.1:49152"), audience="http://127.0.0.1:49152/"
    )
    assert call.credential.problem == ""
    assert dict(parse_qsl(call.body))["audience"] == AUDIENCE
    foreign = token_call(house, assertion(), audience="https://api.elsewhere.test")
    assert foreign.credential.claims == {"audience": "other"}
    assert dict(parse_qsl(foreign.body))["audience"] == "https://api.elsewhere.test"


def raw_jwt(header: dict[str, object], signature: bytes = b"x") -> str:
    parts = (
        json.dumps(header).encode(),
        json.dumps({"iss": "client-acme", "sub": "client-acme"}).encode(),
        signature,
    )
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def hs256_with_public_key() -> str:
    # PyJWT refuses to make this forgery, so it is made by hand.
    head = raw_jwt({"alg": "HS256", "typ": "JWT"}).rpartition(".")[0]
    digest = hmac.digest(public_pem(rsa_key(0)).encode(), head.encode(), "sha256")
    return f"{head}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


BAD_ASSERTIONS: list[tuple[Callable[[], str], str]] = [
    (lambda: "", "missing"),
    (lambda: "abc", "malformed"),
    (lambda: "a.b.c", "malformed"),
    (lambda: assertion() + ".x", "malformed"),
    (lambda: assertion()[:-3] + "!!!", "malformed"),
    (lambda: raw_jwt({"alg": "none"}), "algorithm"),
    (lambda: raw_jwt({"alg": "none"}, b""), "algorithm"),
    (hs256_with_public_key, "algorithm"),
    (lambda: assertion(algorithm="RS512"), "algorithm"),
    (lambda: assertion(algorithm="PS256"), "algorithm"),
    (lambda: assertion(headers={"crit": ["b64"], "b64": True}), "algorithm"),
    (lambda: assertion(iss="nobody"), "unknown_client"),
    (lambda: assertion(iss=None), "unknown_client"),
    (lambda: assertion(iss="client-far", sub="client-far"), "environment"),
    (lambda: assertion(rsa_key(1)), "signature"),
    (lambda: assertion(sub="client-other"), "subject"),
    (lambda: assertion(aud="https://elsewhere.test"), "audience"),
    (lambda: assertion(aud="http://127.0.0.1:5/oauth/token"), "audience"),  # its Host header
    (lambda: assertion(aud=None), "audience"),
    (lambda: assertion(jti=None), "claims"),
    (lambda: assertion(jti=""), "claims"),
    (lambda: assertion(iat=None), "claims"),
    (lambda: assertion(exp=None), "claims"),
    (lambda: assertion(exp=START // NS_PER_S + 3_601), "lifetime"),
    (lambda: assertion(exp=START // NS_PER_S), "lifetime"),
    (lambda: assertion(at=START - seconds(240)), "expired"),
    (lambda: assertion(at=START + seconds(61)), "early"),
    (lambda: assertion(nbf=START // NS_PER_S + 100), "early"),
]


@pytest.mark.parametrize(("make", "problem"), BAD_ASSERTIONS)
def test_what_is_wrong_with_an_assertion(
    house: RedactionContext, make: Callable[[], str], problem: str
) -> None:
    credential = token_call(house, make()).credential
    assert credential.problem == problem
    assert credential.nonce == ""


def test_the_key_id_header_is_ignored_and_five_minutes_are_the_most_unless_set_otherwise(
    house: RedactionContext,
) -> None:
    assert token_call(house, assertion(headers={"kid": "whatever"})).credential.problem == ""
    second = START // NS_PER_S
    assert token_call(house, assertion(exp=second + 300)).credential.problem == ""
    assert token_call(house, assertion(exp=second + 301)).credential.problem == "lifetime"
    house.exchange.ctx.assumptions.change("token.assertion_life_max", "1h")
    assert token_call(house, assertion(exp=second + 3_600)).credential.problem == ""
    assert token_call(house, assertion(exp=second + 3_601)).credential.problem == "lifetime"


def test_a_client_on_the_wall_clock_is_fresh_in_any_virtual_month(house: RedactionContext) -> None:
    wall = START - days(100)
    assert token_call(house, assertion(at=wall), wall=wall).credential.problem == ""
    assert token_call(house, assertion(at=wall)).credential.problem == "expired"


def test_the_finding_is_the_same_whatever_the_wall_date(house: RedactionContext) -> None:
    calls = [
        token_call(house, assertion(at=wall), wall=wall)
        for wall in (START, START - days(100), START + days(1000))
    ]
    assert len({msgspec.json.encode(without_nonce(call)[0]) for call in calls}) == 1


@given(st.binary(max_size=200), st.booleans())
def test_no_token_request_breaks_the_door(body: bytes, form: bool) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded" if form else "application/json"}
    call = redact_rest(
        RedactionContext(), "auth", "POST", "/oauth/token", "", headers, body, "peer", None
    )
    assert call.credential.kind in ("none", "assertion")


@given(st.text(alphabet="abcXYZ019-_.= {}", max_size=80))
def test_no_assertion_text_breaks_the_door(text: str) -> None:
    assert token_call(RedactionContext(), text).credential.problem in (
        "missing",
        "malformed",
        "algorithm",
    )


# ---- secrets in bodies

KEY = b"k" * 32
SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
SHAPES = [
    ("123456789", "d9"),
    ("123-45-6789", "x11"),
    ("", ""),
    (SECRET, "w32"),
    ("whsec_short", "x11"),
    ("١٢٣", "x3"),
]


@pytest.mark.parametrize(("value", "shape"), SHAPES)
def test_a_sealed_text_keeps_the_shape_that_validation_asks_for(value: str, shape: str) -> None:
    sealed = redact_text(value, KEY, {})
    assert sealed.split(":")[1:2] == ([shape] if shape else [])
    assert bool(REDACTED.fullmatch(sealed)) is bool(shape)


@given(st.text(max_size=60))
def test_sealing_is_stable_idempotent_and_hides_the_text(value: str) -> None:
    sealed = redact_text(value, KEY, {})
    assert redact_text(value, KEY, {}) == sealed
    assert redact_text(sealed, KEY, {}) == sealed
    if len(value) > 4 and not REDACTED.fullmatch(value):
        assert value not in sealed


def test_another_key_gives_another_fingerprint() -> None:
    assert redact_text("123456789", KEY, {}) != redact_text("123456789", b"j" * 32, {})


def test_only_the_vault_knows_a_signing_key(house: RedactionContext) -> None:
    body = json.dumps({"webhook_url": "http://127.0.0.1:1/", "signing_secret": SECRET}).encode()
    call = redact_rest(house, "exchange", "POST", "/v1/kyc/webhook", "", {}, body, "peer", None)
    sealed = json.loads(call.body)["signing_secret"]
    assert house.signing_secrets == {sealed: bytes(range(32))}
    assert SECRET.removeprefix("whsec_") not in call.body


@pytest.mark.parametrize("path", ["/v1/kyc/start", "/v1/kyc/start/", "/v1/kyc/%73tart"])
def test_an_ssn_is_sealed_on_its_path_however_that_is_spelt(
    house: RedactionContext, path: str
) -> None:
    body = b'{"ssn": "123456789", "first_name": "Ada", "s\\u0073n": "987654321"}'
    call = redact_rest(house, "exchange", "POST", path, "", {}, body, "peer", None)
    assert "123456789" not in call.body
    assert "987654321" not in call.body
    assert json.loads(call.body)["first_name"] == "Ada"
    assert json.loads(call.body)["ssn"].startswith("sealed:d9:")
    escaped = b'{"s\\u0073n": "987654321"}'
    call = redact_rest(house, "exchange", "POST", path, "", {}, escaped, "peer", None)
    assert json.loads(call.body)["ssn"].startswith("sealed:d9:")


def test_other_bodies_pass_unchanged_and_bytes_stay_bytes(house: RedactionContext) -> None:
    text = b'{ "clordId" : "123456789" }'
    assert (
        redact_rest(
            house, "exchange", "POST", "/v1/trading/orders", "", {}, text, "peer", None
        ).body
        == text.decode()
    )
    raw = redact_rest(house, "retail", "POST", "/v1/orders", "", {}, b"\xff\xfe", "peer", None)
    assert (raw.body, raw.binary) == ("", b"\xff\xfe")


TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("path", "query", "body"),
    [
        ("/v1/whoami", f"access_token={TOKEN}&a=1", b""),
        (f"/v1/orderbook/{TOKEN}", "", b""),
        ("/v1/kyc/status", "external_id=p&ssn=123456789", b""),
        ("/v1/kyc/status", "SSN=123456789", b""),
        ("/v1/KYC/start", "", b'{"ssn": "123456789"}'),
        ("/v1/trading/orders", "", b'{"ssn": "123456789", "clordId": "a"}'),
        ("/v1/trading/orders", "", f'{{"clordId": "{TOKEN}", "account": "{SECRET}"}}'.encode()),
        ("/v1/kyc/status", f"x={SECRET.replace('+', '%2B').replace('=', '%3D')}", b""),
        ("/v1/Kyc/Webhook", "", json.dumps({"signingSecret": SECRET}).encode()),
    ],
)
def test_a_secret_in_the_wrong_place_is_not_spelt_out_either(
    house: RedactionContext, path: str, query: str, body: bytes
) -> None:
    call = redact_rest(house, "exchange", "POST", path, query, {}, body, "peer", None)
    journalled = json.dumps([call.path, call.query, call.body])
    assert not [
        secret
        for secret in (TOKEN, "c2lnbmF0dXJl", "123456789", SECRET[6:30])
        if secret in journalled
    ]
    assert call.query.endswith("a=1") or "a=1" not in query
    assert call.query.startswith("external_id=p&") or "external_id" not in query


def test_a_json_body_that_says_it_is_a_form_is_no_name_of_a_field(house: RedactionContext) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    body = b'{"client_id": "a", "client_secret": "hunter2"}'
    call = redact_rest(house, "auth", "POST", "/oauth/token", "", headers, body, "peer", None)
    assert call.body == "sealed="


@pytest.mark.parametrize("name", ["token", "api_key", "secretKey", "password", "Authorization"])
def test_a_parameter_that_is_called_like_a_secret_is_sealed(
    house: RedactionContext, name: str
) -> None:
    call = redact_rest(house, "retail", "GET", "/v1/x", f"a=1&{name}=hunter2", {}, b"", "p", None)
    assert call.query == f"a=1&{name}=sealed"
    opened = redact_open(house, f"/v1/ws/private?{name}=hunter2", {}, b"", "p", None, True)
    assert opened.method == f"/v1/ws/private?{name}=sealed"


def test_credentials_in_each_others_headers_are_not_spelt_out(house: RedactionContext) -> None:
    headers = {"x-participant-id": f"Bearer {TOKEN}"}
    call = redact_rest(house, "exchange", "GET", "/v1/whoami", "", headers, b"", "peer", None)
    rpc = redact_rpc("/exchange.v1.AccountsAPI/GetWhoAmI", headers, b"", "peer")
    opened = redact_open(house, "/exchange.v1.OrderEntryAPI/x", headers, b"", "peer", None)
    assert {call.participant, rpc.participant, opened.participant} == {"Bearer sealed"}
    for secret in (b"s" * 32, b"s" * 64):
        headers = {
            "x-pm-access-key": base64.b64encode(secret).decode(),
            "x-pm-timestamp": "1",
            "x-pm-signature": "x",
        }
        call = redact_rest(house, "retail", "GET", "/v1/x", "", headers, b"", "peer", None)
        assert call.credential.key == "sealed"


def test_other_words_in_a_query_are_left_alone(house: RedactionContext) -> None:
    query = "pageToken=eyJvZmZzZXQiOjF9&symbol=ssn&assn=1&session_id=2"
    assert (
        redact_rest(house, "exchange", "GET", "/v1/x", query, {}, b"", "peer", None).query == query
    )


def test_a_client_secret_in_a_token_call_is_not_journalled(house: RedactionContext) -> None:
    for form, body in ((True, b"client_secret=hunter2"), (False, b'{"client_secret": "hunter2"}')):
        headers = {"content-type": "application/x-www-form-urlencoded"} if form else {}
        assert (
            "hunter2"
            not in redact_rest(
                house, "auth", "POST", "/oauth/token", "", headers, body, "peer", None
            ).body
        )


@pytest.mark.parametrize("body", [b'{"ssn": "123456789"', b"123456789x", b"\xff123456789"])
def test_a_body_that_is_no_json_is_sealed_whole_and_stays_none(body: bytes) -> None:
    sealed = redact_body(body, {"ssn"}, KEY, {})
    assert b"123456789" not in sealed
    with pytest.raises(json.JSONDecodeError):
        json.loads(sealed)


@pytest.mark.parametrize("body", [b'["123456789"]', b'"123456789"', b"123456789"])
@pytest.mark.parametrize(
    ("plane", "path"), [("exchange", "/v1/kyc/start"), ("auth", "/oauth/token")]
)
def test_json_that_is_no_object_is_sealed_whole_and_refused_as_what_it_is(
    plane: Plane, path: str, body: bytes
) -> None:
    sim = Simulation(load_scenario("quickstart"))
    world = Desk(sim)
    token = world.bearer(firm(sim)) if plane == "exchange" else {}
    reply = sim.rest(plane, "POST", path, "", token, body).reply
    assert reply is not None and reply.status == 400
    assert b"not a JSON object" in reply.body
    assert b"123456789" not in b"".join(sim.journal.lines())


@pytest.mark.parametrize(
    ("value", "kept"),
    [(123456789, 0), (1.5, 0), (True, False), ([1], []), ({"a": 1}, {}), (None, None)],
)
def test_a_secret_of_a_wrong_type_keeps_only_its_type(value: object, kept: object) -> None:
    assert redact_fields({"ssn": value}, {"ssn"}, KEY, {}) == {"ssn": kept}


def test_every_secret_request_field_of_the_contract_lies_on_a_fixed_path() -> None:
    from sim.api.pipeline.redaction import _secret_table

    table = _secret_table()
    assert table["exchange", "/v1/kyc/start"] == {"ssn"}
    assert table["exchange", "/v1/kyc/webhook"] == {"signing_secret", "signingSecret"}
    assert not [path for _, path in table if "{" in path]


def test_no_request_that_grpc_serves_holds_a_secret() -> None:
    assert not [
        f"{operation.name}.{field.name}"
        for operation in load_contract().operations
        if operation.grpc
        for field in fields_of(operation.request)
        if field.secret
    ]


@pytest.mark.parametrize(
    "name", ["secret", "passphrase", "apiSecret", "secret_key", "token", "accessToken", "Password"]
)
def test_credentials_of_another_service_are_sealed_in_frames_and_bodies(
    house: RedactionContext, name: str
) -> None:
    text = json.dumps({"auth": {"a": 1, name: 'hun"ter2'}, "pageToken": "hers", "b": [TOKEN]})
    call = redact_rest(house, "retail", "POST", "/v1/orders", "", {}, text.encode(), "peer", None)
    frame = redact_frame(text.encode()).decode()
    for sealed in (json.loads(call.body), json.loads(frame)):
        assert sealed == {"auth": {"a": 1, name: "sealed"}, "pageToken": "hers", "b": ["sealed"]}


def test_a_frame_without_secrets_and_one_of_protobuf_pass_as_they_are() -> None:
    for frame in (b'{"subscribe": {"requestId": "a"}}', b"\x0a\x07secret\xff", b"{secret\xff"):
        assert redact_frame(frame) is frame


def test_a_secret_that_is_sealed_with_its_shape_keeps_it(house: RedactionContext) -> None:
    body = json.dumps({"webhook_url": "http://127.0.0.1/", "signing_secret": SECRET}).encode()
    call = redact_rest(house, "exchange", "POST", "/v1/kyc/webhook", "", {}, body, "peer", None)
    assert REDACTED.fullmatch(json.loads(call.body)["signing_secret"])
