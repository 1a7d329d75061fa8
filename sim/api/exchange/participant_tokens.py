"""Tokens that act as one participant, an alternative to the x-participant-id header."""

from __future__ import annotations

from typing import Any, TypeAlias

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

_Request: TypeAlias = (
    wire.CreateParticipantAPITokenRequest | wire.CreateParticipantAdminTokenRequest
)


@handles("ParticipantAPI.CreateParticipantAPIToken", "ParticipantAPI.CreateParticipantAdminToken")
def create_participant_token(
    exchange: Exchange, caller: Caller, request: _Request
) -> wire.CreateParticipantAPITokenResponse | wire.CreateParticipantAdminTokenResponse:
    """Return a token that acts as one participant.

    It needs no x-participant-id header and cannot act for other participants of the firm. An admin
    token is the same: the specification adds no rights.
    """
    admin = isinstance(request, wire.CreateParticipantAdminTokenRequest)
    grant = _granted(exchange, caller, request, admin=admin)
    token = signed(exchange.credentials.environment.name, grant.claims)
    terms: dict[str, Any] = {
        "issue_time": grant.issued,
        "expiration_time": grant.expires,
        "participant_id": request.participant_id,
        "from_cache": grant.again,
    }
    if admin:
        return wire.CreateParticipantAdminTokenResponse(participant_admin_token=token, **terms)
    return wire.CreateParticipantAPITokenResponse(participant_token=token, **terms)


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
