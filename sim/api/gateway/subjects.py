"""Subjects and their markets on the gateway and the retail API, until they were removed
on 2026-06-29 (§4.2).
"""

from __future__ import annotations

from typing import Any

from sim.api.gateway.list_query import page
from sim.api.gateway.live_views import listed, market_view
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.refusals import NotFound, cut


@handles("GatewaySubjectsAPI.ListSubjects")
def list_subjects(
    exchange: Exchange, request: wire.ListSubjectsRequest
) -> wire.ListSubjectsResponse:
    """Subjects in order of listing."""
    subjects = page(exchange.reference.subjects, request.limit, request.offset)
    return wire.ListSubjectsResponse(subjects=subjects)


@handles("GatewaySubjectsAPI.GetSubject", "GatewaySubjectsAPI.GetSubjectBySlug")
def get_subject(
    exchange: Exchange, request: wire.GetSubjectRequest | wire.GetSubjectBySlugRequest
) -> wire.GetSubjectResponse:
    """One subject by its number or its slug."""
    return wire.GetSubjectResponse(subject=_require(exchange, request))


@handles("GatewaySubjectsAPI.ListSubjectMarkets", "GatewaySubjectsAPI.ListSubjectMarketsBySlug")
def list_subject_markets(
    exchange: Exchange,
    request: wire.ListSubjectMarketsRequest | wire.ListSubjectMarketsBySlugRequest,
) -> wire.ListSubjectMarketsResponse:
    """Markets on a subject, by its number or its slug."""
    subject = _require(exchange, request)
    about = [
        market
        for market in exchange.reference.markets
        if market.subject_id == subject.id and listed(exchange, market)
    ]
    rows = page(about, request.limit, request.offset)
    markets = [market_view(exchange, market) for market in rows]
    return wire.ListSubjectMarketsResponse(markets=markets)


def _require(exchange: Exchange, request: Any) -> wire.Subject:
    """Return the subject of a request, which has either the field `id` or the field `slug`."""
    slug: str = getattr(request, "slug", "")
    number: int = getattr(request, "id", 0)
    for subject in exchange.reference.subjects:
        if (number and subject.id == number) or (slug and subject.slug == slug):
            return subject
    name = cut(slug or str(number))
    raise NotFound(f"subject not found: {name}", remedy="GET /v1/subjects lists the subjects")
