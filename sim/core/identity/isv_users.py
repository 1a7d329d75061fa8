"""Persons whom partner firms registered with the deprecated user calls, which precede KYC."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from sim.core.model.context import Context
from sim.core.model.refusals import NotFound, cut
from sim.core.model.stateful import Stateful
from sim.kernel.instants import Instant


class Person(Struct, frozen=True, kw_only=True):
    """Personal data that a firm submitted. An empty text means unknown."""

    email: str = ""
    phone_number: str = ""
    first_name: str = ""
    last_name: str = ""
    display_name: str = ""
    date_of_birth: str = ""
    profile_image_url: str = ""


class IsvUser(Struct, frozen=True):
    """A registered person.

    `participant` and `account` are set only if the registration created
    them (assumption `users.create_onboards`).
    """

    id: str
    firm: str
    user_id: str
    person: Person
    created: Instant
    updated: Instant
    participant: str = ""
    account: str = ""


class IsvUsersState(Struct):
    """Users by "firm|user id"."""

    users: dict[str, IsvUser] = field(default_factory=dict)


class IsvUsers(Stateful[IsvUsersState]):
    """All registered persons. Ids belong to a firm: another firm may use the same id."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._state = IsvUsersState()

    def get(self, firm: str, user_id: str) -> IsvUser | None:
        """Return a user of the firm, or None."""
        return self._state.users.get(f"{firm}|{user_id}")

    def create(
        self, firm: str, user_id: str, person: Person, participant: str = "", account: str = ""
    ) -> IsvUser:
        """Register a person."""
        now = self._ctx.now
        name = self._ctx.ids.uuid("isv.user")
        user = IsvUser(name, firm, user_id, person, now, now, participant, account)
        self._state.users[f"{firm}|{user_id}"] = user
        return user

    def update(self, firm: str, user_id: str, person: Person) -> IsvUser:
        """Change the fields that are not empty. Refuses an id unknown to the firm."""
        user = self.get(firm, user_id)
        if user is None:
            raise NotFound(f"unknown user: {cut(user_id)}", remedy="POST /v1/users registers one")
        changes = {
            name: value for name in person.__struct_fields__ if (value := getattr(person, name))
        }
        changed = self._state.users[f"{firm}|{user_id}"] = replace(
            user, person=replace(user.person, **changes), updated=self._ctx.now
        )
        return changed
