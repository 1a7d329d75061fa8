"""Rules of money that are not tested elsewhere: weekly rebates of taker fees, and what ledger
entries are called.
"""

from __future__ import annotations

from datetime import date, timedelta
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState, LedgerEntryType, Side
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR, divide_half_even
from sim.kernel.instants import DAY, HOUR, Instant, eastern, eastern_date, parse_instant
from tests.core.test_liquidity_rewards import advance, entered
from tests.kit import Desk, begin
from tests.sessions import SESSIONS
from tests.trading_harness import Market

TAKER = "firms/retail/accounts/5c1e90d2"


def busy(volume: str = "", more: str = "") -> Desk:
    """The quickstart with a retail account that traded so many dollars in August."""
    entry = f', prior_volume: "{volume}"' if volume else ""
    return begin(
        f"name: busy\nextends: quickstart\n{more}world: {{games: 4, accounts: [{{name: {TAKER},"
        f' balance: "100000"{entry}}}]}}\n'
    )


def cash(world: Desk) -> int:
    """What the account has, in cash units."""
    return world.trading.ledger.balance(TAKER)


def pay_fees(world: Desk) -> int:
    """Buy from a resting order; the fee in cash units."""
    instrument = world.quiet(tick=1)
    assert world.keys[0].account == TAKER
    world.enter(instrument, "sell", 50, 1000)
    before = cash(world)
    world.retail_place(instrument, "BUY_LONG", 50, 1000)
    return before - cash(world) - 500 * DOLLAR


def rebates(world: Desk) -> list[str]:
    """Rebates among the activities of the account."""
    rows = world.activities("TAKER_FEE_REBATE")
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
    before = cash(world)
    world.advance_to("2026-09-14T00:00:00-04:00")
    expected = divide_half_even(fee * percent, 100 * CENT) * CENT
    assert rebates(world) == ([f"{expected / DOLLAR:.2f}".rstrip("0")] if expected else [])
    assert cash(world) == before + expected
    world.advance_to("2026-09-28T00:00:00-04:00")
    # nobody is paid twice, and a week without trades pays nothing
    assert len(rebates(world)) == bool(expected)
    assert world.trading.ledger.total() == 0


def test_p16_the_volume_of_a_month_counts_in_the_next_and_no_longer() -> None:
    world = busy("250000")
    for week in ("2026-09-28", "2026-10-12", "2026-10-26"):
        pay_fees(world)
        world.advance_to(f"{week}T00:00:00-04:00")
    # On the volume of August: the week of September 7, and the one that began on September 28 under
    # a new coefficient. 2,000 contracts are no tier in October.
    assert rebates(world) == ["1.74", "1.5"]


@pytest.mark.parametrize(
    ("traded", "expected"),
    [
        ("2026-09-30T23:59:59-04:00", ["6.95"]),
        ("2026-09-01T00:00:00-04:00", ["6.95"]),
        ("2026-08-31T23:59:59-04:00", []),
    ],
)
def test_p16_what_is_traded_in_a_month_counts_to_the_tier_of_the_next(
    traded: str, expected: list[str]
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
    assert rebates(world) == expected


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
    world: Desk, name: str
) -> None:
    assert {row["entryType"] for row in world.ledger("cash", entryTypes=name)} == {"DEPOSIT"}


@pytest.mark.parametrize(("choice", "status"), [("execution", 200), ("400", 400)])
def test_p4_how_retail_refuses_what_cannot_be_paid_is_a_switch(
    world: Desk, choice: str, status: int
) -> None:
    world.assume("retail.funds_refusal", choice)
    answer = world.retail_enter(world.quiet(), "BUY_LONG", 90, 1_000_000)
    assert answer.status == status
    if status == 200:
        assert world.retail_read(answer.json()["id"])["state"] == "ORDER_STATE_REJECTED"
    else:
        assert answer.json() == {"code": 3, "message": "You don't have enough funds", "details": []}
    assert world.customer().get("/v1/orders/open").json() == {"orders": []}


REASONS = [
    ("by_plane", "EXCHANGE_OPTION"),
    ("EXCHANGE_OPTION", "EXCHANGE_OPTION"),
    ("PRICE_OUT_OF_BOUNDS", "PRICE_OUT_OF_BOUNDS"),
]


@pytest.mark.parametrize(("choice", "reason"), REASONS)
def test_m5_what_a_price_outside_the_band_is_called_is_a_switch(
    world: Desk, choice: str, reason: str
) -> None:
    world.assume("price_band.reject_reason", choice)
    world.assume("orders.sync_reject", "async")
    instrument = world.quiet(tick=5)
    world.place(instrument, "buy", 40, price=str(instrument.price_high + instrument.tick))
    (row,) = world.search("executions", symbol=instrument.symbol)
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


# ---- rebates against a model that reads every trade

SUNDAY = parse_instant("2026-09-27T22:00:00-04:00")  # the next week is in two months
REFERENCE = "taker_fee_rebate:"
STEPS = ((2_000 * DOLLAR, 50), (300 * DOLLAR, 25), (5 * DOLLAR, 7))
ACCOUNTS = ("ann", "bob", "eve")
SCALES = {"M": (100, 1, 1), "FINE": (1000, 100, 5)}


class Deal(NamedTuple):
    """Somebody buys from somebody a few hours later; the trade may be busted."""

    hours: int
    symbol: str
    maker: int
    taker: int
    cents: int
    contracts: int
    busted: bool


def deals() -> st.SearchStrategy[list[Deal]]:
    item = st.builds(
        Deal,
        st.sampled_from((1, 30, 90, 170)),
        st.sampled_from(tuple(SCALES)),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(1, 99),
        st.sampled_from((7, 100, 900, 4000)),
        st.sampled_from((False, False, False, True)),
    )
    return st.lists(item, min_size=8, max_size=20)


def market_of_traders() -> Exchange:
    """An exchange with two open markets and three rich accounts."""
    exchange = Exchange(seed=1, now=SUNDAY)
    for symbol, (price_scale, qty_scale, tick) in SCALES.items():
        instrument = Instrument(
            symbol=symbol,
            price_scale=price_scale,
            qty_scale=qty_scale,
            tick=tick,
            price_low=tick,
            price_high=price_scale - tick,
            start=SUNDAY - DAY,
            expiration=SUNDAY + 400 * DAY,
            opening_state=InstrumentState.OPEN,
        )
        exchange.trading.listings.list_instrument(instrument)
    for account in ACCOUNTS:
        exchange.trading.open_account(account)
        exchange.trading.ledger.move(
            account, 10**6 * DOLLAR, LedgerEntryType.DEPOSIT, "", contra="house/funding"
        )
    exchange.rebates.change_steps(STEPS)
    return exchange


def trade(exchange: Exchange, deal: Deal) -> None:
    """Let an offer rest, and somebody else take it."""
    price_scale, qty_scale, _ = SCALES[deal.symbol]
    taker = (deal.maker + 1 + deal.taker % 2) % 3
    for account, side in ((deal.maker, Side.SELL), (taker, Side.BUY)):
        qty, price = deal.contracts * qty_scale, deal.cents * price_scale // 100
        entered(exchange, ACCOUNTS[account], side, price, qty, deal.symbol)
    exchange.flush()


class Traded(NamedTuple):
    """What counts of a trade."""

    at: Instant
    taker: str
    maker: str
    fee: Fraction
    dollars: Fraction


@SESSIONS
@given(script=deals(), before=st.sampled_from((0, 4, 5, 299, 300, 2000)))
def test_p16_rebates_are_those_of_somebody_who_reads_every_trade(
    script: list[Deal], before: int
) -> None:
    exchange = market_of_traders()
    exchange.rebates.note("ann", before * DOLLAR)
    ledger, trades, read = exchange.trading.ledger, exchange.trading.trades, list[Traded]()
    for deal in script:
        advance(exchange, exchange.now + deal.hours * HOUR)
        taker = ACCOUNTS[(deal.maker + 1 + deal.taker % 2) % 3]
        held = ledger.balance(taker)
        trade(exchange, deal)
        advance(exchange, exchange.now + 1)
        dollars = Fraction(deal.cents * deal.contracts, 100)
        fee = Fraction(held - ledger.balance(taker), DOLLAR) - dollars
        if deal.busted:
            exchange.trading.listings.bust(trades[len(trades) - 1].id)
            exchange.flush()
        else:
            at = trades[len(trades) - 1].at
            read.append(Traded(at, taker, ACCOUNTS[deal.maker], fee, dollars))
    advance(exchange, exchange.now + 15 * DAY)

    expected: dict[tuple[str, str], Fraction] = {}
    for week in range(-1, 60):
        monday = eastern_date(SUNDAY) + timedelta(days=1 + 7 * week)
        until = monday + timedelta(days=7)
        first = monday.replace(day=1)
        month = (first - timedelta(days=1)).replace(day=1)
        for account in ACCOUNTS:
            volume = Fraction(before if account == "ann" and month == date(2026, 8, 1) else 0)
            fees = Fraction(0)
            for item in read:
                if eastern(month) <= item.at < eastern(first):
                    volume += item.dollars * [item.taker, item.maker].count(account)
                if eastern(monday) <= item.at < eastern(until) and item.taker == account:
                    fees += item.fee
            percent = next((share for least, share in STEPS if volume * DOLLAR >= least), 0)
            if amount := round(fees * percent):
                date_paid = (until - timedelta(days=1)).isoformat()
                expected[account, REFERENCE + date_paid] = Fraction(amount, 100)
    paid = {
        (account, row.reference): Fraction(row.after - row.before, DOLLAR)
        for account in ACCOUNTS
        for row in ledger.entries(account)
        if row.reference.startswith(REFERENCE)
    }
    assert paid == expected
    event(f"{len(paid)} rebates")


def test_p16_a_week_without_rebates_is_not_paid_later() -> None:
    """They are switched on again in the middle of the next week, whose trades count from Monday."""
    world = busy("250000", "assumptions: {fees.taker_rebates: false}\n")
    pay_fees(world)
    world.advance_to("2026-09-13T23:00:00-04:00")
    pay_fees(world)
    world.advance_to("2026-09-15T00:00:00-04:00")
    pay_fees(world)
    world.assume("fees.taker_rebates", "true")
    world.advance("1h")
    pay_fees(world)
    world.advance_to("2026-09-21T00:00:00-04:00")
    assert rebates(world) == ["3"]
