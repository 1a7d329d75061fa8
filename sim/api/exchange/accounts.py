"""Identity on the exchange: the caller, its participants, and a health check (§4.3)."""

from __future__ import annotations

from sim.api.pipeline.account_access import firm_of, participant_required
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import USERS_REQUIRE_PARTICIPANT
from sim.core.exchange import Exchange
from sim.core.model.refusals import PermissionDenied


@handles("AccountsAPI.GetWhoAmI")
def get_who_am_i(
    exchange: Exchange, caller: Caller, request: wire.GetWhoAmIRequest
) -> wire.GetWhoAmIResponse:
    """Return the participant the call acts for, or the firm's API client if it names none.

    The audience is the one for which the token was requested.
    """
    firm = firm_of(exchange, caller)
    user = exchange.firms.user(caller.participant) if caller.participant else None
    return wire.GetWhoAmIResponse(
        user=user.name if user else f"{firm.name}/users/{firm.client_id}",
        user_display_name=user.display_name if user else firm.display_name,
        firm=firm.name,
        firm_display_name=firm.display_name,
        audience=caller.audience or exchange.credentials.environment.audience,
        firm_type=firm.type,
    )


@handles("UsersAPI.ListUsers")
def list_users(
    exchange: Exchange, caller: Caller, request: wire.ListUsersRequest
) -> wire.ListUsersResponse:
    """List the participants the firm may act for, which are those that may trade.

    x-participant-id is optional here, because this list is how a firm learns its participants.
    """
    if caller.participant is None and exchange.ctx.assumptions.flag(USERS_REQUIRE_PARTICIPANT):
        raise participant_required("S4.3-16")
    firm = firm_of(exchange, caller)
    users = [user for user in firm.users if user.tradable]
    return wire.ListUsersResponse(
        users=[user.name for user in users],
        display_names=[user.display_name for user in users],
        firms=[firm.id] * len(users),
        firms_display_names=[firm.display_name] * len(users),
    )


@handles("AccountsAPI.ListAccounts")
def list_accounts(
    exchange: Exchange, caller: Caller, request: wire.ListAccountsRequest
) -> wire.ListAccountsResponse:
    """List the trading accounts of a user.

    Without a user, list those of the participant the call acts for, or else of the whole firm. An
    account that users share has the display name of the first of them.
    """
    firm = firm_of(exchange, caller)
    name = request.user or caller.participant
    users = [user for user in firm.users if name in (None, user.name)]
    if name and not users:
        raise PermissionDenied(
            rule="S5.1-6", remedy="GET /v1/users lists the participants this firm may act for"
        )
    names: dict[str, str] = {}
    for user in users:
        names.setdefault(user.account, user.display_name)
    return wire.ListAccountsResponse(accounts=[*names], display_names=[*names.values()])


@handles("HealthAPI.HealthCheck")
def health_check(exchange: Exchange, request: wire.HealthCheckRequest) -> wire.HealthCheckResponse:
    """Report that the exchange is up, which is true whenever it can answer."""
    return wire.HealthCheckResponse(status="ok")
