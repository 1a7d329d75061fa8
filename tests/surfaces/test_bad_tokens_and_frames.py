"""Bad input to the token issuer and the retail sockets: OAuth errors and error frames, and an
unchanged exchange.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from functools import cache
from typing import Any

import jwt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.api.pipeline.settings import Settings
from tests.kit import Desk
from tests.surfaces.callers import kept, unlimited_world

NAMES = ("grant_type", "client_id", "client_assertion_type", "client_assertion", "audience")


@pytest.fixture(scope="module")
def world() -> Desk:
    return unlimited_world()


def refused(answer: Any, *errors: str) -> None:
    assert answer.status in (400, 401, 403), (answer.status, answer.body)
    assert set(answer.json()) == {"error", "error_description"}
    assert not errors or answer.json()["error"] in errors


def form(world: Desk, **changes: str | None) -> dict[str, str]:
    """Return a valid token request with some fields changed, or omitted (None)."""
    result = world.firm
    good = {
        "grant_type": "client_credentials",
        "client_id": result.client_id or "",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": world.assertion(result),
        "audience": world.audience,
    }
    return {name: value for name, value in {**good, **changes}.items() if value is not None}


@pytest.mark.spec("S5.1-2", "S4.5-1")
@pytest.mark.parametrize("as_json", [False, True])
def test_every_field_of_a_token_request_is_checked(world: Desk, as_json: bool) -> None:
    def ask(**changes: str | None) -> Any:
        fields = form(world, **changes)
        return world.auth.post("/oauth/token", **{"json" if as_json else "form": fields})

    assert ask().json().keys() == {"access_token", "token_type", "expires_in"}
    refused(ask(grant_type="password"), "unsupported_grant_type")
    refused(ask(grant_type=None))
    refused(ask(client_id="somebody-else"), "invalid_client", "invalid_client_assertion")
    refused(ask(client_assertion_type="urn:x"))
    refused(ask(client_assertion_type=None))
    refused(ask(client_assertion="x.y.z"), "invalid_client_assertion", "invalid_client")
    refused(ask(client_assertion=None))
    refused(ask(audience="https://elsewhere.example"))
    for name in NAMES:
        refused(ask(**{name: None}), "invalid_request", "invalid_client_assertion")
        refused(ask(**{name: ""}), "invalid_request", "invalid_client_assertion")


@pytest.mark.spec("S5.1-2")
def test_a_token_request_names_its_client_unless_a_switch_lets_stock_clients_leave_it_out() -> None:
    world = unlimited_world()
    answer = world.auth.post("/oauth/token", form=form(world, client_id=None))
    refused(answer, "invalid_request")
    assert (answer.status, "client_id" in answer.json()["error_description"]) == (400, True)
    world.assume("token.client_id_required", False)
    assert world.auth.post("/oauth/token", form=form(world, client_id=None)).status == 200


@pytest.mark.spec("S5.1-8")
def test_both_stated_audiences_of_an_assertion_are_accepted_and_no_other(world: Desk) -> None:
    result = world.firm
    issuer = f"{world.core.credentials.environment.issuer}/oauth/token"

    def ask(audience: object) -> Any:
        return world.token(result, client_assertion=world.assertion(result, aud=audience))

    for audience in (world.audience, issuer, [issuer], [world.audience, "x"]):
        assert ask(audience).status == 200
    for other in ("https://elsewhere.example", "", [], 7, None, {"a": 1}):
        refused(ask(other), "invalid_client_assertion", "invalid_client")


@pytest.mark.spec("S5.1-8")
@pytest.mark.parametrize(
    ("audience", "existing"),
    [
        # Under its own name, or a name of this machine; something in between may end TLS.
        ("http://desk.example:8083", True),
        ("https://desk.example:8083/", True),
        ("http://localhost:8083", True),
        ("https://127.0.0.1:8083", True),
        ("http://[::1]:8083", True),
        ("http://desk.example:8084", False),
        ("http://desk.example", False),
        ("http://:8083", False),
        ("http://other.example:8083", False),
        ("ftp://desk.example:8083", False),
    ],
)
def test_an_audience_may_be_an_address_at_which_the_exchange_is_served(
    audience: str, existing: bool
) -> None:
    served = Settings(
        api_addresses=("http://desk.example:8083",),
        token_url="http://desk.example:8084/oauth/token",
    )
    world = Desk(Simulation(load_scenario("quickstart"), settings=served))
    result = world.firm
    endpoint = audience.rstrip("/").replace(":8083", ":8084") + "/oauth/token"
    answers = [
        world.token(result, audience=audience),
        world.token(result, client_assertion=world.assertion(result, aud=audience)),
        world.token(result, client_assertion=world.assertion(result, aud=endpoint)),
    ]
    if existing:
        assert [answer.status for answer in answers] == [200] * 3
    else:
        refused(answers[0])
        for answer in answers[1:] if ":8084" not in audience else ():  # the issuer's own address
            refused(answer)


def signed(world: Desk, header: dict[str, Any], payload: bytes) -> str:
    """A token whose header and payload are anything, signed with the firm's own key."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    result = world.firm
    signer: Any = load_pem_private_key(
        world.simulation.world.parties.key_files[result.client_id or ""].read_bytes(), None
    )

    text = f"{part(json.dumps(header).encode())}.{part(payload)}"
    return f"{text}.{part(signer.sign(text.encode(), PKCS1v15(), SHA256()))}"


def part(raw: bytes) -> str:
    """A part of a token."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


RS256 = {"alg": "RS256", "typ": "JWT"}


@pytest.mark.long
def test_assertions_that_are_well_signed_and_say_nothing_sound_are_refused(world: Desk) -> None:
    result, before = world.firm, kept(world)
    now = world.now // 10**9
    claims = {
        "iss": result.client_id,
        "sub": result.client_id,
        "aud": world.audience,
        "iat": now,
        "exp": now + 240,
        "jti": "j-1",
    }
    changes: list[dict[str, Any]] = [
        {"exp": now - 1},
        {"exp": now + 10**6},
        {"exp": "soon"},
        {"exp": 10**400},
        {"exp": -1},
        {"exp": None},
        {"iat": now + 3600},
        {"iat": "x"},
        {"iss": "somebody"},
        {"sub": "somebody"},
        {"sub": 7},
        {"jti": ""},
        {"jti": None},
        {"jti": {"a": 1}},
        {"nbf": now + 3600},
    ]
    for change in changes:
        body = json.dumps(
            {name: value for name, value in {**claims, **change}.items() if value is not None}
        )
        refused(world.token(result, client_assertion=signed(world, RS256, body.encode())))
    for payload in (
        b"",
        b"[]",
        b"7",
        b"\xff\xfe",
        b"{",
        b'{"exp": 1e999}',
        b"null",
        b'{"a":' * 3000,
    ):
        refused(world.token(result, client_assertion=signed(world, RS256, payload)))
    for header in (
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "PS256"},
        {},
        {"alg": 7},
        {"alg": "RS256", "crit": ["x"]},
    ):
        refused(
            world.token(result, client_assertion=signed(world, header, json.dumps(claims).encode()))
        )
    assert kept(world) == before


def test_a_public_key_used_as_a_secret_signs_nothing(world: Desk) -> None:
    """Algorithm confusion: HS256 with the firm's public key as the shared secret."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        PublicFormat,
        load_pem_private_key,
    )

    result = world.firm
    public = load_pem_private_key(
        world.simulation.world.parties.key_files[result.client_id or ""].read_bytes(), None
    ).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    payload = jwt.decode(world.assertion(result), options={"verify_signature": False})
    body = ".".join(part(json.dumps(row).encode()) for row in (RS256 | {"alg": "HS256"}, payload))
    signature = part(hmac.new(pem, body.encode(), hashlib.sha256).digest())
    answer = world.token(result, client_assertion=f"{body}.{signature}")
    refused(answer, "invalid_client", "invalid_client_assertion")


_shared = cache(unlimited_world)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["exp", "iat", "aud", "jti", "iss", "sub", "nbf", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(
    claims=ANYTHING,
    fields=st.dictionaries(st.sampled_from(NAMES), st.text(max_size=12), max_size=5),
)
@pytest.mark.long
def test_no_request_makes_the_issuer_fail(claims: Any, fields: dict[str, str]) -> None:
    world = _shared()
    result = world.firm
    refused(world.token(result, client_assertion=signed(world, RS256, json.dumps(claims).encode())))
    answer = world.auth.post("/oauth/token", form=fields)
    refused(answer)
    assert answer.reply.code != 13


# ---- retail sockets

SOCKETS = ["/v1/ws/markets", "/v1/ws/private"]
SUBSCRIPTIONS = [
    "SUBSCRIPTION_TYPE_MARKET_DATA",
    "SUBSCRIPTION_TYPE_TRADE",
    "SUBSCRIPTION_TYPE_ORDER",
    "SUBSCRIPTION_TYPE_POSITION",
    "NOPE",
    7,
    None,
    {},
]


@settings(max_examples=120)
@given(data=st.data())
@pytest.mark.parametrize("path", SOCKETS)
def test_no_frame_makes_a_socket_fail_or_changes_the_exchange(
    path: str, data: st.DataObject
) -> None:
    world = _shared()
    socket = world.web_socket(world.keys[0], path)
    before = kept(world)
    slug = world.quiet().symbol
    inside = st.fixed_dictionaries(
        {},
        optional={
            "requestId": st.text(max_size=5) | ANYTHING,
            "subscriptionType": st.sampled_from(SUBSCRIPTIONS),
            "marketSlugs": st.lists(st.sampled_from([slug, "nope", ""]), max_size=4) | ANYTHING,
            "responsesDebounced": ANYTHING,
        },
    )
    frame = data.draw(
        st.binary(max_size=20)
        | ANYTHING.map(lambda value: json.dumps(value).encode())
        | st.dictionaries(
            st.sampled_from(["subscribe", "unsubscribe", "x"]), inside | ANYTHING, max_size=2
        ).map(lambda value: json.dumps(value).encode())
    )
    socket.send(frame)
    for came in socket.take():
        assert isinstance(came, dict)
        assert "Traceback" not in json.dumps(came)
    assert socket.end is None or socket.end[0] not in (2, 13), socket.end
    assert kept(world) == before
    if socket.end is None:
        socket.close()
