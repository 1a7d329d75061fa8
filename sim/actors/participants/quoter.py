"""A seat: one scripted participant on one instrument, with a stream of luck of its own. Its orders
enter as everybody's do, and refused ones leave no trace.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from sim.actors.participants.fair_prices import FairPrice
from sim.actors.participants.recurring_fair_price import RecurringFairPrice
from sim.core.exchange import Exchange
from sim.core.identity.firms import User
from sim.core.matching.book import Book
from sim.core.model.commands import CancelOrder, PlaceOrder
from sim.core.model.enums import (
    BUY,
    Channel,
    InstrumentState,
    SelfMatchPrevention,
    Side,
    TimeInForce,
)
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty, scaled_down
from sim.core.model.refusals import Refusal
from sim.kernel.entropy import Stream
from sim.scenario.participant_entries import SizeRange, Trader

_LARGEST = 1 << 60  # of a drawn size, in steps


class TraderState(Struct):
    """What a seat saves: whether it waits for its market to open or to be told to go on, its
    working orders, and how many of its orders were refused.
    """

    asleep: bool = True
    active: bool = True
    orders: list[str] = field(default_factory=list)
    refused: int = 0


class TraderOnInstrument:
    """One participant on one instrument."""

    __slots__ = (
        "entry",
        "exchange",
        "fair",
        "instrument",
        "least",
        "limit",
        "rests",
        "seen",
        "state",
        "stream_name",
        "user",
    )

    def __init__(
        self,
        exchange: Exchange,
        entry: Trader,
        user: User,
        symbol: str,
        fair: FairPrice | RecurringFairPrice,
    ) -> None:
        self.exchange = exchange
        self.entry = entry
        self.user = user
        self.fair = fair
        self.instrument = instrument = exchange.instruments.require(symbol)
        self.limit = max(1, scaled_down(entry.inventory, instrument.qty_scale))
        least = max(instrument.min_qty, instrument.size_low or 0)
        self.least = -(-least // instrument.min_qty) * instrument.min_qty
        # those of a product share their luck: there is no end of them
        window = exchange.recurring.slot_of_symbol(symbol)
        # what is left of a window's quotes ends with it
        self.rests = TimeInForce.GOOD_TILL_CANCEL if window is None else TimeInForce.DAY
        self.stream_name = f"participant.{entry.name}.{symbol if window is None else exchange.recurring.series[window.series].prefix}"
        self.state = TraderState()
        # a maker's: version of the book and best prices it last found or made as it wants them
        self.seen: tuple[int, Price, Price] | None = None

    @property
    def symbol(self) -> str:
        """Of the instrument."""
        return self.instrument.symbol

    @property
    def name(self) -> str:
        """Participant and symbol: the subject of its timers."""
        return f"{self.entry.name} {self.instrument.symbol}"

    @property
    def stream(self) -> Stream:
        """Its luck."""
        return self.exchange.ctx.entropy.stream(self.stream_name)

    @property
    def open(self) -> bool:
        """Whether its market trades continuously now."""
        return self.exchange.trading.state(self.instrument.symbol) is InstrumentState.OPEN

    def book(self) -> Book:
        """Of the instrument."""
        return self.exchange.trading.book(self.instrument.symbol)

    def room(self, side: Side, mine: Iterable[Order] = ()) -> Qty:
        """How much it may still buy or sell, were these orders of its own filled too, before its
        inventory is full.
        """
        net = self.exchange.trading.positions.net(self.user.account, self.instrument.symbol)
        return max(
            0,
            (self.limit - net if side is BUY else self.limit + net)
            - sum(order.leaves_qty for order in mine if order.side is side),
        )

    def within(self, price: Price) -> Price:
        """The nearest price on the tick and within the band."""
        instrument = self.instrument
        tick = instrument.tick
        return min(
            max(price, -(-instrument.price_low // tick) * tick),
            instrument.price_high // tick * tick,
        )

    def lots(self, qty: Qty) -> Qty:
        """A quantity on the instrument's step and within its size limit; 0 when too small."""
        instrument = self.instrument
        if instrument.size_high is not None:
            qty = min(qty, instrument.size_high)
        qty -= qty % instrument.min_qty
        return qty if qty >= self.least else 0

    def drawn_size(self, size: SizeRange) -> Qty:
        """A size, in whole steps of the instrument. Small sizes are more frequent."""
        instrument = self.instrument
        low = min(
            max(scaled_down(size.low, instrument.qty_scale), self.least) // instrument.min_qty,
            _LARGEST,
        )
        high = min(
            max(low, scaled_down(size.high, instrument.qty_scale) // instrument.min_qty), _LARGEST
        )
        return self.stream.log_between(low, high) * instrument.min_qty

    def working(self) -> list[Order]:
        """Its orders that still work, in the order in which it left them; the others are forgotten."""
        get = self.exchange.trading.orders.get
        found = [order for order in map(get, self.state.orders) if order is not None and order.live]
        self.state.orders = [order.id for order in found]
        return found

    def place(self, side: Side, price: Price, qty: Qty, tif: TimeInForce | None = None) -> None:
        """Send a limit order. It never trades with another order of its user: that one is canceled
        first (rule M28).
        """
        user = self.user
        command = PlaceOrder(
            symbol=self.instrument.symbol,
            account=user.account,
            participant=user.name,
            side=side,
            qty=qty,
            price=price,
            tif=self.rests if tif is None else tif,
            channel=Channel.SCRIPT,
            smp_id=user.name,
            smp=SelfMatchPrevention.CANCEL_RESTING,
            submitter=user.name,
        )
        try:
            order = self.exchange.trading.order_service.place(command)
        except Refusal:
            self.state.refused += 1
            return
        if order.live:
            self.state.orders.append(order.id)

    def cancel(self, order: Order) -> None:
        """Take one of its orders out."""
        self.exchange.trading.order_service.cancel(
            CancelOrder(accounts=(order.account,), order_id=order.id)
        )

    def cancel_all(self) -> None:
        """Take all its orders out, where the state of the instrument lets it."""
        for order in self.working():
            try:
                self.cancel(order)
            except Refusal:
                return
        self.state.orders = []
