"""Market types of §2.10: outcomes computed from recorded game facts, settled and paid through the
surfaces; shapes and metadata by creation date.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.lifecycle.outcomes import MarketOutcome, outcome_of
from sim.core.model.games import Game, Goal
from sim.core.model.instrument import GameCondition
from tests.kit import Desk, begin

SPORTS_MARKET_TYPES = [
    "basketball_player_points",
    "basketball_player_assists",
    "basketball_player_rebounds",
    "basketball_player_threes",
    "basketball_player_steals",
    "basketball_player_blocks",
    "basketball_player_double_double",
    "basketball_player_triple_double",
    "basketball_team_first_half_winner",
    "basketball_team_first_half_spread",
    "basketball_team_first_half_total",
    "basketball_team_second_half_winner",
    "basketball_team_second_half_spread",
    "basketball_team_second_half_total",
    "soccer_game_to_advance",
    "soccer_game_first_half_btts",
    "soccer_game_first_half_first_team_to_score",
    "soccer_game_second_half_btts",
    "soccer_game_second_half_first_team_to_score",
    "esports_map_winner_1",
    "esports_map_winner_2",
    "esports_map_winner_3",
    "esports_game_winner_1",
    "esports_game_winner_2",
    "esports_game_winner_3",
    "tennis_match_winner",
    "tennis_match_games_spread",
    "tennis_match_sets_spread",
    "tennis_match_total_games",
    "tennis_match_total_sets",
    "tennis_match_exact_score",
    "tennis_set_1_winner",
    "tennis_set_2_winner",
    "tennis_set_3_winner",
]


def everything(world: Desk) -> list[dict[str, Any]]:
    """Every market of the gateway, page by page."""
    found: list[dict[str, Any]] = []
    while page := world.gateway.get(
        "/v1/markets", params={"limit": 100, "offset": len(found)}
    ).json()["markets"]:
        found += page
        world.advance("1s")
    return found


def instrument_rows(world: Desk) -> list[dict[str, Any]]:
    """Every instrument of the exchange."""
    client, found, token = world.partner, [], ""
    while True:
        page = client.post(
            "/v1/refdata/instruments", json={"pageSize": 100, "pageToken": token}
        ).json()
        found += page["instruments"]
        token = page.get("nextPageToken", "")
        if page.get("eof") or not token:
            return found


# ---- the default world


@pytest.mark.long
@pytest.mark.spec("S1-1", "S2.10-3")
def test_the_default_world_has_sports_futures_and_event_contracts_and_every_listed_type(
    world: Desk,
) -> None:
    markets = everything(world)
    assert {market["category"] for market in markets} >= {
        "sports",
        "crypto",
        "economics",
        "politics",
    }
    types = {market["sportsMarketType"] for market in markets}
    assert types >= set(SPORTS_MARKET_TYPES)
    assert "futures" in {
        row["metadata"].get("instrument_product") for row in instrument_rows(world)
    }


@pytest.mark.spec("S1-2", "S2.6-1", "S2.6-4")
def test_instruments_carry_state_scales_participants_and_types(world: Desk) -> None:
    rows = instrument_rows(world)
    for row in rows:
        assert row["state"].startswith("INSTRUMENT_STATE_")
        assert (
            row["tickSize"] > 0
            and int(row["priceScale"]) > 0
            and int(row["fractionalQtyScale"]) > 0
        )
    sports = [row for row in rows if row["metadata"].get("participant_type") == "team"]
    assert sports
    home_is_long = set()
    for row in sports:
        meta = row["metadata"]
        assert (
            meta["long_participant_id"]
            and meta["short_participant_id"]
            and meta["market_sport_type"]
            and meta["outcome_type"]
        )
        if meta["instrument_product"] == "moneyline" and "home_team_name" in meta:
            home_is_long.add(meta["long_participant_name"] == meta["home_team_name"])
    assert home_is_long == {True, False}  # the order of long and short is a habit of the league


@pytest.mark.spec("S2.6-5")
def test_metadata_names_home_away_and_tournament_from_its_date_on(world: Desk) -> None:
    rows = [row for row in instrument_rows(world) if row["metadata"].get("event_category") == "SPR"]
    for row in rows:
        meta, newer = row["metadata"], row["createTime"] >= "2026-07-21T04:00:00Z"
        matchup = meta["instrument_product"] != "futures"
        assert (("home_team_name" in meta), ("away_team_name" in meta)) == (
            (newer and matchup),
        ) * 2, row["symbol"]
        assert ("tournament_name" in meta) is newer, row["symbol"]
    assert {row["createTime"] >= "2026-07-21T04:00:00Z" for row in rows} == {True, False}
    assert any(
        "tournament_name" in row["metadata"] and "home_team_name" not in row["metadata"]
        for row in rows
    )


@pytest.mark.spec("S2.10-6")
def test_two_sided_instruments_from_their_dates_and_one_per_team_before(world: Desk) -> None:
    """L29."""
    rows = {row["symbol"]: row for row in instrument_rows(world)}
    kinds = ("soccer_game_to_advance", "esports_map_winner", "esports_game_winner", "tennis_set")
    seen: dict[str, set[bool]] = {kind: set() for kind in kinds}
    for market in everything(world):
        kind = next(
            (kind for kind in kinds if (market["sportsMarketType"] or "").startswith(kind)), None
        )
        if kind is None:
            continue
        since = (
            "2026-07-05T04:00:00Z" if kind == "soccer_game_to_advance" else "2026-07-04T00:00:00Z"
        )
        meta = rows[market["slug"]]["metadata"]
        two_sided = meta["short_participant_id"] not in ("no", "")
        assert two_sided is (rows[market["slug"]]["createTime"] >= since), market["slug"]
        sides = market["marketSides"]
        assert [side["long"] for side in sides] == [True, False]
        assert (sides[1]["team"] is not None) is two_sided
        seen[kind].add(two_sided)
    assert (
        seen["soccer_game_to_advance"]
        == seen["tennis_set"]
        == seen["esports_map_winner"] | seen["esports_game_winner"]
        == {True, False}
    )


@pytest.mark.spec("S9-6")
def test_values_nobody_knows_yet_can_be_injected() -> None:
    text = """
name: tomorrow
extends: quickstart
world:
  instruments: [{symbol: new-thing, tick_size: "0.01", state: OPEN, sports_market_type: quidditch_snitch_catcher, category: sports, subcategory: quidditch}]
"""
    world = begin(text)
    assert (
        world.gateway.get("/v1/market/slug/new-thing").json()["market"]["sportsMarketType"]
        == "quidditch_snitch_catcher"
    )
    meta = next(row for row in instrument_rows(world) if row["symbol"] == "new-thing")["metadata"]
    assert meta["market_sport_type"] == "quidditch_snitch_catcher"
    world.operate(
        "instrument.create", symbol="newer", tick_size="0.01", sports_market_type="another_new_one"
    )
    assert (
        world.gateway.get("/v1/market/slug/newer").json()["market"]["sportsMarketType"]
        == "another_new_one"
    )


# ---- settled from facts, seen by holders

EVENT = """
name: facts
extends: quickstart
world:
  events: [{slug: the-game, title: A against B}]
  instruments:
    - {symbol: "${symbol}", tick_size: "0.01", state: OPEN, event: the-game, sports_market_type: "${kind}", line: "${line}",
       player: "${player}", pick: "${pick}"}
"""


def paid(
    facts: dict[str, Any], kind: str, *, line: str = "0.5", player: str = "", pick: str = ""
) -> float | None:
    """What a contract bought at 0.40 pays after the game ended with these facts; None when it goes
    on trading.
    """
    values = {"symbol": "asked", "kind": kind, "line": line, "player": player, "pick": pick}
    text = EVENT
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    world = begin(text)
    instrument = world.instrument("asked")
    world.enter(instrument, "sell", 40, 10, user=1)
    world.enter(instrument, "buy", 40, 10)
    account = world.account()

    def cash() -> float:
        return float(
            world.trader()
            .post("/v1/positions/balance", json={"name": account, "currency": "USD"})
            .json()["balance"]
        )

    before = cash()
    world.simulation.control("event.update", "the-game", {**facts, "ended": True})
    world.advance("2m")
    if world.book("asked")["state"] == "INSTRUMENT_STATE_OPEN":
        assert cash() == before
        return None
    return round((cash() - before) / 10, 4)


QUARTERS = {"Q1": [20, 25], "Q2": [25, 20], "Q3": [30, 25], "Q4": [20, 25], "OT1": [5, 12]}
HALF = "soccer_game_{}_half_first_team_to_score"
EXTRA_TIME = {
    "goals": [
        {"team": "home", "minute": 20},
        {"team": "away", "minute": 30},
        {"team": "away", "minute": 100},
    ]
}

FACTS = [
    # Second half: the third and fourth quarter alone, whatever happens in overtime.
    ({"periods": QUARTERS}, {"kind": "basketball_team_second_half_winner"}, 0.5),
    ({"periods": QUARTERS}, {"kind": "basketball_team_second_half_spread", "line": "0.5"}, 1),
    ({"periods": QUARTERS}, {"kind": "basketball_team_second_half_total", "line": "100.5"}, 0),
    ({"periods": QUARTERS}, {"kind": "basketball_team_first_half_total", "line": "89.5"}, 1),
    ({"periods": QUARTERS}, {"kind": "basketball_team_full_game_winner"}, 0),
    # Props: full games, overtime included; that is what the box score says.
    (
        {"players": {"Ann": {"points": 31}}},
        {"kind": "basketball_player_points", "player": "Ann", "line": "30.5"},
        1,
    ),
    (
        {"players": {"Ann": {"steals": 1}}},
        {"kind": "basketball_player_steals", "player": "Ann", "line": "1.5"},
        0,
    ),
    (
        {"players": {"Ann": {"points": 10, "assists": 10, "threes": 10}}},
        {"kind": "basketball_player_double_double", "player": "Ann"},
        1,
    ),
    (
        {"players": {"Ann": {"points": 40, "assists": 10, "threes": 10, "rebounds": 9}}},
        {"kind": "basketball_player_triple_double", "player": "Ann"},
        0,
    ),
    (
        {"players": {"Ann": {"points": 40, "assists": 9, "rebounds": 9}}},
        {"kind": "basketball_player_double_double", "player": "Ann"},
        0,
    ),
    (
        {"players": {"Ann": {"points": 10, "steals": 10, "blocks": 10}}},
        {"kind": "basketball_player_triple_double", "player": "Ann"},
        1,
    ),
    # Halves of soccer: stoppage belongs to its half, extra time to none.
    ({"goals": []}, {"kind": HALF.format("first"), "pick": "none"}, 1),
    ({"goals": []}, {"kind": HALF.format("first"), "pick": "home"}, 0),
    (
        {"goals": [{"team": "home", "minute": 45, "stoppage": 3}]},
        {"kind": HALF.format("first"), "pick": "home"},
        1,
    ),
    (
        {"goals": [{"team": "home", "minute": 45, "stoppage": 3}]},
        {"kind": HALF.format("second"), "pick": "none"},
        1,
    ),
    (
        {"goals": [{"team": "home", "minute": 46}]},
        {"kind": HALF.format("first"), "pick": "none"},
        1,
    ),
    (
        {"goals": [{"team": "home", "minute": 46}]},
        {"kind": HALF.format("second"), "pick": "home"},
        1,
    ),
    ({"goals": [{"team": "home", "minute": 1}]}, {"kind": HALF.format("first"), "pick": "home"}, 1),
    (
        {"goals": [{"team": "home", "minute": 90}]},
        {"kind": HALF.format("second"), "pick": "home"},
        1,
    ),
    (
        {"goals": [{"team": "home", "minute": 91}]},
        {"kind": HALF.format("second"), "pick": "none"},
        1,
    ),
    (
        {"goals": [{"team": "home", "minute": 90, "stoppage": 9}]},
        {"kind": HALF.format("second"), "pick": "home"},
        1,
    ),
    (
        {"goals": [{"team": "away", "minute": 105}]},
        {"kind": HALF.format("second"), "pick": "none"},
        1,
    ),
    (
        {"goals": [{"team": "away", "minute": 46}, {"team": "home", "minute": 90, "stoppage": 6}]},
        {"kind": "soccer_game_second_half_btts"},
        1,
    ),
    (
        {"goals": [{"team": "away", "minute": 46}, {"team": "home", "minute": 91}]},
        {"kind": "soccer_game_second_half_btts"},
        0,
    ),
    (
        {"goals": [{"team": "home", "minute": 100}], "advances": "away"},
        {"kind": "soccer_game_to_advance"},
        0,
    ),
    ({"goals": [{"team": "home", "minute": 100}]}, {"kind": "drawable_outcome", "pick": "draw"}, 1),
    # What is known by its goals alone has a score: all of them, extra time included.
    (EXTRA_TIME, {"kind": "moneyline"}, 0),
    (EXTRA_TIME, {"kind": "spreads", "line": "1"}, 0.5),
    (EXTRA_TIME, {"kind": "totals", "line": "2.5"}, 1),
    # Maps, sets, games.
    ({"periods": {"M1": [13, 7], "M2": [13, 10]}}, {"kind": "esports_map_winner_2"}, 1),
    ({"periods": {"M1": [13, 7], "M2": [13, 10]}}, {"kind": "esports_map_winner_3"}, 0.5),
    ({"periods": {"S1": [6, 4], "S2": [6, 7], "S3": [6, 3]}}, {"kind": "tennis_match_winner"}, 1),
    ({"periods": {"S1": [6, 4], "S2": [6, 7], "S3": [6, 3]}}, {"kind": "tennis_set_2_winner"}, 0),
    (
        {"periods": {"S1": [6, 4], "S2": [6, 7], "S3": [6, 3]}},
        {"kind": "tennis_match_total_games", "line": "31.5"},
        1,
    ),
    (
        {"periods": {"S1": [6, 4], "S2": [6, 7], "S3": [6, 3]}},
        {"kind": "tennis_match_sets_spread", "line": "-1.5"},
        0,
    ),
    (
        {"periods": {"S1": [6, 4], "S2": [6, 3]}},
        {"kind": "tennis_match_exact_score", "pick": "2-0"},
        1,
    ),
    # Whole games, and games without a result.
    ({"home_score": 3, "away_score": 2}, {"kind": "moneyline"}, 1),
    ({"home_score": 3, "away_score": 2}, {"kind": "spreads", "line": "-1.5"}, 0),
    ({"home_score": 3, "away_score": 2}, {"kind": "totals", "line": "5"}, 0.5),
    ({"result": "no_result"}, {"kind": "basketball_player_points", "player": "Ann"}, 0.5),
    ({"result": "abandoned"}, {"kind": "moneyline"}, 0.4),
    (
        {"home_score": 3, "away_score": 2},
        {"kind": "basketball_player_points", "player": "Ann"},
        None,
    ),
    ({"home_score": 3, "away_score": 2}, {"kind": "something_new"}, None),
]


@pytest.mark.spec("S2.10-4", "S2.10-5", "S2.10-6")
@pytest.mark.parametrize(("facts", "asked", "pays"), FACTS)
def test_a_market_pays_what_the_facts_of_its_game_say(
    facts: dict[str, Any], asked: dict[str, str], pays: float | None
) -> None:
    """L29."""
    assert paid(facts, **asked) == pays


@pytest.mark.spec("S2.10-5")
def test_soccer_half_markets_trade_in_cents(world: Desk) -> None:
    halves = [
        market
        for market in everything(world)
        if (market["sportsMarketType"] or "").startswith(
            ("soccer_game_first_half", "soccer_game_second_half")
        )
    ]
    ticks = {market["orderPriceMinTickSize"] for market in halves}
    assert ticks == {0.01}


def test_a_game_of_the_default_world_closes_and_settles_its_markets_on_every_surface(
    world: Desk,
) -> None:
    event = next(
        found
        for found in world.gateway.get("/v1/events", params={"limit": 100}).json()["events"]
        if "wnba" in found["slug"] and found["active"]
    )
    world.simulation.control(
        "event.update", event["slug"], {"periods": {"Q1": [20, 18]}, "live": True, "period": "Q2"}
    )
    live = world.gateway.get(f"/v1/events/slug/{event['slug']}").json()["event"]
    assert (live["live"], live["period"]) == (True, "Q2")
    answer = world.simulation.control(
        "event.update",
        str(event["id"]),
        {"periods": {"Q2": [20, 18], "Q3": [20, 18], "Q4": [20, 18]}, "ended": True},
    ).value
    assert isinstance(answer, dict)
    settled = answer["settles"]
    assert any("-2h" in symbol for symbol in settled)
    assert not any("astatc" in symbol for symbol in settled)  # no box score was told
    world.advance("2m")
    symbol = next(symbol for symbol in settled if "-2h" in symbol)
    assert world.gateway.get(f"/v1/markets/{symbol}/settlement").status == 200
    assert world.book(symbol)["state"] == "INSTRUMENT_STATE_CLOSED"


# ---- properties

points = st.tuples(st.integers(0, 60), st.integers(0, 60))
quarters = st.fixed_dictionaries(dict.fromkeys(("Q1", "Q2", "Q3", "Q4"), points))
goals = st.lists(
    st.builds(
        Goal,
        team=st.sampled_from(["home", "away"]),
        minute=st.integers(1, 120),
        stoppage=st.integers(0, 9),
    ),
    max_size=6,
).map(tuple)


@pytest.mark.spec("S2.10-4")
@given(periods=quarters, overtime=points, long=st.sampled_from(["home", "away"]))
def test_overtime_never_moves_a_half_and_always_counts_for_the_game(
    periods: dict[str, tuple[int, int]], overtime: tuple[int, int], long: str
) -> None:
    without, with_ = Game(periods=periods), Game(periods={**periods, "OT1": overtime})
    for half in ("first", "second"):
        for kind in ("winner", "spread", "total"):
            asked = GameCondition(kind=f"basketball_team_{half}_half_{kind}", long=long, line="2.5")
            assert outcome_of(asked, without) is outcome_of(asked, with_) is not None
    total = sum(sum(score) for score in periods.values()) + sum(overtime)
    whole = GameCondition(kind="basketball_team_full_game_total", line=str(total - 0.5))
    assert outcome_of(whole, with_) is MarketOutcome.YES


@pytest.mark.spec("S2.10-5")
@given(scored=goals)
def test_goals_count_in_their_own_half_and_extra_time_in_none(scored: tuple[Goal, ...]) -> None:
    within = tuple(goal for goal in scored if goal.minute <= 90)
    for half in ("first", "second"):
        for kind, picks in (("btts", [""]), ("first_team_to_score", ["home", "away", "none"])):
            found = []
            for pick in picks:
                asked = GameCondition(kind=f"soccer_game_{half}_half_{kind}", pick=pick)
                outcome = outcome_of(asked, Game(goals=scored))
                assert outcome is outcome_of(asked, Game(goals=within))
                found.append(outcome)
            if len(picks) == 3:
                assert sorted(outcome.value for outcome in found if outcome) == [0, 0, 1]


@given(
    home=st.integers(0, 200),
    away=st.integers(0, 200),
    line=st.integers(-50, 50).map(lambda n: f"{n}.5"),
)
def test_the_two_sides_of_a_market_pay_one_dollar_together(home: int, away: int, line: str) -> None:
    game = Game(home_score=home, away_score=away)
    other = f"{-float(line)}"
    for kind in ("moneyline", "spreads"):
        mine = outcome_of(GameCondition(kind=kind, long="home", line=line), game)
        theirs = outcome_of(GameCondition(kind=kind, long="away", line=other), game)
        assert mine is not None and theirs is not None
        assert mine.value + theirs.value == 1
