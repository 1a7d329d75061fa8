"""Lists, filters, sorting and search over 43,000 markets.

The floor is a bare aiohttp server that answers the same bytes. A second table measures worlds of
three sizes in which fifty books change between two lists; its floor is the smallest world.
"""

from __future__ import annotations

from pathlib import Path
from time import thread_time
from typing import Any

from benchmarks.areas.http import fetched, pair
from benchmarks.figures import Figure
from benchmarks.serving import Server, control, floor, port_of, request, resident_kb, served
from sim import Simulation, load_scenario
from sim.core.model.enums import InstrumentState
from sim.run.client.client import connect

SCENARIO = str(Path(__file__).parent / "large.yaml")
ASKED = (
    ("20 active events", "/v1/events?active=true&limit=20"),
    (
        "20 events of a league, latest first",
        "/v1/events?tagSlug=nba&orderBy=startTime&orderDirection=desc&limit=20",
    ),
    ("100 markets from the 40,000th on", "/v1/markets?limit=100&offset=40000"),
    ("100 markets by slug", "/v1/markets?limit=100&orderBy=slug&orderDirection=asc"),
    ("100 markets, largest volume first", "/v1/markets?limit=100&orderBy=volume"),
    ("100 open totals", "/v1/markets?marketTypes=totals&closed=false&limit=100"),
    ("search for two teams", "/v1/search?query=lakers%20celtics&limit=20"),
    ("search for a word of every event", "/v1/search?query=will&limit=20"),
    ("20 events of a tag, largest volume first", "/v2/tags/basketball/events?limit=20"),
    (
        "100 markets by sort order, in the middle",
        "/v1/markets?limit=100&orderBy=sortOrder&offset=20000",
    ),
    ("100 whole events", "/v1/events?limit=100"),
)
LATER = (ASKED[0], ("100 markets, largest volume first", "/v1/markets?limit=100&orderBy=volume"))
SIZES = (24, 241, 2_410)  # games
CHANGED = 50  # books, before each list
ALIVE = (
    ("20 active events, largest volume first", "/v1/events", "active=true&orderBy=volume&limit=20"),
    ("20 markets, the last to change first", "/v1/markets", "orderBy=updatedAt&limit=20"),
    (
        "20 open totals by slug",
        "/v1/markets",
        "marketTypes=totals&closed=false&orderBy=slug&limit=20&offset=40",
    ),
    ("search for a word of every event", "/v1/search", "query=will&limit=20"),
)


def figures(rounds: int) -> list[Figure]:
    """The catalogue rows."""
    with served(SCENARIO) as ready:
        lean = resident_kb(ready["pid"])
        results = [_figure(ready, name, path, rounds) for name, path in ASKED]
        looked_at = resident_kb(ready["pid"])
        for offset in range(0, 2_400, 100):
            fetched(f"{ready['gateway']}/v1/events?limit=100&offset={offset}")
        swept = resident_kb(ready["pid"])
        control(ready, "/clock/advance", {"by": "P45D"})
        results += [_figure(ready, f"45 days later, {name}", path, rounds) for name, path in LATER]
    memory = (
        (lean, "just started"),
        (looked_at, "after the requests above"),
        (swept, "after every event was shown"),
    )
    results += [
        Figure(f"43,000 markets: memory {when}", "MB", [size / 1024], [], "")
        for size, when in memory
    ]
    return results + _growth(rounds)


def _growth(rounds: int) -> list[Figure]:
    """What a list costs in a living world, by the number of markets."""
    worlds = [_Living(games) for games in SIZES]
    times: dict[tuple[str, int], list[float]] = {}
    for name, path, query in ALIVE:
        for _ in range(rounds + 1):
            for world in worlds:
                times.setdefault((name, world.markets), []).append(world.timed(path, query) * 1e3)
    few, *more = (world.markets for world in worlds)
    return [
        Figure(
            f"{many:,} markets, {CHANGED} changed: {name}",
            "ms",
            times[name, many][1:],
            times[name, few][1:],
            f"ms for {few:,} markets",
        )
        for name, _, _ in ALIVE
        for many in more
    ]


class _Living:
    """A world in which somebody quotes."""

    def __init__(self, games: int) -> None:
        text = (
            'name: growth\nextends: quickstart\nlimits: {public: "off"}\nworld: {games:'
            f" {games}}}\n"
        )
        self.simulation = Simulation(load_scenario(text))
        self.markets = len(self.simulation.exchange.instruments)
        symbols = list(self.simulation.exchange.instruments.symbols())
        state = self.simulation.exchange.trading.state
        self.open = [
            symbol
            for symbol in symbols[:: max(1, len(symbols) // 200)]
            if state(symbol) is InstrumentState.OPEN
        ]
        self.changed = 0

    def timed(self, path: str, query: str) -> float:
        """Seconds of a list after other books have changed."""
        for _ in range(CHANGED):
            self.changed += 1
            symbol = self.open[self.changed % len(self.open)]
            self.simulation.control(
                "order.place",
                "",
                {"as": "maker", "symbol": symbol, "side": "buy", "price": "0.05", "qty": "1"},
            )
        connect(self.simulation).advance("1s")
        start = thread_time()
        outcome = self.simulation.rest("gateway", "GET", path, query, {}, b"")
        spent = thread_time() - start
        if outcome.reply is None or outcome.reply.status != 200:
            raise RuntimeError(f"{path}?{query}: {outcome.reply}")
        return spent


def _figure(ready: dict[str, Any], name: str, path: str, rounds: int) -> Figure:
    answer = fetched(ready["gateway"] + path)
    with floor("get", answer) as bare:
        sandbox, floors = pair(
            Server(port_of(ready["gateway"]), ready["pid"]), bare, [request("GET", path)], rounds
        )
    return Figure(
        f"43,000 markets: {name}",
        "/s",
        sandbox,
        floors,
        "bare aiohttp",
        note=f"{len(answer) // 1024} KB",
    )
