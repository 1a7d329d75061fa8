"""A retail world whose two markets stand in the gateway's reference data: a game of the NBA, and an
election of no league.
"""

from __future__ import annotations

from retail_world import FINE, WHOLE, RetailWorld

from sim.contract.messages.gateway_v1 import Event, EventSeries
from sim.world.reference.market_pair import Facts, PairSide, market_of
from sim.world.reference.reference import Reference

GAME, ELECTION = "nba-test-game", "test-election"


class GatewayWorld(RetailWorld):
    """`WHOLE` is the game's moneyline, `FINE` the election."""

    def __init__(self) -> None:
        super().__init__()
        reference = self.core.reference = Reference()
        self.core.recurring.begin((), None)
        instruments = self.core.instruments
        home, away = reference.team("nba", "BOS"), reference.team("nba", "NYK")
        series = next(series for series in reference.series if series.slug == "nba-2026-27")
        game = Event(
            id=1,
            slug=GAME,
            title="Knicks at Celtics",
            category="sports",
            subcategory="nba",
            game_id="g-1",
            period="NS",
            start_time=self.now + 3_600_000_000_000,
            start_date=self.now,
            event_date="2026-09-08",
            teams=[home, away],
            tags=reference.tags_of("sports", "nba"),
            series_slug=series.slug,
            series=EventSeries(id=int(series.id), slug=series.slug, title=series.title),
            featured=True,
        )
        election = Event(
            id=2,
            slug=ELECTION,
            title="Who will win?",
            category="politics",
            tags=reference.tags_of("politics"),
        )
        for event in (game, election):
            reference.add_event(event)
        moneyline = Facts(
            question="Will Boston win?",
            long=PairSide(home.name, home),
            short=PairSide(away.name, away),
            sports_market_type="moneyline",
            mid="0.62",
        )
        vote = Facts(
            question="Will the incumbent win?",
            long=PairSide("Yes"),
            short=PairSide("No"),
            mid="0.4",
        )
        reference.add_market(market_of(11, instruments.require(WHOLE), moneyline, self.now), game)
        reference.add_market(market_of(12, instruments.require(FINE), vote, self.now), election)
        reference.markets[0].market_type, reference.markets[1].market_type = "moneyline", "election"
        reference.markets[0].category, reference.markets[1].category = "sports", "politics"
