"""A market under everything at once: orders of poor accounts, states, time, settlement, busts, reloads. After each step money and contracts must add up."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sim.core.events import Executed
from sim.core.instruments import Instrument, Segment
from sim.core.orders import Order
from sim.core.quantities import DOLLAR
from sim.core.refusals import Refusal
from sim.core.trading import TradingState
from sim.core.vocabulary import Channel, InstrumentState, OrderState, OrderType, SelfMatchPrevention, Side, TimeInForce
from sim.kernel.instants import HOUR, hours, minutes
from sim.testing.market import START, Market

ACCOUNTS = ("a", "b", "c", "d")
SYMBOLS = ("X", "Y")
DAYTIME = (Segment(days=(0, 1, 2, 3, 4, 5, 6), start=8 * HOUR, length=HOUR, state=InstrumentState.PREOPEN), Segment(days=(0, 1, 2, 3, 4, 5, 6), start=9 * HOUR, length=9 * HOUR))


def instruments() -> tuple[Instrument, ...]:
    return (
        Instrument(symbol="X"),
        Instrument(symbol="Y", price_scale=1000, qty_scale=100, tick=5, price_low=10, price_high=990, schedule=DAYTIME, expiration=START + hours(40)),
    )


class TradingMachine(RuleBasedStateMachine):
    """Every operation of `Trading`, refused or not."""

    @initialize()
    def begin(self) -> None:
        self.market = Market(*instruments())
        for account, dollars in zip(ACCOUNTS, (5, 20, 100, 1000), strict=True):
            self.market.fund(account, dollars * DOLLAR)
        self.orders: list[str] = []
        self.last: dict[str, OrderState] = {}

    @rule(
        account=st.sampled_from(ACCOUNTS),
        symbol=st.sampled_from(SYMBOLS),
        side=st.sampled_from((Side.BUY, Side.SELL)),
        qty=st.integers(1, 30),
        price=st.integers(40, 60),
        type=st.sampled_from((OrderType.LIMIT,) * 6 + (OrderType.MARKET_TO_LIMIT, OrderType.STOP, OrderType.STOP_LIMIT)),
        tif=st.sampled_from(list(TimeInForce)),
        extra=st.sampled_from(
            ({}, {}, {}, {"post_only": True}, {"min_qty": 3}, {"strict_limit": True}, {"smp_id": "g", "smp": SelfMatchPrevention.CANCEL_RESTING}, {"smp_id": "g"}, {"channel": Channel.RETAIL}, {"clord_id": "same"}, {"cash_qty": 500, "qty": 0}, {"all_or_none": True})
        ),
        deferred=st.booleans(),
    )
    def place(
        self, account: str, symbol: str, side: Side, qty: int, price: int, type: OrderType, tif: TimeInForce, extra: dict[str, Any], deferred: bool
    ) -> None:
        scale = 10 if symbol == "Y" else 1
        fields: dict[str, Any] = {"qty": qty, "price": price * scale, "type": type, "tif": tif, "deferred": deferred, **extra}
        if type in (OrderType.MARKET_TO_LIMIT, OrderType.STOP):
            fields["price"] = 0
        if type in (OrderType.STOP, OrderType.STOP_LIMIT):
            fields["stop_price"] = price * scale
        if tif is TimeInForce.GOOD_TILL_TIME:
            fields["good_till"] = self.market.ctx.now + minutes(qty)
        try:
            order = self.market.trading.place(self.market.command(account, side, symbol=symbol, **fields))
        except Refusal:
            return
        self.orders.append(order.id)

    def pick(self, index: int) -> Order | None:
        return self.market.trading.orders.require(self.orders[index % len(self.orders)]) if self.orders else None

    @rule(index=st.integers(0, 50))
    def cancel(self, index: int) -> None:
        order = self.pick(index)
        if order is not None:
            try:
                self.market.cancel(order)
            except Refusal:
                return
            assert self.market.now(order).state is OrderState.CANCELED

    @rule(index=st.integers(0, 50), price=st.integers(40, 60), qty=st.integers(0, 40), tif=st.sampled_from((TimeInForce.UNDEFINED, TimeInForce.DAY)))
    def replace(self, index: int, price: int, qty: int, tif: TimeInForce) -> None:
        order = self.pick(index)
        if order is not None:
            try:
                self.market.replace(order, price=price * (10 if order.symbol == "Y" else 1), qty=qty, tif=tif)
            except Refusal:
                return

    @rule(symbol=st.sampled_from(SYMBOLS), state=st.sampled_from([None, *InstrumentState]))
    def move(self, symbol: str, state: InstrumentState | None) -> None:
        if state in (InstrumentState.EXPIRED, InstrumentState.TERMINATED):
            return
        try:
            self.market.move(state, symbol)
        except Refusal:
            return

    @rule(symbol=st.sampled_from(SYMBOLS))
    def open(self, symbol: str) -> None:
        try:
            self.market.move(InstrumentState.OPEN, symbol)
        except Refusal:
            return

    @rule(span=st.sampled_from((minutes(1), minutes(20), hours(3), hours(10))))
    def time_passes(self, span: int) -> None:
        self.market.advance(span)

    @rule(symbol=st.sampled_from(SYMBOLS), percent=st.sampled_from((0, 50, 100)), really=st.integers(0, 5))
    def settle(self, symbol: str, percent: int, really: int) -> None:
        if really == 0:
            self.market.trading.settle(symbol, percent * (10 if symbol == "Y" else 1))

    @rule(index=st.integers(0, 50), really=st.integers(0, 3))
    def bust(self, index: int, really: int) -> None:
        trades = self.market.trading.trades
        if trades and really == 0:
            try:
                self.market.trading.bust(trades[index % len(trades)].id)
            except Refusal:
                return

    @rule()
    def reload(self) -> None:
        """Go on from the saved state, as a snapshot would."""
        old = self.market
        encoded = msgspec.msgpack.encode(old.trading.save())
        new = Market(*instruments(), now=old.ctx.now)
        new.ctx.timers.load(old.ctx.timers.save())
        new.ctx.ids.load(old.ctx.ids.save())
        new.ctx.events = old.ctx.events
        new.trading.load(msgspec.msgpack.decode(encoded, type=TradingState))
        assert msgspec.msgpack.encode(new.trading.save()) == encoded
        for account in ACCOUNTS:
            assert new.trading.buying_power(account) == old.trading.buying_power(account)
            assert new.trading.open_orders_reserve(account) == old.trading.open_orders_reserve(account)
        for symbol in SYMBOLS:
            assert new.depth(symbol) == old.depth(symbol)
            assert new.trading.stats(symbol) == old.trading.stats(symbol)
        self.market = new

    @invariant()
    def everything_adds_up(self) -> None:
        self.market.check()
        self.reports_make_sense()
        assert self.market.trading.ledger.balance("house/clearing") == 0
        margins = dict.fromkeys(ACCOUNTS, 0)
        for position in self.market.trading.positions.all():
            scale = self.market.trading.instruments.require(position.symbol).qty_scale
            margins[position.account] += max(-position.net, 0) * (DOLLAR // scale)
        assert margins == {account: self.market.trading.margin_requirement(account) for account in ACCOUNTS}
        for account in ACCOUNTS:
            for symbol in SYMBOLS:
                for side in (Side.BUY, Side.SELL):
                    mine = [order for order in self.market.trading.orders.open_of((account,), (symbol,)) if order.side is side]
                    assert self.market.trading.risk.working(account, symbol, side) == sum(order.leaves_qty for order in mine)

    def reports_make_sense(self) -> None:
        """A done order is never reported again, and a report's order is the order right after."""
        for event in self.market.take():
            if isinstance(event, Executed):
                order = event.execution.order
                assert self.last.get(order.id) not in (OrderState.FILLED, OrderState.CANCELED, OrderState.REJECTED, OrderState.EXPIRED)
                assert (order.leaves_qty == 0) == (order.state in (OrderState.FILLED, OrderState.CANCELED, OrderState.REJECTED, OrderState.EXPIRED))
                self.last[order.id] = order.state


TradingMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck))
test_everything_adds_up_whatever_happens = TradingMachine.TestCase
