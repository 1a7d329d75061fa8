"""What scripted participants do when it is their turn: quote, take, make noise.

Each kind is a function of a seat. An act draws the same number of times whatever the market looks
like, or as its own past alone asks, so the luck of one never depends on another.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sim.actors.participants.quoter import TraderOnInstrument
from sim.actors.participants.recurring_fair_price import UNIT
from sim.core.catalogue.quirks import Chance, parse_chance
from sim.core.model.enums import BUY, SELL, Side, TimeInForce
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty, scaled_down
from sim.kernel.instants import Span
from sim.scenario.participant_entries import MakerEntry, NoiseEntry, TakerEntry, mean_wait


@lru_cache(maxsize=1024)
def _dollars(text: str) -> int:
    """Dollars of an entry in UNITs."""
    return scaled_down(text, UNIT)


@lru_cache(maxsize=1024)
def _odds(text: str) -> Chance:
    """A chance of an entry."""
    return parse_chance(text)


@lru_cache(maxsize=1024)
def _mean_wait(rate: str) -> Span:
    """Average wait of a rate of an entry."""
    return mean_wait(rate)


def first_wait(seat: TraderOnInstrument) -> Span:
    """How long after its market opens it acts first: a maker at once, others when they arrive."""
    return 0 if isinstance(seat.entry, MakerEntry) else next_wait(seat)


def next_wait(seat: TraderOnInstrument) -> Span:
    """How long until it acts again."""
    entry = seat.entry
    if isinstance(entry, MakerEntry):
        return entry.every + (seat.stream.below(entry.jitter + 1) if entry.jitter else 0)
    if isinstance(entry, TakerEntry | NoiseEntry):
        return seat.stream.exponential(_mean_wait(entry.rate))
    raise AssertionError(f"no kind of participant: {type(entry).__name__}")


def act(seat: TraderOnInstrument) -> None:
    """Let a participant do what its kind does; its market is open."""
    entry, fair = seat.entry, seat.fair.at(seat.exchange.now)
    if isinstance(entry, MakerEntry):
        _quote(seat, entry, fair)
    elif isinstance(entry, TakerEntry):
        _take(seat, entry, fair)
    elif isinstance(entry, NoiseEntry):
        _make_noise(seat, entry, fair)


# ---- market makers


def _quote(seat: TraderOnInstrument, entry: MakerEntry, fair: int) -> None:
    """Take out what is not wanted any more, then quote what is missing: bids, then offers, best
    first. An order keeps its place until half of it is traded.
    """
    book, (bid, offer) = seat.book(), _touch(seat, entry, fair)
    if seat.seen == (book.version, bid, offer):
        return  # nothing has happened since all was as it should be
    mine, refused = seat.working(), seat.state.refused
    wanted = {(BUY, price): qty for price, qty in _levels(seat, entry, BUY, bid, mine)}
    wanted |= {(SELL, price): qty for price, qty in _levels(seat, entry, SELL, offer, mine)}
    for order in mine:
        qty = wanted.get((order.side, order.price), 0)
        if order.leaves_qty <= qty <= 2 * order.leaves_qty:
            del wanted[order.side, order.price]
        else:
            seat.cancel(order)
    for (side, price), qty in wanted.items():
        seat.place(side, price, qty)
    seat.seen = (book.version, bid, offer) if seat.state.refused == refused else None


def _touch(seat: TraderOnInstrument, entry: MakerEntry, fair: int) -> tuple[Price, Price]:
    """The best bid and offer it would show were it alone."""
    tick, scale = seat.instrument.tick, seat.instrument.price_scale
    middle = fair
    if skew := _dollars(entry.skew):
        middle -= (
            skew * seat.exchange.trading.positions.net(seat.user.account, seat.symbol) // seat.limit
        )
    half = _dollars(entry.spread) // 2
    bid = (middle - half) * scale // UNIT // tick * tick
    offer = -(-(middle + half) * scale // UNIT // tick) * tick
    return bid, max(offer, bid + tick)


def _levels(
    seat: TraderOnInstrument, entry: MakerEntry, side: Side, best: Price, mine: list[Order]
) -> Iterator[tuple[Price, Qty]]:
    """(price, quantity) of the quotes of one side, best first, which leave others' orders on the
    other side alone.
    """
    instrument = seat.instrument
    tick = instrument.tick
    step = (
        max(tick, scaled_down(entry.step, instrument.price_scale) // tick * tick)
        if entry.step
        else tick
    )
    bound = _others_best(seat, SELL if side is BUY else BUY, mine)
    if side is SELL:
        step = -step
        best = max(best, bound + tick) if bound else best
    else:
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


def _others_best(seat: TraderOnInstrument, side: Side, mine: list[Order]) -> Price:
    """Best price on a side at which somebody else has an order; 0 for none."""
    own: dict[Price, Qty] = {}
    for order in mine:
        if order.side is side:
            own[order.price] = own.get(order.price, 0) + order.leaves_qty
    return next(
        (
            level.price
            for level in seat.book().ladder(side).walk()
            if level.qty > own.get(level.price, 0)
        ),
        0,
    )


# ---- takers


def _take(seat: TraderOnInstrument, entry: TakerEntry, fair: int) -> None:
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
        seat.place(
            side,
            _beyond(seat, side, best, _dollars(entry.slippage)),
            qty,
            TimeInForce.IMMEDIATE_OR_CANCEL,
        )


def _beyond(seat: TraderOnInstrument, side: Side, price: Price, slippage: int) -> Price:
    """A price worse than another by some dollars, on the tick and within the band."""
    instrument = seat.instrument
    far = slippage * instrument.price_scale // UNIT // instrument.tick * instrument.tick
    return seat.within(price + far if side is BUY else price - far)


# ---- noise


def _make_noise(seat: TraderOnInstrument, entry: NoiseEntry, fair: int) -> None:
    """Leave an order near the fair price, or take one out."""
    stream, instrument = seat.stream, seat.instrument
    odds, width = _odds(entry.cancels), _dollars(entry.width)
    cancels, pick = stream.chance(odds.numerator, odds.denominator), stream.bits()
    side, distance, qty = (
        BUY if stream.chance(1, 2) else SELL,
        stream.between(-width // 4, width),
        seat.drawn_size(entry.size),
    )
    mine = seat.working()
    if mine and (cancels or len(mine) >= entry.resting):
        order = mine[pick % len(mine)]
        seat.cancel(order)
        return
    if seat.room(side, mine) < seat.least:
        side = SELL if side is BUY else BUY
    price = (
        (fair - distance if side is BUY else fair + distance)
        * instrument.price_scale
        // UNIT
        // instrument.tick
        * instrument.tick
    )
    qty = seat.lots(min(qty, seat.room(side, mine)))
    if qty:
        seat.place(side, seat.within(price), qty)
