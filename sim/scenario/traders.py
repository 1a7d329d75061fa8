"""What scripted participants do when it is their turn: quote, take, make noise. Their orders enter as everybody's do, and refused ones leave no trace.

Each kind is a function of a seat: one participant on one instrument, with a stream of luck of its own. An act draws the same number of times whatever the
market looks like, or as its own past alone asks, so the luck of one never depends on another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct, field

from sim.core.book import Book
from sim.core.commands import CancelOrder, PlaceOrder
from sim.core.exchange import Exchange
from sim.core.firms import User
from sim.core.orders import Order
from sim.core.quantities import Price, Qty, scaled, scaled_down
from sim.core.quirks import Chance, parse_chance
from sim.core.refusals import Refusal
from sim.core.vocabulary import BUY, SELL, Channel, InstrumentState, SelfMatchPrevention, Side, TimeInForce
from sim.kernel.entropy import Stream
from sim.kernel.instants import Span
from sim.scenario.fair_prices import UNIT, FairPrice
from sim.scenario.participants_format import MakerEntry, NoiseEntry, SizeRange, TakerEntry, Trader, mean_wait


class SeatState(Struct):
    """What a seat saves: whether it waits for its market to open, its working orders, and how many of its orders were refused."""

    asleep: bool = True
    orders: list[str] = field(default_factory=list)
    refused: int = 0


class Seat:
    """One participant on one instrument."""

    __slots__ = ("entry", "exchange", "fair", "instrument", "least", "limit", "state", "stream_name", "user")

    def __init__(self, exchange: Exchange, entry: Trader, user: User, symbol: str, fair: FairPrice) -> None:
        self.exchange = exchange
        self.entry = entry
        self.user = user
        self.fair = fair
        self.instrument = instrument = exchange.instruments.require(symbol)
        self.limit = max(1, scaled_down(entry.inventory, instrument.qty_scale))
        least = max(instrument.min_qty, instrument.size_low or 0)
        self.least = -(-least // instrument.min_qty) * instrument.min_qty
        self.stream_name = f"participant.{entry.name}.{symbol}"
        self.state = SeatState()

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

    def room(self, side: Side) -> Qty:
        """How much it may still buy or sell before its inventory is full."""
        net = self.exchange.trading.positions.net(self.user.account, self.instrument.symbol)
        return max(0, self.limit - net if side is BUY else self.limit + net)

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
        low = max(scaled_down(size.low, instrument.qty_scale), self.least) // instrument.min_qty
        high = max(low, scaled_down(size.high, instrument.qty_scale) // instrument.min_qty)
        return self.stream.log_between(low, high) * instrument.min_qty

    def working(self) -> list[Order]:
        """Its orders that still work, in the order in which it left them; the others are forgotten."""
        get = self.exchange.trading.orders.get
        found = [order for order in map(get, self.state.orders) if order is not None and order.live]
        self.state.orders = [order.id for order in found]
        return found

    def place(self, side: Side, price: Price, qty: Qty, tif: TimeInForce = TimeInForce.GOOD_TILL_CANCEL) -> None:
        """Send a limit order. It never trades with another order of its user: that one is canceled first (rule M28)."""
        user = self.user
        command = PlaceOrder(
            symbol=self.instrument.symbol,
            account=user.account,
            participant=user.name,
            side=side,
            qty=qty,
            price=price,
            tif=tif,
            channel=Channel.SCRIPT,
            smp_id=user.name,
            smp=SelfMatchPrevention.CANCEL_RESTING,
            submitter=user.name,
        )
        try:
            order = self.exchange.trading.place(command)
        except Refusal:
            self.state.refused += 1
            return
        if order.live:
            self.state.orders.append(order.id)

    def cancel(self, order: Order) -> None:
        """Take one of its orders out."""
        self.exchange.trading.cancel(CancelOrder(accounts=(order.account,), order_id=order.id))

    def cancel_all(self) -> None:
        """Take all its orders out, where the state of the instrument lets it."""
        for order in self.working():
            try:
                self.cancel(order)
            except Refusal:
                return
        self.state.orders = []


@lru_cache(maxsize=1024)
def _dollars(text: str) -> int:
    """Dollars of an entry in UNITs."""
    return scaled(text, UNIT)


@lru_cache(maxsize=1024)
def _odds(text: str) -> Chance:
    """A chance of an entry."""
    return parse_chance(text)


@lru_cache(maxsize=1024)
def _mean_wait(rate: str) -> Span:
    """Average wait of a rate of an entry."""
    return mean_wait(rate)


def first_wait(seat: Seat) -> Span:
    """How long after its market opens it acts first: a maker at once, others when they arrive."""
    return 0 if isinstance(seat.entry, MakerEntry) else next_wait(seat)


def next_wait(seat: Seat) -> Span:
    """How long until it acts again."""
    entry = seat.entry
    if isinstance(entry, MakerEntry):
        return entry.every + (seat.stream.below(entry.jitter + 1) if entry.jitter else 0)
    if isinstance(entry, TakerEntry | NoiseEntry):
        return seat.stream.exponential(_mean_wait(entry.rate))
    raise AssertionError(f"no kind of participant: {type(entry).__name__}")


def act(seat: Seat) -> None:
    """Let a participant do what its kind does; its market is open."""
    entry, fair = seat.entry, seat.fair.at(seat.exchange.now)
    if isinstance(entry, MakerEntry):
        _quote(seat, entry, fair)
    elif isinstance(entry, TakerEntry):
        _take(seat, entry, fair)
    elif isinstance(entry, NoiseEntry):
        _make_noise(seat, entry, fair)


# ---- market makers


def _quote(seat: Seat, entry: MakerEntry, fair: int) -> None:
    """Take out what is not wanted any more, then quote what is missing: bids, then offers, best first. An order keeps its place until half of it is traded."""
    mine = seat.working()
    wanted = {(side, price): qty for side in (BUY, SELL) for price, qty in _levels(seat, entry, fair, side, mine)}
    for order in mine:
        qty = wanted.get((order.side, order.price), 0)
        if order.leaves_qty <= qty <= 2 * order.leaves_qty:
            del wanted[order.side, order.price]
        else:
            seat.cancel(order)
    for (side, price), qty in wanted.items():
        seat.place(side, price, qty)


def _levels(seat: Seat, entry: MakerEntry, fair: int, side: Side, mine: list[Order]) -> Iterator[tuple[Price, Qty]]:
    """(price, quantity) of the quotes of one side, best first, which leave others' orders on the other side alone."""
    instrument = seat.instrument
    tick, scale = instrument.tick, instrument.price_scale
    net = seat.exchange.trading.positions.net(seat.user.account, seat.symbol)
    middle = fair - _dollars(entry.skew) * net // seat.limit
    half = _dollars(entry.spread) // 2
    step = max(tick, scaled_down(entry.step, scale) // tick * tick) if entry.step else tick
    if side is SELL:
        step = -step
        best = -(-(middle + half) * scale // UNIT // tick) * tick
        if best <= (middle - half) * scale // UNIT // tick * tick:
            best += tick
        bound = _others_best(seat, BUY, mine)
        best = max(best, bound + tick) if bound else best
    else:
        best = (middle - half) * scale // UNIT // tick * tick
        bound = _others_best(seat, SELL, mine)
        best = min(best, bound - tick) if bound else best
    room = seat.room(side)
    for level, size in enumerate(entry.sizes):
        price = best - level * step
        qty = seat.lots(min(scaled_down(size, instrument.qty_scale), room))
        if not qty:
            return
        if instrument.price_low <= price <= instrument.price_high:
            room -= qty
            yield price, qty


def _others_best(seat: Seat, side: Side, mine: list[Order]) -> Price:
    """Best price on a side at which somebody else has an order; 0 for none."""
    own: dict[Price, Qty] = {}
    for order in mine:
        if order.side is side:
            own[order.price] = own.get(order.price, 0) + order.leaves_qty
    return next((level.price for level in seat.book().own(side).walk() if level.qty > own.get(level.price, 0)), 0)


# ---- takers


def _take(seat: Seat, entry: TakerEntry, fair: int) -> None:
    """Take from the book what a drawn size, the inventory and the price allow."""
    odds = _odds(entry.buys)
    buys, qty = seat.stream.chance(odds.numerator, odds.denominator), seat.drawn_size(entry.size)
    book, scale = seat.book(), seat.instrument.price_scale
    if entry.edge is not None:
        edge = _dollars(entry.edge)
        if book.offers.best and book.offers.best * UNIT <= (fair - edge) * scale:
            buys = True
        elif book.bids.best * UNIT >= (fair + edge) * scale:
            buys = False
        else:
            return
    elif seat.room(BUY if buys else SELL) < seat.least:
        buys = not buys
    side = BUY if buys else SELL
    best = book.opposite(side).best
    qty = seat.lots(min(qty, seat.room(side)))
    if best and qty:
        seat.place(side, _beyond(seat, side, best, _dollars(entry.slippage)), qty, TimeInForce.IMMEDIATE_OR_CANCEL)


def _beyond(seat: Seat, side: Side, price: Price, slippage: int) -> Price:
    """A price worse than another by some dollars, on the tick and within the band."""
    instrument = seat.instrument
    far = slippage * instrument.price_scale // UNIT // instrument.tick * instrument.tick
    return min(price + far, instrument.price_high) if side is BUY else max(price - far, instrument.price_low)


# ---- noise


def _make_noise(seat: Seat, entry: NoiseEntry, fair: int) -> None:
    """Leave an order near the fair price, or take one out."""
    stream, instrument = seat.stream, seat.instrument
    odds, width = _odds(entry.cancels), _dollars(entry.width)
    cancels, pick = stream.chance(odds.numerator, odds.denominator), stream.bits()
    side, distance, qty = BUY if stream.chance(1, 2) else SELL, stream.between(-width // 4, width), seat.drawn_size(entry.size)
    mine = seat.working()
    if mine and (cancels or len(mine) >= entry.resting):
        order = mine[pick % len(mine)]
        seat.cancel(order)
        return
    if seat.room(side) < seat.least:
        side = SELL if side is BUY else BUY
    price = (fair - distance if side is BUY else fair + distance) * instrument.price_scale // UNIT // instrument.tick * instrument.tick
    price = min(max(price, instrument.price_low), instrument.price_high)
    qty = seat.lots(min(qty, seat.room(side)))
    if qty:
        seat.place(side, price, qty)
