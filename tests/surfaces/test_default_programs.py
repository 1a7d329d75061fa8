"""The incentive programs of the bundled world make sense to a reader (§2.3, §3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from sim.contract.messages.gateway_v1 import Event, Market
from sim.core.incentives.incentives import LIQUIDITY, VOLUME, Period, Reward
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR
from sim.kernel.instants import DAY, HOUR, Instant, eastern_date, parse_instant
from sim.world.reference.incentive_programs import programs
from sim.world.reference.reference import Reference
from tests.kit import Desk


@pytest.mark.spec("S4.2-1", "S3.2-1")
def test_periods_are_announced_before_now_and_follow_the_game(world: Desk) -> None:
    now = world.now
    programs = world.customer().get("/v1/incentives").json()["programs"]
    statuses = set()
    assert any(len(program["timePeriods"]) > 1 for program in programs)
    for program in programs:
        game = parse_instant(program["eventStartTime"])
        for part in program["timePeriods"]:
            created, start, end = (
                parse_instant(part[name]) if name in part else None
                for name in ("createdAt", "start", "end")
            )
            assert created is not None and start is not None and created <= min(now, start), part
            assert part["status"] == (
                "pending" if now < start else "active" if end is None or now < end else "closed"
            )
            statuses.add(part["status"])
            if part["programType"] == "liquidityProgram":
                assert {
                    "early": end == game - 6 * HOUR,
                    "day_of": (start, end) == (game - 6 * HOUR, game),
                    "live": start == game,
                }[part["period"]], part
    assert statuses == {"pending", "active", "closed"}


@pytest.mark.spec("S4.2-3", "S3.3-1")
def test_rewards_come_from_programs_that_ran(world: Desk) -> None:
    observed = set()
    for api_key in world.core.firms.api_keys():
        client = world.retail(api_key)
        for reward in client.get("/v1/incentives/earnings").json()["rewards"]:
            observed.add(reward["status"])
            (program,) = client.get(
                "/v1/incentives", params={"symbols": reward["marketSlug"]}
            ).json()["programs"]
            ran = [
                part
                for part in program["timePeriods"]
                if part["programType"] == reward["programType"]
            ]
            assert any(part["start"][:10] <= reward["date"] for part in ran), (reward, program)
        world.advance("1s")
    assert observed == {"PAID", "PENDING", "SKIPPED"}


# ---- from the instruments of a world

NOW = parse_instant("2026-09-08T20:00:00-04:00")
GAME = NOW + 2 * DAY


def market(number: int, **fields: Any) -> Instrument:
    terms: dict[str, Any] = {
        "market_type": "moneyline",
        "category": "sports",
        "subcategory": "nba",
        "created": NOW - 9 * DAY,
        "expiration": GAME + 6 * HOUR,
    }
    return Instrument(symbol=f"m{number}", **(terms | fields))


def programs_of(
    markets: list[Instrument], game: Instant | None = GAME
) -> tuple[dict[str, list[Period]], tuple[Reward, ...]]:
    """The periods by market, and the rewards, in a world where all markets are of one event."""
    reference = Reference(empty=True)
    event = Event(id=1, slug="game", start_time=game)
    reference.add_event(event)
    for terms in markets:
        reference.add_market(Market(id=terms.symbol, slug=terms.symbol), event)
    periods, rewards = programs(tuple(markets), reference, NOW)
    result: dict[str, list[Period]] = {}
    for period in periods:
        result.setdefault(period.symbol, []).append(period)
    return result, rewards


def takers(number: int, terms: Instrument, name: str) -> Period:
    return Period(
        program_id=f"{name}_{number}_volume",
        symbol=terms.symbol,
        start=terms.created,
        created=terms.created,
        reward_pool=(number + 1) * 250 * DOLLAR,
        program_type=VOLUME,
        min_taker_notional=500,
    )


def makers(number: int, terms: Instrument, edges: tuple[Instant, ...]) -> list[Period]:
    parts = (("early", 5, "0.40"), ("day_of", 15, "0.35"), ("live", 80, "0.30"))
    return [
        Period(
            program_id=f"nba_{number}_{name}",
            symbol=terms.symbol,
            start=start,
            end=end,
            created=terms.created,
            reward_pool=(number + 1) * 250 * DOLLAR * percent // 100,
            program_type=LIQUIDITY,
            period=name,
            discount_factor=factor,
            target_size=10_000,
        )
        for (name, percent, factor), start, end in zip(parts, edges, edges[1:], strict=False)
        if start < end
    ]


def test_the_first_nine_markets_have_programs_every_third_for_takers() -> None:
    markets = [market(number) for number in range(11)]
    result, rewards = programs_of(markets)
    edges = (NOW - 9 * DAY, GAME - 6 * HOUR, GAME, GAME + 6 * HOUR)
    assert result == {
        item.symbol: [takers(number, item, "nba")]
        if number % 3 == 1
        else makers(number, item, edges)
        for number, item in enumerate(markets[:9])
    }
    earned = (("m0", 4, 1250, "PAID"), ("m2", 3, 1950, "SKIPPED"), ("m3", 2, 2650, "PAID"), ("m5", 0, 3350, "PENDING"))  # fmt: skip
    assert rewards == tuple(
        Reward(
            account="firms/retail/accounts/e94a6d31",
            symbol=symbol,
            date=eastern_date(NOW - ago * DAY).isoformat(),
            amount=cents * CENT,
            program_type=LIQUIDITY,
            status=status,
        )
        for symbol, ago, cents, status in earned
    )
    assert programs_of(markets[:2])[1] == rewards[:1], "no reward where makers are not paid"


@pytest.mark.parametrize(
    ("fields", "has_one"),
    [
        ({"market_type": "futures"}, True),
        ({"market_type": "event"}, True),
        ({"market_type": "spreads"}, False),
        ({"created": NOW - 1}, True),
        ({"created": NOW}, False),
        ({"opening_state": InstrumentState.OPEN}, False),
    ],
)
def test_a_program_is_on_a_market_of_a_winner_that_has_been_listed(
    fields: dict[str, Any], has_one: bool
) -> None:
    assert bool(programs_of([market(0, **fields)])[0]) is has_one


def test_a_period_that_would_be_over_before_the_listing_is_left_out() -> None:
    late = NOW + 6 * HOUR
    for game, names in (
        (late + DAY, ["early", "day_of", "live"]),
        (late - 8 * DAY, ["early", "day_of", "live"]),
        (late - 9 * DAY + 1, ["early", "day_of", "live"]),
        (late - 9 * DAY, ["day_of", "live"]),
    ):
        item = market(0, expiration=game + HOUR)
        result = programs_of([item], game)[0]["m0"]
        edges = (item.created, game - 6 * HOUR, game, item.expiration)
        assert [period.period for period in result] == names
        assert result == makers(0, item, edges)


def test_a_market_without_a_game_pays_takers_under_the_name_of_its_category() -> None:
    item = market(0, subcategory="", category="politics", market_type="event")
    assert programs_of([item], None) == ({"m0": [takers(0, item, "politics")]}, ())
    reference = Reference(empty=True)
    assert programs((item,), reference, NOW)[0] == (takers(0, item, "politics"),), "no event at all"
