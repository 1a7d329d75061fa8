"""Lists of the gateway while the world lives: whatever happened, in whichever order, they show what
looking at every event and market one by one finds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sim import Simulation, load_scenario
from sim.api.gateway.event_views import event_view, exists
from sim.api.gateway.live_views import listed, market_view
from sim.api.gateway.market_index import market_index
from sim.contract.messages.gateway_v1 import Event, Market
from sim.core.model.refusals import Refusal
from tests.kit import Desk

SCENARIO = 'name: lists\nextends: quickstart\nlimits: {public: "off"}\nworld: {games: 24}\n'
Test = Callable[[Any], bool]
EVENT_ORDERS: dict[str, Callable[[Event], Any]] = {
    "volume": lambda event: event.volume,
    "volume24hr": lambda event: event.volume_24hr,
    "liquidity": lambda event: event.liquidity,
    "openInterest": lambda event: event.open_interest,
    "updatedAt": lambda event: event.updated_at,
    "slug": lambda event: event.slug,
    "title": lambda event: event.title,
    "endDate": lambda event: event.end_date,
}
MARKET_ORDERS: dict[str, Callable[[Market], Any]] = {
    "volume": lambda market: market.volume,
    "volume24hr": lambda market: market.volume_24hr,
    "updatedAt": lambda market: market.updated_at,
    "slug": lambda market: market.slug,
    "id": lambda market: int(market.id),
    "sortOrder": lambda market: market.sort_order,
    "startDate": lambda market: market.start_date,
}
EVENT_TESTS: dict[str, Test] = {
    "active=true": lambda event: event.active,
    "closed=true": lambda event: event.closed,
    "live=true": lambda event: event.live,
    "ended=false": lambda event: not event.ended,
    "period=T3": lambda event: event.period == "T3",
    "volumeMin=0.01": lambda event: event.volume >= 0.01,
    "liquidityMax=5": lambda event: event.liquidity <= 5,
    "categories=crypto": lambda event: event.category == "crypto",
}
MARKET_TESTS: dict[str, Test] = {
    "active=true": lambda market: market.active,
    "closed=false": lambda market: not market.closed,
    "volumeNumMin=0.01": lambda market: market.volume >= 0.01,
    "categories=crypto": lambda market: market.category == "crypto",
    "marketTypes=totals": lambda market: market.market_type == "totals",
}


class Lists(RuleBasedStateMachine):
    """Somebody trades, tells of games, lists markets and travels in time; lists are looked at in
    between.
    """

    @initialize()
    def begin(self) -> None:
        self.simulation = Simulation(load_scenario(SCENARIO))
        self.connection = Desk(self.simulation)
        self.games = self.connection.core.reference.generated
        self.created = self.looks = 0

    def attempt(self, action: str, subject: str, arguments: dict[str, object]) -> None:
        """An action that may be refused: the market may be closed by now."""
        with suppress(Refusal):
            self.simulation.control(action, subject, arguments)

    def symbol(self, number: int) -> str:
        symbols = self.games.symbols_of(self.games.slugs[number])
        return symbols[number % len(symbols)]

    @rule(number=st.integers(0, 23), price=st.sampled_from(["0.40", "0.45"]), crosses=st.booleans())
    def trade(self, number: int, price: str, crosses: bool) -> None:
        sides = [("maker", "buy", "10"), ("taker", "sell", "4")]
        for name, side, qty in sides if crosses else sides[:1]:
            body = {"symbol": self.symbol(number), "side": side, "price": price, "qty": qty}
            self.attempt("order.place", "", {"as": name, **body})

    @rule(number=st.integers(0, 23), state=st.sampled_from(["HALTED", "CLOSED", "OPEN"]))
    def move(self, number: int, state: str) -> None:
        self.attempt("instrument.state", self.symbol(number), {"state": state})

    @rule(number=st.integers(0, 23), live=st.booleans())
    def tell(self, number: int, live: bool) -> None:
        self.attempt(
            "event.update",
            self.games.slugs[number],
            {"home_score": 2, "away_score": 1, "period": "T3", "live": live, "ended": not live},
        )

    @rule(number=st.integers(0, 23))
    def list_by_hand(self, number: int) -> None:
        self.created += 1
        self.attempt(
            "instrument.create",
            "",
            {
                "symbol": f"by-hand-{self.created}",
                "event": self.games.slugs[number],
                "question": "Will it rain?",
                "state": "OPEN",
            },
        )

    @rule(by=st.sampled_from(["5m", "3h", "2d", "9d"]))
    def time_passes(self, by: str) -> None:
        self.connection.advance(by)

    @rule()
    def remember(self) -> None:
        self.simulation.snapshot("here")

    @rule()
    def go_back(self) -> None:
        if "here" in self.simulation.engine.snapshots.named:
            self.simulation.restore("here")

    @rule()
    def rewind(self) -> None:
        self.simulation.rewind(seq=max(self.simulation.seq - 2, 1))

    @rule()
    def fork(self) -> None:
        self.simulation = self.simulation.fork()
        self.connection = Desk(self.simulation)

    @invariant()
    def lists_show_what_looking_at_everything_finds(self) -> None:
        exchange = self.connection.core
        catalogue = market_index(exchange).catalogue
        everything = [
            catalogue.event_with_markets(position)
            for position, event in enumerate(catalogue.events)
            if event.slug
        ]
        events = [event_view(exchange, event) for event in everything if exists(exchange, event)]
        markets = [
            market_view(exchange, catalogue.market(position))
            for position, row in enumerate(catalogue.rows)
            if row.slug and listed(exchange, catalogue.market(position))
        ]
        self.compare("/v1/events", "events", events, EVENT_ORDERS, EVENT_TESTS)
        self.compare("/v1/markets", "markets", markets, MARKET_ORDERS, MARKET_TESTS)
        self.looks += 1

    def compare(
        self,
        path: str,
        name: str,
        rows: list[Any],
        orders: dict[str, Callable[[Any], Any]],
        tests: dict[str, Test],
    ) -> None:
        """Every third order and filter, others at the next look."""
        for order, key in list(orders.items())[self.looks % 3 :: 3]:
            for direction in ("asc", "desc"):
                expected = sorted(
                    rows,
                    key=lambda row, key=key: (key(row) is not None, key(row)),
                    reverse=direction == "desc",
                )  # type: ignore[misc]
                displayed = self.slugs(
                    path, name, f"orderBy={order}&orderDirection={direction}&limit=9&offset=3"
                )
                assert displayed == [row.slug for row in expected[3:12]], (order, direction)
        for test, passes in list(tests.items())[self.looks % 3 :: 3]:
            displayed = self.slugs(path, name, f"{test}&limit=500&offset=1")
            size = 100 if name == "events" else 500
            expected = [row.slug for row in rows if passes(row)][1 : size + 1]
            assert displayed == expected, test

    def slugs(self, path: str, name: str, query: str) -> list[str]:
        reply = self.simulation.rest("gateway", "GET", path, query, {}, b"").reply
        assert reply is not None and reply.status == 200, reply
        return [row["slug"] for row in msgspec.json.decode(reply.body)[name]]


@pytest.mark.long
@pytest.mark.spec("S4.1-10", "S4.1-11")
class TestLists(Lists.TestCase):
    settings = settings(max_examples=4, stateful_step_count=8, deadline=None)


@pytest.mark.spec("S4.1-11")
def test_what_is_listed_by_hand_comes_last_in_order_of_listing() -> None:
    simulation = Simulation(load_scenario(SCENARIO))

    def listed(*created: str) -> list[str]:
        for symbol in created:
            simulation.control(
                "instrument.create",
                "",
                {"symbol": symbol, "question": "Will it rain?", "state": "OPEN"},
            )
        return [row["slug"] for row in Desk(simulation).rows("/v1/markets", "markets")]

    before = listed()
    assert listed("by-hand-1") == [*before, "by-hand-1"]
    assert listed("by-hand-2", "by-hand-3") == [*before, "by-hand-1", "by-hand-2", "by-hand-3"]
