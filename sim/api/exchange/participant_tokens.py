"""Tokens that act as one participant, an alternative to the x-participant-id header."""

from __future__ import annotations

from typing import Protocol

from sim.api.pipeline.access_tokens import signed
from sim.api.pipeline.account_access import whole_firm
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import PARTICIPANT_TOKEN_LIFE, PARTICIPANT_TOKEN_LIFE_MAX
from sim.core.exchange import Exchange
from sim.core.identity.credentials import PARTICIPANT_SCOPES, ParticipantGrant
from sim.core.model.refusals import InvalidRequest, MissingScope, PermissionDenied
from sim.kernel.instants import NS_PER_S


class _Request(Protocol):
    participant_id: str
    scopes: list[str]
    ttl_seconds: int


@handles("ParticipantAPI.CreateParticipantAPIToken")
def create_participant_api_token(
    exchange: Exchange, caller: Caller, request: wire.CreateParticipantAPITokenRequest
) -> wire.CreateParticipantAPITokenResponse:
    """Return a token that acts as one participant.

    It needs no x-participant-id header and cannot act for other participants of the firm.
    """
    grant = _granted(exchange, caller, request, admin=False)
    return wire.CreateParticipantAPITokenResponse(
        participant_token=_text(exchange, grant),
        issue_time=grant.issued,
        expiration_time=grant.expires,
        participant_id=request.participant_id,
        from_cache=grant.again,
    )


@handles("ParticipantAPI.CreateParticipantAdminToken")
def create_participant_admin_token(
    exchange: Exchange, caller: Caller, request: wire.CreateParticipantAdminTokenRequest
) -> wire.CreateParticipantAdminTokenResponse:
    """Return the same token as `create_participant_api_token`: the specification adds no rights."""
    grant = _granted(exchange, caller, request, admin=True)
    return wire.CreateParticipantAdminTokenResponse(
        participant_admin_token=_text(exchange, grant),
        issue_time=grant.issued,
        expiration_time=grant.expires,
        participant_id=request.participant_id,
        from_cache=grant.again,
    )


def _text(exchange: Exchange, grant: ParticipantGrant) -> str:
    return signed(exchange.credentials.environment.name, grant.claims)


def _granted(
    exchange: Exchange, caller: Caller, request: _Request, *, admin: bool
) -> ParticipantGrant:
    firm = whole_firm(exchange, caller)
    user = exchange.firms.participant_of(firm, request.participant_id)
    usable = tuple(scope for scope in caller.scopes if scope in PARTICIPANT_SCOPES)
    for scope in request.scopes:
        if scope not in caller.scopes:
            raise MissingScope(scope)
        if scope not in usable:
            raise PermissionDenied(
                rule="E5",
                remedy=(
                    f"{scope} is reserved for the firm; a participant may have {', '.join(usable)}"
                ),
            )
    assumptions = exchange.ctx.assumptions
    longest = assumptions.number(PARTICIPANT_TOKEN_LIFE_MAX)
    usual = min(assumptions.number(PARTICIPANT_TOKEN_LIFE), longest)
    life = request.ttl_seconds * NS_PER_S or usual
    if not 0 < life <= longest:
        raise InvalidRequest(
            f"ttl_seconds must be between 1 and {longest // NS_PER_S}, or 0",
            remedy="omit it for the default lifetime",
        )
    scopes = tuple(sorted(set(request.scopes))) or usable
    return exchange.credentials.grant_participant(
        firm, user.name, scopes, life, admin=admin, audience=caller.audience
    )
