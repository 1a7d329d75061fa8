"""Collateral return as a partner sees it: a scenario switches it on, balances and refusals follow
(rule P8).
"""

from __future__ import annotations

from tests.journeys import enter
from tests.kit import Desk, begin

LADDER = """
name: ladder
extends: quickstart
world:
  accounts: [{name: firms/atlas-fcm/accounts/8f3a61c4, balance: "20", collateral_return: true}]
  instruments:
    - {symbol: above-1, event: reading, event_outcome: directional, line: "1", tick_size: "0.01", state: OPEN}
    - {symbol: above-2, event: reading, event_outcome: directional, line: "2.5", tick_size: "0.01", state: OPEN}
    - {symbol: above-3, event: reading, event_outcome: directional, line: "3", tick_size: "0.01", state: OPEN}
"""


def instrument(world: Desk, symbol: str) -> dict[str, object]:
    (result,) = world.partner.post("/v1/refdata/instruments", json={"symbols": [symbol]}).json()[
        "instruments"
    ]
    return result["eventAttributes"]


def balance(world: Desk, name: str) -> tuple[str, str]:
    result = (
        world.trader().post("/v1/positions/balance", json={"name": name, "currency": "USD"}).json()
    )
    return result["marginRequirement"], result["buyingPower"]


def hold(world: Desk, symbol: str, net: int) -> None:
    """The first participant comes by a position, the second one opposite."""
    listed = world.instrument(symbol)
    side, other = ("buy", "sell") if net > 0 else ("sell", "buy")
    for user, direction in ((1, other), (0, side)):
        entered = enter(
            world, listed, direction, 50, abs(net), user=user, participateDontInitiate=user == 1
        )
        assert entered.status == 200, entered


def test_p8_a_ladder_switched_on_for_one_account_covers_its_higher_shorts() -> None:
    world = begin(LADDER)
    assert instrument(world, "above-1")["eventOutcome"] == "EVENT_OUTCOME_DIRECTIONAL"
    mine = world.account()
    assert mine == "firms/atlas-fcm/accounts/8f3a61c4"
    hold(world, "above-2", 10)
    hold(world, "above-3", -6)
    margin, power = balance(world, mine)
    assert (margin, float(power) > 17) == ("0", True)
    world.simulation.snapshot("covered")
    hold(world, "above-1", -4)
    assert balance(world, mine)[0] == "4"
    world.simulation.restore("covered")
    assert balance(world, mine)[0] == "0"


def test_p8_is_off_unless_asked_for() -> None:
    world = begin(LADDER.replace(", collateral_return: true", ""))
    hold(world, "above-2", 10)
    hold(world, "above-3", -6)
    assert balance(world, world.account())[0] == "6"


def test_outcomes_of_the_default_world_say_how_they_hang_together() -> None:
    world = begin()
    rows = world.partner.post("/v1/refdata/instruments", json={"pageSize": 1000}).json()[
        "instruments"
    ]
    kinds = {row["eventAttributes"]["eventOutcome"] for row in rows}
    assert kinds == {
        "EVENT_OUTCOME_MUTUALLY_EXCLUSIVE",
        "EVENT_OUTCOME_DIRECTIONAL",
        "EVENT_OUTCOME_INDEPENDENT",
    }
