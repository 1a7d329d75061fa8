"""The deprecated user calls, with which a firm registers people and changes their data.

Permission to trade does not depend on them; KYC decides it.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from sim.api.pipeline.account_access import whole_firm
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import USERS_ONBOARD
from sim.core.exchange import Exchange
from sim.core.identity.firms import Firm
from sim.core.identity.isv_users import IsvUser, Person
from sim.core.identity.kyc_application import (
    EXTERNAL_ID_MAX,
    NAME_MAX,
    is_birthday,
    is_email,
    is_phone,
)
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import Instant

_STATUS = wire.KYCStatusType
_STATUSES = {
    "ACCEPT": _STATUS.KYC_STATUS_TYPE_APPROVED,
    "REJECT": _STATUS.KYC_STATUS_TYPE_REJECTED,
    "RESUBMIT": _STATUS.KYC_STATUS_TYPE_PENDING,
    "": _STATUS.KYC_STATUS_TYPE_NONE,
}


@handles("UsersAPI.CreateUser")
def create_user(
    exchange: Exchange, caller: Caller, request: wire.CreateUserRequest
) -> wire.CreateUserResponse:
    """Register a person under the firm's own id.

    A person already registered is returned unchanged.
    """
    firm = whole_firm(exchange, caller)
    person = _person(exchange, request)
    user = exchange.isv_users.get(firm.name, request.user_id)
    created = user is None
    if user is None:
        enrolled = _onboarded(exchange, firm, person)
        user = exchange.isv_users.create(firm.name, request.user_id, person, *enrolled)
    message = user_message(exchange, firm, user)
    return wire.CreateUserResponse(
        user=message, participant_id=message.ep3_participant_id, created=created
    )


@handles("UsersAPI.UpdateUser")
def update_user(
    exchange: Exchange, caller: Caller, request: wire.UpdateUserRequest
) -> wire.UpdateUserResponse:
    """Change a person's data; empty fields keep their values."""
    firm = whole_firm(exchange, caller)
    person = _person(exchange, request)
    user = exchange.isv_users.update(firm.name, request.user_id, person)
    return wire.UpdateUserResponse(user=user_message(exchange, firm, user))


def user_message(exchange: Exchange, firm: Firm, user: IsvUser) -> wire.ISVUser:
    """Return a user with the status of the verification that has the user's id as external_id."""
    person = user.person
    case = exchange.kyc.status(firm.name, user.user_id)
    kyc_status = _STATUSES.get(case.decision, _STATUS.KYC_STATUS_TYPE_PENDING)
    if (case.decision, case.status) == ("REVIEW", "ON_HOLD"):
        kyc_status = _STATUS.KYC_STATUS_TYPE_ON_HOLD
    return wire.ISVUser(
        id=user.id,
        user_id=user.user_id,
        email=person.email,
        phone_number=person.phone_number,
        first_name=person.first_name,
        last_name=person.last_name,
        display_name=_display_name(person),
        date_of_birth=person.date_of_birth,
        profile_image_url=person.profile_image_url,
        ep3_participant_id=case.participant or user.participant,
        ep3_account_id=case.provisioned_account or user.account,
        kyc_status=kyc_status,
        created_at=user.created,
        updated_at=user.updated,
        firm_id=firm.id,
    )


def _onboarded(exchange: Exchange, firm: Firm, person: Person) -> tuple[str, str]:
    if not exchange.ctx.assumptions.flag(USERS_ONBOARD):
        return "", ""
    return exchange.enroll(firm.name, _display_name(person))


def _display_name(person: Person) -> str:
    return person.display_name or f"{person.first_name} {person.last_name}".strip()


def _person(exchange: Exchange, request: wire.CreateUserRequest | wire.UpdateUserRequest) -> Person:
    problems = list(_problems(request, exchange.now))
    if problems:
        raise InvalidRequest("; ".join(problems), remedy="correct the named fields")
    return Person(**{name: getattr(request, name) for name in Person.__struct_fields__})


def _problems(
    request: wire.CreateUserRequest | wire.UpdateUserRequest, now: Instant
) -> Iterator[str]:
    if not request.user_id.strip() or len(request.user_id) > EXTERNAL_ID_MAX:
        yield f"user_id: 1 to {EXTERNAL_ID_MAX} characters"
    for name in ("first_name", "last_name", "display_name"):
        if len(getattr(request, name)) > NAME_MAX:
            yield f"{name}: at most {NAME_MAX} characters"
    if request.email and not is_email(request.email):
        yield "email: an e-mail address"
    if request.phone_number and not is_phone(request.phone_number):
        yield "phone_number: E.164, such as +14155551212"
    if request.date_of_birth and not is_birthday(request.date_of_birth, now):
        yield "date_of_birth: a past date, YYYY-MM-DD"
    if request.profile_image_url and not _is_url(request.profile_image_url):
        yield "profile_image_url: an http or https address"


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
    except ValueError:
        return False
    return url.scheme in ("http", "https") and bool(url.netloc)
