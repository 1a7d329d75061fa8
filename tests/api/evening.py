"""One evening of a small world with some event of every kind. Tests only read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sim import Simulation, load_scenario
from sim.kernel.instants import parse_instant
from sim.run.client.client import connect
from tests.journeys import key, operate, order, retail_order, trader

SCENARIO = """
name: evening
extends: quickstart
world: {games: 82}
limits: {public: "off", retail: "off", exchange_rest: "off"}
"""
EVENING = "2026-09-10T00:20:00Z"
Row = dict[str, Any]


class Evening:
    """The world, its clients, and all rows of each list."""

    def __init__(self) -> None:
        self.world = connect(Simulation(load_scenario(SCENARIO)))
        sim = self.world.simulation
        games = sim.exchange.reference.generated
        self.far = [
            slug for slug in games.slugs if games.bare(slug).start_time > parse_instant(EVENING)
        ]
        self.hand = games.symbols_of(self.far[3])[0]
        self.trade(games.symbols_of(self.far[0])[0], 40, 7)
        self.control("instrument.create", "by-hand", {"event": self.far[1], "question": "Rain?"})
        self.control("instrument.create", "alone", {"question": "Snow?"})
        self.control("event.update", self.far[2], {"home_score": 1, "period": "T3", "live": True})
        self.world.advance("26h")
        for symbol, cents, count in (
            (games.symbols_of(self.far[0])[1], 60, 3),
            (games.symbols_of(self.far[4])[0], 50, 3),
            ("alone", 30, 10),
        ):
            self.trade(symbol, cents, count)
        for index, state in ((5, "SUSPENDED"), (6, "HALTED")):
            symbol = games.symbols_of(self.far[index])[0]
            sim.control("instrument.state", symbol, {"state": state})
        self.control_settle(games.symbols_of(self.far[7])[0])
        self.world.advance_to(EVENING)
        self.rest(games.symbols_of(self.far[8])[0])
        self.events = self.every("/v1/events", "events", orderDirection="asc")
        self.markets = self.every("/v1/markets", "markets", orderDirection="asc")

    def control(self, action: str, subject: str, body: dict[str, object]) -> None:
        if action == "instrument.create":
            body = {"symbol": subject, "state": "OPEN", "tick_size": "0.01"} | body
            subject = ""
        operate(self.world, action, subject, **body)

    def control_settle(self, symbol: str) -> None:
        self.control("instrument.settle", symbol, {"price": "1"})

    def trade(self, symbol: str, cents: int, count: int) -> None:
        instrument = self.world.simulation.exchange.instruments.require(symbol)
        for user, side in ((0, "buy"), (1, "sell")):
            body = order(instrument, side, cents, count)
            assert trader(self.world, user).post("/v1/trading/orders", json=body).status == 200

    def rest(self, symbol: str) -> None:
        instrument = self.world.simulation.exchange.instruments.require(symbol)
        client = self.world.retail(key(self.world.simulation))
        for intent, cents in (("BUY_LONG", 20), ("BUY_SHORT", 70)):
            assert (
                client.post("/v1/orders", json=retail_order(instrument, intent, cents, 4)).status
                == 200
            )

    def get(self, path: str, **query: Any) -> Any:
        answer = self.world.gateway.get(path, params=query)
        assert answer.status == 200, answer.body
        return answer.json()

    def every(self, path: str, name: str, **query: Any) -> list[Row]:
        rows: list[Row] = []
        while page := self.get(path, limit=2000, offset=len(rows), **query)[name]:
            rows += page
        return rows

    def ids(self, path: str, name: str, **query: Any) -> list[str]:
        return [row["slug"] for row in self.get(path, limit=2000, **query)[name]]


def some(rows: Iterable[Row], of: Callable[[Row], Any], most: int = 4) -> list[Any]:
    """Values that rows have, the extremes and some between."""
    found = sorted({value for row in rows if (value := of(row)) not in (None, "")})
    step = max(1, len(found) // most)
    return [*found[::step][:most], *found[-1:]]
