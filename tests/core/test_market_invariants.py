"""A market under everything at once: orders of poor accounts, states, time, transfers, settlement,
busts, reloads. After each step all must add up.

`pytest tests/core/test_market_invariants.py --hypothesis-profile=deep` looks for longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sim.core.invariants import reserved
from sim.core.model.collateral import EventOutcome, Related
from sim.core.model.enums import (
    Channel,
    InstrumentState,
    LedgerEntryType,
    OrderState,
    OrderType,
    SelfMatchPrevention,
    Side,
    TimeInForce,
)
from sim.core.model.instrument import Instrument, Segment
from sim.core.model.quantities import CENT, DOLLAR
from sim.core.model.refusals import Refusal
from sim.core.trading.trading import TradingState
from sim.kernel.instants import HOUR, hours, minutes, seconds
from tests.event_audit import Audit
from tests.trading_harness import START, Market
from tests.wide_numbers import wide

T = TypeVar("T")
ACCOUNTS = ("a", "b", "c", "d", "e")  # the last with collateral return
SYMBOLS = ("X", "Y", "Z")
EXCLUSIVE = ("X", "Z")
DAYTIME = (
    Segment(days=(0, 1, 2, 3, 4, 5, 6), start=8 * HOUR, length=HOUR, state=InstrumentState.PREOPEN),
    Segment(days=(0, 1, 2, 3, 4, 5, 6), start=9 * HOUR, length=9 * HOUR),
)
EXTRAS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"post_only": True},
    {"min_qty": 3},
    {"strict_limit": True},
    {"smp_id": "g"},
    {"smp_id": "g", "smp": SelfMatchPrevention.CANCEL_RESTING},
    {"channel": Channel.RETAIL},
    {"clord_id": "same"},
    {"cash_qty": 500, "qty": 0},
    {"all_or_none": True},
)


def instruments() -> tuple[Instrument, ...]:
    return (
        Instrument(symbol="X", related=Related("event", EventOutcome.MUTUALLY_EXCLUSIVE)),
        Instrument(
            symbol="Y",
            price_scale=1000,
            qty_scale=100,
            tick=5,
            price_low=10,
            price_high=990,
            schedule=DAYTIME,
            expiration=START + hours(40),
        ),
        Instrument(symbol="Z", related=Related("event", EventOutcome.MUTUALLY_EXCLUSIVE)),
    )


class TradingMachine(RuleBasedStateMachine):
    """Every operation of `Trading`, refused or not, on a market and on its twin, which is now and
    then replaced by what a saved state makes of it.
    """

    @initialize()
    def begin(self) -> None:
        self.market = Market(*instruments())
        self.twin = Market(*instruments())
        for market in (self.market, self.twin):
            market.trading.open_account("e", collateral_return=True)
            for account, dollars in zip(ACCOUNTS, (5, 20, 100, 1000, 12), strict=True):
                market.fund(account, dollars * DOLLAR)
            market.take()
        self.audit = Audit(self.market.trading)
        self.orders: list[str] = []
        self.ordering = False

    def both(self, operation: Callable[[Market], T]) -> T | None:
        """Do the same to both; they must answer alike."""
        answers: list[T | None] = []
        refusals: list[str] = []
        for market in (self.market, self.twin):
            try:
                answers.append(operation(market))
            except Refusal as refusal:
                answers.append(None)
                refusals.append(f"{type(refusal).__name__} {refusal.message}")
        self.ordering = False
        assert refusals[:1] == refusals[1:]
        assert answers[0] == answers[1]
        return answers[0]

    @rule(
        account=st.sampled_from(ACCOUNTS),
        symbol=st.sampled_from(SYMBOLS),
        side=st.sampled_from((Side.BUY, Side.SELL)),
        qty=st.integers(1, 30),
        price=st.integers(40, 60),
        type=st.sampled_from(
            (OrderType.LIMIT,) * 6
            + (OrderType.MARKET_TO_LIMIT, OrderType.STOP, OrderType.STOP_LIMIT)
        ),
        tif=st.sampled_from(list(TimeInForce)),
        extra=st.sampled_from(EXTRAS),
        deferred=st.booleans(),
    )
    def place(
        self,
        account: str,
        symbol: str,
        side: Side,
        qty: int,
        price: int,
        type: OrderType,
        tif: TimeInForce,
        extra: dict[str, Any],
        deferred: bool,
    ) -> None:
        scale = 10 if symbol == "Y" else 1
        fields: dict[str, Any] = {
            "qty": qty,
            "price": price * scale,
            "type": type,
            "tif": tif,
            "deferred": deferred,
            **extra,
        }
        if type in (OrderType.MARKET_TO_LIMIT, OrderType.STOP):
            fields["price"] = 0
        if type in (OrderType.STOP, OrderType.STOP_LIMIT):
            fields["stop_price"] = price * scale
        if tif is TimeInForce.GOOD_TILL_TIME:
            fields["good_till"] = self.market.ctx.now + minutes(qty)
        placed = self.both(
            lambda market: market.trading.order_service.enter(
                market.command(account, side, symbol=symbol, **fields)
            )
        )
        self.ordering = True
        if placed is not None:
            self.orders.append(placed.id)

    @rule(account=st.sampled_from(ACCOUNTS), cents=wide(-2000, 2000, 0))
    def transfer(self, account: str, cents: int) -> None:
        """Money comes in, or goes out as far as rule P6 lets it."""

        def move(market: Market) -> None:
            if -cents * CENT <= market.trading.withdrawable(account):
                kind = LedgerEntryType.DEPOSIT if cents > 0 else LedgerEntryType.WITHDRAWAL
                market.trading.move_cash(account, cents * CENT, kind, "Transfer")

        self.both(move)

    @rule(span=st.sampled_from(("0s", "0s", "1s", "6s")))
    def engine_takes(self, span: str) -> None:
        """From now on orders, crosses and changes wait so long; those that wait already do not get
        quicker.
        """
        self.both(lambda market: market.ctx.assumptions.change("engine.latency", span))

    @rule(
        buyer=st.sampled_from(ACCOUNTS),
        seller=st.sampled_from(ACCOUNTS),
        symbol=st.sampled_from(SYMBOLS),
        qty=st.integers(1, 30),
        price=st.integers(40, 60),
        priority=st.sampled_from(Side),
        extra=st.sampled_from(
            ({}, {"smp_id": "g"}, {"clord_id": "same"}, {"channel": Channel.RETAIL})
        ),
        deferred=st.booleans(),
    )
    def cross(
        self,
        buyer: str,
        seller: str,
        symbol: str,
        qty: int,
        price: int,
        priority: Side,
        extra: dict[str, Any],
        deferred: bool,
    ) -> None:
        """Two orders that trade with each other, as a cross."""
        fields: dict[str, Any] = {
            "symbol": symbol,
            "qty": qty,
            "price": price * (10 if symbol == "Y" else 1),
            "deferred": deferred,
            **extra,
        }

        def enter(market: Market) -> list[str]:
            buying, selling = (
                market.command(buyer, Side.BUY, **fields),
                market.command(seller, Side.SELL, **fields),
            )
            return [
                order.id
                for order in market.trading.order_service.cross(
                    (buying, selling), cross_id="c", priority=priority
                )
            ]

        created = self.both(enter)
        self.ordering = True
        self.orders += created or []

    @rule(index=st.integers(0, 50))
    def cancel(self, index: int) -> None:
        if self.orders:
            order_id = self.orders[index % len(self.orders)]
            done = self.both(lambda market: market.cancel(market.trading.orders.require(order_id)))
            waits = (OrderState.PENDING_NEW, OrderState.PENDING_CANCEL)
            assert done is None or done.state is OrderState.CANCELED or done.state in waits

    @rule(
        index=st.integers(0, 50),
        price=st.integers(40, 60),
        qty=st.integers(0, 40),
        tif=st.sampled_from((TimeInForce.UNDEFINED, TimeInForce.DAY)),
    )
    def replace(self, index: int, price: int, qty: int, tif: TimeInForce) -> None:
        if self.orders:
            order_id = self.orders[index % len(self.orders)]
            scale = 10 if self.market.trading.orders.require(order_id).symbol == "Y" else 1
            self.both(
                lambda market: market.replace(
                    market.trading.orders.require(order_id), price=price * scale, qty=qty, tif=tif
                )
            )

    @rule(symbol=st.sampled_from(SYMBOLS), state=st.sampled_from([None, *InstrumentState]))
    def move(self, symbol: str, state: InstrumentState | None) -> None:
        if state not in (InstrumentState.EXPIRED, InstrumentState.TERMINATED):
            self.both(lambda market: market.move(state, symbol))

    @rule(symbol=st.sampled_from(SYMBOLS))
    def open(self, symbol: str) -> None:
        self.both(lambda market: market.move(InstrumentState.OPEN, symbol))

    @rule(span=st.sampled_from((seconds(1), seconds(7), minutes(20), hours(3), hours(10))))
    def time_passes(self, span: int) -> None:
        self.both(lambda market: market.advance(span))

    @rule(
        symbol=st.sampled_from(SYMBOLS),
        percent=st.sampled_from((0, 50, 100)),
        really=st.integers(0, 5),
    )
    def settle(self, symbol: str, percent: int, really: int) -> None:
        if really == 0:
            self.both(
                lambda market: market.trading.listings.settle(
                    symbol, percent * (10 if symbol == "Y" else 1)
                )
            )

    @rule(symbol=st.sampled_from(SYMBOLS), percent=st.sampled_from((0, 50, 100)))
    def record_outcome(self, symbol: str, percent: int) -> None:
        self.both(
            lambda market: market.trading.listings.record_outcome(
                symbol, percent * (10 if symbol == "Y" else 1)
            )
        )

    @rule(index=st.integers(0, 50), really=st.integers(0, 3))
    def bust(self, index: int, really: int) -> None:
        trades = self.market.trading.trades
        if trades and really == 0:
            trade_id = trades[index % len(trades)].id
            self.both(lambda market: market.trading.listings.bust(trade_id))

    @rule(really=st.integers(0, 9))
    def cancel_all(self, really: int) -> None:
        if really == 0:
            self.both(lambda market: market.trading.listings.cancel_all())

    @rule()
    def reload(self) -> None:
        """The twin goes on from its saved state, as a snapshot would."""
        old = self.twin
        encoded = msgspec.msgpack.encode(old.trading.save())
        new = Market(*instruments(), now=old.ctx.now)
        new.ctx.timers.load(old.ctx.timers.save())
        new.ctx.ids.load(old.ctx.ids.save())
        new.ctx.assumptions.load(old.ctx.assumptions.save())
        new.trading.load(msgspec.msgpack.decode(encoded, type=TradingState))
        assert msgspec.msgpack.encode(new.trading.save()) == encoded
        self.twin = new

    @invariant()
    def the_twin_is_alike(self) -> None:
        """Events, reads and saved states of the two do not differ."""
        events = self.market.take()
        assert msgspec.msgpack.encode(events) == msgspec.msgpack.encode(self.twin.take())
        self.audit.read(events)
        item, other = self.market.trading, self.twin.trading
        assert msgspec.msgpack.encode(item.save()) == msgspec.msgpack.encode(other.save())
        assert item.orders.open_of(ACCOUNTS) == other.orders.open_of(ACCOUNTS)
        assert self.market.ctx.timers.pending() == self.twin.ctx.timers.pending()
        for account in ACCOUNTS:
            assert item.open_orders_reserve(account) == other.open_orders_reserve(account)
        for symbol in SYMBOLS:
            assert self.market.depth(symbol) == self.twin.depth(symbol)
            assert item.stats(symbol) == other.stats(symbol)

    @invariant()
    def everything_adds_up(self) -> None:
        """What `core/invariants.py` lists, margins once more, and rule P5: whoever traded can pay
        for what is left in every other instrument.
        """
        self.market.check()
        trading = self.market.trading
        for account in ACCOUNTS:
            shorts = {
                instrument.symbol: (
                    max(-trading.positions.net(account, instrument.symbol), 0)
                    * (DOLLAR // instrument.qty_scale)
                )
                for instrument in trading.instruments
            }
            freed = min(shorts[symbol] for symbol in EXCLUSIVE) if account == "e" else 0
            assert trading.margin_requirement(account) == sum(shorts.values()) - freed
            assert (
                trading.buying_power(account)
                == trading.ledger.balance(account) - sum(shorts.values()) + freed
            )
            if self.ordering and account in self.audit.last_fill:
                for symbol in SYMBOLS:
                    power = trading.buying_power(account) - (freed if symbol in EXCLUSIVE else 0)
                    assert symbol == self.audit.last_fill[account] or reserved(
                        trading, account, symbol
                    ) <= max(power, 0)


TradingMachine.TestCase.settings = settings(
    stateful_step_count=50, suppress_health_check=list(HealthCheck)
)
test_everything_adds_up_whatever_happens = TradingMachine.TestCase
