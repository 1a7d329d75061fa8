"""What a scripted participant does when it acts: a maker quotes, a taker takes, noise leaves
orders.

Theory. All three start from the fair price of the instrument (`fair_prices.py`).

* A maker quotes around a middle: the fair price, moved by `skew` against its inventory (at a full
  inventory by all of `skew`). Best bid and offer are half of `spread` below and above, rounded away
  from the middle to the tick; further levels follow at a distance of `step` with the next of
  `sizes`. It never trades with somebody else's resting order: a quote that would is moved to one
  tick from it. It quotes no more than its inventory has room for. An order that is still wanted
  keeps its place in the queue until half of it is filled; all others are cancelled and what is
  missing is placed. If neither the book nor its own best prices have changed, it does nothing.
* A taker arrives at random and sends an immediate-or-cancel order of a drawn size at the best
  price, or up to `slippage` beyond it. With `edge` it takes only what is better than the fair price
  by so much.
* Noise leaves an order at a drawn distance from the fair price, or cancels one of its own.

An action consumes a number of random draws that does not depend on the market, only on the trader's
own past. So the draws of one trader never depend on what another does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sim.actors.participants.recurring_fair_price import UNIT
from sim.actors.participants.trader_on_instrument import TraderOnInstrument
from sim.core.catalogue.quirks import Chance, parse_chance
from sim.core.model.enums import BUY, SELL, Side, TimeInForce
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty, scaled_down
from sim.kernel.instants import Span
from sim.scenario.participant_entries import MakerEntry, NoiseEntry, TakerEntry, mean_wait


@lru_cache(maxsize=1024)
def _dollars(text: str) -> int:
    """Dollars of an entry, in UNITs."""
    return scaled_down(text, UNIT)


@lru_cache(maxsize=1024)
def _odds(text: str) -> Chance:
    """A chance of an entry."""
    return parse_chance(text)


@lru_cache(maxsize=1024)
def _mean_wait(rate: str) -> Span:
    """Average wait of a rate of an entry."""
    return mean_wait(rate)


def first_wait(trader: TraderOnInstrument) -> Span:
    """How long after its market opens a trader acts: a maker at once, others when they arrive."""
    return 0 if isinstance(trader.entry, MakerEntry) else next_wait(trader)


def next_wait(trader: TraderOnInstrument) -> Span:
    """How long until a trader acts again."""
    entry = trader.entry
    if isinstance(entry, MakerEntry):
        return entry.every + (trader.stream.below(entry.jitter + 1) if entry.jitter else 0)
    if isinstance(entry, TakerEntry | NoiseEntry):
        return trader.stream.exponential(_mean_wait(entry.rate))
    raise AssertionError(f"no kind of participant: {type(entry).__name__}")


def act(trader: TraderOnInstrument) -> None:
    """Act as the kind of participant does; the market must be open."""
    entry, fair = trader.entry, trader.fair.at(trader.exchange.now)
    if isinstance(entry, MakerEntry):
        _quote(trader, entry, fair)
    elif isinstance(entry, TakerEntry):
        _take(trader, entry, fair)
    elif isinstance(entry, NoiseEntry):
        _make_noise(trader, entry, fair)


# ---- market makers


def _quote(trader: TraderOnInstrument, entry: MakerEntry, fair: int) -> None:
    """Cancel what is not wanted any more, then place what is missing: bids, then offers, best
    first.
    """
    book, (bid, offer) = trader.book(), _touch(trader, entry, fair)
    if trader.seen == (book.version, bid, offer):
        return  # the book is as this trader left it
    working, refused = trader.working(), trader.state.refused
    quotes = {(BUY, price): qty for price, qty in _levels(trader, entry, BUY, bid, working)}
    quotes |= {(SELL, price): qty for price, qty in _levels(trader, entry, SELL, offer, working)}
    for order in working:
        qty = quotes.get((order.side, order.price), 0)
        if order.leaves_qty <= qty <= 2 * order.leaves_qty:
            del quotes[order.side, order.price]
        else:
            trader.cancel(order)
    for (side, price), qty in quotes.items():
        trader.place(side, price, qty)
    trader.seen = (book.version, bid, offer) if trader.state.refused == refused else None


def _touch(trader: TraderOnInstrument, entry: MakerEntry, fair: int) -> tuple[Price, Price]:
    """The best bid and offer that it would quote if nobody else did."""
    tick, scale = trader.instrument.tick, trader.instrument.price_scale
    skew = _dollars(entry.skew)
    middle = fair - skew * trader.net // trader.limit if skew else fair
    half = _dollars(entry.spread) // 2
    bid = (middle - half) * scale // UNIT // tick * tick
    offer = -(-(middle + half) * scale // UNIT // tick) * tick
    return bid, max(offer, bid + tick)


def _levels(
    trader: TraderOnInstrument, entry: MakerEntry, side: Side, best: Price, working: list[Order]
) -> Iterator[tuple[Price, Qty]]:
    """(price, quantity) of the quotes of one side, best first. None trades with others' orders."""
    instrument = trader.instrument
    step = tick = instrument.tick
    if entry.step:
        step = max(tick, scaled_down(entry.step, instrument.price_scale) // tick * tick)
    bound = _others_best(trader, SELL if side is BUY else BUY, working)
    if side is SELL:
        step = -step
        best = max(best, bound + tick) if bound else best
    else:
        best = min(best, bound - tick) if bound else best
    room = trader.room(side)
    for level, size in enumerate(entry.sizes):
        price = best - level * step
        qty = trader.lots(min(scaled_down(size, instrument.qty_scale), room))
        if not qty:
            return
        if instrument.price_low <= price <= instrument.price_high:
            room -= qty
            yield price, qty


def _others_best(trader: TraderOnInstrument, side: Side, working: list[Order]) -> Price:
    """The best price of a side at which somebody else has an order; 0 if there is none."""
    own: dict[Price, Qty] = {}
    for order in working:
        if order.side is side:
            own[order.price] = own.get(order.price, 0) + order.leaves_qty
    levels = trader.book().ladder(side).walk()
    return next((level.price for level in levels if level.qty > own.get(level.price, 0)), 0)


# ---- takers


def _take(trader: TraderOnInstrument, entry: TakerEntry, fair: int) -> None:
    """Take what a drawn size, the inventory and the price allow."""
    odds = _odds(entry.buys)
    buys = trader.stream.chance(odds.numerator, odds.denominator)
    qty = trader.drawn_size(entry.size)
    book, scale = trader.book(), trader.instrument.price_scale
    if entry.edge is not None:
        edge = _dollars(entry.edge)
        if book.offers.best and book.offers.best * UNIT <= (fair - edge) * scale:
            buys = True
        elif book.bids.best * UNIT >= (fair + edge) * scale:
            buys = False
        else:
            return
    elif trader.room(BUY if buys else SELL) < trader.least:
        buys = not buys
    side = BUY if buys else SELL
    best = book.opposite(side).best
    qty = trader.lots(min(qty, trader.room(side)))
    if best and qty:
        price = _beyond(trader, side, best, _dollars(entry.slippage))
        trader.place(side, price, qty, TimeInForce.IMMEDIATE_OR_CANCEL)


def _beyond(trader: TraderOnInstrument, side: Side, price: Price, slippage: int) -> Price:
    """A price that is worse by some dollars, on the tick and within the band."""
    instrument = trader.instrument
    far = slippage * instrument.price_scale // UNIT // instrument.tick * instrument.tick
    return trader.within(price + far if side is BUY else price - far)


# ---- noise


def _make_noise(trader: TraderOnInstrument, entry: NoiseEntry, fair: int) -> None:
    """Leave an order near the fair price, or cancel one."""
    stream, instrument = trader.stream, trader.instrument
    odds, width = _odds(entry.cancels), _dollars(entry.width)
    cancels, pick = stream.chance(odds.numerator, odds.denominator), stream.bits()
    side = BUY if stream.chance(1, 2) else SELL
    distance = stream.between(-width // 4, width)
    qty = trader.drawn_size(entry.size)
    working = trader.working()
    if working and (cancels or len(working) >= entry.resting):
        order = working[pick % len(working)]
        trader.cancel(order)
        return
    if trader.room(side, working) < trader.least:
        side = SELL if side is BUY else BUY
    dollars = fair - distance if side is BUY else fair + distance
    price = dollars * instrument.price_scale // UNIT // instrument.tick * instrument.tick
    qty = trader.lots(min(qty, trader.room(side, working)))
    if qty:
        trader.place(side, trader.within(price), qty)
