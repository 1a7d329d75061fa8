"""One evening of a small world with some event of every kind. Tests only read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sim import Simulation, load_scenario
from sim.kernel.instants import parse_instant
from tests.kit import Desk

SCENARIO = """
name: evening
extends: quickstart
world: {games: 82}
limits: {public: "off", retail: "off", exchange_rest: "off"}
"""
EVENING = "2026-09-10T00:20:00Z"
Row = dict[str, Any]


class Evening(Desk):
    """The world, and all rows of each list."""

    def __init__(self) -> None:
        super().__init__(Simulation(load_scenario(SCENARIO)))
        games = self.core.reference.generated
        self.far = [
            slug for slug in games.slugs if games.bare(slug).start_time > parse_instant(EVENING)
        ]
        self.hand = games.symbols_of(self.far[3])[0]
        self.trade_in(games.symbols_of(self.far[0])[0], 40, 7)
        self.listed("by-hand", event=self.far[1], question="Rain?")
        self.listed("alone", question="Snow?")
        self.operate("event.update", self.far[2], home_score=1, period="T3", live=True)
        self.advance("26h")
        for symbol, cents, count in (
            (games.symbols_of(self.far[0])[1], 60, 3),
            (games.symbols_of(self.far[4])[0], 50, 3),
            ("alone", 30, 10),
        ):
            self.trade_in(symbol, cents, count)
        for index, state in ((5, "SUSPENDED"), (6, "HALTED")):
            self.move(games.symbols_of(self.far[index])[0], state)
        self.settle(games.symbols_of(self.far[7])[0])
        self.advance_to(EVENING)
        self.rest(games.symbols_of(self.far[8])[0])
        self.events = self.rows("/v1/events", "events", orderDirection="asc")
        self.markets = self.rows("/v1/markets", "markets", orderDirection="asc")

    def trade_in(self, symbol: str, cents: int, count: int) -> None:
        instrument = self.instrument(symbol)
        self.place(instrument, "buy", cents, count)
        self.place(instrument, "sell", cents, count, user=1)

    def rest(self, symbol: str) -> None:
        for intent, cents in (("BUY_LONG", 20), ("BUY_SHORT", 70)):
            answer = self.retail_enter(self.instrument(symbol), intent, cents, 4)
            assert answer.status == 200, answer

    def ids(self, path: str, name: str, **query: Any) -> list[str]:
        return [row["slug"] for row in self.rows(path, name, **query)]


def some(rows: Iterable[Row], of: Callable[[Row], Any], most: int = 4) -> list[Any]:
    """Values that rows have, the extremes and some between."""
    result = sorted({value for row in rows if (value := of(row)) not in (None, "")})
    step = max(1, len(result) // most)
    return [*result[::step][:most], *result[-1:]]
