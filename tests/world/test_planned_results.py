"""What settles if nobody says how it went: games and questions of the default world end with a
result of their own, and every market agrees with it.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from sim.core.model.games import Game
from sim.kernel.instants import NS_PER_S, parse_instant
from sim.world.reference.game_clock import GameClock
from tests.world.game_desk import GameDesk, play

LATER = "2026-10-05T12:00:00Z"


@pytest.fixture(scope="module")
def later() -> GameDesk:
    """Four weeks in which nobody did anything."""
    world = play()
    world.advance_to(LATER)
    return world


def resolved(world: GameDesk) -> list[tuple[Any, Any]]:
    return [
        (event, market)
        for event in world.events()
        for market in event["markets"]
        if market.get("status") == "MARKET_STATUS_RESOLVED"
    ]


@pytest.mark.spec("S2.10-1")
def test_whatever_is_resolved_at_the_start_has_a_settlement_on_every_surface(
    world: GameDesk,
) -> None:
    slugs = [market["slug"] for _, market in resolved(world) if "updown" not in market["slug"]]
    assert len(slugs) > 15
    for slug in slugs:
        paid = world.settled(slug)
        assert paid in (0, 0.5, 1), slug
        asked = world.partner.get(f"/v1/instruments/{slug}/settlement").json()
        assert int(asked["stats"]["settlementPx"]) == paid * int(asked["priceScale"])


@pytest.mark.long
def test_weeks_later_everything_resolved_has_one_and_what_is_open_has_none(later: GameDesk) -> None:
    result = resolved(later)
    assert len(result) > 4_000
    assert all(later.settled(market["slug"]) in (0, 0.5, 1) for _, market in result[::23])
    open_ones = [
        market
        for event in later.events(active="true")
        for market in event["markets"]
        if market["active"]
    ]
    assert open_ones and all(later.settled(market["slug"]) is None for market in open_ones[:20])


def test_l25_settlements_agree_with_the_score_that_is_shown(later: GameDesk) -> None:
    """Winners, spreads and totals of every kind of game, by hand from the event's score."""
    observed = set()
    for event in later.events(ended="true"):
        score, teams = event["score"], event["teams"]
        assert event["eventState"]["score"] == f"{score['home']}-{score['away']}"
        home_first = event["subcategory"] in (
            "epl",
            "efl-cup",
            "lal",
            "lib",
            "mls",
            "fwc",
            "atp",
            "wta",
            "lol",
            "cs2",
        )
        first, second = (
            (score["home"], score["away"]) if home_first else (score["away"], score["home"])
        )
        for market in event["markets"][:3]:
            if market.get("status") != "MARKET_STATUS_RESOLVED":
                continue
            kind, line = market["sportsMarketType"], market.get("line")
            paid = later.settled(market["slug"])
            if kind in (
                "moneyline",
                "tennis_match_winner",
                "esports_match_winner",
                "basketball_team_full_game_winner",
                "ufc_fight_winner",
            ):
                assert market["marketSides"][0]["team"]["id"] == teams[0]["id"]
                assert paid == (first > second), market["slug"]
            elif kind in ("spreads", "basketball_team_full_game_spread"):
                assert paid == (first + line > second), market["slug"]
            elif kind in ("totals", "basketball_team_full_game_total"):
                assert paid == (first + second > line), market["slug"]
            else:
                continue
            observed.add(kind)
    assert len(observed) >= 8, observed


def test_of_outcomes_that_exclude_each_other_exactly_one_pays(later: GameDesk) -> None:
    for slug in ("fed-decision-september-2026", "nyc-high-september-9"):
        event = later.event(slug)
        assert sum(later.settled(market["slug"]) for market in event["markets"]) == 1
    matches = [
        event for event in later.events(ended="true") if event["subcategory"] in ("epl", "lib")
    ]
    assert matches
    for event in matches:
        three = [
            market["slug"]
            for market in event["markets"]
            if market["sportsMarketType"] in ("drawable_outcome", "soccer_team_full_time_winner")
        ]
        assert sum(later.settled(slug) for slug in three) == 1


def test_a_ladder_is_climbed_from_below_and_a_price_ladder_by_its_index(later: GameDesk) -> None:
    steps = [later.settled(market["slug"]) for market in later.event("cpi-august-2026")["markets"]]
    assert steps == sorted(steps, reverse=True)
    end = 1789228800  # 2026-09-12T12:00:00-04:00
    mean = mean_of(later, "eth", end)
    for market in later.event("eth-above-on-september-12")["markets"]:
        assert market["assetPriceTerms"]["marketType"] == "ASSET_PRICE_MARKET_TYPE_ABOVE_BELOW"
        assert later.settled(market["slug"]) == (mean > float(market["assetPriceTerms"]["strike"]))


@pytest.mark.spec("S2.11-1")
def test_a_game_that_is_live_at_the_start_shows_its_score_and_never_takes_points_back(
    world: GameDesk, later: GameDesk
) -> None:
    event = next(result for result in world.events(live="true") if result["subcategory"] == "mlb")
    assert (event["score"], event["eventState"]["score"], event["eventState"]["live"]) == (
        {"home": 3, "away": 2},
        "3-2",
        True,
    )
    after = later.event(event["slug"])
    assert after["ended"] and after["score"]["home"] >= 3 and after["score"]["away"] >= 2
    # nobody scored any more
    world.report(event["slug"], ended=True)
    world.advance("2m")
    assert world.settled(event["markets"][0]["slug"]) in (0, 1)
    assert world.event(event["slug"])["eventState"]["score"] == "3-2"


def test_the_scores_of_periods_add_up_to_the_score(world: GameDesk, later: GameDesk) -> None:
    observed = set()
    for event in later.events(ended="true"):
        parts = [
            tuple(map(int, part["score"].split("-")))
            for part in event["eventState"]["periodScores"]
        ]
        if parts and event["subcategory"] not in ("atp", "wta", "lol", "cs2", "wtt"):
            observed.add(event["subcategory"])
            assert [sum(side) for side in zip(*parts, strict=True)] == [
                event["score"]["home"],
                event["score"]["away"],
            ]
        elif parts:
            observed.add("sets")
            won = [
                sum(home > away for home, away in parts),
                sum(away > home for home, away in parts),
            ]
            assert won == [event["score"]["home"], event["score"]["away"]]
    assert observed >= {"nba", "epl", "mlb", "nhl", "nfl", "sets"}
    world.report("wnba-nyl-lva-2026-09-09", periods={"Q1": [20, 18], "OT1": [3, 5]})
    period_scores = world.event("wnba-nyl-lva-2026-09-09")["eventState"]["periodScores"]
    assert period_scores == [
        {"type": "REGULATION", "number": 1, "score": "20-18"},
        {"type": "OVERTIME", "number": 1, "score": "3-5"},
    ]


def test_what_was_told_of_a_game_counts_and_comes_too_late_once_it_was_terminated(
    world: GameDesk,
) -> None:
    game = "mlb-bos-nyy-2026-09-08"
    winner = f"aec-{game}"
    planned = world.settled(winner)
    assert planned is None
    reported = {"home_score": 1, "away_score": 9, "ended": True}
    world.report(game, **reported)
    world.advance("2m")
    assert world.settled(winner) == 1  # Boston, away, is the long side
    other = "aec-mlb-sd-lad-2026-09-08"
    world.advance_to(LATER)
    before = world.settled(other)
    world.report(
        other[4:],
        home_score=0 if before == 0 else 9,
        away_score=9 if before == 0 else 0,
        ended=True,
    )
    assert world.settled(other) == before


def test_positions_are_paid_at_termination_as_the_score_says(world: GameDesk) -> None:
    symbol = "aec-mlb-sd-lad-2026-09-08"
    instrument = world.instrument(symbol)
    world.trading.listings.cancel_all((symbol,))
    world.trade(instrument, 50, 10)
    before = [world.cash(user) for user in (0, 1)]
    world.advance_to(LATER)
    paid = world.settled(symbol)
    assert paid in (0, 1)
    gained = [world.cash(user) - before[user] for user in (0, 1)]
    assert gained == [paid * 10, -paid * 10]
    event = world.event(symbol[4:])
    assert paid == (event["score"]["away"] > event["score"]["home"])


def test_a_combo_of_games_nobody_told_of_settles_with_their_results(world: GameDesk) -> None:
    legs = ["aec-mlb-bos-nyy-2026-09-08", "aec-mlb-sd-lad-2026-09-08"]
    created = world.customer().post(
        "/v1/combos", json={"legs": [{"symbol": leg, "side": "SIDE_BUY"} for leg in legs]}
    )
    assert created.status == 200, created
    slug = created.json()["combo"]["id"]
    world.advance_to(LATER)
    assert world.settled(slug) == min(world.settled(leg) for leg in legs)


def test_a_combo_with_a_window_settles_with_it(world: GameDesk) -> None:
    window, game = "cpc-btc-updown-15m-2026-09-08-1800z", "aec-mlb-bos-nyy-2026-09-08"
    created = world.customer().post(
        "/v1/combos",
        json={
            "legs": [{"symbol": window, "side": "SIDE_BUY"}, {"symbol": game, "side": "SIDE_BUY"}]
        },
    )
    world.advance("1s")
    # far below the price to beat
    world.operate("price.tick", "crypto:btc", price="1")
    world.advance_to("2026-09-08T18:16:01Z")
    assert world.settled(window) == 0
    assert world.settled(created.json()["combo"]["id"]) == 0


# How a game is played: its usual length in minutes, and its periods with the minutes until the next
COURSES = {
    "nfl": (190, [("Q1", 44), ("Q2", 42), ("HT", 13), ("Q3", 44), ("Q4", 42)]),
    "nba": (140, [("Q1", 32), ("Q2", 30), ("HT", 15), ("Q3", 32), ("Q4", 30)]),
    "wnba": (124, [("Q1", 28), ("Q2", 26), ("HT", 15), ("Q3", 28), ("Q4", 26)]),
    "nhl": (150, [("P1", 55), ("P2", 55), ("P3", 38)]),
    "mlb": (
        175,
        [(f"{half}{number}", 10) for number in range(1, 9) for half in "TB"] + [("T9", 9)],
    ),
    "atp": (130, [("S1", 47), ("S2", 47), ("S3", 45)]),
    "wta": (115, [("S1", 44), ("S2", 44), ("S3", 42)]),
    "lol": (100, [("M1", 42), ("M2", 42), ("M3", 33)]),
    "cs2": (125, [("M1", 51), ("M2", 51), ("M3", 45)]),
    "wtt": (40, [("S1", 9), ("S2", 9), ("S3", 9), ("S4", 9), ("S5", 8)]),
    "ufc": (17, [("R1", 6), ("R2", 6), ("R3", 5)]),
}


@pytest.mark.parametrize("league", COURSES)
def test_a_game_takes_the_course_of_its_sport(league: str) -> None:
    usual, course = COURSES[league]
    parts = dict.fromkeys((name.replace("T", "I") for name, _ in course if name[0] != "B"), (2, 1))
    parts.pop("HI", None)  # the half time
    if league == "mlb":
        parts["I9"] = (0, 1)  # the home team leads, so it does not bat
    won = Game(home_score=2, away_score=1, periods=parts)
    begin, total = parse_instant(LATER), sum(minutes for _, minutes in course)
    lengths = set()
    for number in range(400):
        slug = f"{league}-a-b-{number}"
        clock = GameClock(league, slug, begin, won)
        lengths.add((clock.ends - begin) // NS_PER_S)
    assert (min(lengths), max(lengths)) == (usual * 54, usual * 66)
    length, before = clock.ends - begin, 0
    for name, minutes in course:
        at = begin + length * before // total
        displayed = [clock.at(at - 1), clock.at(at)]
        assert [state and state.period for state in displayed][1] == name
        assert displayed[0] is None or displayed[0].period != name
        before += minutes


@pytest.mark.parametrize(
    ("start", "day"),
    [
        ("2026-09-08T14:00:00-04:00", "september-12"),
        ("2026-12-08T14:00:00-05:00", "december-12"),
        ("2026-08-04T14:00:00-04:00", "august-8"),
    ],
)
def test_the_strikes_of_a_price_ladder_lie_around_its_index_whatever_the_seed(
    start: str, day: str
) -> None:
    """At the listing the index is between the lowest and the highest strike, and at the end each
    market pays as the mean of the last minute says.
    """
    paid = set()
    more = f"clock: {{start: {start}}}\nworld: {{games: 0}}\n"
    for seed, asset in product(range(4), ("btc", "eth")):
        world = play(more, seed=seed)
        event = world.event(f"{asset}-above-on-{day}")
        strikes = [float(market["assetPriceTerms"]["strike"]) for market in event["markets"]]
        listed, end = (parse_instant(event[name]) // NS_PER_S for name in ("startDate", "endDate"))
        assert strikes[0] < mean_of(world, asset, listed) < strikes[-1]
        world.advance_to((end + 8 * 86_400) * NS_PER_S)
        at_end = mean_of(world, asset, end)
        result = tuple(world.settled(market["slug"]) for market in event["markets"])
        assert result == tuple(at_end > strike for strike in strikes)
        if asset == "btc":
            paid.add(result)
    assert len(paid) > 1, "the outcome is open"


def mean_of(world: GameDesk, asset: str, second: int) -> float:
    """The mean of the index over the sixty seconds that end with one."""
    query = {
        "assets": f"crypto:{asset}",
        "from": second - 59,
        "to": second + 1,
        "bucket": "ASSET_PRICE_BUCKET_1S",
    }
    answer = world.gateway.get("/v1/asset-prices/history", params=query).json()
    rows = answer["series"][0]["candles"]
    closes = [float(row["close"]) for row in rows if second - 59 <= row["timestamp"] <= second]
    assert len(closes) == 60
    return round(sum(closes) / 60, 2)
