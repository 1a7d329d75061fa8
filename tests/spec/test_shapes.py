"""Nested shapes and spellings of the gateway's resources (§2.9 to §2.11), in an era in which the
deprecated fields are there too.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.kit import Desk, begin

# Field: type, as §2.10 lists them.
SUBJECT = {
    "id": int,
    **dict.fromkeys(
        (
            "name",
            "displayName",
            "description",
            "subjectType",
            "image",
            "color",
            "darkColor",
            "createdAt",
            "updatedAt",
            "slug",
        ),
        str,
    ),
}
DEPRECATED = {
    "marketType": str,
    "sportsMarketTypeV2": str,
    "outcomes": str,
    "outcomePrices": str,
    "archived": bool,
    "manualActivation": bool,
}


@pytest.fixture(scope="module")
def june() -> Desk:
    """The day before the removals."""
    return begin(start="2026-06-28T12:00:00-04:00", limits=False)


@pytest.fixture(scope="module")
def markets(june: Desk) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = june.gateway.get("/v1/markets", params={"limit": 400}).json()[
        "markets"
    ]
    return result


@pytest.mark.spec("S2.10-1", "S2.10-2", "S9-3")
def test_deprecated_fields_have_their_types_while_they_last(
    june: Desk, markets: list[dict[str, Any]]
) -> None:
    assert len(markets) == 400
    for market in markets:
        for name, kind in DEPRECATED.items():
            assert isinstance(market[name], kind), (name, market[name])
        assert re.fullmatch(r"SPORTS_MARKET_TYPE_[A-Z0-9_]+|", market["sportsMarketTypeV2"])
    spelled = {market["sportsMarketTypeV2"] for market in markets}
    assert "SPORTS_MARKET_TYPE_MONEYLINE" in spelled
    for subject in june.gateway.get("/v1/subjects").json()["subjects"]:
        for name, kind in SUBJECT.items():
            assert isinstance(subject[name], kind), (name, subject)
            assert not isinstance(subject[name], bool)
    about = [market for market in markets if market["subject"]]
    for market in about:
        assert market["subjectId"] == market["subject"]["id"]
        assert set(SUBJECT) <= set(market["subject"])


@pytest.mark.reading("documented")
@pytest.mark.spec("S2.10-2", "S2.10-1")
def test_sides_teams_and_quotes_are_nested_as_documented(markets: list[dict[str, Any]]) -> None:
    teams = []
    for market in markets:
        for side in market["marketSides"]:
            # The first is the specification's example, of older markets; the second is newer.
            kinds = {"MARKET_SIDE_TYPE_ERC1155", "MARKET_SIDE_TYPE_INSTRUMENT"}
            assert side["marketSideType"] in kinds
            teams += [side["team"]] if side["team"] else []
        for name in ("bestBidQuote", "bestAskQuote"):
            quote = market[name]
            assert quote is None or (
                isinstance(quote["value"], int | float) and quote["currency"] == "USD"
            )
    assert teams
    for team in teams:
        assert set(team["color"]) == {"light", "dark"}
        assert all(isinstance(shade, str) for shade in team["color"].values())
        for entry in team["providerIds"]:
            assert set(entry) == {"provider", "providerId"}
            assert re.fullmatch(r"PROVIDER_[A-Z0-9_]+", entry["provider"])
            assert isinstance(entry["providerId"], str)
    assert any(team["providerIds"] for team in teams)


@pytest.mark.long
@pytest.mark.spec("S2.11-1", "S4.1-10")
def test_an_event_is_one_whichever_way_it_is_asked_for(june: Desk) -> None:
    """By number, by slug and in lists; what is live or ended says so in every filter."""
    events = june.gateway.get("/v1/events", params={"limit": 60}).json()["events"]
    for event in events[:5]:
        for path in (f"/v1/events/{event['id']}", f"/v1/events/slug/{event['slug']}"):
            assert june.gateway.get(path).json()["event"] == event
    for path in ("/v1/events/0", "/v1/events/999999999", "/v1/events/slug/nobody"):
        assert june.gateway.get(path).status == 404
    for name in ("active", "closed", "live", "ended", "archived"):
        for value in (True, False):
            params = {"limit": 50, name: value}
            result = june.gateway.get("/v1/events", params=params).json()["events"]
            assert {bool(item.get(name)) for item in result} <= {value}, name
    total = june.rows("/v1/events", "events")
    parts = [len(june.rows("/v1/events", "events", closed=flag)) for flag in (True, False)]
    assert sum(parts) == len(total)
