"""What the bundled quickstart shows on the gateway: every documented field of markets, sides,
teams, tags and events, with its documented type.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Desk

NUMBER = (int, float)
# Fields of §2.10 that are there on the quickstart's date; those that left on 2026-06-29 are tested
# where they leave.
MARKET: dict[Any, tuple[str, ...]] = {
    str: (
        "id", "question", "slug", "endDate", "startDate", "category", "image", "description", "createdAt", "updatedAt", "sportsMarketType", "title", "subtitle",
        "titleShort", "color", "darkColor", "spreadTotalSuffix", "rulesDisclaimer", "exchangeStatus", "exchangeSyncedAt",
    ),
    bool: ("active", "closed", "hidden", "rulesDisclaimerPopup", "comboEnabled"),
    NUMBER: ("orderPriceMinTickSize", "minimumTradeQty", "feeCoefficient", "sortOrder", "volume", "volume24hr", "volume1wk", "volume1mo", "volume1yr"),
    list: ("marketSides", "tags"),
    dict: ("metadata",),
}  # fmt: skip
SIDE: dict[Any, tuple[str, ...]] = {
    str: ("id", "identifier", "createdAt", "updatedAt", "description", "price", "marketSideType"),
    int: ("marketId", "teamId"),
    bool: ("long", "tradable"),
}
TEAM: dict[Any, tuple[str, ...]] = {
    int: ("id", "providerId"),
    str: (
        "name", "abbreviation", "league", "record", "logo", "alias", "safeName", "homeIcon", "awayIcon", "colorPrimary", "ordering", "longIcon", "shortIcon",
        "displayAbbreviation", "ranking", "conference", "longIconDark", "shortIconDark",
    ),
    list: ("providerIds",),
    dict: ("color",),
}  # fmt: skip
TAG: dict[Any, tuple[str, ...]] = {
    str: ("id", "label", "slug", "createdAt", "updatedAt", "image"),
    bool: ("tradable",),
    int: ("parentId",),
    list: ("subtags",),
}
EVENT: dict[Any, tuple[str, ...]] = {
    int: ("id",),
    str: ("slug", "title", "description", "category", "period"),
    bool: ("active", "closed"),
    list: ("markets", "teams"),
}
GAME: dict[Any, tuple[str, ...]] = {str: ("gameId",), bool: ("live", "ended")}
REMOVED = {
    "archived",
    "manualActivation",
    "gameStartTime",
    "marketType",
    "sportsMarketTypeV2",
    "outcomes",
    "outcomePrices",
    "subjectId",
    "subject",
}


def assert_shape(message: dict[str, Any], shape: dict[Any, tuple[str, ...]]) -> None:
    for kind, names in shape.items():
        for name in names:
            assert isinstance(message[name], kind), (name, message[name])
            assert kind is bool or not isinstance(message[name], bool), name


def paged(world: Desk, kind: str, size: int = 500) -> list[dict[str, Any]]:
    """Everything of a list, page by page."""
    results: list[dict[str, Any]] = []
    while page := world.gateway.read(f"/v1/{kind}", limit=size, offset=len(results))[kind]:
        world.advance("1s")  # every rate limit recovers
        results += page
    return results


@pytest.mark.reading("documented")
@pytest.mark.spec("S2.10-1", "S2.10-2", "S4.1-9", "S4.1-11", "S9-3")
def test_every_market_has_every_documented_field(world: Desk) -> None:
    markets = paged(world, "markets")
    assert [market["slug"] for market in markets] == list(world.core.instruments.symbols())
    assert len(markets) > 3000
    for market in markets[::7]:
        assert_shape(market, MARKET)
        assert not REMOVED & set(market)
        assert {"bestBidQuote", "bestAskQuote"} <= set(market)
        assert [side["long"] for side in market["marketSides"]] in ([True, False], [False, True])
        for side in market["marketSides"]:
            assert_shape(side, SIDE)
            assert side["marketId"] == int(market["id"])
            if side["team"] is not None:
                assert_shape(side["team"], TEAM)
        for tag in market["tags"]:
            assert_shape(tag, TAG)
    item = markets[0]
    single = world.gateway.read(f"/v1/market/slug/{item['slug']}", "market")
    assert world.gateway.read(f"/v1/market/id/{item['id']}", "market") == single
    assert single.keys() == item.keys()


@pytest.mark.long
@pytest.mark.reading("documented")
@pytest.mark.spec("S2.11-1", "S4.1-10")
def test_every_event_has_every_documented_field(world: Desk) -> None:
    events = paged(world, "events")
    assert len({event["id"] for event in events}) == len(events) > 250
    assert [market["id"] for event in events for market in event["markets"]] == [
        market["id"] for market in paged(world, "markets")
    ]
    for event in events[::3]:
        assert_shape(event, EVENT)
        assert "participants" not in event
        assert "archived" not in event
    games = [event for event in events if event.get("gameId")]
    assert games
    for event in games:
        assert_shape(event, GAME)
    assert all(len(event["teams"]) == 2 for event in games)
    assert len(world.gateway.read("/v1/events", "events")) == 100


@pytest.mark.spec("S2.2-3", "S4.1-1")
@pytest.mark.parametrize("asset", ["crypto:btc", "crypto:eth"])
def test_bitcoin_and_ether_have_months_of_prices(world: Desk, asset: str) -> None:
    params = {"assets": asset, "bucket": "ASSET_PRICE_BUCKET_1D", "from": 0, "to": 0}
    (series,) = world.gateway.read("/v1/asset-prices/history", "series", **params)
    assert len(series["candles"]) > 60
    assert all(float(candle["low"]) > 0 for candle in series["candles"])
