"""Who is calling, and whether they may (§5.1, §5.2)."""

from __future__ import annotations

from typing import Any

import pytest

from sim.api.pipeline.authentication import authenticate_caller, names_of
from sim.api.pipeline.inputs import NOBODY, VerifiedCredential
from sim.contract.contract import Operation, RpcService
from sim.core.identity.credentials import ASSERTION_TYPE, Credentials, TokenRequest, fingerprint
from sim.core.identity.firms import ApiKey, Firm, Firms, User
from sim.core.model.context import Context
from sim.core.model.refusals import (
    InvalidSignature,
    MissingScope,
    PermissionDenied,
    Unauthenticated,
)
from sim.kernel.instants import parse_instant, seconds

USER = "firms/Acme/users/alice"


class Parties:
    """An exchange with one firm, one key and one token in force."""

    def __init__(self) -> None:
        self.ctx = Context(seed=7, now=parse_instant("2026-09-08T18:00:00Z"))
        firm = Firm(
            name="firms/Acme",
            client_id="client-acme",
            scopes=("read:orders",),
            users=[User(name=USER, account="firms/C/accounts/1")],
        )
        self.firms = Firms(
            self.ctx,
            [firm],
            [
                ApiKey(
                    key_id="k1",
                    public_key=bytes(32),
                    account="retail/1",
                    participant="retail/users/1",
                )
            ],
        )
        self.credentials = Credentials(self.ctx, self.firms)
        grant = self.credentials.issue(
            TokenRequest(
                grant_type="client_credentials",
                client_id="client-acme",
                assertion_type=ASSERTION_TYPE,
                audience="x",
                audience_known=True,
                subject="client-acme",
                nonce="n",
            )
        )
        self.token = VerifiedCredential("bearer", fingerprint("sandbox", grant.claims))


def operation(**fields: Any) -> Operation:
    return Operation(RpcService("p", "S"), "R", **fields)


NEEDS_ALL = operation(scope="read:orders", participant="required")


def test_a_firm_with_scope_and_participant_acts_for_its_user() -> None:
    caller = authenticate_caller(
        Parties(), NEEDS_ALL, "exchange", Parties().token, USER, "127.0.0.1"
    )
    assert (caller.plane, caller.firm, caller.client_id) == (
        "exchange",
        "firms/Acme",
        "client-acme",
    )
    assert (caller.participant, caller.account, caller.accounts) == (
        USER,
        "firms/C/accounts/1",
        ("firms/C/accounts/1",),
    )
    assert caller.scopes == ("read:orders",)
    assert caller.names == (USER, "firms/Acme", "client-acme")


def test_grpc_authenticates_like_the_exchange() -> None:
    parties = Parties()
    assert authenticate_caller(parties, NEEDS_ALL, None, parties.token, USER).plane == "grpc"


BEARERS = [
    (NOBODY, "send Authorization"),
    (VerifiedCredential("api_key", "k1"), "send Authorization"),
    (VerifiedCredential("bearer", problem="scheme"), "no other scheme"),
    (VerifiedCredential("bearer", problem="malformed"), "no JWT"),
    (VerifiedCredential("bearer", "f" * 32), "not issued here"),
]


@pytest.mark.parametrize(("credential", "remedy"), BEARERS)
def test_whoever_has_no_good_token_is_unauthenticated(
    credential: VerifiedCredential, remedy: str
) -> None:
    with pytest.raises(Unauthenticated) as refused:
        authenticate_caller(Parties(), NEEDS_ALL, "exchange", credential, USER)
    assert refused.value.message == "unauthenticated"
    assert remedy in refused.value.remedy


def test_an_expired_token_is_unauthenticated() -> None:
    parties = Parties()
    parties.ctx.now += seconds(180)
    with pytest.raises(Unauthenticated) as refused:
        authenticate_caller(parties, NEEDS_ALL, "exchange", parties.token, USER)
    assert "expired" in refused.value.remedy


def test_the_token_is_checked_before_the_scope_and_the_scope_before_the_participant() -> None:
    parties = Parties()
    needs_other = operation(scope="write:orders", participant="required")
    with pytest.raises(Unauthenticated):
        authenticate_caller(parties, needs_other, "exchange", NOBODY, None)
    with pytest.raises(
        MissingScope, match="permission denied: missing required scope write:orders"
    ):
        authenticate_caller(parties, needs_other, "exchange", parties.token, None)
    with pytest.raises(PermissionDenied, match=r"^permission denied$"):
        authenticate_caller(parties, NEEDS_ALL, "exchange", parties.token, None)


PARTICIPANTS = [
    ("required", USER, USER),
    ("optional", USER, USER),
    ("optional", None, None),
    ("not_needed", USER, None),
    ("not_needed", "nonsense", None),
]


@pytest.mark.parametrize(("policy", "header", "participant"), PARTICIPANTS)
def test_the_participant_header_is_required_checked_when_sent_or_ignored(
    policy: str, header: str | None, participant: str | None
) -> None:
    parties = Parties()
    caller = authenticate_caller(
        parties, operation(participant=policy), "exchange", parties.token, header
    )
    assert caller.participant == participant


def test_an_optional_participant_must_still_be_right() -> None:
    parties = Parties()
    with pytest.raises(PermissionDenied):
        authenticate_caller(
            parties,
            operation(participant="optional"),
            "exchange",
            parties.token,
            "firms/Other/users/bob",
        )


def test_a_retail_key_acts_for_its_account() -> None:
    caller = authenticate_caller(
        Parties(), operation(), "retail", VerifiedCredential("api_key", "k1"), None
    )
    assert (caller.api_key, caller.account, caller.accounts, caller.participant) == (
        "k1",
        "retail/1",
        ("retail/1",),
        "retail/users/1",
    )
    assert caller.firm is None


KEYS = [
    (NOBODY, "send X-PM-Access-Key"),
    (VerifiedCredential("bearer", "x"), "send X-PM-Access-Key"),
    (VerifiedCredential("api_key", "k9"), "no such API key"),
    (VerifiedCredential("api_key", "k1", problem="stale"), "30 s"),
    (VerifiedCredential("api_key", "k1", problem="signature"), "METHOD + path"),
]


@pytest.mark.parametrize(("credential", "remedy"), KEYS)
def test_whoever_has_no_good_signature_is_told_so_alike_and_explained_apart(
    credential: VerifiedCredential, remedy: str
) -> None:
    with pytest.raises(InvalidSignature) as refused:
        authenticate_caller(Parties(), operation(), "retail", credential, None)
    unsigned = "Missing required API key headers"
    assert refused.value.message == (
        unsigned if credential is NOBODY else "Invalid API key signature"
    )
    assert remedy in refused.value.remedy


@pytest.mark.parametrize(
    ("plane", "credential"), [("gateway", "default"), ("auth", "default"), ("retail", "none")]
)
def test_public_operations_take_anybody(plane: str, credential: str) -> None:
    verified_credential = VerifiedCredential("assertion", "client-acme")
    caller = authenticate_caller(
        Parties(), operation(credential=credential), plane, verified_credential, None, "203.0.113.7"
    )
    assert (caller.firm, caller.peer, caller.names, caller.credential) == (
        None,
        "203.0.113.7",
        (),
        verified_credential,
    )


def test_names_before_authentication_are_every_name_a_fault_may_match() -> None:
    parties = Parties()
    assert names_of(parties, parties.token, USER, "p") == (USER, "firms/Acme", "client-acme", "p")
    assert names_of(parties, VerifiedCredential("api_key", "k1"), None, "p") == (
        "retail/users/1",
        "retail/1",
        "k1",
        "p",
    )
    assert names_of(parties, VerifiedCredential("assertion", "client-acme"), None, "p") == (
        "firms/Acme",
        "client-acme",
        "p",
    )
    assert names_of(parties, VerifiedCredential("bearer", "unknown"), None, "p") == ("p",)
    assert names_of(parties, NOBODY, None, "p") == ("p",)
