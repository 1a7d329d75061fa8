"""Leagues, sports, teams, series, tags and subjects on the gateway."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.core.model.refusals import NotFound
from sim.world.reference.reference import Reference
from tests.journeys import key
from tests.kit import Desk, begin


@pytest.mark.spec("S4.1-8", "S2.9-1", "S5.3-1")
def test_leagues_come_at_most_fifty_on_a_page(world: Desk) -> None:
    leagues = world.gateway.read("/v2/leagues", "leagues")
    existing = world.core.reference.leagues
    assert len(leagues) == min(len(existing), 50)
    assert len(world.gateway.read("/v2/leagues", "leagues", limit=1000)) == min(len(existing), 50)
    assert [
        league["slug"] for league in world.gateway.read("/v2/leagues", "leagues", limit=2, offset=1)
    ] == [league.slug for league in existing[1:3]]
    for league in leagues:
        for name in (
            "name",
            "slug",
            "image",
            "resolution",
            "ordering",
            "createdAt",
            "abbreviation",
        ):
            assert isinstance(league[name], str), name
        for name in ("id", "sportId", "tagId", "activeSeriesId"):
            assert isinstance(league[name], int), name
        assert isinstance(league["isOperational"], bool)
        assert "automaticResolution" not in league


@pytest.mark.spec("S2.9-1", "S2.10-2")
def test_a_tag_embeds_its_league_with_automatic_resolution(world: Desk) -> None:
    tag = world.gateway.read("/v2/tags/slug/nba", "tag")
    assert tag["league"]["automaticResolution"] is True
    assert world.gateway.read(f"/v2/tags/{tag['id']}", "tag") == tag
    sports = world.gateway.read("/v2/tags/slug/basketball", "tag", "sport")
    assert {"id", "tagId", "name", "createdAt", "slug", "image"} <= set(sports)
    assert world.gateway.get("/v2/tags/slug/nobody").status == 404


def test_leagues_stand_below_their_sport_and_sports_below_the_tag_sports(world: Desk) -> None:
    rows = {int(row["id"]): row for row in world.gateway.read("/v2/tags", "tags")}
    leagues = [row for row in rows.values() if row.get("league")]
    assert len(leagues) > 20
    for row in leagues:
        parent = rows[row["parentId"]]
        assert parent["sport"]["id"] == row["league"]["sportId"]
        assert rows[parent["parentId"]]["slug"] == "sports"


OUTCOMES = {
    "cpi-august-2026": "DIRECTIONAL",
    "btc-above-on-september-12": "DIRECTIONAL",
    "btc-hit-by-september-30": "DIRECTIONAL",
    "btc-range-on-september-11": "MUTUALLY_EXCLUSIVE",
    "fed-decision-september-2026": "MUTUALLY_EXCLUSIVE",
    "nba-champion-2027": "MUTUALLY_EXCLUSIVE",
    "nyc-high-september-9": "MUTUALLY_EXCLUSIVE",
}


def test_rungs_of_one_reading_are_directional_and_one_of_many_answers_excludes_the_others(
    world: Desk,
) -> None:
    client = world.trader()
    answer = client.send("/v1/refdata/instruments", {"pageSize": 1000})
    kinds: dict[str, set[str]] = {}
    for row in answer["instruments"]:
        of = row["eventAttributes"]
        kinds.setdefault(of["eventId"], set()).add(of["eventOutcome"])
    assert {event: kinds[event] for event in OUTCOMES} == {
        event: {f"EVENT_OUTCOME_{kind}"} for event, kind in OUTCOMES.items()
    }


def test_an_event_is_reported_on_by_its_number_as_by_its_slug(world: Desk) -> None:
    game = world.gateway.read("/v1/events", "events", 0, limit=1)
    for name, live in ((str(game["id"]), True), (game["slug"], False)):
        reported = world.operate("event.update", name, live=live).value
        assert (reported["slug"], reported["live"]) == (game["slug"], live)
    with pytest.raises(NotFound):
        world.operate("event.update", "99999999", live=True)


def test_what_is_unknown_is_not_found(world: Desk) -> None:
    for path in (
        "/v2/leagues/nobody",
        "/v2/sports/nobody",
        "/v2/tags/999999",
        "/v1/series/id/1",
        "/v2/leagues/nobody/events",
        "/v2/tags/nobody/events",
    ):
        answer = world.gateway.get(path)
        assert (answer.status, answer.json()["code"]) == (404, 5), path


def test_sports_hold_their_leagues_and_teams_have_names_at_vendors(world: Desk) -> None:
    sports = {sport["slug"]: sport for sport in world.gateway.read("/v2/sports", "sports")}
    assert "nba" in [league["slug"] for league in sports["basketball"]["leagues"]]
    assert world.gateway.read("/v2/sports/basketball", "sport", "name") == "Basketball"
    older = {sport["slug"]: sport for sport in world.gateway.read("/v1/sports", "sports")}
    assert older["nba"]["leagues"][0]["slug"] == "nba"
    (celtics,) = world.gateway.read(
        "/v1/sports/teams", "teams", **{"filters.league": "nba", "filters.abbreviation": "BOS"}
    )
    vendor = celtics["providerIds"][0]
    result = world.gateway.read(
        "/v1/sports/teams/provider",
        teamIds=vendor["providerId"],
        provider=vendor["provider"],
        league="nba",
    )
    assert result["teams"][vendor["providerId"]]["name"] == celtics["name"]
    assert world.gateway.read(
        "/v1/sports/teams/provider", teamIds=vendor["providerId"], league="nfl"
    ) == {"teams": {}}
    (player,) = world.gateway.read("/v1/sports/players", "players", **{"filters.id": 505})
    assert (player["league"], player["teamId"]) == ("nba", celtics["id"])


def test_series_are_listed_and_found_by_number(world: Desk) -> None:
    (series,) = world.gateway.read("/v1/series", "series", slug="nba-2026-27")
    assert world.gateway.read(f"/v1/series/id/{series['id']}", "series") == series
    assert world.gateway.read("/v1/series", recurrence="hourly") == {"series": []}


@pytest.mark.spec("S4.2-17", "S9-3")
def test_subjects_answer_until_their_removal(tmp_path: Path) -> None:
    scenario = tmp_path / "summer.yaml"
    scenario.write_text(
        "name: summer\nclock: {start: 2026-06-28T23:59:00-04:00}\nworld: {base: empty,"
        " accounts: [{name: firms/retail/accounts/ann}],"
        " api_keys: [{key_id: ann, account: firms/retail/accounts/ann}]}\n"
    )
    sim = Simulation(load_scenario(str(scenario)))
    sim.exchange.reference = Reference()
    sim.exchange.recurring.begin((), None)
    world = Desk(sim)
    subject = world.gateway.read("/v1/subjects", "subjects", 0, limit=1)
    paths = [f"/v1/subjects/{subject['id']}", f"/v1/subjects/slug/{subject['slug']}"]
    clients = (world.gateway, world.retail(key(sim)))
    for client in clients:
        assert client.read("/v1/subjects", "subjects", limit=1) == [subject]
        for path in paths:
            assert client.read(path, "subject") == subject
            assert "markets" in client.read(f"{path}/markets")
        assert client.get("/v1/subjects/1").status == 404
        assert client.get("/v1/subjects/slug/nobody/markets").status == 404
    stranger = sim.rest("retail", "GET", "/v1/subjects", "", {}, b"").reply
    assert stranger is not None
    assert stranger.status == 401
    world.advance("1m")
    for client in clients:
        for path in ("/v1/subjects", *paths, *(f"{path}/markets" for path in paths)):
            assert client.get(path).status == 404


def test_the_gateway_is_up(world: Desk) -> None:
    assert world.gateway.read("/v1/health") == {"status": "ok"}


def test_partners_find_events_by_ids_of_their_own() -> None:

    origin = begin()
    listed = origin.gateway.read("/v1/events", "events", limit=500)
    game = next(event for event in listed if event["gameId"] and len(event["markets"]) > 1)
    text = (
        f"name: partners\nextends: quickstart\nworld:\n  events:\n    - {{slug: {game['slug']},"
        " partners: {acme: e/17, other: x}}\n"
    )
    world = begin(text)
    for path in ("acme/events/e%2F17", "other/events/x", f"sportradar/events/{game['gameId']}"):
        answer = world.gateway.get(f"/v1/partners/{path}")
        assert answer.status == 200, answer
        event = world.gateway.read(f"/v1/events/slug/{game['slug']}", "event")
        assert answer.json()["event"] == event
        assert answer.json()["mappedMarketSides"] == [
            side for market in event["markets"] for side in market["marketSides"]
        ]
    for path in (
        "acme/events/x",
        "nobody/events/e%2F17",
        "sportradar/events/nope",
        f"acme/events/{game['gameId']}",
    ):
        assert world.gateway.get(f"/v1/partners/{path}").status == 404
    assert origin.gateway.get("/v1/partners/acme/events/e%2F17").status == 404
    world.assume("partners.game_ids", "acme")
    assert world.gateway.get(f"/v1/partners/acme/events/{game['gameId']}").status == 200
    world.assume("partners.mapped_sides", "moneyline")
    kept = world.gateway.read("/v1/partners/other/events/x", "mappedMarketSides")
    moneyline = [market for market in event["markets"] if market["sportsMarketType"] == "moneyline"]
    assert 0 < len(moneyline) < len(event["markets"])
    assert kept == [side for market in moneyline for side in market["marketSides"]]


@pytest.mark.reading("documented")
@pytest.mark.spec("S9-3", "S2.10-1", "S2.11-1")
def test_deprecated_fields_say_what_replaced_them_until_the_instant_of_their_removal(
    tmp_path: Path,
) -> None:
    """§9: a date without an hour begins at midnight Eastern."""
    scenario = tmp_path / "summer.yaml"
    scenario.write_text(
        "name: summer\nextends: quickstart\nclock: {start: 2026-06-28T23:59:59-04:00}\n"
    )
    world = begin(str(scenario))
    of_market = [
        "marketType",
        "sportsMarketTypeV2",
        "outcomes",
        "outcomePrices",
        "archived",
        "manualActivation",
        "gameStartTime",
        "subject",
        "subjectId",
    ]

    def view() -> tuple[dict[str, Any], dict[str, Any]]:
        event = world.gateway.read("/v1/events", "events", 0, limit=1, tagSlug="nba")
        return event, event["markets"][0]

    world.advance("999ms")
    event, market = view()
    assert [participant["name"] for participant in event["participants"]] == [
        team["name"] for team in event["teams"]
    ]
    assert set(of_market) <= set(market)
    sides = market["marketSides"]
    assert json.loads(market["outcomes"]) == [side["description"] for side in sides]
    assert json.loads(market["outcomePrices"]) == [side["price"] for side in sides]
    assert all(side["participantId"] for side in sides)
    assert market["gameStartTime"] == event["startTime"]
    world.advance("1ms")
    event, market = view()
    assert {"participants", "archived"}.isdisjoint(event)
    assert set(of_market).isdisjoint(market)
    assert not any("participantId" in side for side in market["marketSides"])
