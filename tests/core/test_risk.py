"""Collateral: what orders reserve, what they may cost, and what is canceled when money runs out
(rules P1-P7).
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.model.collateral import EventOutcome, Holding, Related, returned
from sim.core.model.enums import OrderState, OrderType, Side, UnsolicitedReason
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR, cash_text
from sim.core.model.refusals import OrderRefused
from tests.sessions import SESSIONS
from tests.trading_harness import Market

ONE_OF, LADDER = EventOutcome.MUTUALLY_EXCLUSIVE, EventOutcome.DIRECTIONAL


def two(cash: int) -> Market:
    """Instruments A and B, and an account "me" with some dollars."""
    market = Market(Instrument(symbol="A"), Instrument(symbol="B"))
    market.ctx.assumptions.change("fees.taker_theta", 0)
    market.ctx.assumptions.change("fees.maker_theta", 0)
    market.fund("me", cash * DOLLAR)
    return market


def test_an_order_dearer_than_buying_power_is_refused() -> None:
    """P7: buying power 10, worst case 11."""
    market = two(10)
    with pytest.raises(OrderRefused, match=r"^10\.00 USD available, requested 11\.00$"):
        market.buy("me", 22, 50, symbol="A")


def test_two_orders_on_one_side_of_one_instrument_add_up() -> None:
    """P7."""
    market = two(10)
    market.buy("me", 20, 50, symbol="A")
    with pytest.raises(OrderRefused):
        market.buy("me", 20, 50, symbol="A")


def test_orders_in_different_instruments_do_not_add_up() -> None:
    """P7, P3."""
    market = two(10)
    assert market.buy("me", 20, 50, symbol="A").live
    assert market.buy("me", 20, 50, symbol="B").live


def test_two_sided_quotes_reserve_their_dearer_side_only() -> None:
    """P7."""
    market = two(10)
    market.buy("me", 20, 40, symbol="A")  # 8 dollars
    market.sell("me", 20, 50, symbol="A")  # 10 dollars
    assert market.trading.open_orders_reserve("me") == 10 * DOLLAR
    with pytest.raises(OrderRefused):
        market.sell("me", 1, 50, symbol="A")
    market.buy("me", 5, 40, symbol="A")


def test_a_withdrawal_must_leave_the_largest_reservation() -> None:
    """P6: 100 dollars, 20 on A, 30 on B: 70."""
    market = two(100)
    market.buy("me", 40, 50, symbol="A")
    market.buy("me", 60, 50, symbol="B")
    assert market.trading.open_orders_reserve("me") == 30 * DOLLAR
    assert market.trading.withdrawable("me") == 70 * DOLLAR
    assert market.trading.buying_power("me") == 100 * DOLLAR


def test_an_opening_sale_takes_one_less_price_off_buying_power() -> None:
    """P2."""
    market = two(10)
    market.buy("you", 10, 30, symbol="A")
    market.sell("me", 10, 30, symbol="A")
    assert market.trading.ledger.balance("me") == 13 * DOLLAR
    assert market.trading.margin_requirement("me") == 10 * DOLLAR
    assert market.trading.buying_power("me") == 3 * DOLLAR


def test_orders_that_close_a_position_cost_nothing_best_priced_first() -> None:
    """P3."""
    market = two(10)
    market.sell("you", 10, 90, symbol="A")
    market.buy("me", 10, 90, symbol="A")
    assert market.trading.buying_power("me") == 1 * DOLLAR
    market.sell("me", 10, 95, symbol="A")
    assert market.trading.open_orders_reserve("me") == 0
    # takes the closing place of half the other: 5 at 0.95 now open
    market.sell("me", 5, 92, symbol="A")
    assert market.trading.open_orders_reserve("me") == 25 * CENT


def test_someone_with_no_money_left_may_still_close() -> None:
    """P3, P4: the fee counts for what opens."""
    market = Market(Instrument(symbol="A"))
    market.fund("me", 518 * CENT)
    market.sell("you", 10, 50, symbol="A")
    market.buy("me", 10, 50, symbol="A")
    market.buy("you", 10, 50, symbol="A")
    assert market.trading.buying_power("me") == 1 * CENT
    assert market.sell("me", 10, 50, symbol="A").state is OrderState.FILLED
    with pytest.raises(OrderRefused):
        market.sell("me", 20, 50, symbol="A")


def test_the_check_includes_the_taker_fee_at_the_limit_price() -> None:
    """P4: 10 at 0.50 cost 5.00 and a fee of 0.17; a post-only order never pays it."""
    market = Market(Instrument(symbol="A"))
    market.fund("me", 516 * CENT)
    with pytest.raises(OrderRefused, match=r"^5\.16 USD available, requested 5\.17$"):
        market.buy("me", 10, 50, symbol="A")
    assert market.buy("me", 10, 50, symbol="A", post_only=True).live


def test_a_market_order_is_checked_at_its_worst_sweep_price() -> None:
    """P4."""
    market = two(10)
    market.sell("you", 10, 40, symbol="A")
    market.sell("you", 10, 60, symbol="A")
    with pytest.raises(OrderRefused, match=r"requested 12\.00"):
        market.buy("me", 20, symbol="A")


def test_a_stop_without_a_limit_reserves_the_worst_price_of_the_band() -> None:
    """P3, M12."""
    market = two(100)
    stop = market.buy("me", 10, type=OrderType.STOP, stop_price=60, symbol="A")
    assert market.trading.open_orders_reserve("me") == 990 * CENT
    market.cancel(stop)
    assert market.trading.open_orders_reserve("me") == 0


def test_a_fill_cancels_what_other_instruments_can_no_longer_pay_newest_first() -> None:
    """P5."""
    market = two(10)
    older = market.buy("me", 10, 40, symbol="B")
    newer = market.buy("me", 10, 50, symbol="B")
    offer = market.sell("me", 4, 90, symbol="B")
    market.buy("me", 10, 50, symbol="A")
    market.take()
    market.sell("you", 10, 50, symbol="A")
    reports = market.reports()
    (canceled,) = [report for report in reports if report.type.name == "CANCELED"]
    assert (canceled.order.id, canceled.unsolicited) == (
        newer.id,
        UnsolicitedReason.EXCHANGE_OPTION,
    )
    assert reports[-1] is canceled
    assert market.now(older).live
    assert market.now(offer).live
    assert market.trading.buying_power("me") == 5 * DOLLAR
    assert market.trading.open_orders_reserve("me") == 4 * DOLLAR


def test_the_instrument_that_filled_is_not_touched() -> None:
    """P5: only other instruments are looked at again."""
    market = Market(Instrument(symbol="A"))
    market.fund("me", 518 * CENT)
    market.buy("me", 10, 50, symbol="A")
    market.sell("you", 5, 50, symbol="A")
    assert market.trading.orders.open_of(("me",))[0].leaves_qty == 5


def test_a_replace_is_checked_as_if_the_present_order_were_gone() -> None:
    """P3, M31."""
    market = two(10)
    order = market.buy("me", 20, 40, symbol="A")
    market.replace(order, price=50)
    assert market.trading.open_orders_reserve("me") == 10 * DOLLAR
    with pytest.raises(OrderRefused):
        market.replace(market.now(order), qty=21)
    assert market.trading.open_orders_reserve("me") == 10 * DOLLAR


def test_reservations_follow_partial_fills_and_replaces() -> None:
    """P3."""
    market = two(100)
    order = market.buy("me", 20, 50, symbol="A")
    market.sell("you", 5, 50, symbol="A")
    assert market.trading.open_orders_reserve("me") == 750 * CENT
    market.replace(order, qty=10)
    assert market.trading.open_orders_reserve("me") == 250 * CENT
    assert market.trading.risk.working("me", "A", Side.BUY) == 5


# ---- against a model that adds everything up anew

GROUPS = {"A": ONE_OF, "B": ONE_OF, "C": ONE_OF, "L": LADDER, "M": LADDER, "N": LADDER}
SCALES = {"L": (1000, 10), "M": (1000, 10), "X": (1000, 100)}  # others: whole cents and contracts
ACCOUNTS = ("hedged", "rich")


def sessions_market() -> Market:
    """Three outcomes that exclude each other, a ladder of three, and two markets alone; of two
    accounts with a little money one has collateral return.
    """
    instruments = []
    for rank, symbol in enumerate("ABCLMNXY"):
        price_scale, qty_scale = SCALES.get(symbol, (100, 1))
        kind = GROUPS.get(symbol)
        instruments.append(
            Instrument(
                symbol=symbol,
                price_scale=price_scale,
                qty_scale=qty_scale,
                tick=price_scale // 100,
                price_low=price_scale // 100,
                price_high=price_scale - price_scale // 100,
                related=None if kind is None else Related(kind.name, kind, rank),
            )
        )
    market = Market(*instruments)
    for account in ACCOUNTS:
        market.trading.open_account(account, collateral_return=account == "hedged")
        market.fund(account, 10_000 * DOLLAR if account == "rich" else 7 * DOLLAR)
    return market


class Sums:
    """What positions, cash and open orders of an account come to, added up anew."""

    def __init__(self, market: Market, account: str) -> None:
        self.market, self.account, self.trading = market, account, market.trading

    def instrument(self, symbol: str) -> Instrument:
        return self.trading.instruments.require(symbol)

    def net(self, symbol: str) -> int:
        return self.trading.positions.net(self.account, symbol)

    def rows(self, symbol: str, side: Side) -> list[tuple[int, int]]:
        """Cost per unit and quantity of each open order, the dearest first."""
        scale = self.instrument(symbol).price_scale
        results = [
            (order.price if side is Side.BUY else scale - order.price, order.leaves_qty)
            for order in self.trading.orders.open_of((self.account,), (symbol,))
            if order.side is side
        ]
        return sorted(results, reverse=True)

    def cost(self, symbol: str, side: Side, more: list[tuple[int, int]]) -> int:
        """What the orders of a side, and some more, cost where they do not close a position."""
        net, cost = self.net(symbol), 0
        closable = max(0, -net if side is Side.BUY else net)
        for unit, qty in sorted(self.rows(symbol, side) + more, reverse=True):
            closing = min(closable, qty)
            closable -= closing
            cost += unit * (qty - closing)
        return cost * self.instrument(symbol).cash_per_notional

    def worst(self, symbol: str, more: tuple[Side, int, int] | None = None) -> int:
        """The dearer side of an instrument, with an order of (side, unit, quantity) in it."""
        extra = {side: [more[1:]] if more and more[0] is side else [] for side in Side if side}
        return max(self.cost(symbol, side, extra[side]) for side in (Side.BUY, Side.SELL))

    def dollars(self, symbol: str, qty: int) -> int:
        return qty * DOLLAR // self.instrument(symbol).qty_scale

    def back(self, kind: EventOutcome, moves: dict[str, int] | None = None) -> int:
        """The collateral return of a group, once positions have moved."""
        if self.account != "hedged":
            return 0
        nets = {
            symbol: self.net(symbol) + (moves or {}).get(symbol, 0)
            for symbol, of in GROUPS.items()
            if of is kind
        }
        return returned(
            kind,
            [
                Holding(rank, self.dollars(symbol, net))
                for rank, (symbol, net) in enumerate(nets.items())
                if net
            ],
        )

    def margin(self) -> int:
        shorts = sum(self.dollars(symbol, max(0, -self.net(symbol))) for symbol in "ABCLMNXY")
        return shorts - self.back(ONE_OF) - self.back(LADDER)

    def power(self, symbol: str = "") -> int:
        """Buying power; in an instrument without the return of its group."""
        total = self.trading.ledger.balance(self.account) - self.margin()
        return total - (self.back(GROUPS[symbol]) if symbol in GROUPS else 0)

    def refusal(self, symbol: str, side: Side, price: int, qty: int) -> str:
        """What is said of an order that the account cannot pay for; "" if it can."""
        instrument, net = self.instrument(symbol), self.net(symbol)
        unit = price if side is Side.BUY else instrument.price_scale - price
        ahead = sum(count for other, count in self.rows(symbol, side) if other >= unit)
        closable = max(0, (-net if side is Side.BUY else net) - ahead)
        closing = min(qty, closable)
        needed = self.worst(symbol, (side, unit, qty))
        needed += self.trading.fees.quote(instrument, qty, price) * (qty - closing) // qty
        power = self.power(symbol) if closing < qty else self.power()
        if closing and symbol in GROUPS:
            signed = closing if side is Side.BUY else -closing
            kind = GROUPS[symbol]
            lost = self.back(kind) - self.back(kind, {symbol: signed})
            lost -= self.dollars(symbol, max(0, signed))
            lost += signed * price * instrument.cash_per_notional
            needed += max(0, lost) if self.back(kind) else 0
        return (
            ""
            if needed <= power
            else f"{cash_text(power)} USD available, requested {cash_text(needed)}"
        )


@SESSIONS
@given(rng=st.randoms(use_true_random=False))
def test_p8_what_closes_a_hedge_is_refused_as_adding_everything_up_says(rng: Random) -> None:
    """Of an account with related positions and hardly any cash beside their margin."""
    market = sessions_market()
    market.fund("hedged", 1000 * DOLLAR)
    for symbol in "ABCLMN":
        instrument = market.trading.instruments.require(symbol)
        price, qty = instrument.price_scale // 2, rng.choice((0, 1, 2, 5)) * instrument.qty_scale
        first, second = rng.sample((market.buy, market.sell), 2)
        if qty:
            first("rich", qty, price, symbol=symbol)
            second("hedged", qty, price, symbol=symbol)
    sums = Sums(market, "hedged")
    for _ in range(30):
        market.fund("hedged", sums.margin() + rng.randrange(0, 300) * CENT)
        symbol, side = rng.choice("ABCLMN"), rng.choice((Side.BUY, Side.SELL))
        instrument = market.trading.instruments.require(symbol)
        price = rng.choice((5, 30, 50, 80, 95)) * instrument.price_scale // 100
        qty = rng.choice((1, 2, 3, 5, 7)) * instrument.qty_scale
        expected = sums.refusal(symbol, side, price, qty)
        enter = market.buy if side is Side.BUY else market.sell
        try:
            order = enter("hedged", qty, price, symbol=symbol)
        except OrderRefused as refusal:
            assert str(refusal) == expected
        else:
            assert expected == ""
            market.cancel(order)
