"""The actions of simulated traders: a maker quotes, a taker trades with resting orders, a noise
trader places and cancels orders.

Theory. All three start from the fair price of the instrument (`fair_prices.py`).

* A maker quotes around a middle: the fair price, moved by `skew` against its inventory (by all of
  `skew` when the inventory is full). Best bid and offer are half of `spread` below and above,
  rounded away from the middle to the tick; further levels follow at a distance of `step` with the
  next of `sizes`. It never trades with a resting order of others: a quote that would do so is moved
  to one tick from it. It quotes no more than its inventory has room for. An order that it still
  wants keeps its place in the queue until half of it is filled; the maker cancels all others and
  places the missing ones. If neither the book nor its own best prices have changed, it does
  nothing.
* A taker arrives at random and sends an immediate-or-cancel order of a drawn size at the best
  price, or up to `slippage` beyond it. With `edge` it trades only at prices that are better than
  the fair price by at least this much.
* A noise trader places an order at a drawn distance from the fair price, or cancels one of its own.

The number of random draws of an action depends only on the trader's own past, not on the market. So
the draws of one trader never depend on what another does.
"""

from __future__ import annotations

from sim.core.catalogue.quirks import parse_chance
from sim.core.matching.book import Book, Ladder
from sim.core.model.enums import BUY, SELL, Side, TimeInForce
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty, scaled_down
from sim.kernel.instants import Span
from sim.run.actors.participants.fair_prices import UNIT
from sim.run.actors.participants.trader_on_instrument import TraderOnInstrument
from sim.world.format.participant_entries import (
    MakerEntry,
    NoiseEntry,
    TakerEntry,
    Trader,
    mean_wait,
)

_IOC = TimeInForce.IMMEDIATE_OR_CANCEL


class Maker(TraderOnInstrument):
    """Quotes both sides around the fair price."""

    entry: MakerEntry

    def prepare(self) -> None:
        entry, instrument = self.entry, self.instrument
        tick = instrument.tick
        self._every, self._jitter = entry.every, entry.jitter
        self._half = scaled_down(entry.spread, UNIT) // 2
        self._skew = scaled_down(entry.skew, UNIT)
        self._sizes = [scaled_down(size, instrument.qty_scale) for size in entry.sizes]
        step = scaled_down(entry.step, instrument.price_scale) if entry.step else tick
        self._step = max(tick, step // tick * tick)
        # version of the book, best bid and offer, when all its quotes were last in place
        self._seen: tuple[int, Price, Price] | None = None

    def first_wait(self) -> Span:
        """It acts at once."""
        return 0

    def next_wait(self) -> Span:
        """Its interval and a random delay."""
        return self._every + (self.stream.below(self._jitter + 1) if self._jitter else 0)

    def act(self, fair: int) -> None:
        """Cancel unwanted orders, then place the missing ones: bids, then offers, best first."""
        book, (bid, offer) = self.book(), self._touch(fair)
        if self._seen == (book.version, bid, offer):
            return  # the book has not changed since this trader's last action
        working, refused = self.working(), self.state.refused
        quotes = self._quotes(book, bid, offer, working)
        for order in working:
            desired = quotes.get((order.side, order.price), 0)
            if order.leaves_qty <= desired <= 2 * order.leaves_qty:
                del quotes[order.side, order.price]
            else:
                self.cancel(order)
        for (side, price), qty in quotes.items():
            self.place_order(side, price, qty)
        self._seen = (book.version, bid, offer) if self.state.refused == refused else None

    def _touch(self, fair: int) -> tuple[Price, Price]:
        """The best bid and offer that it would quote in an empty book."""
        tick, scale = self.instrument.tick, self.instrument.price_scale
        middle = fair - self._skew * self.net // self.limit if self._skew else fair
        bid = (middle - self._half) * scale // UNIT // tick * tick
        offer = -(-(middle + self._half) * scale // UNIT // tick) * tick
        return bid, offer if offer > bid else bid + tick

    def _quotes(
        self, book: Book, bid: Price, offer: Price, working: list[Order]
    ) -> dict[tuple[Side, Price], Qty]:
        """Quantities by side and price, best first. None of them trades with orders of others."""
        tick = self.instrument.tick
        if lowest := _others_best(book.offers, SELL, working):
            bid = min(bid, lowest - tick)
        if highest := _others_best(book.bids, BUY, working):
            offer = max(offer, highest + tick)
        quotes: dict[tuple[Side, Price], Qty] = {}
        self._add_levels(quotes, BUY, bid, -self._step)
        self._add_levels(quotes, SELL, offer, self._step)
        return quotes

    def _add_levels(
        self, quotes: dict[tuple[Side, Price], Qty], side: Side, price: Price, step: Price
    ) -> None:
        """Quote one side from its best price on, up to the room in the inventory."""
        low, high, room = self.instrument.price_low, self.instrument.price_high, self.room(side)
        for size in self._sizes:
            qty = self.lots(size if size < room else room)
            if not qty:
                return
            if low <= price <= high:
                room -= qty
                quotes[side, price] = qty
            price += step


def _others_best(ladder: Ladder, side: Side, working: list[Order]) -> Price:
    """The best price of a side with an order of somebody else; 0 if there is none."""
    own: dict[Price, Qty] = {}
    for order in working:
        if order.side is side:
            own[order.price] = own.get(order.price, 0) + order.leaves_qty
    for level in ladder.walk():
        if level.qty > own.get(level.price, 0):
            return level.price
    return 0


class RandomTrader(TraderOnInstrument):
    """A trader that acts at random times, with orders of random size."""

    entry: TakerEntry | NoiseEntry

    def prepare(self) -> None:
        self._mean_wait = mean_wait(self.entry.rate)
        self._smallest, self._largest = self.size_range(self.entry.size)

    def next_wait(self) -> Span:
        """The waits are exponentially distributed, so actions are independent."""
        return self.stream.exponential(self._mean_wait)

    def draw_qty(self) -> Qty:
        """Draw the size of an order."""
        return self.stream.log_between(self._smallest, self._largest) * self.instrument.min_qty


class Taker(RandomTrader):
    """Trades with resting orders by immediate-or-cancel orders."""

    entry: TakerEntry

    def prepare(self) -> None:
        super().prepare()
        entry, instrument = self.entry, self.instrument
        self._buys = parse_chance(entry.buys)
        self._edge = None if entry.edge is None else scaled_down(entry.edge, UNIT)
        slippage = scaled_down(entry.slippage, UNIT) * instrument.price_scale // UNIT
        self._slippage = slippage // instrument.tick * instrument.tick

    def act(self, fair: int) -> None:
        """Send an order, limited by a drawn size, the inventory and the price."""
        stream, odds, instrument = self.stream, self._buys, self.instrument
        buys = stream.chance(odds.numerator, odds.denominator)
        qty = self.draw_qty()
        book, scale = self.book(), instrument.price_scale
        if self._edge is not None:
            bid, offer = book.bids.best, book.offers.best
            if offer and offer * UNIT <= (fair - self._edge) * scale:
                buys = True
            elif bid * UNIT >= (fair + self._edge) * scale:
                buys = False
            else:
                return
        elif self.room(BUY if buys else SELL) < self.least:
            buys = not buys
        side = BUY if buys else SELL
        best = book.opposite(side).best
        qty = self.lots(min(qty, self.room(side)))
        if best and qty:
            beyond = best + self._slippage if buys else best - self._slippage
            self.place_order(side, self.within(beyond), qty, _IOC)


class Noise(RandomTrader):
    """Places orders near the fair price and cancels some of them."""

    entry: NoiseEntry

    def prepare(self) -> None:
        super().prepare()
        self._cancels = parse_chance(self.entry.cancels)
        self._width = scaled_down(self.entry.width, UNIT)
        self._resting = self.entry.resting

    def act(self, fair: int) -> None:
        """Place an order near the fair price, or cancel one."""
        stream, odds, instrument = self.stream, self._cancels, self.instrument
        cancels, pick = stream.chance(odds.numerator, odds.denominator), stream.bits()
        side = BUY if stream.chance(1, 2) else SELL
        distance = stream.between(-self._width // 4, self._width)
        qty = self.draw_qty()
        working = self.working()
        if working and (cancels or len(working) >= self._resting):
            self.cancel(working[pick % len(working)])
            return
        room = self.room(side, working)
        if room < self.least:
            side = SELL if side is BUY else BUY
            room = self.room(side, working)
        dollars = fair - distance if side is BUY else fair + distance
        price = dollars * instrument.price_scale // UNIT // instrument.tick * instrument.tick
        if qty := self.lots(min(qty, room)):
            self.place_order(side, self.within(price), qty)


KINDS: dict[type[Trader], type[TraderOnInstrument]] = {
    MakerEntry: Maker,
    TakerEntry: Taker,
    NoiseEntry: Noise,
}
