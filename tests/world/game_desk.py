"""A desk for games of the default world: their events as the gateway shows them, reports of how
they stand, and what their markets paid.
"""

from __future__ import annotations

from typing import Any

from sim import Simulation, load_scenario
from sim.kernel.instants import Instant
from tests.kit import Desk

UNLIMITED = (
    'name: living\nextends: quickstart\nlimits: {public: "off", exchange_rest: "off",'
    ' instrument_settlement: "off"}\n'
)


class GameDesk(Desk):
    """Clients of a run, and short ways to what tests of games do most."""

    def events(self, **query: Any) -> list[Any]:
        """The events of a list."""
        return self.rows("/v1/events", "events", **query)

    def event(self, slug: str) -> Any:
        """An event by its slug."""
        return self.gateway.get(f"/v1/events/slug/{slug}").json()["event"]

    def settled(self, symbol: str) -> Any:
        """What a market paid for one contract; None before its settlement."""
        answer = self.gateway.get(f"/v1/markets/{symbol}/settlement")
        return answer.json()["settlement"] if answer.status == 200 else None

    def report(self, slug: str, **facts: Any) -> Any:
        """Report how a game stands; the operator's answer."""
        return self.operate("event.update", slug, **facts).value

    def ends(self, slug: str) -> Instant:
        """When a game ends if nobody reports it."""
        return self.core.games.plan.event_end(slug)


def play(more: str = "", **options: Any) -> GameDesk:
    """Begin a run of the default world without limits of requests, with `more` lines."""
    return GameDesk(Simulation(load_scenario(UNLIMITED + more), **options))
