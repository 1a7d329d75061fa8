"""Events by the ids of partners."""

from __future__ import annotations

from sim.api.gateway.event_views import event_view
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.catalogue.assumptions import PARTNER_GAME_IDS, PARTNER_SIDES
from sim.core.exchange import Exchange
from sim.core.model.refusals import NotFound, cut


@handles("GatewayPartnersAPI.GetPartnerEvent")
def get_partner_event(
    exchange: Exchange, caller: Caller, request: wire.GetPartnerEventRequest
) -> wire.GetPartnerEventResponse:
    """Return the event with a partner's id, with the sides of its markets."""
    event = _event(exchange, request.partner_key, request.external_id)
    if event is None:
        raise NotFound(
            f"event not found: {request.partner_key[:40]}/{cut(request.external_id)}",
            remedy=(
                "give the event an id in `world.events[].partners`, or use its gameId as the"
                " assumption partners.game_ids names it"
            ),
        )
    view = event_view(exchange, event)
    kinds = exchange.ctx.assumptions.text(PARTNER_SIDES)
    sides = [
        side
        for market in view.markets
        if kinds == "all" or market.market_type == "moneyline"
        for side in market.market_sides
    ]
    return wire.GetPartnerEventResponse(event=view, mapped_market_sides=sides)


def _event(exchange: Exchange, partner: str, external_id: str) -> wire.Event | None:
    reference = exchange.reference
    slug = reference.partner_events.get((partner, external_id))
    if slug is not None:
        return reference.event_named(slug)
    if partner == exchange.ctx.assumptions.text(PARTNER_GAME_IDS) and external_id:
        return reference.event_of_game(external_id)
    return None
