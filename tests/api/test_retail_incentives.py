"""Incentive programs and earnings, through the retail API."""

from __future__ import annotations

import pytest
from retail_world import FINE, WHOLE, RetailWorld

from sim.core.incentives.incentives import Period, Reward
from sim.core.model.quantities import DOLLAR
from sim.kernel.instants import days, hours


@pytest.fixture
def retail() -> RetailWorld:
    world = RetailWorld()
    now = world.now
    incentives = world.core.incentives
    incentives.load(type(incentives.save())([], []))
    world.core.scoring.load([])
    incentives.add(
        Period(
            program_id="whole_early",
            symbol=WHOLE,
            start=now - days(2),
            end=now - days(1),
            created=now - days(3),
            reward_pool=3000 * DOLLAR,
            discount_factor="0.40",
            target_size=20_000,
        )
    )
    incentives.add(
        Period(
            program_id="whole_live",
            symbol=WHOLE,
            start=now + hours(1),
            created=now,  # a program is as old as its first period
            reward_pool=DOLLAR // 2,
            period="live",
        )
    )
    incentives.add(
        Period(
            program_id="fine_volume",
            symbol=FINE,
            start=now - days(1),
            created=now - days(1),
            reward_pool=100 * DOLLAR,
            program_type="volumeProgram",
            min_taker_notional=500,
        )
    )
    return world


def slugs(retail: RetailWorld, **params: object) -> list[str]:
    return [
        program["marketSlug"] for program in retail.ann.read("/v1/incentives", "programs", **params)
    ]


@pytest.mark.spec("S2.3-1", "S2.3-2", "S3.2-1")
def test_programs_are_grouped_by_market_and_leave_out_what_is_unset(retail: RetailWorld) -> None:
    fine, total = retail.ann.read("/v1/incentives", "programs")
    assert (total["marketSlug"], total["instrumentState"]) == (WHOLE, "INSTRUMENT_STATE_OPEN")
    early, live = total["timePeriods"]
    assert (early["status"], live["status"], fine["timePeriods"][0]["status"]) == (
        "closed",
        "pending",
        "active",
    )
    assert (early["rewardPool"], early["discountFactor"], early["targetSize"]) == (
        3000,
        0.4,
        20_000,
    )
    assert live["rewardPool"] == 0.5
    assert not {"end", "discountFactor", "targetSize", "minTakerNotional", "maxSpread"} & set(live)
    assert fine["timePeriods"][0]["minTakerNotional"] == 500
    retail.advance("1h")
    assert retail.ann.read("/v1/incentives", "programs", 1, "timePeriods", 1)["status"] == "active"


@pytest.mark.spec("S4.2-1")
def test_a_page_counts_markets(retail: RetailWorld) -> None:
    first = retail.ann.read("/v1/incentives", page_size=1)
    assert [program["marketSlug"] for program in first["programs"]] == [FINE]
    second = retail.ann.read("/v1/incentives", page_size=1, page_token=first["nextPageToken"])
    assert [program["marketSlug"] for program in second["programs"]] == [WHOLE]
    assert second["nextPageToken"] == ""
    assert retail.ann.get("/v1/incentives", params={"page_token": "nonsense"}).status == 400


@pytest.mark.reading("documented")
@pytest.mark.spec("S4.2-2", "S0-4")
@pytest.mark.parametrize(
    ("params", "result"),
    [
        ({}, [FINE, WHOLE]),
        ({"order_direction": "asc"}, [WHOLE, FINE]),
        ({"order_by": "created_at", "order_direction": "desc"}, [FINE, WHOLE]),
        ({"symbols": [WHOLE]}, [WHOLE]),
        ({"statuses": ["pending", "closed"]}, [WHOLE]),
        ({"program_type": "volumeProgram"}, [FINE]),
        ({"programType": "volumeProgram"}, [FINE, WHOLE]),
        ({"query": "TEST-WH"}, [WHOLE]),
        ({"instrument_states": ["INSTRUMENT_STATE_CLOSED"]}, []),
        ({"instrument_states": ["HALTED", "OPEN"]}, [FINE, WHOLE]),
        ({"category": "no such"}, []),
        ({"subcategory": "no such"}, []),
        ({"order_by": "start", "order_direction": "asc"}, [WHOLE, FINE]),
        ({"order_by": "start"}, [FINE, WHOLE]),
        ({"order_by": "reward_pool"}, [WHOLE, FINE]),
        ({"order_by": "reward_pool", "order_direction": "asc"}, [FINE, WHOLE]),
        ({"order_by": "market_slug"}, [WHOLE, FINE]),
        ({"order_by": "market_slug", "order_direction": "asc"}, [FINE, WHOLE]),
        ({"order_by": "event_start_time"}, [WHOLE, FINE]),
    ],
)
def test_programs_are_filtered_by_snake_case_parameters(
    retail: RetailWorld, params: dict[str, object], result: list[str]
) -> None:
    assert slugs(retail, **params) == result


@pytest.mark.parametrize(("direction", "sign"), [("desc", -1), ("asc", 1)])
def test_programs_can_be_sorted_by_the_start_of_their_events(
    retail: RetailWorld, direction: str, sign: int
) -> None:
    params = {"categories": "sports", "active": "true", "live": "false", "limit": 8}
    starts = dict.fromkeys((WHOLE, FINE), "2026-09-01T04:00:00Z")
    for event in retail.gateway.read("/v1/events", "events", **params):
        symbol = event["markets"][0]["slug"]
        starts[symbol] = event["startTime"]
        now = retail.now
        retail.core.incentives.add(
            Period(program_id=symbol, symbol=symbol, start=now, created=now, reward_pool=DOLLAR)
        )
    assert len(set(starts.values())) > 4
    params = {"order_by": "event_start_time", "order_direction": direction}
    result = retail.ann.read("/v1/incentives", "programs", **params)
    reported = {row["marketSlug"]: row["eventStartTime"] for row in result}
    assert reported == starts
    assert list(reported.values()) == sorted(starts.values())[::sign]


@pytest.mark.parametrize(
    "params",
    [
        {"order_by": "luck"},
        {"order_direction": "up"},
        {"statuses": "finished"},
        {"instrument_states": "AJAR"},
    ],
)
def test_impossible_filters_are_refused(retail: RetailWorld, params: dict[str, str]) -> None:
    assert retail.ann.get("/v1/incentives", params=params).status == 400


@pytest.mark.spec("S4.2-3", "S2.3-3", "S3.3-1")
def test_earnings_sum_a_market_and_a_date_and_are_paid_after_eastern_midnight(
    retail: RetailWorld,
) -> None:
    assert retail.ann.read("/v1/incentives/earnings") == {"rewards": []}
    incentives = retail.core.incentives
    account = retail.keys[0].account
    for amount, day, status in (
        (1, "2026-09-08", "PENDING"),
        (2, "2026-09-08", "PENDING"),
        (4, "2026-09-07", "PAID"),
        (8, "2026-09-06", "SKIPPED"),
    ):
        incentives.grant(
            Reward(account=account, symbol=WHOLE, date=day, amount=amount * DOLLAR, status=status)
        )
    rewards = retail.ann.read("/v1/incentives/earnings", "rewards")
    assert [(reward["date"], reward["reward"], reward["status"]) for reward in rewards] == [
        ("2026-09-08", 3, "PENDING"),
        ("2026-09-07", 4, "PAID"),
        ("2026-09-06", 8, "SKIPPED"),
    ]
    assert rewards[0]["programType"] == "liquidityProgram"
    narrowed = retail.ann.read(
        "/v1/incentives/earnings", "rewards", start_date="2026-09-07", end_date="2026-09-07"
    )
    assert [reward["reward"] for reward in narrowed] == [4]
    assert retail.ann.read("/v1/incentives/earnings", market_slug=FINE) == {"rewards": []}
    assert retail.bob.read("/v1/incentives/earnings") == {"rewards": []}
    assert (
        retail.ann.get("/v1/incentives/earnings", params={"start_date": "2026-02-30"}).status == 400
    )
    retail.advance_to("2026-09-09T00:00:00-04:00")
    assert retail.ann.read("/v1/incentives/earnings", "rewards", 0)["status"] == "PAID"


def test_what_is_paid_pending_and_skipped_of_a_day_is_one_entry(retail: RetailWorld) -> None:
    """Skipped rewards are no payouts: they count where there is nothing else."""
    incentives, account = retail.core.incentives, retail.keys[0].account
    for symbol, amount, status, kind in (
        (WHOLE, 1, "PAID", "liquidityProgram"),
        (WHOLE, 2, "PENDING", "liquidityProgram"),
        (WHOLE, 4, "SKIPPED", "liquidityProgram"),
        (WHOLE, 8, "PAID", "volumeProgram"),
        (FINE, 16, "SKIPPED", "liquidityProgram"),
        (FINE, 32, "SKIPPED", "liquidityProgram"),
    ):
        reward = Reward(
            account=account,
            symbol=symbol,
            date="2026-09-08",
            amount=amount * DOLLAR,
            status=status,
            program_type=kind,
        )
        incentives.grant(reward)

    def rows(**params: str) -> list[tuple[str, float, str]]:
        retail.advance("1s")  # five calls a second
        result = retail.ann.read("/v1/incentives/earnings", "rewards", **params)
        return [(row["marketSlug"], row["reward"], row["status"]) for row in result]

    total = [(FINE, 48, "SKIPPED"), (WHOLE, 11, "PENDING")]
    assert rows() == total
    assert rows(program_type="volumeProgram") == [(WHOLE, 8, "PAID")]
    assert rows(market_slug=FINE) == total[:1]
    assert rows(start_date="2026-09-08") == rows(end_date="2026-09-08") == total
    assert rows(start_date="2026-09-09") == rows(end_date="2026-09-07") == []
    wrong = {"start_date": "2026-09-08", "end_date": "2026-09-07"}
    assert retail.ann.get("/v1/incentives/earnings", params=wrong).status == 400
