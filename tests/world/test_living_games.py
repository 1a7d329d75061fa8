"""Games of the default world are played by the clock: every surface agrees on how they stand, and
nothing settles before they have ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.kernel.instants import HOUR, MINUTE, NS_PER_S, parse_instant
from sim.read.explain import explain
from sim.world.reference.game_clock import duration
from tests.journeys import order
from tests.wide_numbers import wide
from tests.world.game_desk import GameDesk, play

# 20:20 in New York: baseball, basketball, hockey and soccer are being played
EVENING = "2026-09-09T00:20:00Z"
GAMES = (  # one of each kind that is played in the evening of the first day and the days after it
    "mlb-bos-nyy-2026-09-08",
    "nba-min-nyk-2026-09-08",
    "nhl-fla-col-2026-09-08",
    "lib-pal-boc-2026-09-08",
    "wta-novotna-harukawa-2026-09-08",
)
ENDED_SCORE = (
    "live",
    "ended",
    "score",
    "period",
    "elapsed",
    "finishedTimestamp",
    "active",
    "closed",
    "updatedAt",
    "eventState",
    "metadata",
)


@pytest.fixture(scope="module")
def evening() -> GameDesk:
    """The same in the first evening. Tests look at it and change nothing."""
    world = play()
    world.advance_to(EVENING)
    return world


def stands(displayed: Any) -> dict[str, Any]:
    """What an event says of its game."""
    return {name: displayed.get(name) for name in ENDED_SCORE}


def everything(world: GameDesk) -> list[dict[str, Any]]:
    """What there is to see of games that are live or over, and of some others."""
    return [
        stands(result)
        for result in (
            *world.events(live="true"),
            *world.events(ended="true"),
            *(world.event(slug) for slug in GAMES),
        )
    ]


def test_an_event_shows_the_prices_of_the_moment_whenever_it_was_looked_at(world: GameDesk) -> None:
    """Orders, a cancel and an operator change the event of a generated game without a quote."""
    generated = world.core.reference.generated.slugs
    displayed = next(item for item in world.events(active="true") if item["slug"] in generated)
    symbol = next(
        item["slug"]
        for item in displayed["markets"]
        if (item["exchangeStatus"], item["bestBidQuote"], item["bestAskQuote"])
        == ("OPEN", None, None)
    )
    market = world.instrument(symbol)
    buyer, seller = world.trader(), world.trader(1)

    def quotes() -> tuple[float | None, float | None, str]:
        (result,) = (
            item for item in world.event(displayed["slug"])["markets"] if item["slug"] == symbol
        )
        bid, ask = (result[f"best{side}Quote"] for side in ("Bid", "Ask"))
        return bid and bid["value"], ask and ask["value"], result["exchangeStatus"]

    assert quotes() == (None, None, "OPEN")
    placed = buyer.post("/v1/trading/orders", json=order(market, "buy", 3, 2)).json()["orderId"]
    assert quotes() == (0.03, None, "OPEN")
    seller.post("/v1/trading/orders", json=order(market, "sell", 97, 2))
    assert quotes() == (0.03, 0.97, "OPEN")
    world.operate("instrument.state", symbol, state="SUSPENDED")
    assert quotes() == (0.03, 0.97, "SUSPENDED")
    world.operate("instrument.state", symbol, state="OPEN")
    body = {"orderId": placed, "symbol": symbol}
    assert buyer.post("/v1/trading/orders/cancel", json=body).status == 200
    assert quotes() == (None, 0.97, "OPEN")


# ---- how a game goes


@pytest.fixture(scope="module")
def large() -> Exchange:
    return Simulation(load_scenario("life-size")).exchange


@pytest.mark.spec("S2.11-1")
@given(data=st.data())
def test_a_score_never_falls_and_ends_as_planned(large: Exchange, data: st.DataObject) -> None:
    """Any game of a season of thousands, at any instants: what is shown adds up, grows, and comes
    to the result by which markets settle.
    """
    games = large.reference.generated
    slug = data.draw(st.sampled_from(games.slugs))
    event = games.bare(slug)
    start = event.start_time or 0
    over = start + duration(event.subcategory, slug)
    assert large.games.plan.state_at(slug, start - 1) is None
    before = (0, 0, 0)
    observed: dict[str, tuple[int, int]] = {}
    for second in sorted(
        data.draw(st.lists(wide(0, (over - start) // NS_PER_S - 1, 3600), min_size=3, max_size=12))
    ):
        game = large.games.plan.state_at(slug, start + second * NS_PER_S)
        assert (
            game is not None
            and game.live
            and not game.ended
            and game.at <= start + second * NS_PER_S
        )
        home, away = game.home_score or 0, game.away_score or 0
        assert home >= before[0] and away >= before[1] and game.at >= before[2], slug
        assert list(game.periods)[: len(observed)] == list(observed), (
            "periods come one after the other"
        )
        assert all(
            game.periods[name][0] >= points[0] and game.periods[name][1] >= points[1]
            for name, points in observed.items()
        )
        before, observed = (home, away, game.at), game.periods
        won = [
            sum(item > two for item, two in result)
            for result in (list(observed.values()), [points[::-1] for points in observed.values()])
        ]
        added = [sum(side) for side in zip(*observed.values(), strict=True)] or [0, 0]
        running = event.subcategory in ("atp", "wta", "lol", "cs2", "wtt")
        assert (home <= won[0] and away <= won[1]) if running else [home, away] == added, slug
    final, planned = large.games.plan.state_at(slug, over), large.games.plan.final_game(slug)
    assert final is not None and planned is not None and final.ended and final.at == over
    assert (final.home_score, final.away_score, final.periods, final.goals) == (
        planned.home_score,
        planned.away_score,
        planned.periods,
        planned.goals,
    )
    assert (final.home_score or 0) >= before[0] and (final.away_score or 0) >= before[1]
    assert all(
        final.periods[name][0] >= points[0]
        for name, points in observed.items()
        if name in final.periods
    )


@pytest.mark.spec("S2.11-1", "S4.1-10")
def test_a_night_of_games_seen_by_somebody_who_looks_every_few_minutes(world: GameDesk) -> None:
    """Not begun, live, ended, and never back; every point stays; the last score is the one that
    stays.
    """
    existing: dict[str, Any] = {}
    steps: set[tuple[str, str]] = set()
    for _ in range(30):
        world.advance("17m")
        for result in (world.event(slug) for slug in GAMES):
            slug, score = result["slug"], result.get("score") or {"home": 0, "away": 0}
            phase = "ended" if result["ended"] else "live" if result["live"] else "NS"
            assert not (result["ended"] and result["live"])
            assert (result["period"] == "NS") == (phase == "NS") and (result["period"] == "FT") == (
                phase == "ended"
            )
            assert (result["finishedTimestamp"] is not None) == (phase == "ended")
            if slug in existing:
                before = existing[slug]
                steps.add((before["phase"], phase))
                assert score["home"] >= before["home"] and score["away"] >= before["away"]
                assert result["updatedAt"] >= before["updated"]
            existing[slug] = {
                "phase": phase,
                "home": score["home"],
                "away": score["away"],
                "updated": result["updatedAt"],
            }
    assert steps == {
        ("NS", "NS"),
        ("NS", "live"),
        ("live", "live"),
        ("live", "ended"),
        ("ended", "ended"),
    }


# ---- surfaces


@pytest.mark.long
@pytest.mark.spec("S2.11-1", "S4.1-10")
def test_every_list_and_look_up_tells_the_same(evening: GameDesk) -> None:
    listed = {answer["slug"]: answer for answer in evening.events()}
    live = [slug for slug, answer in listed.items() if answer.get("live")]
    assert len(live) >= 8
    assert [answer["slug"] for answer in evening.events(live="true")] == live
    assert [answer["slug"] for answer in evening.events(ended="true")] == [
        slug for slug, answer in listed.items() if answer.get("ended")
    ]
    assert [answer["slug"] for answer in evening.events(live="false", ended="false")] == [
        slug
        for slug, answer in listed.items()
        if not answer.get("live") and not answer.get("ended")
    ]
    gateway = evening.gateway
    for slug in live[::3]:
        result = stands(listed[slug])
        assert stands(evening.event(slug)) == result
        assert stands(gateway.get(f"/v1/events/{listed[slug]['id']}").json()["event"]) == result
        searched = gateway.get(
            "/v1/search", params={"query": listed[slug]["title"], "limit": 50}
        ).json()["events"]
        assert stands(next(item for item in searched if item["slug"] == slug)) == result
        league = gateway.get(
            f"/v2/leagues/{listed[slug]['subcategory']}/events", params={"limit": 2000}
        ).json()["events"]
        assert stands(next(item for item in league if item["slug"] == slug)) == result
        partner = gateway.get(f"/v1/partners/sportradar/events/{listed[slug]['gameId']}").json()[
            "event"
        ]
        assert stands(partner) == result
        periods = [item["slug"] for item in evening.events(period=listed[slug]["period"])]
        assert slug in periods and all(
            listed[item]["period"] == listed[slug]["period"] for item in periods
        )
        state = listed[slug]["eventState"]
        assert (state["live"], state["ended"], state["period"], state["elapsed"]) == (
            True,
            False,
            result["period"],
            result["elapsed"],
        )
        assert state["score"] == f"{result['score']['home']}-{result['score']['away']}"


@pytest.mark.spec("S4.1-10")
def test_what_is_featured_is_what_has_prices_in_the_beginning(world: GameDesk) -> None:
    listed = world.events()
    featured = [result["slug"] for result in listed if result["featured"]]
    assert featured == [
        result["slug"]
        for result in listed
        if any(market["bestBidQuote"] or market["bestAskQuote"] for market in result["markets"])
    ]
    assert [event["slug"] for event in world.events(featured="true")] == featured
    assert 0 < len(featured) < len(listed) // 2


def test_the_clock_runs_where_the_sport_has_one(evening: GameDesk) -> None:
    displayed = {event["subcategory"]: event["elapsed"] for event in evening.events(live="true")}
    minutes, seconds = displayed["nhl"].split(":")
    assert 0 <= int(minutes) <= 20 and 0 <= int(seconds) < 60
    assert displayed["lib"].split("+")[0].isdecimal()
    assert displayed["mlb"] == ""


# ---- however time came there, whoever asked


@pytest.fixture(scope="module")
def stepped() -> GameDesk:
    """The same evening, come to in small steps by somebody who looks at everything on the way."""
    world = play()
    until = parse_instant(EVENING)
    number = 0
    while world.now < until:
        number += 1
        world.advance_to(min(until, world.now + (7 + number % 5 * 13) * MINUTE))
        (
            everything,
            lambda item: item.events(live="true"),
            lambda item: [item.event(slug) for slug in GAMES],
        )[number % 3](world)
    return world


def test_a_jump_and_small_steps_show_the_same(evening: GameDesk, stepped: GameDesk) -> None:
    assert everything(evening) == everything(stepped)


def test_games_are_the_same_for_every_seed(evening: GameDesk) -> None:
    other = play(seed=99)
    other.advance_to(EVENING)
    assert everything(other) == everything(evening)


def test_a_rewind_and_a_restored_snapshot_show_what_was_shown_then(world: GameDesk) -> None:
    simulation = world.simulation
    world.advance_to("2026-09-08T23:50:00Z")
    early = everything(world)
    simulation.snapshot("early")
    world.advance_to("2026-09-09T03:00:00Z")
    late = everything(world)
    assert early != late
    simulation.rewind(to=parse_instant("2026-09-08T23:50:00Z"))
    assert everything(world) == early
    world.advance_to("2026-09-09T03:00:00Z")
    assert everything(world) == late
    simulation.restore("early")
    assert everything(world) == early
    fork = GameDesk(simulation.fork())
    fork.advance_to("2026-09-09T03:00:00Z")
    assert everything(fork) == late


# ---- markets


@pytest.mark.spec("S3.1-2", "S3.1-13")
@pytest.mark.parametrize("slug", GAMES)
def test_markets_trade_until_the_game_ends_and_settle_by_its_score_afterwards(
    world: GameDesk, slug: str
) -> None:
    """One minute before the end everything is open and worth nothing yet; at the end all is closed;
    a minute later all has settled, on every surface.
    """
    over = world.ends(slug)
    world.advance_to(over - MINUTE)
    displayed = world.event(slug)
    symbols = [market["slug"] for market in displayed["markets"]]
    assert displayed["live"] and displayed["active"] and not displayed["closed"]
    assert {market["exchangeStatus"] for market in displayed["markets"]} == {"OPEN"} and all(
        world.settled(symbol) is None for symbol in symbols
    )
    world.advance_to(over)
    ended = world.event(slug)
    assert (
        ended["ended"]
        and not ended["active"]
        and ended["closed"]
        and ended["finishedTimestamp"] == ended["metadata"]["latestGameUpdate"]
    )
    assert {(market["exchangeStatus"], market["status"]) for market in ended["markets"]} == {
        ("CLOSED", "MARKET_STATUS_CLOSED")
    }
    assert all(world.settled(symbol) is None for symbol in symbols)
    rest = world.partner
    assert {
        rest.get(f"/v1/refdata/instruments/{symbol}").json()["instrument"]["state"]
        for symbol in symbols[:3]
    } == {"INSTRUMENT_STATE_CLOSED"}
    world.advance("1m")
    assert all(world.settled(symbol) in (0, 0.5, 1) for symbol in symbols)
    paid = world.settled(symbols[0])
    settled_event = world.event(slug)
    assert {market["status"] for market in settled_event["markets"]} == {
        "MARKET_STATUS_RESOLVED"
    } and settled_event["score"] == ended["score"]
    home, away = ended["score"]["home"], ended["score"]["away"]
    first = ended["teams"][0]["id"] == displayed["markets"][0]["marketSides"][0]["team"]["id"]
    homes = slug.startswith(("lib", "wta"))
    assert first and paid == ((home > away) if homes else (away > home))
    reported = rest.get(f"/v1/instruments/{symbols[0]}/settlement").json()
    assert int(reported["stats"]["settlementPx"]) == paid * int(reported["priceScale"])
    world.advance("6h")
    assert {market["exchangeStatus"] for market in world.event(slug)["markets"]} == {"EXPIRED"}


def test_a_position_is_paid_when_the_game_is_over(world: GameDesk) -> None:
    slug = "mlb-bos-nyy-2026-09-08"
    instrument = world.instrument(f"aec-{slug}")
    world.trading.listings.cancel_all((instrument.symbol,))
    for user, side in ((0, "buy"), (1, "sell")):
        assert world.enter(instrument, side, 50, 10, user=user).status == 200
    world.advance_to(world.ends(slug) + MINUTE - 1)
    account = world.firm.users[0].account
    query = {"name": account, "symbol": instrument.symbol}
    held = world.trader().get("/v1/positions", params=query).json()["positions"]
    world.advance("1s")
    gone = world.trader().get("/v1/positions", params=query).json()["positions"]
    assert int(held[0]["netPosition"]) == 10 * instrument.qty_scale
    assert not gone or int(gone[0]["netPosition"]) == 0


def test_a_game_that_ends_in_maintenance_closes_its_markets_when_that_is_over(
    world: GameDesk,
) -> None:
    """The game does not wait for the exchange, but what follows from it does (rule W7)."""
    exchange = world.core
    begins, ends = (
        parse_instant("2026-09-10T02:00:00-04:00"),
        parse_instant("2026-09-10T06:00:00-04:00"),
    )
    slug = next(
        slug
        for slug in exchange.reference.generated.slugs
        if begins - 3 * HOUR < exchange.games.plan.event_end(slug) < begins
    )
    world.operate("maintenance.add", begins="2026-09-09T23:00:00-04:00", length="3h")
    world.advance_to(begins - MINUTE)
    displayed = world.event(slug)
    assert (
        displayed["ended"]
        and displayed.get("score")
        and {market["exchangeStatus"] for market in displayed["markets"]} == {"SUSPENDED"}
    )
    world.advance_to(ends + 2 * MINUTE)
    assert {market["status"] for market in world.event(slug)["markets"]} == {
        "MARKET_STATUS_RESOLVED"
    }


# ---- what people say


OWN_GAME = """
name: own-game
extends: quickstart
world:
  instruments:
    - {symbol: winner, state: OPEN, event: my-game, long: home, sports_market_type:
       basketball_team_full_game_winner}
    - {symbol: total, state: OPEN, event: my-game, line: "50.5", sports_market_type:
       basketball_team_full_game_total}
    - {symbol: half, state: OPEN, event: my-game, long: home, sports_market_type:
       basketball_team_first_half_winner}
"""
HALVES = {"Q1": [10, 5], "Q2": [10, 5]}  # 20-10


@pytest.mark.parametrize(
    ("reports", "winner", "total", "half"),
    [
        ([{"periods": HALVES}], 1, 0, 1),
        ([{"periods": HALVES}, {"home_score": 30, "away_score": 40}], 0, 1, 1),
        ([{"home_score": 30, "away_score": 40}, {"periods": HALVES}], 1, 0, 1),
        ([{"home_score": 30, "away_score": 40, "periods": HALVES}], 1, 0, 1),
        ([{"periods": HALVES}, {"away_score": 40}, {"home_score": 30}], 1, 0, 1),
        ([{"periods": HALVES}, {"home_score": 30}], 1, 0, 1),
        ([{"home_score": 30, "away_score": 40}], 0, 1, None),
    ],
)
def test_the_last_report_of_a_score_or_its_periods_decides_markets_of_the_whole_game(
    reports: list[dict[str, Any]], winner: float, total: float, half: float | None
) -> None:
    """Markets of a half are decided by its periods only, and half a score decides nothing."""
    settles = {"winner": winner, "total": total, "half": half}
    assert reported(OWN_GAME, "my-game", reports, settles) == settles


MATCHES = """
name: matches
extends: quickstart
world:
  instruments:
    - {symbol: won, state: OPEN, event: my-match, sports_market_type: drawable_outcome, long: home}
    - {symbol: goals, state: OPEN, event: my-match, sports_market_type: totals, line: "3.5"}
    - {symbol: set, state: OPEN, event: my-tennis, long: home, sports_market_type:
       tennis_match_winner}
    - {symbol: sets, state: OPEN, event: my-tennis, line: "2.5", sports_market_type:
       tennis_match_total_sets}
"""
GOALS = [{"team": "home", "minute": 10}]
AWAY = {"home_score": 1, "away_score": 4}
ONE_TO_TWO = {"home_score": 1, "away_score": 2}


SETS = {"S1": [6, 4], "S2": [6, 3]}
EXTRA = {"1H": [1, 0], "2H": [0, 1], "ET1": [0, 3]}


@pytest.mark.parametrize(
    ("slug", "reports", "settles"),
    [
        ("my-match", [{"goals": GOALS}], {"won": 1, "goals": 0}),
        ("my-match", [{"goals": GOALS}, AWAY], {"won": 0, "goals": 1}),
        ("my-match", [AWAY, {"goals": GOALS}], {"won": 1, "goals": 0}),
        ("my-match", [AWAY, {"goals": []}], {"won": 0, "goals": 0}),
        ("my-match", [{"periods": EXTRA}, AWAY], {"won": 0, "goals": 1}),
        ("my-tennis", [{"periods": SETS}], {"set": 1, "sets": 0}),
        ("my-tennis", [{"periods": SETS}, ONE_TO_TWO], {"set": 0, "sets": 1}),
        ("my-tennis", [ONE_TO_TWO, {"periods": SETS}], {"set": 1, "sets": 0}),
    ],
)
def test_the_last_report_decides_a_match(
    slug: str, reports: list[dict[str, Any]], settles: dict[str, float]
) -> None:
    assert reported(MATCHES, slug, reports, settles) == settles


def reported(
    scenario: str, slug: str, reports: list[dict[str, Any]], symbols: Iterable[str]
) -> dict[str, float | None]:
    """What markets of a game pay after reports of it and its end."""
    world = GameDesk(Simulation(load_scenario(scenario)))
    for report in (*reports, {"ended": True}):
        world.report(slug, **report)
        world.advance("2m")
    return {symbol: world.settled(symbol) for symbol in symbols}


@pytest.mark.parametrize(
    ("slug", "reports", "market"),
    [
        (
            "lib-pal-boc-2026-09-08",
            [{"advances": "home"}, {"goals": [{"team": "home", "minute": 80}]}],
            "soccer_game_to_advance, long: home",
        ),
        (
            "nba-min-nyk-2026-09-08",
            [{"players": {"Ada Ray": {"points": 30}}}, {"home_score": 100, "away_score": 90}],
            'basketball_player_points, player: Ada Ray, line: "20.5"',
        ),
        (
            "nba-min-nyk-2026-09-08",
            [{"elapsed": "5:00"}, {"periods": {"Q4": [30, 20]}}],
            "basketball_team_first_half_total, line: '10'",
        ),
    ],
)
def test_what_was_reported_or_over_before_a_result_stays(
    slug: str, reports: list[dict[str, Any]], market: str
) -> None:
    listed = f"{{symbol: m, state: OPEN, event: {slug}, sports_market_type: {market}}}"
    world = play(f"world: {{instruments: [{listed}]}}\n")
    world.advance_to("2026-09-09T01:20:00Z")
    for report in (*reports, {"ended": True}):
        world.report(slug, **report)
    world.advance("2m")
    assert world.settled("m") == 1


@pytest.mark.parametrize("slug", [slug for slug in GAMES if not slug.startswith("lib")])
@pytest.mark.parametrize(("home", "away"), [(0, 2), (2, 0)])
def test_a_result_told_after_a_delay_wins_over_what_the_clock_had_reached(
    world: GameDesk, slug: str, home: int, away: int
) -> None:
    """The delay keeps the score and the periods of the clock, the result replaces both."""
    start = world.event(slug)["startTime"]
    world.advance_to(parse_instant(start) + HOUR)
    before = world.event(slug)["eventState"]["periodScores"]
    world.report(slug, period="DELAY")
    assert world.event(slug)["eventState"]["periodScores"] == before != []
    world.report(slug, home_score=home, away_score=away, ended=True)
    world.advance("2m")
    displayed = world.event(slug)
    assert (displayed["score"], displayed["eventState"].get("periodScores", [])) == (
        {"home": home, "away": away},
        [],
    )
    long_side = world.instrument(f"aec-{slug}").game_condition.long
    assert world.settled(f"aec-{slug}") == float((home > away) == (long_side == "home"))


def test_what_a_tester_tells_of_a_game_wins_over_the_clock(world: GameDesk) -> None:
    slug = "mlb-bos-nyy-2026-09-08"
    over = world.ends(slug)
    world.advance_to(EVENING)
    before = world.event(slug)
    assert before["live"]
    world.report(slug, period="DELAY")
    reported = world.event(slug)
    assert (reported["period"], reported["live"], reported["score"]) == (
        "DELAY",
        True,
        before["score"],
    )
    assert reported["eventState"]["periodScores"] == before["eventState"]["periodScores"]
    world.advance_to(over + HOUR)
    still = world.event(slug)
    assert (still["live"], still["ended"], still["score"], still["active"]) == (
        True,
        False,
        before["score"],
        True,
    )
    world.report(slug, home_score=0, away_score=12, ended=True)
    world.advance("2m")
    assert world.settled(f"aec-{slug}") == 1
    assert world.event(slug)["score"] == {"home": 0, "away": 12}


def test_markets_that_the_clock_has_just_closed_open_again_when_somebody_says_that_it_is_not_over(
    world: GameDesk,
) -> None:
    slug = "nba-min-nyk-2026-09-08"
    world.advance_to(world.ends(slug) + MINUTE // 2)
    assert world.event(slug)["closed"]
    world.report(slug, ended=False, live=True, period="OT2")
    displayed = world.event(slug)
    assert (displayed["live"], displayed["ended"], displayed["active"], displayed["period"]) == (
        True,
        False,
        True,
        "OT2",
    )
    world.advance("30m")
    assert world.settled(f"aec-{slug}") is None and world.event(slug)["active"]


@pytest.mark.parametrize("asleep", [False, True])
@pytest.mark.parametrize("slug", GAMES[:2])
def test_a_report_between_close_and_settlement_changes_the_outcome_and_not_when_it_settles(
    slug: str, asleep: bool
) -> None:
    """L25: the delay counts from the close, also where the world begins after it and nobody has
    asked for the markets.
    """
    world = play()
    over = world.ends(slug)
    if asleep:
        world = play(start=over + MINUTE // 2)
    else:
        world.advance_to(over + MINUTE // 2)
    facts = {"home_score": 0, "away_score": 12, "ended": True}
    symbols = list(world.report(slug, **facts)["settles"])
    assert f"aec-{slug}" in symbols
    displayed = world.event(slug)
    assert not displayed["active"]
    assert {market["exchangeStatus"] for market in displayed["markets"]} == {"CLOSED"}
    world.advance_to(over + MINUTE - 1)
    assert [world.settled(symbol) for symbol in symbols] == [None] * len(symbols)
    world.advance("1ns")
    assert None not in [world.settled(symbol) for symbol in symbols]
    assert world.settled(f"aec-{slug}") == 1


@pytest.mark.parametrize("late", [MINUTE // 2, 10 * MINUTE])
def test_a_world_that_begins_after_the_end_of_a_game_settles_all_its_markets(late: int) -> None:
    """L25: a minute after the close, those that a scenario lists too."""
    slugs = GAMES[:2]  # of the quickstart's own file, and generated
    plan = play().core.games.plan
    last = max(slugs, key=plan.event_end)
    over = plan.event_end(last)
    world = play(start=over + late)
    if late < MINUTE:
        assert world.settled(f"aec-{last}") is None
        world.advance_to(over + MINUTE)
    for slug in slugs:
        markets = world.event(slug)["markets"]
        assert {(market["exchangeStatus"], market["status"]) for market in markets} == {
            ("CLOSED", "MARKET_STATUS_RESOLVED")
        }
        assert None not in [world.settled(market["slug"]) for market in markets]


@pytest.mark.parametrize("ended", [False, True])
def test_what_the_world_began_with_as_paid_stays_closed_and_paid_whatever_is_reported(
    ended: bool,
) -> None:
    """L25."""
    slug = "nba-min-nyk-2026-09-08"
    over = play().ends(slug)
    world = play(start=over + 2 * MINUTE)
    displayed = world.event(slug)["markets"]
    paid = [world.settled(market["slug"]) for market in displayed]
    world.report(slug, home_score=1, ended=ended)
    world.advance("5m")
    markets = world.event(slug)["markets"]
    assert {(item["exchangeStatus"], item["status"]) for item in markets} == {
        ("CLOSED", "MARKET_STATUS_RESOLVED")
    }
    assert [world.settled(market["slug"]) for market in markets] == paid != [None] * len(paid)


def test_what_has_been_paid_stays_paid(world: GameDesk) -> None:
    slug = "nba-min-nyk-2026-09-08"
    world.advance_to(world.ends(slug) + 2 * MINUTE)
    paid = world.settled(f"aec-{slug}")
    world.report(slug, home_score=1, away_score=0 if paid else 2, ended=True)
    world.advance("5m")
    assert world.settled(f"aec-{slug}") == paid


def test_an_event_of_a_scenario_stands_as_it_says_and_one_that_says_nothing_of_its_game_is_played() -> (
    None
):
    more = """
clock: {start: 2026-09-08T20:20:00-04:00}
world:
  events:
    - {slug: mlb-bos-nyy-2026-09-08, period: RAIN, home_score: 4}
    - {slug: nhl-fla-col-2026-09-08, partners: {acme: "77"}}
"""
    world = play(more)
    for _ in range(2):
        reported, played = (
            world.event("mlb-bos-nyy-2026-09-08"),
            world.event("nhl-fla-col-2026-09-08"),
        )
        assert (reported["period"], reported["score"]["home"]) == ("RAIN", 4)
        assert played["live"] and played["score"] is not None
        world.advance("40m")
    assert world.gateway.get("/v1/partners/acme/events/77").json()["event"]["live"]


def test_a_switch_leaves_games_alone_until_their_markets_have_expired(world: GameDesk) -> None:
    world.assume("games.played", False)
    slug = "nba-min-nyk-2026-09-08"
    world.advance_to(world.ends(slug) + HOUR)
    displayed = world.event(slug)
    assert (displayed["live"], displayed["ended"], displayed["period"], displayed["active"]) == (
        False,
        False,
        "NS",
        True,
    )
    world.advance("6h")
    assert world.event(slug)["ended"] and world.settled(f"aec-{slug}") is None


def test_nothing_that_is_idle_has_a_timer(quickstart: Simulation) -> None:
    """One timer waits for the next date of all games that nobody touched."""
    waiting = [
        timer for timer in quickstart.exchange.save().timers[1] if timer.kind == "instruments.edge"
    ]
    assert len(waiting) == 1
    assert not quickstart.exchange.trading.lifecycle.is_materialised("aec-nba-min-nyk-2026-09-08")
    assert quickstart.exchange.trading.state("aec-nba-min-nyk-2026-09-08") is InstrumentState.OPEN


def test_why_a_market_closed_is_explained(world: GameDesk) -> None:
    simulation = world.simulation
    # one from the shelf, one of the hand-picked
    for symbol in ("aec-nba-min-nyk-2026-09-08", "aec-mlb-bos-nyy-2026-09-08"):
        world.advance_to(max(simulation.now, world.ends(symbol[4:])))
        world.advance_to(simulation.now + 7 * HOUR)
        result = explain(simulation, symbol)
        assert result is not None
        whats = [link["what"] for link in result["chain"]]
        assert whats[0] == "OPEN → CLOSED: the game is over"
        assert "settlement price" in whats[1] and whats[2] == "CLOSED → EXPIRED: its dates"
