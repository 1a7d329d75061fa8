"""Subjects and their markets on the gateway and the retail API, until they were removed
on 2026-06-29 (§4.2).
"""

from __future__ import annotations

from sim.api.gateway.list_query import page
from sim.api.gateway.live_views import listed, market_view
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.refusals import NotFound, cut


@handles("GatewaySubjectsAPI.ListSubjects")
def list_subjects(
    exchange: Exchange, caller: Caller, request: wire.ListSubjectsRequest
) -> wire.ListSubjectsResponse:
    """Subjects in order of listing."""
    subjects = page(exchange.reference.subjects, request.limit, request.offset)
    return wire.ListSubjectsResponse(subjects=subjects)


@handles("GatewaySubjectsAPI.GetSubject")
def get_subject(
    exchange: Exchange, caller: Caller, request: wire.GetSubjectRequest
) -> wire.GetSubjectResponse:
    """One subject by its number."""
    return wire.GetSubjectResponse(subject=_require(exchange, number=request.id))


@handles("GatewaySubjectsAPI.GetSubjectBySlug")
def get_subject_by_slug(
    exchange: Exchange, caller: Caller, request: wire.GetSubjectBySlugRequest
) -> wire.GetSubjectResponse:
    """One subject by its slug."""
    return wire.GetSubjectResponse(subject=_require(exchange, slug=request.slug))


@handles("GatewaySubjectsAPI.ListSubjectMarkets")
def list_subject_markets(
    exchange: Exchange, caller: Caller, request: wire.ListSubjectMarketsRequest
) -> wire.ListSubjectMarketsResponse:
    """Markets on a subject, by its number."""
    return _markets(exchange, _require(exchange, number=request.id), request.limit, request.offset)


@handles("GatewaySubjectsAPI.ListSubjectMarketsBySlug")
def list_subject_markets_by_slug(
    exchange: Exchange, caller: Caller, request: wire.ListSubjectMarketsBySlugRequest
) -> wire.ListSubjectMarketsResponse:
    """Markets on a subject, by its slug."""
    return _markets(exchange, _require(exchange, slug=request.slug), request.limit, request.offset)


def _require(exchange: Exchange, *, number: int = 0, slug: str = "") -> wire.Subject:
    for subject in exchange.reference.subjects:
        if (number and subject.id == number) or (slug and subject.slug == slug):
            return subject
    name = cut(slug or str(number))
    raise NotFound(f"subject not found: {name}", remedy="GET /v1/subjects lists the subjects")


def _markets(
    exchange: Exchange, subject: wire.Subject, limit: int, offset: int
) -> wire.ListSubjectMarketsResponse:
    about = [
        market
        for market in exchange.reference.markets
        if market.subject_id == subject.id and listed(exchange, market)
    ]
    markets = [market_view(exchange, market) for market in page(about, limit, offset)]
    return wire.ListSubjectMarketsResponse(markets=markets)
