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

# The specification's list, by what its names have in common (§2.10).
LISTED = {
    "basketball_player": "points assists rebounds threes steals blocks double_double triple_double",
    "basketball_team_first_half": "winner spread total",
    "basketball_team_second_half": "winner spread total",
    "soccer_game": "to_advance",
    "soccer_game_first_half": "btts first_team_to_score",
    "soccer_game_second_half": "btts first_team_to_score",
    "esports_map_winner": "1 2 3",
    "esports_game_winner": "1 2 3",
    "tennis_match": "winner games_spread sets_spread total_games total_sets exact_score",
    "tennis_set": "1_winner 2_winner 3_winner",
}
SPORTS_MARKET_TYPES = {f"{head}_{tail}" for head, tails in LISTED.items() for tail in tails.split()}


def everything(world: Desk) -> list[dict[str, Any]]:
    """Every market of the gateway, page by page."""
    results: list[dict[str, Any]] = []
    while True:
        asked = {"limit": 100, "offset": len(results)}
        page = world.gateway.get("/v1/markets", params=asked).json()["markets"]
        if not page:
            return results
        results += page
        world.advance("1s")


def instrument_rows(world: Desk) -> list[dict[str, Any]]:
    """Every instrument of the exchange."""
    client, result, token = world.partner, [], ""
    while True:
        asked = {"pageSize": 100, "pageToken": token}
        page = client.post("/v1/refdata/instruments", json=asked).json()
        result += page["instruments"]
        token = page.get("nextPageToken", "")
        if page.get("eof") or not token:
            return result


# ---- the default world


@pytest.mark.long
@pytest.mark.spec("S1-1", "S2.10-3")
def test_the_default_world_has_sports_futures_and_event_contracts_and_every_listed_type(
    world: Desk,
) -> None:
    markets = everything(world)
    categories = {market["category"] for market in markets}
    assert categories >= {"sports", "crypto", "economics", "politics"}
    assert {market["sportsMarketType"] for market in markets} >= SPORTS_MARKET_TYPES
    products = {row["metadata"].get("instrument_product") for row in instrument_rows(world)}
    assert "futures" in products


@pytest.mark.spec("S1-2", "S2.6-1", "S2.6-4")
def test_instruments_carry_state_scales_participants_and_types(world: Desk) -> None:
    rows = instrument_rows(world)
    for row in rows:
        assert row["state"].startswith("INSTRUMENT_STATE_")
        scales = row["tickSize"], int(row["priceScale"]), int(row["fractionalQtyScale"])
        assert min(scales) > 0
    sports = [row for row in rows if row["metadata"].get("participant_type") == "team"]
    assert sports
    home_is_long = set()
    for row in sports:
        meta = row["metadata"]
        needed = "long_participant_id short_participant_id market_sport_type outcome_type"
        assert all(meta[name] for name in needed.split())
        if meta["instrument_product"] == "moneyline" and "home_team_name" in meta:
            home_is_long.add(meta["long_participant_name"] == meta["home_team_name"])
    assert home_is_long == {True, False}  # the order of long and short is a habit of the league


@pytest.mark.spec("S2.6-5")
def test_metadata_names_home_away_and_tournament_from_its_date_on(world: Desk) -> None:
    rows = [row for row in instrument_rows(world) if row["metadata"].get("event_category") == "SPR"]
    for row in rows:
        meta, newer = row["metadata"], row["createTime"] >= "2026-07-21T04:00:00Z"
        matchup = meta["instrument_product"] != "futures"
        for name in ("home_team_name", "away_team_name"):
            assert (name in meta) is (newer and matchup), row["symbol"]
        assert ("tournament_name" in meta) is newer, row["symbol"]
        if newer and matchup and meta["instrument_product"] == "moneyline":
            sides = {meta["long_participant_name"], meta["short_participant_name"]}
            assert sides & {meta["home_team_name"], meta["away_team_name"]}, row["symbol"]
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
    observed: dict[str, set[bool]] = {kind: set() for kind in kinds}
    for market in everything(world):
        sports_market_type = market["sportsMarketType"] or ""
        kind = next((kind for kind in kinds if sports_market_type.startswith(kind)), None)
        if kind is None:
            continue
        since = "2026-07-05T04:00:00Z" if kind == kinds[0] else "2026-07-04T00:00:00Z"
        meta = rows[market["slug"]]["metadata"]
        two_sided = meta["short_participant_id"] not in ("no", "")
        assert two_sided is (rows[market["slug"]]["createTime"] >= since), market["slug"]
        sides = market["marketSides"]
        assert [side["long"] for side in sides] == [True, False]
        assert (sides[1]["team"] is not None) is two_sided
        observed[kind].add(two_sided)
    advances, maps, games, sets = observed.values()
    assert advances == sets == maps | games == {True, False}


# ---- settled from facts, seen by holders

EVENT = """
name: facts
extends: quickstart
world: {events: [{slug: the-game, title: A against B}]}
"""


def paid(
    facts: dict[str, Any], kind: str, *, line: str = "0.5", player: str = "", pick: str = ""
) -> float | None:
    """What a contract bought at 0.40 pays after the game ended with these facts; None when it goes
    on trading.
    """
    world = begin(EVENT)
    terms = {"line": line, "player": player, "pick": pick, "sports_market_type": kind}
    world.trade(world.listed("asked", event="the-game", **terms), 40, 10)
    before = float(world.balance()["balance"])
    world.operate("event.update", "the-game", **facts, ended=True)
    world.advance("2m")
    won = float(world.balance()["balance"]) - before
    if world.book("asked")["state"] == "INSTRUMENT_STATE_OPEN":
        assert won == 0
        return None
    return round(won / 10, 4)


QUARTERS = {
    "periods": {"Q1": [20, 25], "Q2": [25, 20], "Q3": [30, 25], "Q4": [20, 25], "OT1": [5, 12]}
}
MAPS = {"periods": {"M1": [13, 7], "M2": [13, 10]}}
SETS = {"periods": {"S1": [6, 4], "S2": [6, 7], "S3": [6, 3]}}
TWO_SETS = {"periods": {"S1": [6, 4], "S2": [6, 3]}}
THREE_TWO = {"home_score": 3, "away_score": 2}


def box(**score: int) -> dict[str, Any]:
    """The box score of one player."""
    return {"players": {"Ann": score}}


def soccer(*scored: str) -> dict[str, Any]:
    """Goals, such as "home 45+3"."""
    rows = []
    for text in scored:
        team, _, moment = text.partition(" ")
        minute, _, stoppage = moment.partition("+")
        row: dict[str, Any] = {"team": team, "minute": int(minute)}
        rows.append(row | ({"stoppage": int(stoppage)} if stoppage else {}))
    return {"goals": rows}


EXTRA_TIME = soccer("home 20", "away 30", "away 100")
ANN = {"player": "Ann"}
FIRST, SECOND = (f"soccer_game_{half}_half_first_team_to_score" for half in ("first", "second"))

# Facts of a game, the type of market, what else its terms say (a line, a player, a pick), and what
# it pays; None where it goes on trading.
FACTS: list[tuple[dict[str, Any], str, dict[str, str], float | None]] = [
    # Second half: the third and fourth quarter alone, whatever happens in overtime.
    (QUARTERS, "basketball_team_second_half_winner", {}, 0.5),
    (QUARTERS, "basketball_team_second_half_spread", {"line": "0.5"}, 1),
    (QUARTERS, "basketball_team_second_half_total", {"line": "100.5"}, 0),
    (QUARTERS, "basketball_team_first_half_total", {"line": "89.5"}, 1),
    (QUARTERS, "basketball_team_full_game_winner", {}, 0),
    # Props: full games, overtime included; that is what the box score says.
    (box(points=31), "basketball_player_points", ANN | {"line": "30.5"}, 1),
    (box(steals=1), "basketball_player_steals", ANN | {"line": "1.5"}, 0),
    (box(points=10, assists=10, threes=10), "basketball_player_double_double", ANN, 1),
    (box(points=40, assists=10, threes=10, rebounds=9), "basketball_player_triple_double", ANN, 0),
    (box(points=40, assists=9, rebounds=9), "basketball_player_double_double", ANN, 0),
    (box(points=10, steals=10, blocks=10), "basketball_player_triple_double", ANN, 1),
    # Halves of soccer: stoppage belongs to its half, extra time to none.
    (soccer(), FIRST, {"pick": "none"}, 1),
    (soccer(), FIRST, {"pick": "home"}, 0),
    (soccer("home 45+3"), FIRST, {"pick": "home"}, 1),
    (soccer("home 45+3"), SECOND, {"pick": "none"}, 1),
    (soccer("home 46"), FIRST, {"pick": "none"}, 1),
    (soccer("home 46"), SECOND, {"pick": "home"}, 1),
    (soccer("home 1"), FIRST, {"pick": "home"}, 1),
    (soccer("home 90"), SECOND, {"pick": "home"}, 1),
    (soccer("home 91"), SECOND, {"pick": "none"}, 1),
    (soccer("home 90+9"), SECOND, {"pick": "home"}, 1),
    (soccer("away 105"), SECOND, {"pick": "none"}, 1),
    (soccer("away 46", "home 90+6"), "soccer_game_second_half_btts", {}, 1),
    (soccer("away 46", "home 91"), "soccer_game_second_half_btts", {}, 0),
    (soccer("home 100") | {"advances": "away"}, "soccer_game_to_advance", {}, 0),
    (soccer("home 100"), "drawable_outcome", {"pick": "draw"}, 1),
    # What is known by its goals alone has a score: all of them, extra time included.
    (EXTRA_TIME, "moneyline", {}, 0),
    (EXTRA_TIME, "spreads", {"line": "1"}, 0.5),
    (EXTRA_TIME, "totals", {"line": "2.5"}, 1),
    # Maps, sets, games.
    (MAPS, "esports_map_winner_2", {}, 1),
    (MAPS, "esports_map_winner_3", {}, 0.5),
    (SETS, "tennis_match_winner", {}, 1),
    (SETS, "tennis_set_2_winner", {}, 0),
    (SETS, "tennis_match_total_games", {"line": "31.5"}, 1),
    (SETS, "tennis_match_sets_spread", {"line": "-1.5"}, 0),
    (TWO_SETS, "tennis_match_exact_score", {"pick": "2-0"}, 1),
    # Whole games, and games without a result.
    (THREE_TWO, "moneyline", {}, 1),
    (THREE_TWO, "spreads", {"line": "-1.5"}, 0),
    (THREE_TWO, "totals", {"line": "5"}, 0.5),
    ({"result": "no_result"}, "basketball_player_points", ANN, 0.5),
    ({"result": "abandoned"}, "moneyline", {}, 0.4),
    (THREE_TWO, "basketball_player_points", ANN, None),
    (THREE_TWO, "something_new", {}, None),
]


@pytest.mark.spec("S2.10-4", "S2.10-5", "S2.10-6")
@pytest.mark.parametrize(("facts", "kind", "terms", "pays"), FACTS)
def test_a_market_pays_what_the_facts_of_its_game_say(
    facts: dict[str, Any], kind: str, terms: dict[str, str], pays: float | None
) -> None:
    """L29."""
    assert paid(facts, kind, **terms) == pays


@pytest.mark.spec("S2.10-5")
def test_soccer_half_markets_trade_in_cents(world: Desk) -> None:
    halves = ("soccer_game_first_half", "soccer_game_second_half")
    ticks = {
        market["orderPriceMinTickSize"]
        for market in everything(world)
        if (market["sportsMarketType"] or "").startswith(halves)
    }
    assert ticks == {0.01}


def test_a_game_of_the_default_world_closes_and_settles_its_markets_on_every_surface(
    world: Desk,
) -> None:
    events = world.gateway.get("/v1/events", params={"limit": 100}).json()["events"]
    event = next(row for row in events if "wnba" in row["slug"] and row["active"])
    world.operate("event.update", event["slug"], periods={"Q1": [20, 18]}, live=True, period="Q2")
    live = world.gateway.get(f"/v1/events/slug/{event['slug']}").json()["event"]
    assert (live["live"], live["period"]) == (True, "Q2")
    rest = {quarter: [20, 18] for quarter in ("Q2", "Q3", "Q4")}
    answer = world.operate("event.update", str(event["id"]), periods=rest, ended=True).value
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
    game_condition = GameCondition(kind="basketball_team_full_game_total", line=str(total - 0.5))
    assert outcome_of(game_condition, with_) is MarketOutcome.YES


@pytest.mark.spec("S2.10-5")
@given(scored=goals)
def test_goals_count_in_their_own_half_and_extra_time_in_none(scored: tuple[Goal, ...]) -> None:
    within = tuple(goal for goal in scored if goal.minute <= 90)
    for half in ("first", "second"):
        for kind, picks in (("btts", [""]), ("first_team_to_score", ["home", "away", "none"])):
            results = []
            for pick in picks:
                asked = GameCondition(kind=f"soccer_game_{half}_half_{kind}", pick=pick)
                outcome = outcome_of(asked, Game(goals=scored))
                assert outcome is outcome_of(asked, Game(goals=within))
                results.append(outcome)
            if len(picks) == 3:
                assert sorted(outcome.value for outcome in results if outcome) == [0, 0, 1]


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
        reference = outcome_of(GameCondition(kind=kind, long="away", line=other), game)
        assert mine is not None and reference is not None
        assert mine.value + reference.value == 1
