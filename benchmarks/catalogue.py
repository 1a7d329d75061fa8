"""Lists, filters, sorting and search over a catalogue as large as life (43,000 markets), against a bare aiohttp server that answers the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.http import fetched, pair
from benchmarks.serving import Server, control, floor, port_of, request, resident_kb, served

SCENARIO = str(Path(__file__).parent / "large.yaml")
ASKED = (
    ("20 active events", "/v1/events?active=true&limit=20"),
    ("20 events of a league, latest first", "/v1/events?tagSlug=nba&orderBy=startTime&orderDirection=desc&limit=20"),
    ("100 markets from the 40,000th on", "/v1/markets?limit=100&offset=40000"),
    ("100 markets by slug", "/v1/markets?limit=100&orderBy=slug&orderDirection=asc"),
    ("100 markets, largest volume first", "/v1/markets?limit=100&orderBy=volume"),
    ("100 open totals", "/v1/markets?marketTypes=totals&closed=false&limit=100"),
    ("search for two teams", "/v1/search?query=lakers%20celtics&limit=20"),
    ("search for a word of every event", "/v1/search?query=will&limit=20"),
    ("20 events of a tag, largest volume first", "/v2/tags/basketball/events?limit=20"),
    ("100 whole events", "/v1/events?limit=100"),
)


LATER = (ASKED[0], ("100 markets, largest volume first", "/v1/markets?limit=100&orderBy=volume"))


def figures(rounds: int) -> list[Figure]:
    """The catalogue rows."""
    with served(SCENARIO) as ready:
        lean = resident_kb(ready["pid"])
        found = [_figure(ready, name, path, rounds) for name, path in ASKED]
        looked_at = resident_kb(ready["pid"])
        for offset in range(0, 2_400, 100):
            fetched(f"{ready['gateway']}/v1/events?limit=100&offset={offset}")
        swept = resident_kb(ready["pid"])
        control(ready, "/clock/advance", {"by": "P45D"})
        found += [_figure(ready, f"45 days later, {name}", path, rounds) for name, path in LATER]
    memory = ((lean, "just started"), (looked_at, "after the requests above"), (swept, "after every event was shown"))
    return found + [Figure(f"43,000 markets: memory {when}", "MB", [size / 1024], [], "") for size, when in memory]


def _figure(ready: dict[str, Any], name: str, path: str, rounds: int) -> Figure:
    answer = fetched(ready["gateway"] + path)
    with floor("get", answer) as bare:
        ours, floors = pair(Server(port_of(ready["gateway"]), ready["pid"]), bare, [request("GET", path)], rounds)
    return Figure(f"43,000 markets: {name}", "/s", ours, floors, "bare aiohttp", note=f"{len(answer) // 1024} KB")
