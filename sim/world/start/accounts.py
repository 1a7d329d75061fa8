"""The participants of a world: partner firms, their users, accounts and opening balances, retail
API keys.

Names follow the service: a participant is `firms/<firm>/users/<user>`, an account `firms/<clearing
firm>/accounts/<id>`, and neither firm can be derived from the other. The scripted participants
`maker`, `taker` and `noise` are users of `firms/sandbox`.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sim.contract.contract import SCOPES
from sim.core.identity.firms import SANDBOX, ApiKey, Firm, Firms, User
from sim.core.model.funding_records import FundingSource
from sim.core.model.quantities import CASH_SCALE, Cash, scaled
from sim.core.model.refusals import NotFound
from sim.kernel import resources
from sim.world.format.participant_entries import Trader
from sim.world.format.party_entries import AccountEntry, ApiKeyEntry, FirmEntry, UserEntry
from sim.world.format.suggestions import suggestion

SANDBOX_FIRM = "firms/sandbox"
WHO_TRADES = "maker, taker, noise, firms/<firm>/users/<user>, its last part, or its account"
CLEARING_BALANCE = "1000000"
OPENING_BALANCE = "10000"


class OpeningAccount(Struct, frozen=True, kw_only=True):
    """An account with its opening balance.

    `clearing` marks a firm's own account, which belongs to no participant. `collateral_return` is
    None if the assumption decides. `prior_volume` is the volume of the previous month.
    """

    name: str
    opening_balance: Cash
    clearing: bool = False
    collateral_return: bool | None = None
    prior_volume: Cash = 0


class OpeningParties(Struct, frozen=True, kw_only=True):
    """All firms, users, accounts and keys, each kind in order of first mention.

    `key_files` has the private halves of firms' keys by client id, `secrets` the base64 seeds of
    API keys by key id, if they are known.
    """

    firms: tuple[Firm, ...]
    accounts: tuple[OpeningAccount, ...]
    api_keys: tuple[ApiKey, ...]
    key_files: dict[str, Path]
    secrets: dict[str, str]

    def user(self, name: str) -> User | None:
        """Return a user by resource name, or by its last part: a scripted participant, or any other
        user whose last part is unique.
        """
        user_name = scripted_user(name)
        users = [user for firm in self.firms for user in firm.users]
        exact = next((user for user in users if user.name == user_name), None)
        if exact is not None or "/" in name or not name:
            return exact
        called = [user for user in users if last_part(user.name) == name]
        return called[0] if len(called) == 1 else None

    def holder(self, account: str) -> User | None:
        """Return the user who trades for an account; None if there is none or more than one."""
        holders = [user for firm in self.firms for user in firm.users if user.account == account]
        return holders[0] if len(holders) == 1 else None

    def firm(self, name: str) -> Firm | None:
        """Return a firm by resource name or its last part."""
        names = (name, f"firms/{name}")
        return next((firm for firm in self.firms if firm.name in names), None)

    def require_user(self, name: str, firms: Firms | None = None) -> User:
        """Return the user of a name, which may be that of its account. `firms` also knows users
        that were created during the run. Raise NotFound, with the nearest name.
        """
        user = self.user(name) or self.holder(name)
        if user is None and firms is not None:
            user = firms.user(name) or firms.holder(name)
        if user is not None:
            return user
        if (firm := self.firm(name)) is not None:
            remedy = f"name one of its participants: {', '.join(self.users_of(firm)) or 'none'}"
            raise NotFound(f"{firm.name} is a firm, which cannot trade", rule="T1", remedy=remedy)
        remedy = suggestion(name, self.short_names()).removeprefix(", ") or WHO_TRADES
        raise NotFound(f"there is no firm or participant {name}", rule="T1", remedy=remedy)

    def users_of(self, firm: Firm) -> list[str]:
        """Return the participants of a firm, by the last part of their names if that is unique."""
        return [
            last if self.user(last := last_part(user.name)) is user else user.name
            for user in firm.users
        ]

    def account(self, name: str) -> OpeningAccount | None:
        """Return an account by its resource name or by that of its user."""
        user = self.user(name)
        account_name = user.account if user else name
        return next((account for account in self.accounts if account.name == account_name), None)

    def short_names(self) -> list[str]:
        """Return the short names of users and firms for scenarios, the sandbox's first."""
        users = [user.name for firm in self.firms for user in firm.users]
        sandbox = f"{SANDBOX_FIRM}/users/"
        short = [name.removeprefix(sandbox) for name in users if name.startswith(sandbox)]
        others = [name for name in users if not name.startswith(sandbox)]
        return [*short, *(firm.name for firm in self.firms), *others]

    def knows(self, caller: str) -> bool:
        """Return whether a name can be the caller of calls: a firm, user, account or API key."""
        if self.firm(caller) or any(caller == key.key_id for key in self.api_keys):
            return True
        return self.account(caller) is not None


def last_part(name: str) -> str:
    """Return the last part of a resource name."""
    return name.rpartition("/")[2]


def scripted_user(name: str) -> str:
    """Return the resource name of a user, who may be given by the last part."""
    return name if "/" in name else f"{SANDBOX_FIRM}/users/{name}"


def with_traders(firms: Iterable[FirmEntry], traders: Iterable[Trader]) -> list[FirmEntry]:
    """Add a user to the sandbox firm for each simulated trader without another user."""
    added = []
    for firm in firms:
        if firm.name == SANDBOX_FIRM:
            user_ids = {user.name.rpartition("/")[2] for user in firm.users}
            new = [
                UserEntry(name=trader.name, display_name=trader.name, balance=trader.balance)
                for trader in traders
                if not trader.as_ and trader.name not in user_ids
            ]
            firm = replace(firm, users=(*firm.users, *new))
        added.append(firm)
    return added


def credentials_of(
    environment: str, firms: Iterable[FirmEntry], api_keys: Iterable[ApiKeyEntry]
) -> tuple[list[FirmEntry], list[ApiKeyEntry]]:
    """The default world's credentials in another environment: other client ids and other API keys
    for the same users (§0).
    """

    def other(text: str, size: int) -> bytes:
        return blake2b(
            f"{environment} {text}".encode(), digest_size=size, person=b"sim-environment"
        ).digest()

    return (
        [
            replace(
                entry,
                client_id=(
                    f"{entry.client_id.rpartition('-')[0]}-{other(entry.client_id, 4).hex()}"
                    if entry.client_id
                    else None
                ),
            )
            for entry in firms
        ],
        [
            replace(
                entry, key_id=_uuid(other(entry.key_id, 16).hex()), secret_key=None, public_key=None
            )
            for entry in api_keys
        ],
    )


def _uuid(digits: str) -> str:
    """32 hexadecimal digits in the form of a random UUID."""
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"


def build(
    firms: Iterable[FirmEntry],
    accounts: Iterable[AccountEntry],
    api_keys: Iterable[ApiKeyEntry],
    environment: str = SANDBOX,
) -> OpeningParties:
    """Build all parties that the entries name, including accounts that only a user or
    a key names.
    """
    entries = {entry.name: entry for entry in accounts}
    opened: dict[str, OpeningAccount] = {}

    def open_account(name: str, balance: str, *, clearing: bool = False) -> None:
        if name not in opened:
            entry = entries.get(name) or AccountEntry(name=name)
            opened[name] = OpeningAccount(
                name=name,
                opening_balance=scaled(entry.balance or balance, CASH_SCALE),
                clearing=clearing,
                collateral_return=entry.collateral_return,
                prior_volume=scaled(entry.prior_volume or "0", CASH_SCALE),
            )

    built, key_files = [], {}
    for entry in firms:
        firm = _firm(entry, environment)
        built.append(firm)
        if entry.key:
            key_files[firm.client_id] = resources.path("fixtures", f"keys/{entry.key}.pem")
        if firm.client_id:
            open_account(firm.clearing_account, CLEARING_BALANCE, clearing=True)
        for user, user_entry in zip(firm.users, entry.users, strict=True):
            open_account(user.account, user_entry.balance)
    pairs = [(entry, key_pair(entry)) for entry in api_keys]
    keys = [_api_key(entry, public, environment) for entry, (_, public) in pairs]
    for name in (*entries, *(key.account for key in keys)):
        open_account(name, OPENING_BALANCE)
    return OpeningParties(
        firms=tuple(built),
        accounts=tuple(opened.values()),
        api_keys=tuple(keys),
        key_files=key_files,
        secrets={entry.key_id: secret for entry, (secret, _) in pairs if secret},
    )


def _api_key(entry: ApiKeyEntry, public_key: str, environment: str) -> ApiKey:
    return ApiKey(
        key_id=entry.key_id,
        public_key=b64decode(public_key),
        account=entry.account,
        participant=entry.participant or entry.account.replace("/accounts/", "/users/"),
        environment=entry.environment or environment,
        limits=dict(entry.limits),
        beta=entry.beta,
    )


def _firm(entry: FirmEntry, environment: str) -> Firm:
    short = entry.name.removeprefix("firms/")
    clearing_firm = entry.clearing_firm or f"firms/{short}-fcm"
    public_key = entry.public_key or ""
    if entry.key:
        public_key = resources.path("fixtures", f"keys/{entry.key}.pub.pem").read_text("ascii")
    users = []
    for user in entry.users:
        last = user.name.rpartition("/")[2]
        users.append(
            User(
                name=f"{entry.name}/users/{last}",
                account=user.account or f"{clearing_firm}/accounts/{last}",
                display_name=user.display_name,
            )
        )
    return Firm(
        name=entry.name,
        display_name=entry.display_name or short.replace("-", " ").title(),
        client_id=entry.client_id or (f"client-{short}" if public_key else ""),
        public_key_pem=public_key,
        scopes=tuple(sorted(SCOPES if entry.scopes is None else set(entry.scopes))),
        users=users,
        clearing_firm=clearing_firm,
        clearing_account=f"{clearing_firm}/accounts/clearing",
        environment=entry.environment or environment,
        limits=dict(entry.limits),
        funding_sources=tuple(
            FundingSource(
                id=source.id,
                type=source.type,
                disabled=source.disabled,
                max_deposit=scaled(source.max_deposit or "0", CASH_SCALE),
            )
            for source in entry.funding_sources
        ),
    )


def key_pair(entry: ApiKeyEntry) -> tuple[str, str]:
    """Base64 seed and public key of an entry. An entry with neither gets a pair that is derived
    from its id; the seed is empty if only the public key is given.
    """
    secret = entry.secret_key or ""
    if not secret and entry.public_key is None:
        secret = b64encode(
            blake2b(entry.key_id.encode(), digest_size=32, person=b"sim-api-key").digest()
        ).decode()
    return secret, entry.public_key or public_half(secret)


def public_half(secret_key: str) -> str:
    """Base64 of the public key that belongs to a base64 Ed25519 seed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return b64encode(
        Ed25519PrivateKey.from_private_bytes(b64decode(secret_key)).public_key().public_bytes_raw()
    ).decode()
