"""Participants' own tokens and the deprecated user calls, over REST and gRPC."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
import pytest

from sim.api.pipeline.authentication import Caller
from sim.contract.messages import exchange_v1 as wire
from sim.run.client.client import Response, Rpc, RpcError
from tests.journeys import PERSON, order
from tests.kit import Desk
from tests.kit.desk import Client

TOKEN = "/v1/participant/tokens"
ADMIN = "/v1/participant/admin-tokens"


def partner(world: Desk) -> Client:
    return world.partner


def grant(world: Desk, path: str = TOKEN, user: int = 0, **fields: Any) -> Response:
    return partner(world).post(path, json={"participant_id": world.firm.users[user].name, **fields})


def token_of(answer: Response) -> str:
    assert answer.status == 200, answer
    return str(answer.json().get("participantToken") or answer.json()["participantAdminToken"])


def bearing(world: Desk, token: str, participant: str | None = None) -> Client:
    headers = {"authorization": f"Bearer {token}"} | (
        {"x-participant-id": participant} if participant else {}
    )
    return Client(world, "exchange", lambda verb, path: headers)


# ---- tokens


@pytest.mark.spec("S5.1-6")
@pytest.mark.parametrize("path", [TOKEN, ADMIN])
def test_a_participants_token_trades_without_a_header_and_for_nobody_else(
    world: Desk, path: str
) -> None:
    users = world.firm.users
    client = bearing(world, token_of(grant(world, path)))
    instrument = world.quiet()
    assert client.post("/v1/trading/orders", json=order(instrument, "buy", 30, 1)).status == 200
    opened = client.read("/v1/trading/orders/open", "orders")
    assert [(row["account"], row["participant"]) for row in opened] == [
        (users[0].account, users[0].name)
    ]
    assert client.read("/v1/whoami", "user") == users[0].name
    for account, status in ((users[0].account, 200), (users[1].account, 403)):
        assert (
            client.get("/v1/funding/balance-ledger", params={"account": account}).status == status
        )
        other = order(instrument, "buy", 31, 1, account=account)
        assert client.post("/v1/trading/orders", json=other).status == status
    assert (
        bearing(world, token_of(grant(world, path)), users[0].name)
        .get("/v1/trading/orders/open")
        .status
        == 200
    )
    refused = bearing(world, token_of(grant(world, path)), users[1].name).get(
        "/v1/trading/orders/open"
    )
    assert (refused.status, refused.json()["code"]) == (403, 7)
    sides = [
        order(instrument, "buy", 40, 1, account=users[0].account),
        order(instrument, "sell", 40, 1, account=users[1].account),
    ]
    assert (
        client.post(
            "/v1/trading/orders/cross",
            json={"requests": sides, "crossType": "CROSS_TYPE_ALL_OR_NONE"},
        ).status
        == 403
    )


def test_what_is_the_firms_own_is_closed_to_a_participants_token(world: Desk) -> None:
    client = bearing(world, token_of(grant(world)))
    mine = world.firm.users[0].name
    for verb, path, body in (
        ("POST", TOKEN, {"participant_id": mine}),
        ("POST", "/v1/users", {"user_id": "u"}),
        ("POST", "/v1/kyc/start", {}),
        ("PATCH", "/v1/funding/accounts/x", {}),
    ):
        assert client.request(verb, path, json=body).status == 403, path
    rpc = Rpc(world, lambda: {"authorization": f"Bearer {token_of(grant(world))}"})
    for operation in (
        "OrderFundingService.CreateVendorOrder",
        "CashMovementService.CreateCashMovement",
    ):
        with pytest.raises(RpcError) as refused:
            rpc.call(operation, world.simulation.contract.by_name(operation).request())
        assert refused.value.code == 7, operation
    with pytest.raises(RpcError):
        rpc.stream(
            "DropCopyAPI.CreateDropCopySubscription", wire.CreateDropCopySubscriptionRequest()
        )


def test_scopes_may_be_fewer_and_never_more(world: Desk) -> None:
    client = bearing(world, token_of(grant(world, scopes=["read:orders"])))
    assert client.get("/v1/trading/orders/open").status == 200
    refused = client.post("/v1/trading/orders", json=order(world.quiet(), "buy", 30, 1))
    assert refused.json()["message"] == "permission denied: missing required scope write:orders"
    for scope in ("write:kyc", "read:dropcopy", "write:cash-movements", "made:up"):
        assert grant(world, scopes=[scope]).status == 403, scope
    poor = world.poor_firm
    assert (
        world.exchange(poor).post(TOKEN, json={"participant_id": world.firm.users[0].name}).status
        == 403
    )
    for name in ("", "nonsense", "firms/nobody/users/x"):
        assert partner(world).post(TOKEN, json={"participant_id": name}).status == 403


def test_an_unexpired_token_is_handed_out_again_and_an_expired_one_is_worth_nothing(
    world: Desk,
) -> None:
    first = grant(world, ttl_seconds=600)
    world.advance("9m")
    again = grant(world, ttl_seconds=600)
    assert (first.json()["fromCache"], again.json()["fromCache"]) == (False, True)
    assert {**first.json(), "fromCache": True} == again.json()
    for other in (
        grant(world, ttl_seconds=601),
        grant(world, user=1, ttl_seconds=600),
        grant(world, ADMIN, ttl_seconds=600),
    ):
        assert not other.json()["fromCache"] and token_of(other) != token_of(first)
    assert bearing(world, token_of(first)).get("/v1/trading/orders/open").status == 200
    world.advance("1m")
    assert bearing(world, token_of(first)).get("/v1/trading/orders/open").status == 401
    assert grant(world, ttl_seconds=600).json()["fromCache"] is False
    usual = grant(world).json()
    claims = msgspec.json.decode(
        base64.urlsafe_b64decode(usual["participantToken"].split(".")[1] + "==")
    )
    assert claims["exp"] - claims["iat"] == 180


@pytest.mark.parametrize(
    ("ttl", "status"), [(1, 200), (3600, 200), (3601, 400), (-1, 400), (2**62, 400)]
)
def test_a_life_is_bounded(world: Desk, ttl: int, status: int) -> None:
    assert grant(world, ttl_seconds=ttl).status == status


def test_no_token_is_journalled_over_either_protocol(world: Desk) -> None:
    rest = token_of(grant(world))
    request = wire.CreateParticipantAdminTokenRequest(participant_id=world.firm.users[0].name)
    created = world.rpc_partner.call("ParticipantAPI.CreateParticipantAdminToken", request)
    journal = b"\n".join(world.simulation.journal_lines(0))
    for token in (rest, created.participant_admin_token):
        assert token.encode() not in journal
        for offset in range(3):  # wherever it lay in bytes that were written as base64
            assert base64.b64encode(b"x" * offset + token.encode())[4:-4] not in journal
    assert b"sha256:" in journal


def test_a_fault_for_a_participant_strikes_the_participants_own_token(world: Desk) -> None:
    token = token_of(grant(world))
    match = {"operation": "GetOpenOrders", "caller": world.firm.users[0].name}
    world.operate("fault.add", match=match, act={"status": 503})
    assert bearing(world, token).get("/v1/trading/orders/open").status == 503


def test_a_caller_is_unbound_unless_its_token_says_so() -> None:
    assert Caller(plane="exchange").bound is False


# ---- users

ADA = {
    "user_id": "ada",
    "email": "ada@example.com",
    "first_name": "Ada",
    "last_name": "Ray",
    "phone_number": "+14155551212",
    "date_of_birth": "1990-01-02",
}
KYC = PERSON | {"external_id": "ada"}


def test_a_registered_person_is_found_again_changed_and_verified(world: Desk) -> None:
    client = partner(world)
    created = client.send("/v1/users", ADA)
    assert (created["created"], created["participantId"], created["user"]["kycStatus"]) == (
        True,
        "",
        "KYC_STATUS_TYPE_NONE",
    )
    assert (
        created["user"]["userId"],
        created["user"]["displayName"],
        created["user"]["firmId"],
    ) == ("ada", "Ada Ray", world.firm.id)
    again = client.send("/v1/users", ADA | {"email": "other@example.com"})
    assert again == created | {"created": False}
    world.advance("1m")
    changed = client.request(
        "PATCH", "/v1/users/ada", json={"email": "new@example.com", "display_name": "A. Ray"}
    ).json()["user"]
    assert (changed["email"], changed["displayName"], changed["firstName"]) == (
        "new@example.com",
        "A. Ray",
        "Ada",
    )
    assert changed["createdAt"] == created["user"]["createdAt"] < changed["updatedAt"]
    assert client.post("/v1/kyc/start", json=KYC).status == 200
    world.advance("27m")
    verified = partner(world).send("/v1/users", ADA)
    assert verified["user"]["kycStatus"] == "KYC_STATUS_TYPE_APPROVED"
    status = partner(world).read("/v1/kyc/status", external_id="ada")
    assert (
        verified["participantId"]
        == verified["user"]["ep3ParticipantId"]
        == status["participantId"]
        != ""
    )
    assert verified["user"]["ep3AccountId"] == status["provisionedAccount"]


def test_registering_may_onboard_at_once(world: Desk) -> None:
    assert partner(world).send("/v1/users", ADA, "participantId") == ""
    world.assume("users.create_onboards", True)
    created = partner(world).send("/v1/users", ADA | {"user_id": "bob"})
    assert created["participantId"] in partner(world).read("/v1/users", "users")
    assert (
        world.exchange(world.firm, created["participantId"]).read(
            "/v1/trading/orders/open", "orders"
        )
        == []
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_id", ""),
        ("user_id", "x" * 50),
        ("email", "nobody"),
        ("phone_number", "555"),
        ("date_of_birth", "2990-01-01"),
        ("profile_image_url", "javascript:alert(1)"),
        ("profile_image_url", "http://[::1"),
        ("profile_image_url", "ftp://pictures.example/ada.png"),
        ("profile_image_url", "https:///ada.png"),
        ("first_name", "x" * 51),
    ],
)
def test_bad_fields_of_a_person_are_named_and_nobody_is_registered(
    world: Desk, field: str, value: str
) -> None:
    refused = partner(world).post("/v1/users", json=ADA | {field: value})
    assert refused.status == 400 and refused.json()["message"].startswith(f"{field}:")
    assert partner(world).request("PATCH", "/v1/users/ada", json={}).status == 404


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_picture_has_a_web_address(world: Desk, scheme: str) -> None:
    picture = f"{scheme}://pictures.example/ada.png"
    assert partner(world).post("/v1/users", json=ADA | {"profile_image_url": picture}).status == 200


def test_grpc_knows_the_same_people(world: Desk) -> None:
    partner(world).post("/v1/users", json=ADA)
    result = world.rpc_partner.call("UsersAPI.CreateUser", wire.CreateUserRequest(user_id="ada"))
    assert (result.created, result.user.email) == (False, "ada@example.com")
    world.simulation.snapshot("here")
    world.rpc_partner.call(
        "UsersAPI.UpdateUser", wire.UpdateUserRequest(user_id="ada", email="b@example.com")
    )
    world.simulation.restore("here")
    world.forget_tokens()
    assert partner(world).send("/v1/users", ADA, "user", "email") == "ada@example.com"
