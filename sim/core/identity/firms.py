"""Partner firms, their users, and who may act for whom (§5.1 items 7 and 8).

A firm authenticates once and names in each call the user for whom it acts. A clearing firm holds
the user's account; neither name can be derived from the other. A retail API key belongs to no firm;
it trades exactly one account.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct, convert, field

from sim.core.model.context import Context
from sim.core.model.funding_records import FundingSource
from sim.core.model.refusals import PermissionDenied

SANDBOX = "sandbox"

_USER_NAME = re.compile(r"(firms/[^/\s]+)/users/[^/\s]+")


class FirmType(IntEnum):
    """The role of a firm; the values are the numbers of the wire format."""

    UNDEFINED = 0
    PARTICIPANT = 1
    SUPERVISOR = 2
    CLEARING_MEMBER = 3
    CLEARING_HOUSE = 4
    AGENT = 5


class User(Struct, kw_only=True):
    """A participant.

    `name` is firms/<firm>/users/<user>, `account` is firms/<clearing firm>/accounts/<id>.
    `transferable` is false if transfers cannot use the account.
    """

    name: str
    account: str
    display_name: str = ""
    tradable: bool = True
    transferable: bool = True


class Firm(Struct, kw_only=True):
    """A partner firm.

    `name` is firms/<firm>. `limits` raises rate limits: it maps the name of a limit to the calls
    allowed in its period (§8).
    """

    name: str
    display_name: str = ""
    type: FirmType = FirmType.PARTICIPANT
    client_id: str = ""
    public_key_pem: str = ""
    scopes: tuple[str, ...] = ()
    users: list[User] = field(default_factory=list)
    clearing_firm: str = ""
    clearing_account: str = ""
    environment: str = SANDBOX
    limits: dict[str, int] = field(default_factory=dict)
    funding_sources: tuple[FundingSource, ...] = ()

    @property
    def id(self) -> str:
        """The name without firms/, as in the `firm_id` claim and in webhook payloads."""
        return self.name.removeprefix("firms/")


class ApiKey(Struct, frozen=True, kw_only=True):
    """A retail key: the public half of an Ed25519 key pair (32 bytes) and the account it trades."""

    key_id: str
    public_key: bytes
    account: str
    participant: str = ""
    environment: str = SANDBOX
    limits: dict[str, int] = field(default_factory=dict)
    beta: bool = True  # has access to combos and requests for quotes before they are general


class FirmsState(Struct):
    """Firms with their users, and retail keys, in order of registration."""

    firms: list[Firm]
    api_keys: list[ApiKey]


class Firms:
    """All firms, users and retail keys.

    Users are added when they are verified and never removed.
    """

    def __init__(
        self, ctx: Context, firms: Iterable[Firm] = (), api_keys: Iterable[ApiKey] = ()
    ) -> None:
        self._ctx = ctx
        self._index(FirmsState(list(firms), list(api_keys)))

    # ---- look-ups

    def require(self, name: str) -> Firm:
        """Return the firm named firms/<firm>. Raises KeyError if there is none."""
        return self._by_name[name]

    def by_client(self, client_id: str) -> Firm | None:
        """Return the firm with this client id, or None."""
        return self._by_client.get(client_id)

    def user(self, name: str) -> User | None:
        """Return the user with this full name, or None."""
        entry = self._users.get(name)
        return entry[1] if entry else None

    def holder(self, account: str) -> User | None:
        """Return the user who owns an account; None for clearing, retail and unknown accounts."""
        entry = self._holders.get(account)
        return entry[1] if entry else None

    def firm_of(self, account: str) -> Firm | None:
        """Return the firm that acts for the account's user, or None."""
        entry = self._holders.get(account)
        return entry[0] if entry else None

    def owner_of(self, account: str) -> Firm | None:
        """Return the firm of an account: its user's, or the one whose clearing account it is."""
        return self.firm_of(account) or next(
            (firm for firm in self._state.firms if account and firm.clearing_account == account),
            None,
        )

    def api_key(self, key_id: str) -> ApiKey | None:
        """Return the retail key with this id, or None."""
        return self._keys.get(key_id)

    def all(self) -> tuple[Firm, ...]:
        """Return all firms in order of registration."""
        return tuple(self._state.firms)

    def api_keys(self) -> tuple[ApiKey, ...]:
        """Return all retail keys in order of registration."""
        return tuple(self._state.api_keys)

    # ---- who may act for whom

    def participant_of(self, firm: Firm, header: str | None) -> User:
        """Return the user that x-participant-id names.

        Refused unless it is a tradable user of the calling firm.
        """
        entry = self._users.get(header) if header else None
        if entry is not None and entry[0] is firm and entry[1].tradable:
            return entry[1]
        raise PermissionDenied(rule="S5.1-5", remedy=self._remedy_for_header(firm, header))

    def accounts_of(self, firm: Firm) -> tuple[str, ...]:
        """Return the accounts that a firm may see and trade, in order of onboarding.

        Users may share one.
        """
        accounts = self._accounts.get(firm.name)
        if accounts is None:
            accounts = self._accounts[firm.name] = tuple(
                dict.fromkeys(user.account for user in firm.users)
            )
        return accounts

    def may_act_for(self, firm: Firm, account: str) -> bool:
        """Return whether an account belongs to one of the firm's users."""
        entry = self._holders.get(account)
        return entry is not None and entry[0] is firm

    def _remedy_for_header(self, firm: Firm, header: str | None) -> str:
        if not header:
            return f"send x-participant-id: {firm.name}/users/<user>"
        shape = _USER_NAME.fullmatch(header)
        if shape is None:
            return "x-participant-id has the form firms/<firm>/users/<user>"
        if shape[1] != firm.name:
            return f"the token belongs to {firm.name}; act for one of its own users"
        if header not in self._users:
            return "unknown user; GET /v1/users lists those the firm may act for"
        return "this user may not trade yet; wait for kyc.approved"

    # ---- registration

    def add_firm(self, firm: Firm) -> None:
        """Register a firm. Raises ValueError if its name or client id is taken."""
        if firm.name in self._by_name or (firm.client_id and firm.client_id in self._by_client):
            raise ValueError(
                f"{firm.name} or its client id {firm.client_id!r} is registered already"
            )
        self._state.firms.append(firm)
        self._add_to_indexes(firm)

    def add_api_key(self, key: ApiKey) -> None:
        """Register a retail key. Raises ValueError if its id is taken."""
        if key.key_id in self._keys:
            raise ValueError(f"API key {key.key_id!r} is registered already")
        self._state.api_keys.append(key)
        self._keys[key.key_id] = key

    def onboard(self, firm_name: str, display_name: str = "", *, transferable: bool = True) -> User:
        """Create a user of the firm for a verified person, with an account at its clearing firm."""
        firm = self.require(firm_name)
        clearing = firm.clearing_firm or firm.name
        user = User(
            name=f"{firm.name}/users/{self._ctx.ids.uuid('user')}",
            account=f"{clearing}/accounts/{self._ctx.ids.uuid('account')}",
            display_name=display_name,
            transferable=transferable,
        )
        firm.users.append(user)
        self._index_user(firm, user)
        self._accounts.pop(firm.name, None)
        return user

    # ---- state

    def save(self) -> FirmsState:
        """Return firms and keys."""
        return self._state

    def load(self, state: object) -> None:
        """Restore saved firms and keys and rebuild the indexes."""
        self._index(convert(state, FirmsState))

    def _index(self, state: FirmsState) -> None:
        self._state = state
        self._by_name: dict[str, Firm] = {}
        self._by_client: dict[str, Firm] = {}
        self._users: dict[str, tuple[Firm, User]] = {}
        self._holders: dict[str, tuple[Firm, User]] = {}
        self._accounts: dict[str, tuple[str, ...]] = {}
        self._keys = {key.key_id: key for key in state.api_keys}
        for firm in state.firms:
            self._add_to_indexes(firm)

    def _add_to_indexes(self, firm: Firm) -> None:
        self._by_name[firm.name] = firm
        if firm.client_id:
            self._by_client[firm.client_id] = firm
        for user in firm.users:
            self._index_user(firm, user)

    def _index_user(self, firm: Firm, user: User) -> None:
        self._users[user.name] = self._holders[user.account] = (firm, user)
