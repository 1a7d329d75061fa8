"""The matching engine against the obviously correct matcher: the same commands must give the same
executions in the same order, and the same book.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.core.model.commands import PlaceOrder, ReplaceOrder
from sim.core.model.enums import OrderType, Side, TimeInForce
from sim.core.model.events import Executed
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import Refusal
from sim.core.trading.trading import TradingState
from tests.naive_matcher import NaiveMatcher, Report, Resting
from tests.trading_harness import Market

TIFS = {
    "GTC": TimeInForce.GOOD_TILL_CANCEL,
    "IOC": TimeInForce.IMMEDIATE_OR_CANCEL,
    "FOK": TimeInForce.FILL_OR_KILL,
}
TICK = 5
ACCOUNTS = ("a", "b", "c")


class Place(NamedTuple):
    """A new order; price 0 is a market order, stop 0 no stop."""

    buying: bool
    price: int
    qty: int
    tif: str
    min_qty: int
    all_or_none: bool
    post_only: bool
    stop: int
    account: int


class Cancel(NamedTuple):
    """Take out the nth order placed, counted round."""

    number: int


class Replace(NamedTuple):
    """Give the nth order placed, counted round, another price and total."""

    number: int
    price: int
    total: int


prices = st.integers(40, 60).map(lambda price: price * TICK)
quantities = st.integers(1, 12)


@st.composite
def places(draw: st.DrawFn) -> Place:
    stop = draw(prices) if draw(st.integers(0, 9)) == 0 else 0
    market = draw(st.integers(0, 7)) == 0
    buying = draw(st.booleans())
    price = 0 if market else draw(prices)
    if stop and price:
        price = min(price, stop) if buying else max(price, stop)  # rule M12
    tif = draw(st.sampled_from(("GTC", "GTC", "GTC", "IOC", "FOK")))
    qty = draw(quantities)
    special = draw(st.sampled_from(("", "", "", "", "post", "all", "min")))
    post_only = special == "post" and tif == "GTC" and not market and not stop
    min_qty = draw(st.integers(1, qty)) if special == "min" and tif != "FOK" else 0
    return Place(
        buying, price, qty, tif, min_qty, special == "all", post_only, stop, draw(st.integers(0, 2))
    )


operations = st.lists(
    st.one_of(
        places(),
        places(),
        places(),
        st.builds(Cancel, st.integers(0, 40)),
        st.builds(Replace, st.integers(0, 40), prices, st.integers(1, 20)),
    ),
    min_size=12,
    max_size=80,
)


class Both:
    """The engine and the oracle side by side. Every account is rich, so money never decides."""

    def __init__(self) -> None:
        self.market = Market(
            Instrument(symbol="X", price_scale=1000, tick=TICK, price_low=5, price_high=995),
            cash=1_000_000_000 * DOLLAR,
        )
        self.naive = NaiveMatcher()
        self.numbers: dict[str, int] = {}
        self.ids: list[str] = []

    def do(self, operation: Place | Cancel | Replace) -> None:
        if isinstance(operation, Place):
            self._place(operation)
        elif self.ids:
            number = operation.number % len(self.ids)
            order = self.market.trading.orders.require(self.ids[number])
            try:
                if isinstance(operation, Cancel):
                    self.naive.cancel(number)
                    self.market.cancel(order)
                elif order.type is OrderType.LIMIT or not order.stop_price:
                    self.naive.replace(number, operation.price, operation.total)
                    self.market.trading.order_service.replace(
                        ReplaceOrder(
                            accounts=ACCOUNTS,
                            order_id=order.id,
                            price=operation.price,
                            qty=operation.total,
                        )
                    )
            except Refusal:
                pass  # the oracle says nothing then, and the reports are compared

    def _place(self, position: Place) -> None:
        number = len(self.ids)
        market = not position.price
        type = (
            (OrderType.STOP if market else OrderType.STOP_LIMIT)
            if position.stop
            else (OrderType.MARKET_TO_LIMIT if market else OrderType.LIMIT)
        )
        command: PlaceOrder = self.market.command(
            ACCOUNTS[position.account],
            Side.BUY if position.buying else Side.SELL,
            position.qty,
            position.price,
            type=type,
            tif=TIFS[position.tif],
            min_qty=position.min_qty,
            all_or_none=position.all_or_none,
            post_only=position.post_only,
            stop_price=position.stop,
            deferred=True,
        )
        order = self.market.trading.order_service.enter(command)
        self.numbers[order.id] = number
        self.ids.append(order.id)
        self.naive.place(
            Resting(
                number,
                position.buying,
                position.price,
                position.qty,
                0,
                position.tif,
                market=market,
                min_qty=position.min_qty,
                all_or_none=position.all_or_none,
                post_only=position.post_only,
                stop=position.stop,
            )
        )

    def compare(self) -> None:
        reports = [
            Report(
                event.execution.type.name,
                self.numbers[event.execution.order.id],
                event.execution.last_qty,
                event.execution.last_px,
                event.execution.aggressor,
            )
            for event in self.market.take()
            if isinstance(event, Executed)
        ]
        expected, self.naive.reports = self.naive.reports, []
        assert reports == expected
        book = self.market.trading.book("X")
        assert book.levels(Side.BUY) == self.naive.depth(buying=True)
        assert book.levels(Side.SELL) == self.naive.depth(buying=False)
        assert {order.id for order in book.stops.orders()} == {
            self.ids[order.number] for order in self.naive.waiting
        }
        self.market.check()

    def reload(self) -> None:
        """Replace the engine by one made from its saved state."""
        old = self.market
        ctx = old.ctx
        state = msgspec.msgpack.decode(
            msgspec.msgpack.encode(old.trading.save()), type=TradingState
        )
        new = Market(*old.trading.instruments, cash=old.cash, now=ctx.now)
        new.ctx.timers.load(ctx.timers.save())
        new.ctx.ids.load(ctx.ids.save())
        new.trading.load(state)
        assert msgspec.msgpack.encode(new.trading.save()) == msgspec.msgpack.encode(
            old.trading.save()
        )
        self.market = new


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(operations)
def test_executions_and_book_are_those_of_the_naive_matcher(
    result: list[Place | Cancel | Replace],
) -> None:
    """M1, M9-M21, M31-M34."""
    both = Both()
    for operation in result:
        both.do(operation)
        both.compare()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(operations, st.integers(0, 60))
def test_a_saved_state_goes_on_like_the_original(
    result: list[Place | Cancel | Replace], at: int
) -> None:
    both = Both()
    for index, operation in enumerate(result):
        if index == at:
            both.reload()
        both.do(operation)
        both.compare()
