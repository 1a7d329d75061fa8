"""Liquidity and volume programs, scored from quotes and trades, as their participants see them;
held against a scorer that looks every single second.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sim.core.exchange import Exchange
from sim.core.incentives import scoring
from sim.core.incentives.incentives import Period
from sim.core.model.commands import CancelOrder, PlaceOrder
from sim.core.model.enums import Channel, InstrumentState, LedgerEntryType, Side, TimeInForce
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR
from sim.kernel.instants import DAY, HOUR, NS_PER_MS, NS_PER_S, eastern_date, parse_instant
from sim.run.client.client import Http
from sim.world.format.yaml_tree import ScenarioError
from tests.api.test_synchronous_orders import two
from tests.kit import Desk, begin, retail_order

START = parse_instant("2026-09-08T23:58:00-04:00")
MIDNIGHT = parse_instant("2026-09-09T00:00:00-04:00")
ACCOUNTS = ("ann", "bob", "eve")

# ---- against a naive scorer


class Deed(NamedTuple):
    """Somebody's order, the end of one (`price` 0: the oldest), or a market that halts or opens
    again (`account` "").
    """

    after: int  # milliseconds
    account: str
    side: Side
    price: int
    qty: int


class Terms(NamedTuple):
    """A liquidity period of the market, in seconds after the start."""

    begins: int
    lasts: int | None
    factor: str | None
    target: int | None
    spread: str | None
    pool: int


def deeds() -> st.SearchStrategy[list[Deed]]:
    after = st.sampled_from((0, 0, 1, 400, 1000, 1700, 9_000, 30_000))
    somebody = st.sampled_from((*ACCOUNTS * 3, ""))
    return st.lists(
        st.builds(
            Deed,
            after,
            somebody,
            st.sampled_from((Side.BUY, Side.SELL)),
            st.integers(0, 12),
            st.integers(1, 9),
        ),
        min_size=8,
        max_size=30,
    )


def terms() -> st.SearchStrategy[Terms]:
    return st.builds(
        Terms,
        st.sampled_from((-3600, 0, 7, 60)),
        st.sampled_from((None, 100, 500, 86_400)),
        st.sampled_from((None, "1", "0.9", "0.35", "0.1", "0")),
        st.sampled_from((None, 0, 1, 6)),
        st.sampled_from((None, None, "0.025", "0.5")),
        st.integers(1000, 5000),
    )


def bare() -> Exchange:
    """An exchange with one open market of thirteen ticks and three rich accounts."""
    exchange = Exchange(seed=1, now=START)
    exchange.ctx.assumptions.change("incentives.minimum_payout", 0)
    instrument = Instrument(
        symbol="M",
        price_scale=100,
        tick=1,
        expiration=START + 90 * DAY,
        start=START - DAY,
        opening_state=InstrumentState.OPEN,
    )
    exchange.trading.listings.list_instrument(instrument)
    for account in ACCOUNTS:
        exchange.trading.open_account(account)
        exchange.trading.ledger.move(
            account, 10_000 * DOLLAR, LedgerEntryType.DEPOSIT, "", contra="house/funding"
        )
    return exchange


def advance(exchange: Exchange, to: int) -> None:
    """Let time pass as a simulation does."""
    timers = exchange.ctx.timers
    while True:
        exchange.scoring.time_moves(min(to, timers.next_due() or to))
        if (timer := timers.pop_due(to)) is None:
            break
        exchange.ctx.now = timer.due
        exchange.timers[timer.kind](timer)
        exchange.flush()
    exchange.ctx.now = to


def entered(
    exchange: Exchange, account: str, side: Side, price: int, qty: int, symbol: str = "M"
) -> None:
    """Let an account enter an order, good till canceled."""
    command = PlaceOrder(
        symbol=symbol,
        account=account,
        participant=account,
        side=side,
        qty=qty,
        price=price,
        tif=TimeInForce.GOOD_TILL_CANCEL,
        channel=Channel.SCRIPT,
        deferred=True,
    )
    exchange.trading.order_service.enter(command)


def do(exchange: Exchange, move: Deed) -> None:
    trading = exchange.trading
    if not move.account:
        halted = trading.state("M") is InstrumentState.HALTED
        trading.listings.change_state(
            "M", InstrumentState.OPEN if halted else InstrumentState.HALTED
        )
    elif trading.state("M") is InstrumentState.OPEN:
        mine = trading.orders.open_of((move.account,))
        if not move.price and mine:
            trading.order_service.cancel(CancelOrder(accounts=(move.account,), order_id=mine[0].id))
        elif move.price:
            entered(exchange, move.account, move.side, 44 + move.price, move.qty)
    exchange.flush()


def looked(exchange: Exchange, period: Period, *, reached: bool) -> Iterator[tuple[str, Fraction]]:
    """Who earns what part of one at this moment, straight from the rule."""
    if exchange.trading.state("M") is not InstrumentState.OPEN:
        return
    orders = [
        order for order in exchange.trading.orders.all() if order.live and order.symbol == "M"
    ]
    bids = sorted(
        (order for order in orders if order.side is Side.BUY), key=lambda order: -order.price
    )
    offers = sorted(
        (order for order in orders if order.side is Side.SELL), key=lambda order: order.price
    )
    if period.max_spread is not None:
        gap = Fraction(offers[0].price - bids[0].price, 100) if bids and offers else None
        if gap is None or gap > 2 * Fraction(period.max_spread):
            return
    for side in (bids, offers):
        if not side:
            continue
        counted, observed = [], 0
        for price in dict.fromkeys(order.price for order in side):
            if period.target_size is not None and observed >= period.target_size and counted:
                break
            level = [order for order in side if order.price == price]
            counted += level
            observed += sum(order.leaves_qty for order in level)
        if reached and period.target_size is not None and observed < period.target_size:
            continue
        scores = [
            (
                order.account,
                Fraction(period.discount_factor or "1") ** abs(order.price - side[0].price)
                * order.leaves_qty,
            )
            for order in counted
        ]
        total = sum(score for _, score in scores)
        yield from ((account, score / total) for account, score in scores)


@settings(max_examples=60, deadline=None)
@given(deeds(), terms(), st.booleans(), st.sampled_from(("by_score", "by_second")))
def test_rewards_are_those_of_somebody_who_looks_every_second(
    script: list[Deed], value: Terms, reached: bool, split: str
) -> None:
    """P16."""
    exchange = bare()
    exchange.ctx.assumptions.change("incentives.target_qualifies", reached)
    exchange.ctx.assumptions.change("incentives.split", split)
    start = START + value.begins * NS_PER_S
    end = None if value.lasts is None else START + value.lasts * NS_PER_S
    if end is not None and end <= start:
        end = start + NS_PER_S
    period = Period(
        program_id="p",
        symbol="M",
        start=start,
        end=end,
        created=START,
        reward_pool=value.pool * DOLLAR,
        discount_factor=value.factor,
        target_size=value.target,
        max_spread=value.spread,
    )
    exchange.incentives.add(period)

    scores: dict[str, dict[str, Fraction]] = {}
    moment, last = START, MIDNIGHT + 60 * NS_PER_S
    for move in (*script, None):
        due = last if move is None else min(last, moment + move.after * NS_PER_MS)
        while moment < due:
            if moment % NS_PER_S == 0 and start <= moment and (end is None or moment < end):
                date = scores.setdefault(eastern_date(moment).isoformat(), {})
                for account, share in looked(exchange, period, reached=reached):
                    date[account] = date.get(account, Fraction(0)) + share
            moment = min(due, moment - moment % NS_PER_S + NS_PER_S)
        advance(exchange, due)
        if move is not None:
            do(exchange, move)

    advance(exchange, last + 2 * DAY)
    result = {
        (reward.date, account): reward.amount
        for account in ACCOUNTS
        for reward in exchange.incentives.rewards(account)
    }
    first = {key: amount for key, amount in result.items() if key[0] == "2026-09-08"}
    until = MIDNIGHT if end is None else min(MIDNIGHT, end)
    expected = scores.get("2026-09-08", {})
    length = DAY if end is None else end - start
    began = max(start, parse_instant("2026-09-08T00:00:00-04:00"))
    part = Fraction(period.reward_pool * max(0, until - began), length)
    total = (
        sum(expected.values())
        if split == "by_score"
        else 2 * Fraction(max(0, until - began), NS_PER_S)
    )
    for account in ACCOUNTS:
        exact = part * expected.get(account, Fraction(0)) / total if total else Fraction(0)
        assert abs(first.get(("2026-09-08", account), 0) - exact) <= CENT + 1, (
            account,
            float(exact) / DOLLAR,
            first,
        )
    assert sum(first.values()) <= part
    event(f"{len(first)} of three earn something")
    if end is not None:
        assert sum(result.values()) <= period.reward_pool


class Taken(NamedTuple):
    """Somebody takes another's offer a while later; the trade may be busted at once."""

    after: int  # minutes
    taker: str
    maker: str
    price: int
    qty: int
    busted: bool


def takings() -> st.SearchStrategy[list[Taken]]:
    pairs = st.permutations(ACCOUNTS).map(lambda result: result[:2])
    item = st.builds(
        lambda after, pair, price, qty, busted: Taken(after, pair[0], pair[1], price, qty, busted),
        st.sampled_from((0, 1, 2, 7, 200, 700, 1500)),
        pairs,
        st.sampled_from((2, 3, 50, 97, 98)),
        st.sampled_from((1, 40, 150, 700)),
        st.sampled_from((False, False, False, True)),
    )
    return st.lists(item, min_size=4, max_size=14)


@settings(max_examples=40, deadline=None)
@given(
    script=takings(),
    begins=st.sampled_from((-3600, 0, 60, 120, 3600)),
    lasts=st.sampled_from((None, 60, 7200, 86_400, 200_000)),
    least=st.sampled_from((None, 0, 20, 75)),
)
def test_takers_are_rewarded_as_somebody_who_reads_every_trade_would(
    script: list[Taken], begins: int, lasts: int | None, least: int | None
) -> None:
    """P16: each Eastern date has its part of the pool, for the takers who reach the minimum."""
    exchange = bare()
    start = START + begins * NS_PER_S
    end = None if lasts is None else start + lasts * NS_PER_S
    period = Period(
        program_id="v",
        symbol="M",
        start=start,
        end=end,
        created=START,
        reward_pool=1000 * DOLLAR,
        program_type="volumeProgram",
        min_taker_notional=least,
    )
    exchange.incentives.add(period)
    trading, read = exchange.trading, list[tuple[int, str, int]]()
    for taken in script:
        advance(exchange, exchange.ctx.now + taken.after * 60 * NS_PER_S)
        before = len(trading.trades)
        for account, side in ((taken.maker, Side.SELL), (taken.taker, Side.BUY)):
            entered(exchange, account, side, taken.price, taken.qty)
            exchange.flush()
        advance(exchange, exchange.ctx.now)
        assert len(trading.trades) == before + 1
        trade = trading.trades[before]
        if taken.busted:
            trading.listings.bust(trade.id)
            exchange.flush()
        elif 3 <= taken.price <= 97:
            read.append((trade.at, taken.taker, taken.price * taken.qty))  # in cents
    advance(exchange, exchange.ctx.now + 9 * DAY)

    expected = {}
    first = parse_instant("2026-09-08T00:00:00-04:00")
    for day in range(40):
        midnight, after = first + day * DAY, first + (day + 1) * DAY
        low, high = max(midnight, start), after if end is None else min(after, end)
        volume: dict[str, int] = {}
        for at, account, cents in read:
            if low <= at < high:
                volume[account] = volume.get(account, 0) + cents
        minimum = 100 * (500 if least is None else least)
        volume = {account: cents for account, cents in volume.items() if cents >= minimum}
        length = DAY if end is None else end - start
        for account, cents in volume.items():
            amount = Fraction(100_000 * (high - low), length) * cents / sum(volume.values())
            if int(amount):
                expected[eastern_date(midnight).isoformat(), account] = int(amount)
    result = {
        (reward.date, account): reward.amount // CENT
        for account in ACCOUNTS
        for reward in exchange.incentives.rewards(account)
    }
    assert result == expected
    event(f"{len(result)} rewards")


# ---- as participants see them

WORLD = """
name: rewards
extends: quickstart
clock: {start: 2026-09-08T22:00:00-04:00}
world:
  instruments: [{symbol: tst-m, tick_size: "0.01", state: OPEN, event: my-game, sports_market_type: basketball_team_full_game_winner, long: home}]
  incentives:
    - symbol: tst-m
      periods: [PERIOD]
"""
LIQUID = (
    "{program_id: tst_early, start: 2026-09-08T22:00:00-04:00, end: 2026-09-09T02:00:00-04:00,"
    ' reward_pool: "400", discount_factor: "0.5", target_size: 10'
)
VOLUME = (
    "{program_id: tst_volume, program_type: volumeProgram, start: 2026-09-08T22:00:00-04:00, end:"
    ' 2026-09-09T00:00:00-04:00, reward_pool: "90"'
)


def world_of(period: str = LIQUID + "}", more: str = "") -> Desk:
    return begin(WORLD.replace("PERIOD", period) + more)


def clients(world: Desk) -> list[Http]:
    return [world.retail(result) for result in two(world)]


def bid(client: Http, cents: int, contracts: int, intent: str = "BUY_LONG") -> str:
    """The id of a customer's order."""
    body = retail_order(Instrument(symbol="tst-m"), intent, cents, contracts)
    answer = client.post("/v1/orders", json=body)
    assert answer.status == 200, answer
    return str(answer.json()["id"])


def balances(world: Desk) -> list[float]:
    """What the customers have, in dollars."""
    answers = (client.get("/v1/account/balances").json() for client in clients(world))
    return [row["currentBalance"] for answer in answers for row in answer["balances"]]


def payouts(client: Http) -> list[dict[str, Any]]:
    """The activities by which rewards were paid."""
    params = {"types": "ACTIVITY_TYPE_LIQUIDITY_PROGRAM"}
    answer = client.get("/v1/portfolio/activities", params=params)
    return list(answer.json()["activities"])


def earnings(client: Http) -> list[tuple[str, float, str]]:
    rows = client.get("/v1/incentives/earnings", params={"market_slug": "tst-m"}).json()["rewards"]
    return [(row["date"], row["reward"], row["status"]) for row in rows]


def first_day(world: Desk, *rewards: float) -> None:
    """Let the first date end; each customer has such a reward of it to come, or none."""
    world.advance_to(MIDNIGHT)
    for client, reward in zip(clients(world), rewards, strict=False):
        assert earnings(client) == ([("2026-09-08", reward, "PENDING")] if reward else [])


@pytest.mark.spec("S3.3-1", "S4.2-3", "S2.3-3")
def test_quotes_earn_by_size_and_closeness_each_eastern_date_and_are_paid_the_next_day() -> None:
    """P16. Bids of 30 at 0.40 and 20 at 0.39 score 30 and 10; an offer alone has its side: shares
    0.75 + 1 and 0.25 of the 200 dollars of two of four hours.
    """
    world = world_of(LIQUID.replace("10", "40") + "}")
    ann, bob = clients(world)
    bid(ann, 40, 30)
    bid(bob, 39, 20)
    bid(ann, 60, 40, "BUY_SHORT")
    before = balances(world)
    first_day(world, 175, 25)
    world.advance_to("2026-09-09T02:00:00-04:00")
    assert earnings(bob) == [("2026-09-09", 25, "PENDING"), ("2026-09-08", 25, "PENDING")]
    world.advance_to("2026-09-09T12:00:00-04:00")
    assert earnings(bob) == [("2026-09-09", 25, "PENDING"), ("2026-09-08", 25, "PAID")]
    after = balances(world)
    assert [round(new - old, 2) for new, old in zip(after, before, strict=True)] == [175, 25]
    (row,) = payouts(bob)
    assert row["accountBalanceChange"]["amount"]["value"] == "25"
    world.advance_to("2026-09-11T12:00:00-04:00")
    # the period is over
    assert earnings(bob) == [("2026-09-09", 25, "PAID"), ("2026-09-08", 25, "PAID")]
    assert world.trading.ledger.total() == 0


def test_a_quote_that_rests_over_midnight_earns_for_each_date_its_own_seconds() -> None:
    """P16: of the second date one hour alone and one of two, so three quarters of its half."""
    world = world_of()
    ann, bob = clients(world)
    bid(ann, 40, 30)
    world.advance_to("2026-09-09T01:00:00-04:00")
    bid(bob, 40, 30)
    world.advance_to("2026-09-09T02:00:00-04:00")
    assert earnings(ann) == [("2026-09-09", 150, "PENDING"), ("2026-09-08", 200, "PENDING")]
    assert earnings(bob) == [("2026-09-09", 50, "PENDING")]


@pytest.mark.spec("S3.3-1")
@pytest.mark.parametrize(
    ("after", "paid"),
    [
        ("12h", "2026-09-09T12:00:00-04:00"),
        ("0s", "2026-09-09T00:00:00-04:00"),
        ("168h", "2026-09-16T00:00:00-04:00"),
    ],
)
def test_how_long_after_its_date_a_reward_is_paid_is_a_switch(after: str, paid: str) -> None:
    """P16: on the nanosecond, with the status, the activity and the balance in step."""
    world = world_of(more=f"assumptions: {{incentives.pay_after: {after}}}\n")
    ann = clients(world)[0]
    bid(ann, 40, 10)

    def noticed() -> tuple[str, int, float]:
        statuses = {date: status for date, _, status in earnings(ann)}
        paid_out = payouts(ann)
        return statuses.get("2026-09-08", ""), len(paid_out), balances(world)[0]

    start = noticed()[2]
    world.advance_to(parse_instant(paid) - 1)
    assert noticed() == ("" if after == "0s" else "PENDING", 0, start)
    world.advance_to(paid)
    assert noticed()[:2] == ("PAID", 1)
    assert round(noticed()[2] - start, 2) == 200


@pytest.mark.parametrize("steps", [("30m",), ("7m", "11m", "1s", "11m59s")])
def test_a_quote_earns_for_the_seconds_it_rests(steps: tuple[str, ...]) -> None:
    """A bid that rests for half an hour beside an equal one of two hours: 0.5 x 0.25 of the time,
    and the rest of the side is the other's, in however many steps the time passes.
    """
    world = world_of()
    ann, bob = clients(world)
    bid(ann, 40, 10)
    order_id = bid(bob, 40, 10)
    for step in steps:
        world.advance(step)
    assert bob.post(f"/v1/order/{order_id}/cancel", json={"marketSlug": "tst-m"}).status == 200
    first_day(world, 175, 25)


@pytest.mark.parametrize(("split", "reward"), [("by_score", 200), ("by_second", 50)])
def test_what_seconds_without_quotes_are_worth(split: str, reward: float) -> None:
    """One side for one of two hours is all that scored, and a quarter of what could have."""
    world = world_of(more=f"assumptions: {{incentives.split: {split}}}\n")
    world.advance("1h")
    bid(clients(world)[0], 40, 10)
    first_day(world, reward)


def test_below_a_dollar_a_reward_is_skipped() -> None:
    world = world_of(LIQUID.replace('"400"', '"3.96"') + "}")
    ann, bob = clients(world)
    bid(ann, 40, 10)
    bid(bob, 40, 10)
    world.advance_to("2026-09-10T00:00:00-04:00")
    assert earnings(ann) == [("2026-09-09", 0.99, "SKIPPED"), ("2026-09-08", 0.99, "SKIPPED")]
    assert payouts(ann) == []


@pytest.mark.parametrize(("spread", "earns"), [("0.10", True), ("0.095", False)])
def test_a_spread_of_exactly_twice_the_half_width_passes(spread: str, earns: bool) -> None:
    world = world_of(f'{LIQUID}, max_spread: "{spread}"}}')
    ann = clients(world)[0]
    bid(ann, 40, 10)
    bid(ann, 60, 10, "BUY_SHORT")
    world.advance_to("2026-09-09T00:00:00-04:00")
    assert bool(earnings(ann)) is earns


def test_a_side_below_the_target_size_earns_nothing_and_levels_beyond_it_neither() -> None:
    """Nine bids are too few; of 4, 7 and 50 at three prices the first two levels hold ten, so the
    third is not looked at: 4 to 3.5.
    """
    world = world_of()
    ann, bob = clients(world)
    bid(ann, 60, 9, "BUY_SHORT")
    bid(ann, 40, 4)
    bid(bob, 39, 7)
    bid(ann, 38, 50)
    first_day(world, 106.66, 93.33)


def test_a_halted_market_earns_nobody_anything_and_firms_earn_like_anybody() -> None:
    world = world_of()
    client = world.trader()
    world.place(world.instrument("tst-m"), "buy", 40, 10)
    world.move("tst-m", "HALTED")
    world.advance_to("2026-09-09T00:00:00-04:00")
    assert client.get("/v1/incentives/earnings").json()["rewards"] == []
    world.move("tst-m", "OPEN")
    world.advance_to("2026-09-09T02:00:00-04:00")
    rows = client.get("/v1/incentives/earnings").json()["rewards"]
    assert [(row["date"], row["reward"], row["marketSlug"]) for row in rows] == [
        ("2026-09-09", 200, "tst-m")
    ]


def test_a_cancelled_market_pays_nothing_any_more_even_if_it_opens_again() -> None:
    world = world_of()
    ann = clients(world)[0]
    bid(ann, 40, 10)
    world.advance_to("2026-09-09T00:30:00-04:00")
    assert earnings(ann) == [("2026-09-08", 200, "PENDING")]
    world.operate("event.update", "my-game", result="abandoned", ended=True)
    world.move("tst-m", "OPEN")
    bid(ann, 40, 10)
    world.advance_to("2026-09-10T12:00:00-04:00")
    assert earnings(ann) == [("2026-09-08", 200, "SKIPPED")]


@pytest.mark.parametrize("quoted", [True, False])
def test_a_market_cancelled_right_after_a_quote_pays_nothing_when_it_opens_again(
    quoted: bool,
) -> None:
    """The quote is not looked at before the second is over, and then the program has ended."""
    world = world_of()
    ann = clients(world)[0]
    if quoted:
        bid(ann, 40, 10)
    world.operate("event.update", "my-game", result="abandoned", ended=True)
    world.move("tst-m", "OPEN")
    bid(ann, 40, 10)
    world.advance_to("2026-09-10T12:00:00-04:00")
    assert earnings(ann) == []


@pytest.mark.parametrize("later", ["0s", "1h"])
def test_a_quote_earns_from_its_second_on_after_a_restore_too(later: str) -> None:
    world = world_of()
    bid(clients(world)[0], 40, 10)
    world.simulation.snapshot("quoted")
    world.advance(later)
    world.simulation.restore("quoted")
    first_day(world, 200)


def test_takers_share_a_volume_pool_from_the_smallest_turnover_on() -> None:
    """500 contracts at 0.50 and 250 at 0.50 are 250 and 125 dollars, two thirds and one third; at
    0.02 nothing counts, nor below the least.
    """
    world = world_of(VOLUME + ", min_taker_notional: 100}")
    ann, bob = clients(world)
    for price, contracts in ((50, 900), (2, 900)):
        world.place(world.instrument("tst-m"), "sell", price, contracts)
        bid(ann, price, 500)
        bid(bob, price, 250)
        bid(bob, price, 50, "SELL_LONG") if price == 2 else None
    first_day(world, 60, 30)


@pytest.mark.parametrize(
    ("minimum", "cents", "contracts", "rewarded"),
    [
        # §9: trades priced between 0.03 and 0.97, and at least 500 USD of them as a taker.
        (None, 50, 1000, True),
        (None, 50, 999, False),
        (None, 3, 16_667, True),
        (None, 3, 16_666, False),
        (None, 2, 30_000, False),
        (None, 97, 516, True),
        (None, 97, 515, False),
        (None, 98, 600, False),
        # A program may have a minimum of its own.
        (40, 50, 80, True),
        (40, 50, 79, False),
        (600, 50, 1199, False),
        (600, 50, 1200, True),
        (0, 3, 1, True),
    ],
)
def test_a_taker_earns_from_the_minimum_on_at_prices_that_count(
    minimum: int | None, cents: int, contracts: int, rewarded: bool
) -> None:
    own = "" if minimum is None else f", min_taker_notional: {minimum}"
    world = world_of(f"{VOLUME}{own}}}")
    ann, bob = clients(world)
    for result in two(world):
        world.operate("account.fund", result.account, amount="50000")
    bid(bob, cents, contracts, "BUY_SHORT")
    bid(ann, cents, contracts)
    first_day(world, 90 * rewarded, 0)


@pytest.mark.parametrize(
    ("best", "next_best", "scores"),
    [
        # Of a side, the levels count from the best price until they hold the target size, 10.
        (9, 1, [9, 0.5]),
        (9, 5, [9, 2.5]),
        (10, 5, [10, 0]),
        (11, 5, [11, 0]),
        # A side below the target size earns nothing.
        (9, 0, [0, 0]),
        (4, 5, [0, 0]),
        (4, 6, [4, 3]),
    ],
)
@pytest.mark.parametrize("cents", [40, 60], ids=["bids", "offers"])
def test_levels_count_from_the_best_price_until_they_hold_the_target_size(
    best: int, next_best: int, scores: list[float], cents: int
) -> None:
    world = world_of()
    ann, bob = clients(world)
    intent = "BUY_LONG" if cents == 40 else "BUY_SHORT"
    bid(ann, cents, best, intent)
    if next_best:
        bid(bob, cents - 1 if cents == 40 else cents + 1, next_best, intent)
    total = sum(scores) or 1
    first_day(world, *(int(score / total * 20_000) / 100 for score in scores))


def test_scoring_can_be_left_to_the_scenario() -> None:
    more = "assumptions: {incentives.scored: false}\n"
    reward = (
        '      rewards: [{account: ACCOUNT, date: 2026-09-08, reward: "7.50", status: PENDING}]\n'
    )
    account = two(world_of())[0].account
    text = WORLD.replace("PERIOD", LIQUID + "}") + reward.replace("ACCOUNT", account) + more
    world = begin(text)
    ann = clients(world)[0]
    bid(ann, 40, 10)
    world.advance_to("2026-09-10T12:00:00-04:00")
    assert earnings(ann) == [("2026-09-08", 7.5, "PAID")]


def test_points_survive_a_snapshot_and_a_fork() -> None:
    world = world_of()
    bid(clients(world)[0], 40, 10)
    world.advance("1h")
    world.simulation.snapshot("half")
    twin = Desk(world.simulation.fork())
    for item in (world, twin):
        bid(clients(item)[1], 40, 10)
        first_day(item, 150, 50)
    world.simulation.restore("half")
    first_day(world, 200, 0)


def test_nothing_is_looked_at_while_nothing_happens() -> None:
    """A quiet day of quotes costs one timer for the date and one for the period, not eighty
    thousand looks.
    """
    world = world_of(LIQUID.replace("2026-09-09T02", "2026-09-09T22") + "}")
    bid(clients(world)[0], 40, 10)
    periods = world.core.incentives.periods
    scored = [
        timer
        for _ in range(24)
        for timer in world.simulation.advance_to(world.now + HOUR).fired
        if timer.timer == "incentive.score" and periods[int(timer.subject)].symbol == "tst-m"
    ]
    assert len(scored) == 2


def test_a_book_is_looked_at_once_a_second_however_often_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []
    real = scoring.shares
    monkeypatch.setattr(
        scoring,
        "shares",
        lambda book, period, *, needs_target: (
            looks.append(book.version) or real(book, period, needs_target=needs_target)
        ),
    )
    world = world_of()
    ann = clients(world)[0]
    world.advance("10s")
    looks.clear()
    for moment in range(12):
        bid(ann, 30 + moment, 10)
        world.advance("300ms")
    assert len(looks) == 4  # twelve changes in 3.6 seconds
    world.advance("3h")
    assert len(looks) == 5  # what the last change left, for three hours
    assert earnings(ann) == [("2026-09-08", 200, "PENDING")]


@pytest.mark.parametrize(
    ("change", "text"),
    [('discount_factor: "1.1"', "not between 0 and 1"), ('max_spread: "-1"', "below zero")],
)
def test_a_program_that_makes_no_sense_is_told(change: str, text: str) -> None:
    period = LIQUID.replace('discount_factor: "0.5"', change) + "}"
    with pytest.raises(ScenarioError) as wrong:
        world_of(period)
    assert text in str(wrong.value)


def test_a_period_is_active_from_its_start_until_just_before_its_end() -> None:
    world = world_of()

    def status() -> str:
        programs = clients(world)[0].get("/v1/incentives").json()["programs"]
        (mine,) = (program for program in programs if program["marketSlug"] == "tst-m")
        return str(mine["timePeriods"][0]["status"])

    assert status() == "active"  # the world begins with it
    world.advance_to("2026-09-09T05:59:59.999999999Z")
    assert status() == "active"
    world.advance("1ns")
    assert status() == "closed"
