"""The accounts that a call may read or trade on (§5.1 items 7 and 8).

With x-participant-id the caller is that participant, without it the whole firm.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import require
from sim.core.accounts.ledger import CLEARING
from sim.core.exchange import Exchange
from sim.core.identity.firms import Firm
from sim.core.model.refusals import InvalidRequest, PermissionDenied

_RULE = "S5.1-6"
_SEE_ACCOUNTS = "GET /v1/accounts lists the accounts this caller may see"


def firm_of(exchange: Exchange, caller: Caller) -> Firm:
    """Return the calling firm."""
    if caller.firm is None:
        raise PermissionDenied(rule=_RULE, remedy="call with a firm's access token")
    return exchange.firms.require(caller.firm)


def whole_firm(exchange: Exchange, caller: Caller) -> Firm:
    """Return the calling firm for an operation on the firm as a whole.

    PermissionDenied for a participant's token.
    """
    if caller.bound:
        raise PermissionDenied(rule="E5", remedy="call with the firm's own access token")
    return firm_of(exchange, caller)


def participant_required(rule: str) -> PermissionDenied:
    """Return the refusal of a read for which the environment requires x-participant-id."""
    return PermissionDenied(
        rule=rule,
        remedy=(
            "send x-participant-id: firms/<firm>/users/<user>; this environment asks for it"
            " here too"
        ),
    )


def trading_account(caller: Caller, named: str) -> str:
    """Return the participant's own account, for an order. PermissionDenied for any other name."""
    mine = caller.account
    if mine is None:
        raise PermissionDenied(rule=_RULE, remedy="name the participant in x-participant-id")
    if named and named != mine:
        raise PermissionDenied(
            rule=_RULE,
            remedy=(
                f"{caller.participant} trades on {mine}; send another x-participant-id to trade on"
                " another account"
            ),
        )
    return mine


def visible_accounts(caller: Caller, named: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the accounts of a read: the named ones, or else the participant's, or else all of the
    firm's.

    PermissionDenied for an account for which the caller may not act.
    """
    for account in named:
        if account not in caller.accounts:
            raise PermissionDenied(rule=_RULE, remedy=_SEE_ACCOUNTS)
    if named:
        return tuple(dict.fromkeys(named))
    return (caller.account,) if caller.account is not None else caller.accounts


def ledger_account(exchange: Exchange, caller: Caller, named: str) -> str:
    """Return the account whose ledger is read: one of the firm's, or its pool (rule P24)."""
    remedy = "send account=firms/<clearing firm>/accounts/<id>"
    require(named, "account", rule="P24", remedy=remedy)
    if named in caller.accounts or named == firm_of(exchange, caller).clearing_account:
        return named
    raise PermissionDenied(rule="P24", remedy=_SEE_ACCOUNTS)


def balance_account(exchange: Exchange, caller: Caller, named: str) -> str:
    """Return the trading account of a position or balance call.

    "invalid account" for a clearing account, or for one that does not exist (rule P26).
    """
    remedy = "send the account's resource name as name"
    require(named, "name", rule="P26", remedy=remedy)
    account = exchange.trading.ledger.get(named)
    if account is None or account.kind == CLEARING:
        read_pool = "GetFundingAccountBalance reads the pool of a partner"
        remedy = read_pool if account else _SEE_ACCOUNTS
        raise InvalidRequest("invalid account", rule="P26", remedy=remedy)
    return visible_accounts(caller, (named,))[0]
