"""The searchable texts of an event."""

from __future__ import annotations

from collections.abc import Iterator

from sim.contract.messages.gateway_v1 import Event


def event_texts(event: Event) -> Iterator[str]:
    """Yield the texts of an event and of its markets."""
    yield from (event.title, event.slug, event.subtitle, event.description)
    yield from (event.category, event.subcategory)
    for team in event.teams:
        yield from (team.name, team.abbreviation)
    for market in event.markets:
        yield from (market.question, market.slug)
