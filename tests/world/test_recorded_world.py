"""The default world does not change unintentionally: names, numbers, dates, terms and prices of its
events and markets, as clients see them at the start of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import json

from sim import Simulation, load_scenario
from sim.run.client.client import Connection, connect
from tests.journeys import trader
from tests.recorded import check_recorded

UNLIMITED = 'name: recorded\nextends: {world}\nlimits: {{public: "off", exchange_rest: "off"}}\n'


def begun(start: str = "", world: str = "quickstart", more: str = "") -> Connection:
    clock = f"clock: {{start: {start}}}\n" if start else ""
    return connect(Simulation(load_scenario(UNLIMITED.format(world=world) + clock + more)))


@pytest.fixture(scope="module")
def recorded_world() -> Connection:
    """The quickstart at its start. Tests only read it."""
    return begun()


def get(world: Connection, path: str, **query: Any) -> Any:
    answer = world.gateway.get(path, params=query)
    assert answer.status == 200, answer.body
    return answer.json()


def every(world: Connection, path: str, name: str, **query: Any) -> list[Any]:
    rows: list[Any] = []
    while page := get(world, path, limit=1000, offset=len(rows), **query)[name]:
        rows += page
    return rows


def compact(row: Any) -> str:
    """Return a row as JSON without empty values."""

    def bare(value: Any) -> Any:
        match value:
            case dict():
                result = {name: bare(inner) for name, inner in value.items()}
                return {
                    name: inner for name, inner in result.items() if inner not in (None, "", [])
                }
            case list():
                return [bare(inner) for inner in value]
        return value

    return json.encode(bare(row)).decode()


def event_line(event: Any) -> str:
    names = ("id", "slug", "title", "category", "subcategory", "seriesSlug", "gameId")
    dates = ("createdAt", "startDate", "startTime", "endDate", "eventDate", "updatedAt")
    state = ("active", "closed", "live", "ended", "featured", "period", "score", "elapsed")
    tags = [tag["slug"] for tag in event["tags"]]
    displayed = [str(event.get(name)) for name in (*names, *dates, *state)]
    return " | ".join([*displayed, ",".join(tags), str(len(event["markets"]))])


def market_line(market: Any) -> str:
    names = ("id", "slug", "question", "marketType", "sportsMarketType", "sportsMarketTypeV2")
    terms = ("line", "outcomes", "outcomePrices", "orderPriceMinTickSize", "minimumTradeQty")
    dates = ("createdAt", "startDate", "endDate", "gameStartTime")
    rest = ("status", "comboEnabled", "subjectId", "sortOrder", "feeCoefficient", "metadata")
    return " | ".join(str(market.get(name)) for name in (*names, *terms, *dates, *rest))


def chosen(events: list[Any], each: int = 1) -> Iterator[Any]:
    """Return the first events of each league or topic, and all events that are not games."""
    observed: dict[tuple[str, str, bool], int] = {}
    for event in events:
        kind = (event["category"], event["subcategory"], bool(event.get("gameId")))
        observed[kind] = observed.get(kind, 0) + 1
        if observed[kind] <= each or not event.get("gameId"):
            yield event


@pytest.mark.recorded
def test_sports_leagues_tags_series_teams_and_players(recorded_world: Connection) -> None:
    world = recorded_world
    lines = [
        *(
            f"sport {compact(sport | {'leagues': 0})}"
            for sport in get(world, "/v2/sports")["sports"]
        ),
        *(f"league {compact(item)}" for item in every(world, "/v2/leagues", "leagues")),
        *(f"listing {compact(sport)}" for sport in get(world, "/v1/sports")["sports"][::6]),
        *(f"series {compact(item)}" for item in every(world, "/v1/series", "series")),
    ]
    for tag in every(world, "/v2/tags", "tags")[::5]:
        lines.append(f"tag {compact(tag)}")
    for team in every(world, "/v1/sports/teams", "teams")[::17]:
        lines.append(f"team {compact(team)}")
    lines += [f"player {compact(item)}" for item in every(world, "/v1/sports/players", "players")][
        :9
    ]
    check_recorded("leagues.txt", lines)


@pytest.mark.recorded
def test_events_of_the_quickstart(recorded_world: Connection) -> None:
    events = every(recorded_world, "/v1/events", "events")
    head = [f"{len(events)} events, {sum(len(event['markets']) for event in events)} markets"]
    games = [event for event in events if event.get("gameId")]
    check_recorded(
        "events.txt",
        [
            *head,
            *(event_line(event) for event in events if not event.get("gameId")),
            *(event_line(event) for event in games[:60]),
            *(event_line(event) for event in games[60::40]),
        ],
    )


@pytest.mark.recorded
def test_markets_of_the_quickstart(recorded_world: Connection) -> None:
    lines = []
    for event in chosen(every(recorded_world, "/v1/events", "events")):
        displayed = event["markets"] if len(event["markets"]) < 12 else event["markets"][::4]
        lines += [event["slug"], *(f"  {market_line(market)}" for market in displayed)]
    check_recorded("markets.txt", lines)


@pytest.mark.recorded
def test_whole_events_and_instruments(recorded_world: Connection) -> None:
    """Every field of one event of each kind with its first and last market, on both planes."""
    events = list(chosen(every(recorded_world, "/v1/events", "events")))
    leagues = ("nba", "epl", "atp", "ufc")
    picked = [events[0], *(item for item in events if item["subcategory"] in leagues)][::3]
    picked += [item for item in events if item["category"] != "sports"][::9]
    lines = []
    client = trader(recorded_world)
    for event in picked:
        market = event["markets"][-1]
        named = [tag["slug"] for tag in event["tags"]]
        assert [tag["slug"] for tag in market["tags"]] == named
        lines.append(compact(event | {"markets": [market | {"tags": []}], "tags": named}))
        answer = client.get(f"/v1/refdata/instruments/{market['slug']}")
        lines.append(f"  {compact(answer.json()['instrument'])}")
    check_recorded("whole_events.txt", lines)


@pytest.mark.recorded
@pytest.mark.parametrize(
    "start", ["2026-02-10T12:00:00-05:00", "2026-06-20T12:00:00-04:00", "2027-03-03T09:00:00-05:00"]
)
def test_worlds_that_begin_in_another_week(start: str) -> None:
    """Seasons, dates in names, trading terms and two-sided markets are those of that week."""
    world = begun(start, more="world: {games: 40}\n")
    events = every(world, "/v1/events", "events")
    lines = [event_line(event) for event in list(chosen(events))[::2]]
    for league in ("lib", "atp", "mlb"):
        event = next(item for item in reversed(events) if item["subcategory"] == league)
        lines += [event["slug"], *(f"  {market_line(market)}" for market in event["markets"][::2])]
    series = every(world, "/v1/series", "series")
    lines += [f"{item['slug']} | {item['title']}" for item in series]
    check_recorded(f"world_{start[:10]}.txt", lines)


@pytest.mark.recorded
def test_programs_and_what_they_paid(recorded_world: Connection) -> None:
    exchange = recorded_world.simulation.exchange
    lines = []
    for _, periods in sorted(exchange.incentives.programs().items()):
        lines += [json.encode(period).decode() for period in periods]
    clients = [recorded_world.retail(api_key) for api_key in exchange.firms.api_keys()]
    lines.append(compact(clients[0].get("/v1/incentives").json()))
    lines += [compact(client.get("/v1/incentives/earnings").json()) for client in clients]
    check_recorded("programs.txt", lines)


@pytest.mark.recorded
def test_recurring_markets(recorded_world: Connection) -> None:
    """Of each series the windows listed at the start and one that is over, by number and symbol."""
    world, lines = recorded_world, []
    series = [item for item in every(world, "/v1/series", "series") if item.get("recurrence")]
    numbers = [int(item["id"]) for item in series if "Up or Down" in item["title"]]
    for number in numbers:
        events = every(world, "/v1/events", "events", seriesId=number)
        for event in events[:1] + events[1:][-1:]:
            lines += [event_line(event), f"  {market_line(event['markets'][0])}"]
            slug = event["markets"][0]["slug"]
            instrument = trader(world).get(f"/v1/refdata/instruments/{slug}").json()["instrument"]
            lines.append(f"  {compact(instrument)}")
            same = get(world, f"/v1/events/{event['id']}")["event"]
            assert same == event == get(world, f"/v1/events/slug/{event['slug']}")["event"]
            by_number = get(world, f"/v1/market/id/{event['markets'][0]['id']}")["market"]
            assert by_number == event["markets"][0]
    check_recorded("recurring.txt", lines)
