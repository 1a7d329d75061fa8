"""Who may act for whom (§5.1 items 7 and 8)."""

from __future__ import annotations

import msgspec
import pytest

from sim.core.identity.firms import ApiKey, Firm, Firms, FirmsState, User
from sim.core.model.context import Context
from sim.core.model.refusals import PermissionDenied

ACME = "firms/ISV-Participant-Acme"
ALICE = f"{ACME}/users/alice"


def make() -> Firms:
    acme = Firm(
        name=ACME,
        client_id="client-acme",
        clearing_firm="firms/ISV-Acme",
        users=[
            User(name=ALICE, account="firms/ISV-Acme/accounts/1"),
            User(name=f"{ACME}/users/frozen", account="firms/ISV-Acme/accounts/2", tradable=False),
        ],
    )
    other = Firm(
        name="firms/Other",
        client_id="client-other",
        users=[User(name="firms/Other/users/bob", account="firms/Clear/accounts/1")],
    )
    return Firms(
        Context(seed=7, now=0),
        [acme, other],
        [ApiKey(key_id="k1", public_key=bytes(32), account="retail/1")],
    )


def test_a_firm_acts_for_its_own_users() -> None:
    firms = make()
    user = firms.participant_of(firms.require(ACME), ALICE)
    assert (user.name, user.account) == (ALICE, "firms/ISV-Acme/accounts/1")


@pytest.mark.parametrize(
    ("header", "remedy"),
    [
        (None, f"send x-participant-id: {ACME}/users/<user>"),
        ("", f"send x-participant-id: {ACME}/users/<user>"),
        ("alice", "x-participant-id has the form"),
        (f"{ACME}/users/", "x-participant-id has the form"),
        (f"{ALICE}/more", "x-participant-id has the form"),
        ("firms/Other/users/bob", f"the token belongs to {ACME}"),
        (f"{ACME}/users/mallory", "unknown user"),
        (f"{ACME}/users/frozen", "wait for kyc.approved"),
    ],
)
def test_any_other_header_is_denied_with_what_would_have_worked(
    header: str | None, remedy: str
) -> None:
    firms = make()
    with pytest.raises(PermissionDenied) as denied:
        firms.participant_of(firms.require(ACME), header)
    assert denied.value.message == "permission denied"
    assert remedy in denied.value.remedy


def test_onboarding_adds_a_user_with_an_account_of_the_clearing_firm() -> None:
    firms = make()
    firm = firms.require(ACME)
    before = firms.accounts_of(firm)
    user = firms.onboard(ACME, "Carol Jones")
    assert user.name.startswith(f"{ACME}/users/")
    assert user.account.startswith("firms/ISV-Acme/accounts/")
    assert firms.accounts_of(firm) == (*before, user.account)
    assert firms.participant_of(firm, user.name) is user
    assert firms.may_act_for(firm, user.account)
    assert not firms.may_act_for(firms.require("firms/Other"), user.account)
    assert firms.firm_of(user.account) is firm


def test_two_onboarded_people_get_different_names() -> None:
    firms = make()
    assert firms.onboard(ACME).name != firms.onboard(ACME).name


def test_a_taken_name_or_client_id_cannot_be_registered_again() -> None:
    firms = make()
    with pytest.raises(ValueError, match="client-acme"):
        firms.add_firm(Firm(name="firms/New", client_id="client-acme"))
    with pytest.raises(ValueError, match="k1"):
        firms.add_api_key(ApiKey(key_id="k1", public_key=bytes(32), account="x"))


def test_saved_firms_come_back_with_their_users_and_indexes() -> None:
    firms = make()
    user = firms.onboard(ACME, "Carol")
    saved = msgspec.msgpack.encode(firms.save())
    restored = Firms(Context(seed=7, now=0))
    restored.load(msgspec.msgpack.decode(saved, type=FirmsState))
    assert restored.participant_of(restored.require(ACME), user.name).account == user.account
    assert restored.by_client("client-other") is restored.require("firms/Other")
    assert restored.api_key("k1") is not None
    assert msgspec.msgpack.encode(restored.save()) == saved
