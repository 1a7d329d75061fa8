"""Statements about authentication, events, errors and limits (§5 to §8), each from another side
than the tests of its component.
"""

from __future__ import annotations

import base64
import json

import pytest

from sim.run.client.client import Response, RpcError
from tests.journeys import key, quiet
from tests.kit import PERSON, Desk, retail_order

# ---- tokens


def error_of(answer: Response) -> str:
    assert answer.status in (400, 401), answer
    return str(answer.json()["error"])


@pytest.mark.spec("S5.1-1", "S5.1-2", "S4.5-1")
def test_an_assertion_is_refused_for_each_thing_that_is_wrong_with_it(world: Desk) -> None:
    import jwt
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

    mine = world.firm
    now = world.now // 1_000_000_000
    wrong = ("invalid_client_assertion", "invalid_client")
    claims = {
        "iss": mine.client_id,
        "sub": mine.client_id,
        "aud": world.audience,
        "iat": now,
        "exp": now + 240,
        "jti": "made-here",
    }
    stranger = generate_private_key(public_exponent=65537, key_size=2048)
    own = world.simulation.world.parties.key_files[mine.client_id].read_bytes()
    bad = {
        "another key": jwt.encode(claims, stranger, "RS256"),
        "another algorithm": jwt.encode(claims, own, "RS512"),
        "a shared secret": jwt.encode(claims, b"x" * 32, "HS256"),
        "no signature": jwt.encode(claims, None, "none"),
        "expired": world.assertion(mine, iat=now - 10_000, exp=now - 9_000),
        "issued later": world.assertion(mine, iat=now + 10_000, exp=now + 10_100),
        "another subject": world.assertion(mine, sub="somebody"),
        "another issuer": world.assertion(mine, iss="somebody"),
        "an unknown client": world.assertion(mine, iss="somebody", sub="somebody"),
        "another audience": world.assertion(mine, aud="https://elsewhere.test"),
        "no jti": world.assertion(mine, jti=""),
    }
    for name, assertion in bad.items():
        assert error_of(world.token(mine, client_assertion=assertion)) in wrong, name
    good = world.assertion(mine)
    issued = world.token(mine, client_assertion=good).json()
    assert (issued["expires_in"], issued["token_type"]) == (180, "Bearer")
    assert error_of(world.token(mine, client_assertion=good)) in wrong  # its jti is spent
    other = next(
        item
        for item in world.core.firms.all()
        if item.client_id and item.client_id != mine.client_id
    )
    swapped = world.token(other, client_assertion=world.assertion(mine))
    assert error_of(swapped) in wrong


@pytest.mark.spec("S5.1-3")
def test_every_token_says_how_long_it_lives_and_carries_the_scopes_that_were_granted(
    world: Desk,
) -> None:
    import jwt

    for firm in world.core.firms.all():
        if not firm.client_id:
            continue
        issued = world.token(firm, scope="write:everything").json()
        assert issued["expires_in"] == 180
        claims = jwt.decode(issued["access_token"], options={"verify_signature": False})
        assert claims["scope"].split() == list(firm.scopes)
        assert claims["exp"] - claims["iat"] == 180


# ---- retail keys


@pytest.mark.spec("S5.2-1", "S7.1-2")
def test_a_retail_call_needs_a_key_its_own_signature_and_a_fresh_timestamp(world: Desk) -> None:
    sim, path = world.simulation, "/v1/orders/open"
    mine = key(sim)
    keys = sim.exchange.firms.api_keys()
    another = next(item for item in keys if item.account != mine.account)
    good = world.retail_headers(mine, "GET", path)

    def status(headers: dict[str, str], verb: str = "GET", to: str = path) -> int:
        return world.raw("retail", verb, to, headers).status

    assert status(good) == 200
    for name in good:
        assert status({item: value for item, value in good.items() if item != name}) == 401
    old = dict(good)
    world.advance("1h")
    sim.control("assumption.set", "auth.client_clock", {"value": "virtual"})
    assert status(old) == 401
    good = world.retail_headers(mine, "GET", path)
    assert status(good) == 200
    assert status(good, "GET", "/v1/account/balances") == 401  # signed for another path
    assert status(world.retail_headers(mine, "POST", path)) == 401  # and for another verb
    assert status({**good, "x-pm-access-key": another.key_id}) == 401
    assert status({**good, "x-pm-access-key": "nobody"}) == 401
    placed = retail_order(quiet(sim), "BUY_LONG", 30, 1)
    assert world.retail(mine).post("/v1/orders", json=placed).status == 200
    assert len(world.retail(mine).get(path).json()["orders"]) == 1
    assert world.retail(another).get(path).json()["orders"] == []


# ---- webhooks

OLD = "whsec_" + base64.b64encode(b"o" * 24).decode()
NEW = "whsec_" + base64.b64encode(b"n" * 32).decode()


@pytest.mark.spec("S6.1-1", "S6.1-5")
def test_one_url_of_a_firm_gets_terminal_events_with_the_secret_of_the_last_registration(
    world: Desk,
) -> None:
    """Old secret, new secret, none."""
    reviewed = {"first_name": "Paulina", "last_name": "Gizela"}
    secrets = []
    for number, secret in enumerate((OLD, NEW, "")):
        url = f"https://127.0.0.1:9/{number}"
        body = {"signing_secret": secret} if secret else {}
        assert world.register_webhook(url, **body).json()["validated"] is True
        world.start_kyc(external_id=f"p-{number}", ssn=f"77777777{number}")
        world.start_kyc(external_id=f"r-{number}", ssn=f"66666666{number}", **reviewed)
        world.advance("30m")
        posts, world.webhooks = world.webhooks, []
        assert {post.url for post in posts} == {url}
        kinds = [json.loads(post.body)["type"] for post in posts]
        assert kinds == ["webhook.test", "kyc.approved"]  # the review told nothing
        secrets.append(posts[-1].secret)
    # What is sent names its secret by a fingerprint, and none where none was registered.
    first, second, none = secrets
    assert first != second
    assert (bool(first), bool(second), none) == (True, True, "")


# ---- errors of single operations


@pytest.mark.spec("S7.2-3")
def test_an_ssn_that_is_used_again_breaks_the_transfers_of_the_second_user(world: Desk) -> None:
    """§7.2: with `kyc.ssn_reuse: accepted` the second person is verified as the first was."""
    again = {"external_id": "p-2", "first_name": "Grace"}
    assert world.start_kyc().status == 200
    assert world.start_kyc(**again).status == 400
    world.assume("kyc.ssn_reuse", "accepted")
    assert world.start_kyc(**again).status == 200
    world.advance("26m")
    world.transfer("1.00", to=world.kyc_status()["provisionedAccount"])
    with pytest.raises(RpcError) as refused:
        world.transfer("1.00", "p-2", world.kyc_status("p-2")["provisionedAccount"])
    assert refused.value.code == 5


@pytest.mark.spec("S7.2-3", "S4.3-21")
def test_one_person_has_one_account_and_another_number_for_them_is_code_9_in_a_400(
    world: Desk,
) -> None:
    """§7.2: who is provisioned under one SSN cannot start again under another, nor lend it."""
    world.start_kyc()
    world.advance("30m")
    assert world.kyc_status()["provisionedAccount"]
    other = next(firm for firm in world.firms if firm is not world.firm and len(firm.scopes) > 9)
    for caller, person in (
        (world.partner, PERSON | {"ssn": "987650000"}),
        (world.partner, PERSON | {"external_id": "somebody-else"}),
        (world.exchange(other), PERSON | {"external_id": "elsewhere"}),
    ):
        refused = caller.post("/v1/kyc/start", json=person)
        assert (refused.status, refused.json()["code"]) == (400, 9)
        assert refused.json()["message"] == "user already provisioned with a different SSN"
    second = world.kyc_status("somebody-else")
    assert (second["participantId"], second["status"]["status"]) == ("", "NOT_STARTED")
    with pytest.raises(RpcError) as not_found:
        world.transfer("1.00", to="firms/atlas/accounts/of-the-second-id")
    assert not_found.value.code == 5


@pytest.mark.spec("S7.2-5", "S4.3-22")
@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", 7),
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", 7),
        ("/exchange.kyc.v1.KYCAPI/StartKYCVerification", 12),
        ("/nobody.v1.Nothing/Call", 12),
    ],
)
def test_reflection_is_denied_to_a_caller_with_every_scope_and_unknown_services_are_unknown(
    world: Desk, method: str, code: int
) -> None:
    """K7: verification is unknown over gRPC."""
    mine = world.firm
    headers = world.bearer(mine, mine.users[0].name)
    for outcome in (
        world.simulation.rpc(method, headers, b""),
        world.simulation.open(method, headers, b""),
    ):
        assert outcome.reply.code == code
