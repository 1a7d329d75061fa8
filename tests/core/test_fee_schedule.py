"""A fee schedule of a scenario's own, to the cent, as clients see it: charges, rebates,
coefficients shown, and what is wrong with a file at line and column.

Every figure below was worked out by hand from coefficient x contracts x p x (1 - p), rounded to the
cent, half to even.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sim import load_scenario
from sim.core.model.quantities import CENT
from sim.run.client.client import Response
from sim.world.format.yaml_tree import ScenarioError
from tests.api.test_synchronous_orders import two
from tests.kit import Desk, begin, order, retail_order

WORLD = """
name: own-fees
extends: quickstart
clock: {start: 2026-09-08T14:00:00-04:00}
world:
  instruments:
    - {symbol: tst-a, tick_size: "0.01", state: OPEN, market_type: totals}
    - {symbol: oth-b, tick_size: "0.01", state: OPEN, market_type: totals}
    - {symbol: oth-c, tick_size: "0.01", state: OPEN, market_type: moneyline}
    - {symbol: oth-d, tick_size: "0.01", state: OPEN, fee_class: table_tennis}
    - {symbol: oth-e, tick_size: "0.01", state: OPEN, fee_class: table_tennis, market_type: totals}
fees:
  schedule:
"""
ROWS = """
    - {from: 2026-09-08T15:00:00-04:00, taker: "0.07", maker: "-0.02"}
    - {market_type: totals, taker: "0.10", maker: "0"}
    - {product: tst, market_type: totals, taker: "0.02"}
    - {fee_class: table_tennis, market_type: totals, taker: "0.04"}
    - {fee_class: table_tennis, taker: "0.05"}
"""


def world_of(rows: str) -> Desk:
    return begin(WORLD + rows)


def post(
    world: Desk, index: int, symbol: str, intent: str, cents: int, contracts: int, **more: Any
) -> Response:
    terms = {"synchronousExecution": True, **more}
    body = retail_order(world.instrument(symbol), intent, cents, contracts, **terms)
    answer = world.retail(two(world)[index]).post("/v1/orders", json=body)
    assert answer.status == 200, answer
    return answer


def commissions(answer: Response) -> list[str]:
    """Dollars charged by each fill of a synchronous answer."""
    fills = [
        execution for execution in answer.json()["executions"] if execution["type"].endswith("FILL")
    ]
    return [fill["commissionNotionalCollected"]["value"] for fill in fills]


def trade(world: Desk, symbol: str, cents: int, contracts: int) -> tuple[int, int]:
    """Cents that a trade costs its taker and its maker, off their cash."""
    ledger, accounts = world.trading.ledger, [key.account for key in two(world)]
    before = [ledger.balance(account) for account in accounts]
    post(world, 1, symbol, "SELL_LONG", cents, contracts)
    post(world, 0, symbol, "BUY_LONG", cents, contracts)
    taker, maker = (
        was - ledger.balance(account) for was, account in zip(before, accounts, strict=True)
    )
    principal = cents * contracts * CENT
    return (taker - principal) // CENT, (maker + principal) // CENT


@pytest.mark.parametrize(
    ("symbol", "advance", "taker", "maker"),
    [
        ("oth-c", "59m59s", 144, -30),  # 0.06 x 100 x 0.24, 0.0125 x 24: published
        ("oth-c", "1h", 168, -48),  # 0.07 x 24, 0.02 x 24
        ("oth-b", "1h", 240, 0),  # 0.10 x 24: the market type is narrower than the date
        ("tst-a", "1h", 48, 0),  # 0.02 x 24: product and type; the maker's is the type's
        ("oth-d", "1h", 120, -48),  # 0.05 x 24: the fee class is narrower than the date
        ("oth-e", "1h", 96, 0),  # 0.04 x 24: class and type are narrower than either
    ],
)
def test_the_narrowest_row_in_force_decides_each_coefficient(
    symbol: str, advance: str, taker: int, maker: int
) -> None:
    """P13."""
    world = world_of(ROWS)
    world.advance(advance)
    assert trade(world, symbol, 40, 100) == (taker, maker)


def test_every_surface_shows_the_coefficients_of_the_schedule() -> None:
    """P13: the market its taker's; orders of the retail API say 0, as recordings do."""
    world = world_of(ROWS)

    def view(symbol: str) -> float:
        market = world.gateway.get(f"/v1/market/slug/{symbol}").json()["market"]
        return float(market["feeCoefficient"])

    assert [view(symbol) for symbol in ("tst-a", "oth-b", "oth-c")] == [0.02, 0.10, 0.06]
    early = post(world, 0, "oth-c", "BUY_LONG", 10, 1).json()["id"]
    world.advance("1h")
    assert view("oth-c") == 0.07
    late = post(world, 0, "oth-c", "BUY_LONG", 11, 1).json()["id"]
    client = world.retail(two(world)[0])
    rows = [client.get(f"/v1/order/{order_id}").json()["order"] for order_id in (early, late)]
    assert [basis_points(row) for row in rows] == [("0", "0")] * 2


def basis_points(row: dict[str, Any]) -> tuple[str, str]:
    """What an order says of commissions, its taker's and its maker's."""
    return row["commissionsBasisPoints"], row["makerCommissionsBasisPoints"]


def test_the_exchange_shows_basis_points_as_the_retail_api_does() -> None:
    world = world_of(ROWS)
    instrument = world.instrument("oth-c")
    asked = {"request": order(instrument, "buy", 30, 10)}
    preview = world.trader().post("/v1/trading/orders/preview", json=asked).json()
    order_id = world.place(instrument, "buy", 30, 10)
    world.advance("2h")
    assert world.cancel(order_id).status == 200
    executions = world.search("executions", orderId=order_id)
    rows = [
        preview["previewOrder"],
        world.reported(order_id),
        *(execution["order"] for execution in executions),
    ]
    assert len(rows) == 4
    assert {basis_points(row) for row in rows} == {("600", "-125")}


def test_an_order_never_pays_more_than_the_cap_of_the_schedule() -> None:
    """P12: 0.07 x 30 x 0.25 = 0.525 is 0.52, half to even; of 0.07 x 200 x 0.25 = 3.50 the cap of
    two dollars leaves 1.48.
    """
    world = world_of('    - {taker: "0.07", cap: "2.00"}\n')
    for contracts in (30, 200, 10):
        post(world, 1, "oth-c", "SELL_LONG", 50, contracts)
    ledger, taker = world.trading.ledger, two(world)[0].account
    before = ledger.balance(taker)
    charged = commissions(post(world, 0, "oth-c", "BUY_LONG", 50, 240))
    assert charged == ["0.5200", "1.4800", "0.0000"]
    assert before - ledger.balance(taker) == (12_000 + 200) * CENT
    assert trade(world, "oth-c", 50, 1000)[0] == 200


@pytest.mark.parametrize(("cents", "state"), [(50_199, "REJECTED"), (50_200, "FILLED")])
def test_a_buyer_needs_no_more_than_the_cap_beside_the_price(cents: int, state: str) -> None:
    """P4: 0.07 x 1000 x 0.25 = 17.50 is cut to two dollars before the trade too."""
    world = world_of('    - {taker: "0.07", cap: "2.00"}\n')
    post(world, 1, "oth-c", "SELL_LONG", 50, 1000)
    account = two(world)[0].account
    power = world.trading.buying_power(account)
    world.operate("account.fund", account, amount=f"{cents / 100 - power / (100 * CENT):.2f}")
    answer = post(world, 0, "oth-c", "BUY_LONG", 50, 1000)
    assert answer.json()["executions"][-1]["order"]["state"] == f"ORDER_STATE_{state}"


@pytest.mark.parametrize(("more", "total"), [("", 9), (", cumulative: false", 10)])
def test_fills_of_one_order_are_rounded_together_unless_the_schedule_says_otherwise(
    more: str, total: int
) -> None:
    """P12: 0.0695 x 0.25 = 0.017375 five times is 0.09 together and 0.10 apart."""
    world = world_of(f'    - {{taker: "0.0695"{more}}}\n')
    for _ in range(5):
        post(world, 1, "oth-c", "SELL_LONG", 50, 1)
    charged = commissions(post(world, 0, "oth-c", "BUY_LONG", 50, 5))
    assert round(100 * sum(map(float, charged))) == total


def test_makers_may_pay_too_and_have_to_have_it() -> None:
    """0.03 x 200 x 0.25 = 1.50 for each side; an offer of 200 at 0.50 needs 100.00 and, as it never
    takes, the maker's fee.
    """
    world = world_of('    - {taker: "0.03", maker: "0.03"}\n')
    assert trade(world, "oth-c", 50, 200) == (150, 150)
    account = two(world)[1].account
    power = world.trading.buying_power(account)
    for dollars, state in ((101.49, "REJECTED"), (101.5, "NEW")):
        world.operate("account.fund", account, amount=f"{dollars - power / (100 * CENT):.2f}")
        power = round(dollars * 100) * CENT
        answer = post(world, 1, "oth-b", "BUY_SHORT", 50, 200, participateDontInitiate=True)
        assert answer.json()["executions"][0]["order"]["state"] == f"ORDER_STATE_{state}"


def test_a_schedule_survives_forks_journeys_and_its_own_text() -> None:
    world = world_of(ROWS)
    world.advance("1h")
    sim = world.simulation
    sim.snapshot("there")
    twin = Desk(sim.fork())
    assert trade(twin, "tst-a", 40, 100) == (48, 0)
    sim.restore("there")
    assert trade(world, "oth-c", 40, 100) == (168, -48)
    again = begin(sim.scenario.source() + "\n")
    again.advance("1h")
    assert trade(again, "oth-b", 40, 100) == (240, 0)
    sim.reset(seed=8)
    assert trade(Desk(sim), "oth-b", 40, 100) == (240, 0)


def test_a_file_on_top_of_another_adds_rows_and_has_the_last_word(tmp_path: Path) -> None:
    text = 'name: top\nextends: own\nfees: {schedule: [{market_type: totals, taker: "0.01"}]}\n'
    base = (WORLD + ROWS).replace("name: own-fees", "name: own")
    (tmp_path / "own.yaml").write_text(base)
    (tmp_path / "top.yaml").write_text(text)
    world = begin(str(tmp_path / "top.yaml"))
    assert trade(world, "oth-b", 40, 100) == (24, 0)
    assert trade(world, "tst-a", 40, 100) == (48, 0)


@pytest.mark.parametrize(
    ("row", "position", "text"),
    [
        (
            "{product: tst}",
            "14:7",
            "a row of fees needs at least one of taker, maker, tail, cap, cumulative",
        ),
        ('{taker: "-0.01"}', "14:15", "-0.01 is not between 0 and 1"),
        ('{taker: "0.06955"}', "14:15", "finer than 1/10000"),
        ('{maker: "1.5"}', "14:15", "1.5 is not between -1 and 1"),
        ('{cap: "1.005", taker: "0.1"}', "14:13", "finer than 1/100"),
        ("{cap: -1}", "14:13", "-1 is below zero"),
        ("{cumulative: maybe}", "14:20", "write true or false"),
        ("{from: yesterday, taker: 0.1}", "14:14", "expected an instant"),
        ("{takr: 0.1}", "14:8", "unknown key 'takr'; did you mean 'taker'?"),
        (
            "{taker: 0.1}\n    - {taker: 0.2}",
            "15:8",
            "line 14 gives taker for the same instruments from the same instant",
        ),
        (
            "{from: 2026-07-01, maker: 0}\n    - {from: 2026-07-01T00:00:00-04:00, maker: 0.1}",
            "15:41",
            "line 14 gives maker for the same instruments from the same instant",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(row: str, position: str, text: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        load_scenario(f"{WORLD}    - {row}\n")
    assert f"text:{position}: " in str(wrong.value) and text in str(wrong.value), str(wrong.value)


@pytest.mark.parametrize(
    ("steps", "text"),
    [
        ('[{volume: "1", percent: 101}]', "101 is not between 0 and 100"),
        ("[{percent: 1}]", "the key 'volume' is missing"),
    ],
)
def test_wrong_rebate_steps_are_told(steps: str, text: str) -> None:
    with pytest.raises(ScenarioError) as wrong:
        load_scenario(f"name: r\nextends: quickstart\nfees: {{rebates: {steps}}}\n")
    assert text in str(wrong.value), str(wrong.value)
