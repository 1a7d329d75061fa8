"""What a scenario says about who takes part (`world.firms`, `world.accounts`, `world.api_keys`):
firms with their users and funding sources, accounts, and retail API keys.

A field of None was not written: an entry that names something of the default world changes the
fields that it has and leaves the others.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated

from msgspec import Struct

from sim.core.identity.credentials import ENVIRONMENTS
from sim.core.model.funding_records import SourceType
from sim.scenario.scalar_types import BOOLEAN, MONEY_TEXT, NAME
from sim.scenario.value_types import Choice, Text

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
        raise ValueError("that is not 32 bytes")
    return text


SEED = Text("base64 of 32 bytes", _thirty_two_bytes)


class UserEntry(Struct, frozen=True, kw_only=True):
    """A participant of a firm."""

    name: Annotated[str, NAME, "last part or whole of firms/<firm>/users/<user>"]
    display_name: Annotated[str, "name that people read"] = ""
    account: Annotated[str, "account it trades on; one named after the user when left out"] = ""
    balance: Annotated[str, MONEY_TEXT, "opening dollars of that account, when it is new"] = "10000"


class FundingSourceEntry(Struct, frozen=True, kw_only=True):
    """Where a firm's money comes from or goes to."""

    id: Annotated[str, NAME, "id of the source"]
    type: Annotated[SourceType, SOURCE_TYPES, "what kind of source"] = SourceType.BANK_ACCOUNT
    disabled: Annotated[bool, BOOLEAN, "true: transactions through it are refused"] = False
    max_deposit: Annotated[
        str | None, MONEY_TEXT, "most dollars of one deposit; unbounded when left out"
    ] = None


class FirmEntry(Struct, frozen=True, kw_only=True):
    """A partner firm with its credentials and participants."""

    name: Annotated[str, NAME, "firms/<firm>"]
    display_name: Annotated[str | None, "name that people read"] = None
    client_id: Annotated[str | None, "OAuth client id; derived from the name when left out"] = None
    key: Annotated[str | None, "key pair of fixtures/keys, by file name"] = None
    public_key: Annotated[str | None, "the public half of another key pair, as PEM"] = None
    scopes: Annotated[tuple[str, ...] | None, "granted scopes; all when left out"] = None
    clearing_firm: Annotated[str | None, "firms/<firm> under which its accounts stand"] = None
    users: Annotated[tuple[UserEntry, ...], "participants, by name"] = ()
    limits: Annotated[
        dict[str, int], "rate limits raised for this firm: name of the limit, calls in its period"
    ] = {}
    environment: Annotated[
        str, ENVIRONMENT, "environment its credentials are of; the scenario's when left out"
    ] = ""
    funding_sources: Annotated[
        tuple[FundingSourceEntry, ...], "one bank account when left out"
    ] = ()


class AccountEntry(Struct, frozen=True, kw_only=True):
    """An account, new or with another opening balance."""

    name: Annotated[str, NAME, "firms/<clearing firm>/accounts/<account>"]
    balance: Annotated[str | None, MONEY_TEXT, "opening dollars"] = None
    prior_volume: Annotated[
        str | None,
        MONEY_TEXT,
        "dollars traded in the calendar month before the scenario begins; decides rebates of taker"
        " fees",
    ] = None
    collateral_return: Annotated[
        bool | None,
        BOOLEAN,
        "less margin for related shorts; `collateral_return.enabled` decides when left out",
    ] = None


class ApiKeyEntry(Struct, frozen=True, kw_only=True):
    """A retail API key. Without a secret it gets one that follows from its id."""

    key_id: Annotated[str, NAME, "UUID of the key, which clients send as X-PM-Access-Key"]
    account: Annotated[str, NAME, "account it trades on"]
    participant: Annotated[
        str, "user that owns its client order ids; one named after the account when left out"
    ] = ""
    secret_key: Annotated[
        str | None, SEED, "base64 of the 32-byte Ed25519 seed; never written to a journal"
    ] = None
    public_key: Annotated[
        str | None, SEED, "base64 of the 32-byte public key; follows from the secret when left out"
    ] = None
    limits: Annotated[
        dict[str, int], "rate limits raised for this key: name of the limit, calls in its period"
    ] = {}
    environment: Annotated[
        str, ENVIRONMENT, "environment it is of; the scenario's when left out"
    ] = ""
