"""Rules of money that are not tested elsewhere: weekly rebates of taker fees, and what ledger
entries are called.
"""

from __future__ import annotations

import pytest

from sim import Simulation, load_scenario
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR, divide_half_even
from sim.testing.client import Connection, connect
from sim.testing.trading_harness import Market
from tests.journeys import firm, key, order, quiet, retail_order, trader

TAKER = "firms/retail/accounts/5c1e90d2"


def busy(volume: str = "", more: str = "") -> Connection:
    """The quickstart with a retail account that traded so many dollars in August."""
    entry = f', prior_volume: "{volume}"' if volume else ""
    return connect(
        Simulation(
            load_scenario(
                f"name: busy\nextends: quickstart\n{more}world: {{games: 4, accounts: [{{name: {TAKER},"
                f' balance: "100000"{entry}}}]}}\n'
            )
        )
    )


def pay_fees(world: Connection) -> int:
    """Buy from a resting order; the fee in cash units."""
    instrument = quiet(world.simulation, tick=1)
    client = world.retail(key(world.simulation))
    assert key(world.simulation).account == TAKER
    trader(world).post("/v1/trading/orders", json=order(instrument, "sell", 50, 1000))
    before = world.simulation.exchange.trading.ledger.balance(TAKER)
    placed = client.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 50, 1000))
    assert placed.status == 200, placed
    return before - world.simulation.exchange.trading.ledger.balance(TAKER) - 500 * DOLLAR


def rebates(world: Connection) -> list[str]:
    """Rebates among the activities of the account."""
    rows = (
        world.retail(key(world.simulation))
        .get("/v1/portfolio/activities", params={"types": "ACTIVITY_TYPE_TAKER_FEE_REBATE"})
        .json()["activities"]
    )
    return [row["accountBalanceChange"]["amount"]["value"] for row in rows]


TIERS = [
    ("", 0),
    ("249999.99", 0),
    ("250000", 10),
    ("1000000", 25),
    ("9999999", 25),
    ("10000000", 50),
]


@pytest.mark.spec("S2.8-5")
@pytest.mark.parametrize(("volume", "percent"), TIERS)
def test_p16_taker_fees_are_paid_back_weekly_by_the_volume_of_the_month_before(
    volume: str, percent: int
) -> None:
    world = busy(volume)
    fee = pay_fees(world)
    assert fee == 15 * DOLLAR  # 0.06 x 1000 x 0.25
    world.advance_to("2026-09-13T23:59:59-04:00")
    assert rebates(world) == []
    before = world.simulation.exchange.trading.ledger.balance(TAKER)
    world.advance_to("2026-09-14T00:00:00-04:00")
    wanted = divide_half_even(fee * percent, 100 * CENT) * CENT
    assert rebates(world) == ([f"{wanted / DOLLAR:.2f}".rstrip("0")] if wanted else [])
    assert world.simulation.exchange.trading.ledger.balance(TAKER) == before + wanted
    world.advance_to("2026-09-28T00:00:00-04:00")
    # nobody is paid twice, and a week without trades pays nothing
    assert len(rebates(world)) == bool(wanted)
    assert world.simulation.exchange.trading.ledger.total() == 0


def test_p16_the_volume_of_a_month_counts_in_the_next_and_no_longer() -> None:
    world = busy("250000")
    for week in ("2026-09-28", "2026-10-12", "2026-10-26"):
        pay_fees(world)
        world.advance_to(f"{week}T00:00:00-04:00")
    # On the volume of August: the week of September 7, and the one that began on September 28 under
    # a new coefficient. 2,000 contracts are no tier in October.
    assert rebates(world) == ["1.74", "1.5"]


@pytest.mark.parametrize(
    ("traded", "wanted"),
    [
        ("2026-09-30T23:59:59-04:00", ["6.95"]),
        ("2026-09-01T00:00:00-04:00", ["6.95"]),
        ("2026-08-31T23:59:59-04:00", []),
    ],
)
def test_p16_what_is_traded_in_a_month_counts_to_the_tier_of_the_next(
    traded: str, wanted: list[str]
) -> None:
    """500 dollars are the first tier: 40 % of 0.0695 x 1000 x 0.25."""
    world = busy(
        more=f"clock: {{start: '{traded}'}}\nfees: {{rebates: [{{volume: '500', percent: 40}}]}}\n"
    )
    pay_fees(world)
    world.advance_to("2026-10-05T00:00:01-04:00")
    assert rebates(world) == []
    pay_fees(world)
    world.advance_to("2026-10-12T00:00:00-04:00")
    assert rebates(world) == wanted


def test_p16_rebates_can_be_switched_off_and_survive_a_snapshot() -> None:
    world = busy("250000", "assumptions: {fees.taker_rebates: false}\n")
    pay_fees(world)
    world.advance_to("2026-09-14T00:00:00-04:00")
    assert rebates(world) == []

    world = busy("250000")
    pay_fees(world)
    world.advance("1h")
    world.simulation.snapshot("owed")
    for _ in range(2):
        world.advance_to("2026-09-14T00:00:00-04:00")
        world.forget_tokens()
        assert rebates(world) == ["1.5"]
        world.simulation.restore("owed")


@pytest.mark.spec("S4.3-17")
@pytest.mark.parametrize(
    "name", ["DEPOSIT", "LEDGER_ENTRY_TYPE_DEPOSIT", "LEDGER_ENTRY_TYPE_BALANCE_DEPOSIT"]
)
def test_p19_entry_types_are_bare_in_rest_answers_and_taken_with_either_prefix(
    world: Connection, name: str
) -> None:
    account = firm(world.simulation).users[0].account
    found = trader(world).get(
        "/v1/funding/balance-ledger", params={"account": account, "entryTypes": name}
    )
    assert found.status == 200, found
    assert {row["entryType"] for row in found.json()["entries"]} == {"DEPOSIT"}


@pytest.mark.parametrize(("choice", "status"), [("execution", 200), ("400", 400)])
def test_p4_how_retail_refuses_what_cannot_be_paid_is_a_switch(
    world: Connection, choice: str, status: int
) -> None:
    world.simulation.control("assumption.set", "retail.funds_refusal", {"value": choice})
    client = world.retail(key(world.simulation))
    instrument = quiet(world.simulation)
    answer = client.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 90, 1_000_000))
    assert answer.status == status
    if status == 200:
        assert (
            client.get(f"/v1/order/{answer.json()['id']}").json()["order"]["state"]
            == "ORDER_STATE_REJECTED"
        )
    else:
        assert answer.json() == {"status": 400, "message": "You don't have enough funds"}
    assert client.get("/v1/orders/open").json() == {"orders": []}


REASONS = [
    ("by_plane", "EXCHANGE_OPTION"),
    ("EXCHANGE_OPTION", "EXCHANGE_OPTION"),
    ("PRICE_OUT_OF_BOUNDS", "PRICE_OUT_OF_BOUNDS"),
]


@pytest.mark.parametrize(("choice", "reason"), REASONS)
def test_m5_what_a_price_outside_the_band_is_called_is_a_switch(
    world: Connection, choice: str, reason: str
) -> None:
    world.simulation.control("assumption.set", "price_band.reject_reason", {"value": choice})
    world.simulation.control("assumption.set", "orders.sync_reject", {"value": "async"})
    instrument = quiet(world.simulation, tick=5)
    above = instrument.price_high + instrument.tick
    assert (
        trader(world)
        .post("/v1/trading/orders", json=order(instrument, "buy", 40, 1) | {"price": str(above)})
        .status
        == 200
    )
    (row,) = (
        trader(world)
        .post("/v1/report/executions/search", json={"symbol": instrument.symbol})
        .json()["executions"]
    )
    assert (row["type"], row["orderRejectReason"]) == (
        "EXECUTION_TYPE_REJECTED",
        f"ORD_REJECT_REASON_{reason}",
    )


@pytest.mark.parametrize(("choice", "survivor"), [("newest_first", 0), ("oldest_first", 1)])
def test_p5_which_of_two_orders_goes_when_money_runs_out_is_a_switch(
    choice: str, survivor: int
) -> None:
    market = Market(Instrument(symbol="A"), Instrument(symbol="B"))
    market.ctx.assumptions.change("risk.auto_cancel_order", choice)
    market.ctx.assumptions.change("fees.taker_theta", 0)
    market.fund("me", 10 * DOLLAR)
    orders = [market.buy("me", 10, 50, symbol="B") for _ in range(2)]
    market.buy("me", 10, 50, symbol="A")
    market.sell("you", 10, 50, symbol="A")
    assert [market.now(placed).live for placed in orders] == [
        index == survivor for index in range(2)
    ]
