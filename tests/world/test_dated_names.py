"""Names in worlds that begin on another date: a slug, a title and a series say when their event is,
whenever the world begins.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.kernel.instants import parse_instant
from sim.run.client.client import Connection, connect
from tests.journeys import firm, trader

STARTS = (
    "2026-02-03T12:00:00Z",
    "2026-07-09T01:50:00-04:00",
    "2026-09-08T14:00:00-04:00",
    "2026-10-30T23:30:00-04:00",
    "2026-12-17T09:00:00-05:00",
    "2027-06-01T00:00:00Z",
)
DATE = re.compile(r"\d{4}-\d\d-\d\d")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)


@pytest.fixture(params=STARTS, scope="module")
def world(request: pytest.FixtureRequest) -> Connection:
    text = 'name: dated\nextends: quickstart\nlimits: {public: "off"}\nworld: {games: 40}\n'
    return connect(Simulation(load_scenario(text), start=parse_instant(request.param)))


def events(world: Connection) -> list[dict[str, Any]]:
    result = world.gateway.get("/v1/events", params={"limit": "500"}).json()["events"]
    return [event for event in result if "updown" not in event["slug"]]


def test_the_date_in_the_slug_of_a_game_is_the_date_on_which_it_is_played(
    world: Connection,
) -> None:
    games = [event for event in events(world) if event["teams"]]
    assert len(games) > 60
    for game in games:
        assert DATE.findall(game["slug"]) == [game["eventDate"]], game["slug"]
        for market in game["markets"]:
            assert DATE.findall(market["slug"]) == [game["eventDate"]], market["slug"]


def test_a_date_in_words_is_that_of_the_event(world: Connection) -> None:
    """A month and a day are the last day of the event; the temperature's event ends at midnight."""
    dated = 0
    for event in events(world):
        for month, day in re.findall(r"-([a-z]+)-(\d{1,2})$", event["slug"]):
            if month in MONTHS:
                ends = date.fromisoformat(event["eventDate"])
                named = date(ends.year, MONTHS.index(month) + 1, int(day))
                late = event["category"] == "weather"
                assert (ends - named).days in ((0, 1) if late else (0,)), event["slug"]
                assert f"{month.title()} {day}" in event["title"]
                dated += 1
    assert dated == 5


def test_a_series_is_the_one_of_the_season(world: Connection) -> None:
    listed = world.gateway.get("/v1/series", params={"limit": "100"}).json()["series"]
    slugs = {series["slug"] for series in listed}
    assert {event["seriesSlug"] for event in events(world)} <= slugs | {""}
    assert not any("{" in slug for slug in slugs)
    now = world.simulation.now // 1_000_000_000
    begins = datetime.fromtimestamp(now, UTC).date()
    season = begins.year if begins.month >= 7 else begins.year - 1
    assert {f"nba-{season}-{(season + 1) % 100:02}", f"nfl-{season}", f"mlb-{begins.year}"} <= slugs


def test_the_exchange_knows_a_market_by_the_name_that_the_gateway_gives(world: Connection) -> None:
    event = next(event for event in events(world) if event["featured"] and event["teams"])
    slug = event["markets"][0]["slug"]
    assert firm(world.simulation).client_id
    answer = trader(world).get(f"/v1/refdata/instruments/{slug}")
    assert answer.status == 200, answer
    terms = answer.json()["instrument"]
    assert terms["eventAttributes"]["eventId"] == event["slug"]
    assert terms["metadata"]["event_start_time"][:10] == event["startTime"][:10]


def test_a_scenario_that_names_a_market_of_another_week_is_told_so() -> None:
    text = (
        "name: other\nextends: quickstart\nclock: {start: 2026-12-17T09:00:00-05:00}\n"
        "steps: [{state: {symbol: aec-nfl-dal-phi-2026-09-10, state: HALTED}}]\n"
    )
    with pytest.raises(Exception, match="aec-nfl-dal-phi-2026-12-17"):
        load_scenario(text)
