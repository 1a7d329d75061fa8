"""The incentive programs of the bundled world make sense to a reader (§2.3, §3.2)."""

from __future__ import annotations

import pytest

from sim.kernel.instants import HOUR, parse_instant
from sim.testing.client import Connection
from tests.journeys import key


@pytest.mark.spec("S4.2-1", "S3.2-1")
def test_periods_are_announced_before_now_and_follow_the_game(world: Connection) -> None:
    now = world.simulation.now
    programs = world.retail(key(world.simulation)).get("/v1/incentives").json()["programs"]
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
def test_rewards_come_from_programs_that_ran(world: Connection) -> None:
    seen = set()
    for one in world.simulation.exchange.firms.api_keys():
        client = world.retail(one)
        for reward in client.get("/v1/incentives/earnings").json()["rewards"]:
            seen.add(reward["status"])
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
    assert seen == {"PAID", "PENDING", "SKIPPED"}
