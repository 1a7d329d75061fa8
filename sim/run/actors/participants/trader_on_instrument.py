"""One simulated trader on one instrument: what it knows, and what it can do.

`strategies.py` decides what it does. It trades through the same order service as clients, on the
channel SCRIPT: the engine's latency does not apply to it, and a refused order only increases a
counter.

A trader looks at its market thousands of times a day. Therefore the values of its entry are
converted to the instrument's numbers once, when the trader is created.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from sim.core.exchange import Exchange
from sim.core.identity.firms import User
from sim.core.matching.book import Book
from sim.core.model.commands import CancelOrder, PlaceOrder
from sim.core.model.enums import BUY, OPEN, SCRIPT, SelfMatchPrevention, Side, TimeInForce
from sim.core.model.orders import Order, live_of
from sim.core.model.quantities import Price, Qty, scaled_down
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Span
from sim.run.actors.participants.fair_prices import FairPrice, RecurringFairPrice
from sim.world.format.participant_entries import SizeRange, Trader

_LARGEST = 1 << 60  # largest drawn size, in steps
_CANCEL_RESTING = SelfMatchPrevention.CANCEL_RESTING


class TraderState(Struct):
    """The state of a trader.

    `asleep`: it has no timer until its market opens or it is resumed. `active`: it is not stopped.
    `orders`: ids of orders that may still be open. `refused` counts orders.
    """

    asleep: bool = True
    active: bool = True
    orders: list[str] = field(default_factory=list)
    refused: int = 0


class TraderOnInstrument:
    """One simulated trader on one instrument.

    `name`, participant and symbol, is the subject of its timers; `recurring` tells whether its
    market is a recurring one; `least` is the smallest quantity of an order.
    """

    def __init__(
        self,
        exchange: Exchange,
        entry: Trader,
        user: User,
        symbol: str,
        fair: FairPrice | RecurringFairPrice,
    ) -> None:
        trading = exchange.trading
        self.entry = entry
        self.user = user
        self.fair = fair
        self.symbol = symbol
        self.name = f"{entry.name} {symbol}"
        self.instrument = instrument = exchange.instruments.require(symbol)
        self.limit = max(1, scaled_down(entry.inventory, instrument.qty_scale))
        least = max(instrument.min_qty, instrument.size_low or 0)
        self.least = -(-least // instrument.min_qty) * instrument.min_qty
        slot = exchange.recurring.slot_of_symbol(symbol)
        self.recurring = slot is not None
        # Orders on a recurring market end with it. Instruments of a series share one stream,
        # because their number is unlimited.
        self.rests = TimeInForce.GOOD_TILL_CANCEL if slot is None else TimeInForce.DAY
        source = symbol if slot is None else exchange.recurring.series[slot.series].prefix
        self.stream = exchange.ctx.entropy.stream(f"participant.{entry.name}.{source}")
        self.state = TraderState()
        self._order_service = trading.order_service
        self._order_of = trading.orders.get
        self._net_of = trading.positions.net
        self._book_of = trading.books.get
        self._state_of = trading.lifecycle.state
        self.prepare()

    # ---- decisions of a kind of trader

    def prepare(self) -> None:
        """Convert the values of its entry to the instrument's numbers."""
        raise NotImplementedError

    def first_wait(self) -> Span:
        """The wait until its first action after the market has opened."""
        return self.next_wait()

    def next_wait(self) -> Span:
        """The wait until its next action."""
        raise NotImplementedError

    def act(self, fair: int) -> None:
        """Act in an open market, at a fair price in UNITs."""
        raise NotImplementedError

    # ---- its knowledge

    @property
    def net(self) -> Qty:
        """Its net position on the instrument; negative is short."""
        return self._net_of(self.user.account, self.symbol)

    @property
    def open(self) -> bool:
        """Whether its market trades continuously now."""
        return self._state_of(self.symbol) is OPEN

    def book(self) -> Book:
        """The book of the instrument."""
        return self._book_of(self.symbol)

    def room(self, side: Side, working: Iterable[Order] = ()) -> Qty:
        """How much it may buy or sell until its inventory is full, if its orders `working`
        were filled too.
        """
        free = self.limit - self.net if side is BUY else self.limit + self.net
        for order in working:
            if order.side is side:
                free -= order.leaves_qty
        return free if free > 0 else 0

    def within(self, price: Price) -> Price:
        """The nearest price on the tick and within the price band."""
        instrument, tick = self.instrument, self.instrument.tick
        lowest = -(-instrument.price_low // tick) * tick
        return min(max(price, lowest), instrument.price_high // tick * tick)

    def lots(self, qty: Qty) -> Qty:
        """A quantity on the instrument's step and within its size limit; 0 if it is too small."""
        instrument = self.instrument
        if instrument.size_high is not None and qty > instrument.size_high:
            qty = instrument.size_high
        qty -= qty % instrument.min_qty
        return qty if qty >= self.least else 0

    def size_range(self, size: SizeRange) -> tuple[int, int]:
        """The smallest and the largest of a range of sizes, in whole steps of the instrument."""
        scale, lot = self.instrument.qty_scale, self.instrument.min_qty
        low = min(max(scaled_down(size.low, scale), self.least) // lot, _LARGEST)
        return low, min(max(low, scaled_down(size.high, scale) // lot), _LARGEST)

    def working(self) -> list[Order]:
        """Its open orders, oldest first. Forgets the others."""
        state = self.state
        own_orders = map(self._order_of, state.orders)
        orders = live_of([order for order in own_orders if order is not None])
        if len(orders) != len(state.orders):
            state.orders = [order.id for order in orders]
        return orders

    # ---- its actions

    def place_order(
        self, side: Side, price: Price, qty: Qty, tif: TimeInForce | None = None
    ) -> None:
        """Send a limit order. It never trades with another order of its user, which is canceled
        instead (rule M28).
        """
        user = self.user
        command = PlaceOrder(
            symbol=self.symbol,
            account=user.account,
            participant=user.name,
            side=side,
            qty=qty,
            price=price,
            tif=self.rests if tif is None else tif,
            channel=SCRIPT,
            smp_id=user.name,
            smp=_CANCEL_RESTING,
            submitter=user.name,
        )
        try:
            order = self._order_service.enter(command)
        except Refusal:
            self.state.refused += 1
            return
        if order.live:
            self.state.orders.append(order.id)

    def cancel(self, order: Order) -> None:
        """Cancel one of its orders."""
        self._order_service.cancel(CancelOrder(accounts=(order.account,), order_id=order.id))

    def cancel_all(self) -> None:
        """Cancel all its orders, if the state of the instrument permits."""
        for order in self.working():
            try:
                self.cancel(order)
            except Refusal:
                return
        self.state.orders = []
