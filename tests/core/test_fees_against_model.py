"""Fees of fills against a model in fractions: which coefficients apply, what each fill of an order
costs its taker and its maker, and what an order needs beside its price.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sim.core.accounts.fee_schedule import FeeRow
from sim.core.accounts.fees import Fees
from sim.core.model.context import Context
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR
from sim.core.model.refusals import InsufficientFunds
from sim.kernel.instants import Instant, parse_instant
from tests.sessions import SESSIONS
from tests.trading_harness import Market

FIRST, JULY = {"taker": 500, "maker": 0}, {"taker": 600, "maker": 125}
LATER = {"taker": 695, "maker": 125}
# Published coefficients: by fee class, from when on.
PUBLISHED: dict[str, tuple[tuple[str, dict[str, int]], ...]] = {
    "standard": (("2026-07-01T04:00:00Z", JULY), ("2026-09-25T04:00:00Z", LATER)),
    "combo": (("2026-07-01T04:00:00Z", JULY), ("2026-09-25T04:00:00Z", LATER | {"tail": 400})),
    "table_tennis": (
        ("2026-07-01T04:00:00Z", JULY),
        ("2026-09-25T04:00:00Z", LATER),
        ("2026-10-01T03:59:00Z", {"taker": 1000, "maker": 125}),
    ),
}
MOMENTS = [
    parse_instant(text) + offset
    for text in ("2026-07-01T04:00:00Z", "2026-09-25T04:00:00Z", "2026-10-01T03:59:00Z")
    for offset in (-1, 0)
]
SCALES = ((100, 1, 1), (1000, 100, 5), (10_000, 10, 25), (400, 40, 1), (8, 1, 1), (10, 10, 1))
NAMES = ("taker", "maker", "tail", "cap", "cumulative")


@dataclass
class Case:
    """A schedule, an instrument and an instant, drawn at random."""

    rows: list[FeeRow]
    instrument: Instrument
    now: Instant
    assumed: dict[str, int]

    def theta(self) -> dict[str, Any]:
        """The coefficients in force."""
        eras = PUBLISHED.get(self.instrument.fee_class, PUBLISHED["standard"])
        result: dict[str, Any] = {"tail": 0, "cap": None, "cumulative": True} | FIRST
        for start, values in eras:
            if parse_instant(start) <= self.now:
                result |= {"tail": 0} | values
        for name in NAMES:
            best = (-1, -1, -1)
            for number, row in enumerate(self.rows):
                value, rank = getattr(row, name), self.rank(row)
                if value is not None and rank >= 0 and row.start <= self.now:
                    if (rank, row.start, number) > best:
                        best, result[name] = (rank, row.start, number), value
        return result | {name: min(value, 10_000) for name, value in self.assumed.items()}

    def rank(self, row: FeeRow) -> int:
        """How many properties of the instrument a row names; -1 if it is about another one."""
        pairs = (
            (row.product, self.instrument.product_id),
            (row.market_type, self.instrument.market_type),
            (row.fee_class, self.instrument.fee_class),
        )
        if any(named and named != value for named, value in pairs):
            return -1
        return sum(bool(named) for named, _ in pairs)

    def fee(self, name: str, qty: int, price: int) -> Fraction:
        """The unrounded fee of a fill in dollars, finer than any clients see."""
        i, theta = self.instrument, self.theta()
        p, contracts = Fraction(price, i.price_scale), Fraction(qty, i.qty_scale)
        result = Fraction(theta[name], 10_000) * contracts * p * (1 - p)
        if name == "taker":
            grid = 10_000 * i.qty_scale * i.price_scale**2
            tail = Fraction(theta["tail"], 10_000) * contracts * p * (1 - p) ** 4
            result += Fraction(round(tail * grid), grid)
        return result

    def rounded(self, fee: Fraction) -> Fraction:
        """To the cent, or to a notional unit where a cent is no whole number of these."""
        units = self.instrument.price_scale * self.instrument.qty_scale
        steps = 100 if units % 100 == 0 else units
        return Fraction(round(fee * steps), steps)

    def quoted(self, name: str, qty: int, price: int) -> Fraction:
        """What an order of one fill would pay."""
        fee, cap = self.rounded(self.fee(name, qty, price)), self.theta()["cap"]
        return fee if cap is None or name == "maker" else min(fee, Fraction(cap, DOLLAR))

    def charges(self, fills: list[tuple[int, int]]) -> list[Fraction]:
        """What an order pays for each of its fills as a taker."""
        theta, exact, charged, result = self.theta(), Fraction(0), Fraction(0), list[Fraction]()
        for qty, price in fills:
            fee = self.fee("taker", qty, price)
            charge = self.rounded(fee)
            if exact and theta["cumulative"]:
                charge = min(charge, self.rounded(exact + fee) - charged)
            if theta["cap"] is not None:
                charge = min(charge, max(Fraction(0), Fraction(theta["cap"], DOLLAR) - charged))
            exact, charged = exact + fee, charged + charge
            result.append(charge)
        return result


def random_case(rng: Random) -> Case:
    now = rng.choice(MOMENTS)
    price_scale, qty_scale, tick = rng.choice(SCALES)
    instrument = Instrument(
        symbol="X",
        price_scale=price_scale,
        qty_scale=qty_scale,
        tick=tick,
        price_low=tick,
        price_high=price_scale - tick,
        product_id=rng.choice(("aec", "tst")),
        market_type=rng.choice(("totals", "")),
        fee_class=rng.choice(("standard", "combo", "table_tennis", "unheard")),
    )
    assumed = {"taker": rng.choice((0, 300, 10_001))} if rng.random() < 0.15 else {}
    assumed |= {"maker": rng.choice((0, 40, 10_001))} if rng.random() < 0.15 else {}
    caps = (0, 75 * CENT) if price_scale == 8 else (0, 3 * CENT, 40 * CENT)  # whole notional units
    rows = [random_row(rng, now, caps) for _ in range(rng.randint(0, 4))]
    return Case(rows, instrument, now, assumed)


def random_row(rng: Random, now: Instant, caps: tuple[int, ...]) -> FeeRow:
    values = {
        "taker": rng.choice((0, rng.randint(1, 999))),
        "maker": rng.choice((0, rng.randint(-150, 200))),
        "tail": rng.choice((0, rng.randint(1, 700))),
        "cap": rng.choice(caps or range(10**9)),
        "cumulative": rng.random() < 0.5,
    }
    names = {
        "product": rng.choice(("", "", "aec", "tst")),
        "market_type": rng.choice(("", "totals")),
        "fee_class": rng.choice(("", "", "combo", "standard")),
    }
    start = rng.choice((0, 0, now - 2, now - 1, now, now + 1))
    chosen = rng.sample(sorted(values), rng.randint(1, 3))
    return FeeRow(start=start, **names, **{name: values[name] for name in chosen})


def market(case: Case) -> Market:
    created = Market(case.instrument, now=case.now, cash=1_000_000 * DOLLAR)
    created.trading.fees.load(case.rows)
    for name, value in case.assumed.items():
        created.ctx.assumptions.change(f"fees.{name}_theta", value)
    return created


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_each_fill_costs_its_taker_and_its_maker_what_the_model_says(seed: int) -> None:
    rng = Random(seed)
    for _ in range(8):
        case = random_case(rng)
        i, result = case.instrument, market(case)
        prices = sorted(rng.randrange(i.tick, i.price_scale, i.tick) for _ in range(4))
        fills = [(rng.randint(1, 4 * i.qty_scale + 60), price) for price in prices]
        for number, (qty, price) in enumerate(fills):
            result.sell(f"m{number}", qty, price)
        result.take()
        result.buy("t", sum(qty for qty, _ in fills), i.price_high)
        reports = [report for report in result.reports() if report.trade_id]
        reported = [(report.aggressor, report.commission) for report in reports]
        units = i.price_scale * i.qty_scale
        expected = []
        for charge, (qty, price) in zip(case.charges(fills), fills, strict=True):
            rebate = case.rounded(case.fee("maker", qty, price))
            expected += [(True, charge * units), (False, -rebate * units)]
        assert reported == expected, case
        check_money(case, result, fills)
        theta = case.theta()
        points = result.trading.fees.basis_points(i, case.now)
        assert points == (str(theta["taker"]), str(-theta["maker"]))
        result.check()


def check_money(case: Case, market: Market, fills: list[tuple[int, int]]) -> None:
    """Cash to its last unit, and the fees in a position before any rounding to cents."""
    i, charges = case.instrument, case.charges(fills)
    grid, units = 10_000 * i.qty_scale * i.price_scale**2, i.price_scale * i.qty_scale
    paid = sum((Fraction(qty * price, units) for qty, price in fills), Fraction(0)) + sum(charges)
    ledger, positions = market.trading.ledger, market.trading.positions
    assert ledger.balance("t") == market.cash - paid * DOLLAR
    exact = sum((case.fee("taker", *fill) for fill in fills), Fraction(0))
    fees = exact if case.theta()["cap"] is None else sum(charges)
    position = positions.get("t", "X")
    assert position is not None and position.fees_exact == fees * grid
    for number, (qty, price) in enumerate(fills):
        maker = positions.get(f"m{number}", "X")
        assert maker is not None and maker.fees_exact == -case.fee("maker", qty, price) * grid
        rebate = case.rounded(case.fee("maker", qty, price))
        gained = (Fraction(qty * price, units) + rebate) * DOLLAR
        assert ledger.balance(f"m{number}") == market.cash + gained


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_an_order_needs_its_price_and_the_fee_of_a_single_fill_and_no_more(seed: int) -> None:
    rng = Random(seed)
    for _ in range(8):
        case = random_case(rng)
        i, result = case.instrument, market(case)
        price = rng.randrange(i.tick, i.price_scale, i.tick)
        qty, post_only = rng.randint(1, 5 * i.qty_scale + 60), rng.random() < 0.3
        buys = rng.random() < 0.5
        unit = price if buys else i.price_scale - price
        fee = max(Fraction(0), case.quoted("taker", qty, price))
        if post_only:
            fee = max(Fraction(0), -case.rounded(case.fee("maker", qty, price)))
        cost = Fraction(qty * unit, i.price_scale * i.qty_scale) + fee
        for account, cash in (("short", int(cost * DOLLAR) - 1), ("enough", int(cost * DOLLAR))):
            result.fund(account, cash)
            enter = result.buy if buys else result.sell
            try:
                enter(account, qty, price, post_only=post_only)
                taken = True
            except InsufficientFunds:
                taken = False
            assert taken == (account == "enough"), (case, price, qty, buys)
            for order in result.trading.orders.of_account(account):
                result.cancel(order)


@SESSIONS
@given(seed=st.integers(0, 2**32))
def test_every_coefficient_is_that_of_the_model_at_every_instant(seed: int) -> None:
    """The era changes with every coefficient, so that whoever remembers views of them notices."""
    rng = Random(seed)
    for _ in range(12):
        case = random_case(rng)
        case.rows = [random_row(rng, rng.choice(MOMENTS), ()) for _ in range(rng.randint(0, 7))]
        ctx = Context(seed=1, now=case.now)
        fees = Fees(ctx)
        fees.load(case.rows)
        for name, value in case.assumed.items():
            ctx.assumptions.change(f"fees.{name}_theta", value)
        instants = {0, *MOMENTS, *(row.start for row in case.rows)}
        before: tuple[object, object] | None = None
        for case.now in sorted({*instants, *(at - 1 for at in instants if at)}):
            ctx.now = case.now
            theta = fees.theta(case.instrument, case.now)
            result = {name: getattr(theta, name) for name in NAMES}
            assert result == case.theta(), (case.rows, case.now)
            now = result, fees.era()
            assert before is None or before[0] == result or before[1] != now[1]
            before = now
