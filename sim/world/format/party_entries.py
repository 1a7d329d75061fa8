"""Entries of a scenario's `world.firms`, `world.accounts` and `world.api_keys`.

None means that the file does not have the key: an entry that names something of the default world
changes only the keys that it has.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated

from msgspec import Struct

from sim.core.identity.credentials import ENVIRONMENTS
from sim.core.model.funding_records import SourceType
from sim.world.format.scalar_types import MONEY_TEXT, NAME
from sim.world.format.value_types import Choice, Text

ENVIRONMENT = Choice(ENVIRONMENTS)
SOURCE_TYPES = Choice(
    {
        "bank": SourceType.BANK_ACCOUNT,
        "aeropay": SourceType.AEROPAY_BANK_ACCOUNT,
        "card": SourceType.CHECKOUT_CARD,
        "apple_pay": SourceType.APPLE_PAY,
    }
)


def _thirty_two_bytes(text: str) -> str:
    if len(b64decode(text, validate=True)) != 32:
        raise ValueError("the text does not decode to 32 bytes")
    return text


SEED = Text("base64 of 32 bytes", _thirty_two_bytes)


class UserEntry(Struct, frozen=True, kw_only=True):
    """A participant of a firm."""

    name: Annotated[str, NAME]
    """name of the user: firms/<firm>/users/<user>, or its last part"""
    display_name: str = ""
    """display name"""
    account: str = ""
    """account that it trades on; by default an account named after the user"""
    balance: Annotated[str, MONEY_TEXT] = "10000"
    """opening balance of that account in dollars, if the account is new"""


class FundingSourceEntry(Struct, frozen=True, kw_only=True):
    """A funding source of a firm: where deposits come from and withdrawals go to."""

    id: Annotated[str, NAME]
    """id of the source"""
    type: Annotated[SourceType, SOURCE_TYPES] = SourceType.BANK_ACCOUNT
    """type of the source; bank by default"""
    disabled: bool = False
    """true: refuse transactions through this source"""
    max_deposit: Annotated[str | None, MONEY_TEXT] = None
    """largest deposit in dollars; no limit by default"""


class FirmEntry(Struct, frozen=True, kw_only=True):
    """A partner firm with its credentials and participants."""

    name: Annotated[str, NAME]
    """name of the firm, firms/<firm>"""
    display_name: str | None = None
    """display name"""
    client_id: str | None = None
    """OAuth client id; by default derived from the name"""
    key: str | None = None
    """key pair that the sandbox ships, by its file name"""
    public_key: str | None = None
    """public key of your own key pair, as PEM"""
    scopes: tuple[str, ...] | None = None
    """granted scopes; all by default"""
    clearing_firm: str | None = None
    """clearing firm that holds the accounts of its users, firms/<firm>"""
    users: tuple[UserEntry, ...] = ()
    """participants of the firm, identified by name"""
    limits: dict[str, int] = {}
    """rate limits raised for this firm: calls per period, by name of the limit"""
    environment: Annotated[str, ENVIRONMENT] = ""
    """environment that its credentials belong to; by default that of the scenario"""
    funding_sources: tuple[FundingSourceEntry, ...] = ()
    """funding sources; by default one bank account"""


class AccountEntry(Struct, frozen=True, kw_only=True):
    """An account to add or change."""

    name: Annotated[str, NAME]
    """name of the account, firms/<clearing firm>/accounts/<account>"""
    balance: Annotated[str | None, MONEY_TEXT] = None
    """opening balance in dollars"""
    prior_volume: Annotated[str | None, MONEY_TEXT] = None
    """dollars traded in the calendar month before the scenario begins, on which the rebate of
    taker fees depends"""
    collateral_return: bool | None = None
    """whether related short positions need less margin; by default as the
    assumption `collateral_return.enabled` says"""


class ApiKeyEntry(Struct, frozen=True, kw_only=True):
    """A retail API key. Without `secret_key` and `public_key` it gets a secret key that is derived
    from its id.
    """

    key_id: Annotated[str, NAME]
    """id of the key, a UUID; clients send it as X-PM-Access-Key"""
    account: Annotated[str, NAME]
    """account that the key trades on"""
    participant: str = ""
    """user that owns the client order ids of the key; by default a user named after the account"""
    secret_key: Annotated[str | None, SEED] = None
    """32-byte Ed25519 seed in base64; it is never written to a journal"""
    public_key: Annotated[str | None, SEED] = None
    """32-byte public key in base64; by default derived from the secret key"""
    limits: dict[str, int] = {}
    """rate limits raised for this key: calls per period, by name of the limit"""
    environment: Annotated[str, ENVIRONMENT] = ""
    """environment that the key belongs to; by default that of the scenario"""
