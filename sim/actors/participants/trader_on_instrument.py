"""One scripted participant on one instrument, with a stream of random numbers of its own.

Its orders enter as everybody's do. Refused ones leave no trace but a count.
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
    """The state of a trader.

    `asleep`: it has no timer until its market opens or it is switched on; `active`: it is switched
    on; `orders`: ids of orders that may still work; `refused` counts orders.
    """

    asleep: bool = True
    active: bool = True
    orders: list[str] = field(default_factory=list)
    refused: int = 0


class TraderOnInstrument:
    """One participant on one instrument."""

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
        slot = exchange.recurring.slot_of_symbol(symbol)
        # Orders on a recurring market end with it. Its instruments share one random stream for each
        # series, because there is no end of them.
        self.rests = TimeInForce.GOOD_TILL_CANCEL if slot is None else TimeInForce.DAY
        source = symbol if slot is None else exchange.recurring.series[slot.series].prefix
        self.stream_name = f"participant.{entry.name}.{source}"
        self.state = TraderState()
        # A maker's: version of the book, best bid and offer when its quotes were last all in place.
        self.seen: tuple[int, Price, Price] | None = None

    @property
    def symbol(self) -> str:
        """The symbol of the instrument."""
        return self.instrument.symbol

    @property
    def name(self) -> str:
        """Participant and symbol: the subject of its timers."""
        return f"{self.entry.name} {self.instrument.symbol}"

    @property
    def net(self) -> Qty:
        """Its net position on the instrument; negative is short."""
        return self.exchange.trading.positions.net(self.user.account, self.instrument.symbol)

    @property
    def stream(self) -> Stream:
        """Its random numbers."""
        return self.exchange.ctx.entropy.stream(self.stream_name)

    @property
    def open(self) -> bool:
        """Whether its market trades continuously now."""
        return self.exchange.trading.state(self.instrument.symbol) is InstrumentState.OPEN

    def book(self) -> Book:
        """The book of the instrument."""
        return self.exchange.trading.book(self.instrument.symbol)

    def room(self, side: Side, working: Iterable[Order] = ()) -> Qty:
        """How much it may buy or sell until its inventory is full, if its orders `working` were
        filled too.
        """
        free = self.limit - self.net if side is BUY else self.limit + self.net
        return max(0, free - sum(order.leaves_qty for order in working if order.side is side))

    def within(self, price: Price) -> Price:
        """The nearest price on the tick and within the band."""
        instrument, tick = self.instrument, self.instrument.tick
        lowest = -(-instrument.price_low // tick) * tick
        return min(max(price, lowest), instrument.price_high // tick * tick)

    def lots(self, qty: Qty) -> Qty:
        """A quantity on the instrument's step and within its size limit; 0 when too small."""
        instrument = self.instrument
        if instrument.size_high is not None:
            qty = min(qty, instrument.size_high)
        qty -= qty % instrument.min_qty
        return qty if qty >= self.least else 0

    def drawn_size(self, size: SizeRange) -> Qty:
        """Draw a size in whole steps of the instrument. Small sizes are more frequent."""
        scale, lot = self.instrument.qty_scale, self.instrument.min_qty
        low = min(max(scaled_down(size.low, scale), self.least) // lot, _LARGEST)
        high = min(max(low, scaled_down(size.high, scale) // lot), _LARGEST)
        return self.stream.log_between(low, high) * lot

    def working(self) -> list[Order]:
        """Its orders that still work, oldest first; forgets the others."""
        get = self.exchange.trading.orders.get
        orders = [each for each in map(get, self.state.orders) if each is not None and each.live]
        self.state.orders = [order.id for order in orders]
        return orders

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
        """Cancel one of its orders."""
        command = CancelOrder(accounts=(order.account,), order_id=order.id)
        self.exchange.trading.order_service.cancel(command)

    def cancel_all(self) -> None:
        """Cancel all its orders, if the state of the instrument permits."""
        for order in self.working():
            try:
                self.cancel(order)
            except Refusal:
                return
        self.state.orders = []
