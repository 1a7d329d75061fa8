"""Markets and events on the gateway: reference data with live prices, filters and pages."""

from __future__ import annotations

import json
import re

import pytest
from gateway_world import ELECTION, GAME, GatewayWorld
from retail_world import BUY_YES, FINE, SELL_YES, WHOLE

from sim.api.gateway.live_views import market_view
from sim.contract.messages.gateway_v1 import Subject
from sim.core.incentives.incentives import Period
from sim.kernel.instants import DAY, HOUR


@pytest.fixture
def gateway() -> GatewayWorld:
    return GatewayWorld()


def market(gateway: GatewayWorld, slug: str) -> dict[str, object]:
    result = gateway.gateway.get(f"/v1/market/slug/{slug}")
    assert result.status == 200
    return dict(result.json()["market"])


@pytest.mark.reading("documented")
@pytest.mark.spec("S4.1-9", "S2.10-1")
def test_a_market_shows_its_terms_and_the_best_prices_of_both_sides(gateway: GatewayWorld) -> None:
    quiet = market(gateway, FINE)
    assert (quiet["bestBidQuote"], quiet["bestAskQuote"]) == (None, None)
    assert [side["price"] for side in quiet["marketSides"]] == ["0.4", "0.6"]  # type: ignore[attr-defined]
    gateway.order(gateway.ann, FINE, BUY_YES, price="0.42", quantity=10)
    gateway.order(gateway.bob, FINE, SELL_YES, price="0.465", quantity=10)
    displayed = market(gateway, FINE)
    assert (displayed["bestBidQuote"], displayed["bestAskQuote"]) == (
        {"value": 0.42, "currency": "USD"},
        {"value": 0.465, "currency": "USD"},
    )
    long, short = displayed["marketSides"]  # type: ignore[misc]
    assert (long["long"], long["price"], long["quote"]["value"]) == (True, "0.465", 0.465)
    assert (short["long"], short["price"], short["quote"]["value"]) == (False, "0.58", 0.58)
    assert (
        displayed["orderPriceMinTickSize"],
        displayed["minimumTradeQty"],
        displayed["feeCoefficient"],
    ) == (0.005, 0.01, 0.06)
    assert (displayed["active"], displayed["closed"], displayed["exchangeStatus"]) == (
        True,
        False,
        "OPEN",
    )


@pytest.mark.reading("documented")
def test_outcome_prices_follow_the_sides_while_they_are_served(gateway: GatewayWorld) -> None:
    gateway.order(gateway.ann, WHOLE, BUY_YES, price="0.30")
    view = market_view(gateway.core, gateway.core.reference.market_by_slug[WHOLE])
    assert json.loads(view.outcome_prices) == ["0.3", "0.7"]
    assert "outcomePrices" not in market(gateway, WHOLE)  # gone since 2026-06-29


def test_a_market_follows_trading_state_and_settlement(gateway: GatewayWorld) -> None:
    gateway.order(gateway.ann, WHOLE, BUY_YES, price="0.40", quantity=20)
    gateway.advance("90m")
    gateway.order(gateway.bob, WHOLE, SELL_YES, price="0.40", quantity=5)
    displayed = market(gateway, WHOLE)
    assert (displayed["volume"], displayed["volume24hr"], displayed["volume1yr"]) == (2, 2, 2)
    assert displayed["updatedAt"] == "2026-09-08T19:30:00Z"
    gateway.advance("25h")
    later = market(gateway, WHOLE)
    assert (later["volume"], later["volume24hr"], later["volume1wk"]) == (2, 0, 2)
    gateway.operate("instrument.state", WHOLE, state="HALTED")
    assert (market(gateway, WHOLE)["exchangeStatus"], market(gateway, WHOLE)["status"]) == (
        "HALTED",
        "MARKET_STATUS_HALTED",
    )
    assert gateway.gateway.get(f"/v1/markets/{WHOLE}/settlement").status == 404
    gateway.operate("instrument.settle", WHOLE, price="1")
    settled = market(gateway, WHOLE)
    assert (settled["active"], settled["closed"], settled["status"]) == (
        False,
        True,
        "MARKET_STATUS_RESOLVED",
    )
    assert [side["price"] for side in settled["marketSides"]] == ["1", "0"]  # type: ignore[attr-defined]
    assert gateway.gateway.read(f"/v1/markets/{WHOLE}/settlement") == {
        "slug": WHOLE,
        "settlement": 1,
    }


VOLUMES = ("volume", "volume24hr", "volume1wk", "volume1mo", "volume1yr")


def trade(gateway: GatewayWorld, contracts: int) -> None:
    """Trade contracts at half a dollar."""
    gateway.order(gateway.ann, WHOLE, BUY_YES, price="0.50", quantity=contracts)
    gateway.order(gateway.bob, WHOLE, SELL_YES, price="0.50", quantity=contracts)


def test_a_trade_counts_until_its_hour_is_a_day_a_week_a_month_and_a_year_old(
    gateway: GatewayWorld,
) -> None:
    start = gateway.now
    assert start % HOUR == 0
    for wait, contracts in ((0, 2), (HOUR - 1, 20), (1, 200)):
        gateway.advance_to(gateway.now + wait)
        trade(gateway, contracts)
    for days, name in zip((1, 7, 30, 365), VOLUMES[1:], strict=True):
        for late, dollars in ((-1, 111), (0, 100), (HOUR - 1, 100), (HOUR, 0)):
            gateway.advance_to(start + days * DAY + late)
            displayed = market(gateway, WHOLE)
            assert (displayed["volume"], displayed[name]) == (111, dollars), (name, late)


def test_a_volume_follows_busts_and_goes_back_in_time(gateway: GatewayWorld) -> None:
    def view_of() -> set[object]:
        result = market(gateway, WHOLE)
        return {result[name] for name in VOLUMES}

    def bust() -> None:
        trades = gateway.trading.trades
        gateway.operate("trade.bust", trades[len(trades) - 1].id)

    assert view_of() == {0}
    gateway.simulation.snapshot("none")
    trade(gateway, 2)
    assert view_of() == {1}
    gateway.simulation.snapshot("one")
    trade(gateway, 20)
    assert view_of() == {11}
    gateway.simulation.restore("one")
    trade(gateway, 100)
    assert view_of() == {51}, "as many trades as before, but another last one"
    gateway.simulation.restore("one")
    assert view_of() == {1}
    bust()
    assert view_of() == {0}
    gateway.simulation.restore("none")
    assert view_of() == {0}
    gateway.simulation.restore("one")
    assert view_of() == {1}
    trade(gateway, 200)
    trade(gateway, 40)
    assert view_of() == {121}
    bust()
    assert view_of() == {101}
    trade(gateway, 60)
    assert view_of() == {131}
    gateway.advance("48h")
    bust()
    trade(gateway, 8)
    assert [market(gateway, WHOLE)[name] for name in VOLUMES] == [105, 4, 105, 105, 105]


@pytest.mark.spec("S4.1-11")
def test_markets_are_found_by_number_and_unknown_ones_are_not(gateway: GatewayWorld) -> None:
    assert gateway.gateway.read("/v1/market/id/12", "market", "slug") == FINE
    for path in ("/v1/market/id/99", "/v1/market/slug/nobody", "/v1/markets/nobody/settlement"):
        assert gateway.gateway.get(path).status == 404
    assert gateway.gateway.get("/v1/market/id/eleven").status == 400


@pytest.mark.spec("S4.1-11")
@pytest.mark.parametrize(
    ("params", "result"),
    [
        ({}, [WHOLE, FINE]),
        ({"limit": 1}, [WHOLE]),
        ({"limit": 1, "offset": 1}, [FINE]),
        ({"slug": [FINE]}, [FINE]),
        ({"id": [11, 12], "categories": ["sports"]}, [WHOLE]),
        ({"eventSlug": [ELECTION]}, [FINE]),
        ({"event_slug": [GAME]}, [WHOLE]),
        ({"gameId": "g-1"}, [WHOLE]),
        ({"marketTypes": ["election"]}, [FINE]),
        ({"active": "true"}, [WHOLE]),
        ({"closed": "true"}, [FINE]),
        ({"volumeMin": 3}, [WHOLE]),
        ({"orderBy": ["volume"]}, [WHOLE, FINE]),
        ({"orderBy": ["volume"], "orderDirection": "asc"}, [FINE, WHOLE]),
        ({"orderBy": ["id"]}, [FINE, WHOLE]),
        ({"endDateMax": "2026-09-30T00:00:00Z"}, []),
        ({"liquidityMin": 1}, [FINE]),
        ({"liquidityNumMin": 0, "liquidityNumMax": 0.99}, [WHOLE]),
        ({"liquidityMin": 2.01}, []),
        ({"rewardsMinSize": 100}, [WHOLE]),
        ({"rewardsMinSize": 100, "slug": [FINE]}, []),
        ({"rewardsMinSize": 20001}, []),
    ],
)
def test_a_list_of_markets_passes_every_filter(
    gateway: GatewayWorld, params: dict[str, object], result: list[str]
) -> None:
    gateway.order(gateway.ann, WHOLE, BUY_YES, price="0.40")
    gateway.order(gateway.bob, WHOLE, SELL_YES, price="0.40")
    gateway.order(gateway.ann, FINE, BUY_YES, price="0.20", quantity=10)
    gateway.core.incentives.add(
        Period(program_id="p", symbol=WHOLE, start=0, created=0, reward_pool=1, target_size=20_000)
    )
    gateway.operate("instrument.state", FINE, state="CLOSED")
    answer = gateway.gateway.get("/v1/markets", params=params)
    assert [market["slug"] for market in answer.json()["markets"]] == result


@pytest.mark.spec("S4.1-11")
def test_tags_are_left_out_of_a_list_when_asked_and_related_ones_lead_to_their_markets(
    gateway: GatewayWorld,
) -> None:
    """A league's tag lies below its sport's."""
    reference = gateway.core.reference
    reference.markets[0].tags = reference.tags_of("nba")
    plain = gateway.gateway.read("/v1/markets")
    assert plain == gateway.gateway.read("/v1/markets", includeTag="true")
    bare = gateway.gateway.read("/v1/markets", includeTag="false")
    assert bare["markets"] == [{**market, "tags": []} for market in plain["markets"]]
    above = next(tag["parentId"] for tag in plain["markets"][0]["tags"] if tag["slug"] == "nba")
    assert above
    for related, result in (("false", []), ("true", [WHOLE])):
        answer = gateway.gateway.get("/v1/markets", params={"tagId": above, "relatedTags": related})
        assert [item["slug"] for item in answer.json()["markets"]] == result


@pytest.mark.spec("S2.10-1", "S2.11-1")
def test_moments_of_reference_data_are_whole_seconds(gateway: GatewayWorld) -> None:
    gateway.advance("1234ms")
    gateway.order(gateway.ann, WHOLE, BUY_YES, price="0.40")
    gateway.order(gateway.bob, WHOLE, SELL_YES, price="0.40")
    gateway.core.games.update(GAME, home_score=1, away_score=0, ended=True)
    gateway.operate("instrument.settle", WHOLE, price="1")
    answer = gateway.gateway.get(f"/v1/events/slug/{GAME}")
    moments = re.findall(r'"(\w+)":"(\d{4}-\d\d-\d\dT[^"]*)"', answer.body.decode())
    assert {"updatedAt", "finishedTimestamp", "exchangeSyncedAt", "startTime"} <= {
        name for name, _ in moments
    }
    assert [
        (name, moment)
        for name, moment in moments
        if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", moment)
    ] == []


@pytest.mark.spec("S4.1-10", "S4.1-11")
@pytest.mark.parametrize("path", ["/v1/markets", "/v1/events", "/v1/series", "/v1/sports/teams"])
def test_a_list_is_not_sorted_by_what_its_rows_do_not_have(
    gateway: GatewayWorld, path: str
) -> None:
    plain = gateway.gateway.get(path)
    for name, direction in (("luck", ""), ("id", "up"), ("", "up")):
        refused = gateway.gateway.get(
            path,
            params=(
                {"orderBy": name, "orderDirection": direction}
                if name
                else {"orderDirection": direction}
            ),
        )
        assert (refused.status, refused.json()["code"]) == (400, 3), (name, direction)
    assert (
        gateway.gateway.read(path, orderBy="image" if path != "/v1/sports/teams" else "logo")
        == plain.json()
    )
    gateway.core.ctx.assumptions.change("gateway.order_by", "ignore")
    assert gateway.gateway.read(path, orderBy="luck") == plain.json()


def test_impossible_pages_are_refused(gateway: GatewayWorld) -> None:
    assert gateway.gateway.get("/v1/markets", params={"limit": -1}).status == 400
    assert gateway.gateway.get("/v1/events", params={"offset": -1}).status == 400
    beyond = gateway.gateway.get("/v1/search", params={"query": "a", "page": -1})
    assert (beyond.status, beyond.json()["message"]) == (400, "page must not be negative")


@pytest.mark.reading("documented")
@pytest.mark.spec("S4.1-10", "S2.11-1")
def test_an_event_shows_its_markets_and_how_its_game_stands(gateway: GatewayWorld) -> None:
    before = gateway.gateway.read("/v1/events/1", "event")
    assert (
        before["id"],
        before["period"],
        before["live"],
        before["ended"],
        before.get("score"),
    ) == (1, "NS", False, False, None)
    gateway.core.games.update(GAME, home_score=3, away_score=1, period="Q1", live=True)
    gateway.order(gateway.ann, WHOLE, BUY_YES, price="0.40", quantity=10)
    event = gateway.gateway.read(f"/v1/events/slug/{GAME}", "event")
    assert (event["period"], event["live"], event["score"], event["gameId"]) == (
        "Q1",
        True,
        {"home": 3, "away": 1},
        "g-1",
    )
    assert (event["active"], event["closed"], event["liquidity"]) == (True, False, 4)
    (moneyline,) = event["markets"]
    assert (moneyline["slug"], moneyline["bestBidQuote"]["value"]) == (WHOLE, 0.4)
    assert [team["abbreviation"] for team in event["teams"]] == ["bos", "nyk"]
    assert event["eventState"]["score"] == "3-1"
    assert gateway.gateway.get("/v1/events/7").status == 404
    assert gateway.gateway.get("/v1/events/slug/nobody").status == 404


@pytest.mark.spec("S4.1-10")
@pytest.mark.parametrize(
    ("params", "result"),
    [
        ({}, [GAME, ELECTION]),
        ({"limit": 1, "offset": 1}, [ELECTION]),
        ({"active": "true"}, [GAME]),
        ({"closed": "true"}, [ELECTION]),
        ({"archived": "false"}, [GAME, ELECTION]),
        ({"archived": "true"}, []),
        ({"featured": "true"}, [GAME]),
        ({"categories": ["politics", "weather"]}, [ELECTION]),
        ({"seriesId": [10002]}, [GAME]),
        ({"excludeSeriesId": [10002]}, [ELECTION]),
        ({"live": "true"}, [GAME]),
        ({"ended": "true"}, []),
        ({"id": [2]}, [ELECTION]),
        ({"tagSlug": "nba"}, [GAME]),
        ({"tagSlugsAll": ["nba", "politics"]}, []),
        ({"gameId": "g-1"}, [GAME]),
        ({"eventDate": "2026-09-08"}, [GAME]),
        ({"startTimeMin": "2026-09-08T18:30:00Z"}, [GAME]),
        ({"marketTypes": ["election"]}, [ELECTION]),
        ({"orderBy": ["id"], "orderDirection": "desc"}, [ELECTION, GAME]),
    ],
)
def test_a_list_of_events_passes_every_filter(
    gateway: GatewayWorld, params: dict[str, object], result: list[str]
) -> None:
    gateway.core.games.update(GAME, live=True)
    gateway.operate("instrument.state", FINE, state="CLOSED")
    answer = gateway.gateway.get("/v1/events", params=params)
    assert [event["slug"] for event in answer.json()["events"]] == result


@pytest.mark.parametrize(
    ("params", "result"),
    [
        ({"query": "celtics"}, [GAME]),
        ({"query": "BOSTON win"}, [GAME]),
        ({"query": "win"}, [ELECTION, GAME]),  # in the title of one, in a market of the other
        ({"query": "win", "limit": 1, "page": 2}, [GAME]),
        ({"query": "win", "status": "upcoming"}, [GAME]),
        ({"query": "no such thing"}, []),
    ],
)
def test_search_finds_every_word(
    gateway: GatewayWorld, params: dict[str, object], result: list[str]
) -> None:
    assert [
        event["slug"] for event in gateway.gateway.read("/v1/search", "events", **params)
    ] == result


def test_a_game_is_upcoming_until_it_begins(gateway: GatewayWorld) -> None:
    start = gateway.now + HOUR
    for at, result in ((start - 1, [GAME]), (start, [])):
        gateway.advance_to(at)
        answer = gateway.gateway.get(
            "/v1/search", params={"query": "celtics", "status": "upcoming"}
        )
        assert [event["slug"] for event in answer.json()["events"]] == result


def test_leagues_sports_and_tags_lead_to_their_events(gateway: GatewayWorld) -> None:
    for path in ("/v2/leagues/nba/events", "/v2/sports/basketball/events"):
        answer = gateway.gateway.read(path)
        assert (
            answer["type"],
            answer["section"],
            [event["slug"] for event in answer["events"]],
        ) == ("sport", "general", [GAME])
    assert gateway.gateway.read("/v2/leagues/nba/events", "events", type="futures") == []
    assert [
        event["slug"] for event in gateway.gateway.read("/v2/tags/politics/events", "events")
    ] == [ELECTION]
    assert gateway.gateway.get("/v2/leagues/nba/events", params={"type": "odd"}).status == 400


def test_price_history_has_points_from_the_first_trade_on(gateway: GatewayWorld) -> None:
    for wait, price in (("30s", "0.40"), ("90s", "0.55")):
        gateway.advance(wait)
        gateway.order(gateway.ann, WHOLE, BUY_YES, price=price, quantity=1)
        gateway.order(gateway.bob, WHOLE, SELL_YES, price=price, quantity=1)
    gateway.advance("1m")
    answer = gateway.gateway.read(
        "/v1/price-history", symbol=WHOLE, fixedInterval="INTERVAL_1H", fidelity=1
    )
    start = 1_788_890_400
    assert answer["history"] == [
        {"timestamp": start + 60, "longPrice": 0.4, "shortPrice": 0.6},
        {"timestamp": start + 120, "longPrice": 0.55, "shortPrice": 0.45},
    ]
    window = {
        "timestamp.startTimestamp": start,
        "timestamp.endTimestamp": start + 60,
        "fidelity": 1,
    }
    assert (
        len(gateway.gateway.read("/v1/price-history", "history", **{"symbol": WHOLE, **window}))
        == 1
    )
    assert gateway.gateway.read("/v1/price-history", **{"symbol": "nobody", **window}) == {
        "history": []
    }
    assert (
        gateway.gateway.get("/v1/price-history", params={"symbol": WHOLE, "fidelity": 1}).status
        == 400
    )
    assert (
        gateway.gateway.get(
            "/v1/price-history", params={"symbol": WHOLE, "fixedInterval": "INTERVAL_1H"}
        ).status
        == 400
    )


def test_a_busted_trade_leaves_the_price_history(gateway: GatewayWorld) -> None:
    for price in ("0.40", "0.55"):
        gateway.order(gateway.ann, WHOLE, BUY_YES, price=price, quantity=1)
        gateway.order(gateway.bob, WHOLE, SELL_YES, price=price, quantity=1)
        gateway.advance("1m")
    trades = gateway.trading.trades
    for left in ([0.4, 0.55], [0.4], []):
        asked = {"symbol": WHOLE, "fixedInterval": "INTERVAL_1H", "fidelity": 1}
        points = gateway.gateway.read("/v1/price-history", "history", **asked)
        assert [point["longPrice"] for point in points] == left
        if left:
            gateway.operate("trade.bust", trades[len(trades) - 1 if 0.55 in left else 0].id)


def test_a_player_of_no_team_has_none(gateway: GatewayWorld) -> None:
    subject = Subject(id=77, display_name="Ada Ray", description="politics")
    gateway.core.reference.subjects.append(subject)
    asked = {"filters.id": 77}
    (player,) = gateway.gateway.read("/v1/sports/players", "players", **asked)
    assert (player["name"], player["league"], player["teamId"]) == ("Ada Ray", "politics", 0)


def test_a_price_history_has_no_more_points_than_trades(gateway: GatewayWorld) -> None:
    gateway.order(gateway.ann, WHOLE, BUY_YES, price="0.40", quantity=1)
    gateway.order(gateway.bob, WHOLE, SELL_YES, price="0.40", quantity=1)
    traded = gateway.now // 1_000_000_000
    gateway.advance("960h")
    window = {"timestamp.startTimestamp": 0, "timestamp.endTimestamp": traded + 10**8}
    asked = {"symbol": WHOLE, "fidelity": 1, **window}
    (point,) = gateway.gateway.read("/v1/price-history", "history", **asked)
    assert point["timestamp"] == -(-traded // 60) * 60


@pytest.mark.long
def test_each_interval_reaches_as_far_back_as_its_name_says(gateway: GatewayWorld) -> None:
    """Points are where trades were; LIVE reaches to the start of the game once it began."""

    def stamps(symbol: str, interval: str) -> list[int]:
        asked = {"symbol": symbol, "fixedInterval": interval, "fidelity": 1}
        answer = gateway.gateway.get("/v1/price-history", params=asked)
        assert answer.status == 200
        return [point["timestamp"] for point in answer.json()["history"]]

    def trade(symbol: str) -> int:
        gateway.order(gateway.ann, symbol, BUY_YES, price="0.40", quantity=1)
        gateway.order(gateway.bob, symbol, SELL_YES, price="0.40", quantity=1)
        return gateway.now // 1_000_000_000

    before = trade(WHOLE)
    gateway.advance("70m")  # the game began after an hour
    during = trade(WHOLE)
    gateway.advance("2h")
    assert stamps(WHOLE, "INTERVAL_LIVE") == [during - during % 60]
    assert stamps(WHOLE, "INTERVAL_6H") == [at - at % 60 for at in (before, during)]
    traded, age = trade(FINE), 0
    hours = {"1H": 1, "6H": 6, "1D": 24, "1W": 168, "1M": 720}
    for older in (0.5, 4.5, 15, 124, 336, 480):
        gateway.advance(f"{older}h")
        age += older
        for name, reach in {**hours, "LIVE": 1}.items():
            due = [traded - traded % 60] if age <= reach else []
            assert stamps(FINE, f"INTERVAL_{name}") == due, (name, age)
    window = {"timestamp.startTimestamp": 0, "timestamp.endTimestamp": 2**40, "fidelity": 10**6}
    every = gateway.gateway.get("/v1/price-history", params={"symbol": WHOLE, **window})
    assert every.status == 200, "the first second of 1970 is a start like any other"
