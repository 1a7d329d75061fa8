"""Entries of a scenario's `world.firms`, `accounts`, `api_keys` and `receivers`.

None means that the file does not have the key: an entry that names something of the default world
changes only the keys that it has.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated

from msgspec import Struct

from sim.core.identity.credentials import ENVIRONMENTS
from sim.core.model.funding_records import SourceType
from sim.kernel.instants import Span
from sim.world.format.scalar_types import MONEY_TEXT, NAME, ORDINAL, SPAN
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
    beta: bool = True
    """whether the key may use combos and requests for quotes before 2026-10-01"""


def _status(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) == 3 and 200 <= int(text) <= 599):
        raise ValueError(f"write a number from 200 to 599, not {text[:80]!r}")
    return int(text)


STATUS = Text("an HTTP status", _status, schema={"type": "integer", "minimum": 200, "maximum": 599})


# The keys have the names of a fault's acts.
class ReceiverAnswer(Struct, frozen=True, kw_only=True):
    """The answer of a scripted receiver to a delivery attempt."""

    status: Annotated[int, STATUS] = 200
    """HTTP status; any 2xx acknowledges the event; 200 by default"""
    delay: Annotated[Span, SPAN] = 0
    """virtual time until the answer; the attempt fails if it reaches `webhook.timeout`"""
    hang: bool = False
    """true: never answer; the attempt ends at `webhook.timeout`"""
    reset: bool = False
    """true: reset the connection instead of answering"""
    retry_after: Annotated[Span | None, SPAN] = None
    """header Retry-After of a 408 or 429, which replaces the wait before the next attempt"""
    times: Annotated[int, ORDINAL] = 1
    """number of attempts that get this answer; all later attempts get the last answer
    of the list"""


class ReceiverEntry(Struct, frozen=True, kw_only=True):
    """A scripted receiver of webhooks. The exchange sends nothing to its URL; the receiver gives
    its answers inside the sandbox.
    """

    name: Annotated[str, NAME]
    """name of the receiver, for steps and for the control plane"""
    url: str = ""
    """URL that a firm registers; https://<name>.receiver.invalid/ by default"""
    firm: str = ""
    """firm whose webhook it is from the beginning. Without it, register the URL
    with POST /v1/kyc/webhook"""
    answers: tuple[ReceiverAnswer, ...] = ()
    """its answers, in order; by default 200 at once"""

    @property
    def address(self) -> str:
        """Its URL."""
        return self.url or f"https://{self.name}.receiver.invalid/"


class ReceiverStep(Struct, frozen=True, kw_only=True):
    """Change the answers of a scripted receiver."""

    name: str
    """name of the receiver in `world.receivers`"""
    answers: tuple[ReceiverAnswer, ...] = ()
    """its answers from now on, in order; by default 200 at once"""
