"""Call auctions: the one price at which the largest quantity trades, and the trades at it (rules
L16-L22).

An auction ends when PREOPEN turns OPEN and when MATCH_AND_CLOSE_AUCTION is left. Until then orders
are only collected, so a book may be crossed. `equilibrium_price` is a pure function of the book,
used both for the indicative price in statistics and for the uncross.

The uncross takes three steps. Strict limits are taken out, because they may not trade at a price
better than their own (M22). Self-match prevention cancels orders until no pair that would trade is
forbidden to (L19); each cancel may change the price, so it is recomputed. Then everything that
crosses trades, by price, then time, on each side.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from sim.core.matching.book import Book, Ladder
from sim.core.matching.fills import Fills
from sim.core.matching.matching import Matching
from sim.core.matching.self_match import would_self_match
from sim.core.model.enums import BUY, SELL, SelfMatchPrevention
from sim.core.model.orders import Order, Orders
from sim.core.model.quantities import Price, Qty
from sim.core.model.why import Why

_SELF_MATCH = Why("L19")


class Equilibrium(NamedTuple):
    """The auction price, and the quantity that trades at it."""

    price: Price
    qty: Qty


def equilibrium_price(
    book: Book, reference: Price | None, tiebreak: str = "reference"
) -> Equilibrium | None:
    """Return the auction price and its volume; None if the book does not cross (rule L17).

    Candidates are the ticks from the best offer to the best bid. Each row decides among those that
    the rows above left:

    1. the largest volume,
    2. the smallest surplus,
    3. the highest if all of them have their surplus on the buying side, the lowest if on the
       selling side,
    4. the nearest to the reference (without one, to the middle of the candidates), or the lowest or
       highest if the assumption `auction.tiebreak` says so,
    5. the lowest.
    """
    if not book.crossed:
        return None
    low, high = book.offers.best, book.bids.best
    ticks = range(low, high + 1, book.instrument.tick)
    demand = list(accumulate(reversed(_quantities(book.bids, ticks))))[::-1]
    supply = list(accumulate(_quantities(book.offers, ticks)))
    volumes = [min(bid, offer) for bid, offer in zip(demand, supply, strict=True)]
    volume = max(volumes)
    surplus = {
        index: demand[index] - supply[index]
        for index, crossed_qty in enumerate(volumes)
        if crossed_qty == volume
    }
    least = min(abs(value) for value in surplus.values())
    left = [index for index, value in surplus.items() if abs(value) == least]
    if all(surplus[index] > 0 for index in left):
        chosen = left[-1]
    elif all(surplus[index] < 0 for index in left):
        chosen = left[0]
    elif tiebreak != "reference":
        chosen = left[0] if tiebreak == "lowest" else left[-1]
    else:
        doubled = 2 * reference if reference is not None else low + high
        chosen = min(left, key=lambda index: (abs(2 * ticks[index] - doubled), index))
    return Equilibrium(ticks[chosen], volume)


def _quantities(ladder: Ladder, ticks: range) -> list[Qty]:
    """Return the quantity that rests at each candidate price."""
    at = [0] * len(ticks)
    for level in ladder.walk():  # best first: the first one outside the range ends the loop
        if not ticks[0] <= level.price <= ticks[-1]:
            break
        at[(level.price - ticks[0]) // ticks.step] = level.qty
    return at


class Auction:
    """Runs the uncross."""

    def __init__(self, orders: Orders, matching: Matching, fills: Fills) -> None:
        self._orders = orders
        self._matching = matching
        self._fills = fills

    def uncross(self, book: Book, reference: Price | None, tiebreak: str) -> Equilibrium | None:
        """Trade everything that crosses at one price. Return price and volume; None
        without a trade.
        """
        aside = self._set_aside(book)
        equilibrium = self._prevented_equilibrium(book, reference, tiebreak)
        if equilibrium is not None:
            self._trade(book, equilibrium)
        for order in aside:
            self._matching.rest(book, order)
        return equilibrium

    def _prevented_equilibrium(
        self, book: Book, reference: Price | None, tiebreak: str
    ) -> Equilibrium | None:
        """Return the equilibrium after self-match prevention has canceled conflicting orders."""
        while True:
            equilibrium = equilibrium_price(book, reference, tiebreak)
            if equilibrium is None:
                return None
            conflict = _first_conflict(book, equilibrium.qty)
            if conflict is None:
                return equilibrium
            self._prevent(book, *conflict)

    def _trade(self, book: Book, equilibrium: Equilibrium) -> None:
        left = equilibrium.qty
        while left:
            bid = book.bids.levels[book.bids.best].oldest()
            offer = book.offers.levels[book.offers.best].oldest()
            qty = min(left, bid.leaves_qty, offer.leaves_qty)
            book.bids.take(book.bids.levels[bid.price], bid, qty)
            book.offers.take(book.offers.levels[offer.price], offer, qty)
            later, earlier = _by_time(bid, offer)
            self._fills.match_in_auction(book, later, earlier, qty, equilibrium.price)
            left -= qty

    def _set_aside(self, book: Book) -> list[Order]:
        """Take strict limits out of a crossed book. They return to the end of their queues."""
        aside = []
        for side in (BUY, SELL):
            strict = [order for order in book.orders(side) if order.strict_limit]
            for order in [order for order in strict if book.crosses(side, order.price)]:
                aside.append(replace(order))
                self._matching.withdraw(book, order)
                order.leaves_qty = 0
        for order in aside:
            order.priority = self._matching.next_priority()
            self._orders.add(order)
        return aside

    def _prevent(self, book: Book, later: Order, earlier: Order) -> None:
        """Cancel according to the mode of the later order, which counts as the aggressor (L19)."""
        ends = {
            SelfMatchPrevention.CANCEL_RESTING: (earlier,),
            SelfMatchPrevention.REMOVE_BOTH: (earlier, later),
        }.get(later.smp, (later,))
        for order in ends:
            self._matching.prevent(book, order, _SELF_MATCH)


def _by_time(bid: Order, offer: Order) -> tuple[Order, Order]:
    """Return the two orders as (later, earlier)."""
    return (bid, offer) if bid.priority > offer.priority else (offer, bid)


def _first_conflict(book: Book, volume: Qty) -> tuple[Order, Order] | None:
    """Return the first pair that would trade but must not, as (later, earlier)."""
    for bid, offer in _pairs(book, volume):
        later, earlier = _by_time(bid, offer)
        if would_self_match(later, earlier):
            return later, earlier
    return None


def _pairs(book: Book, volume: Qty) -> Iterator[tuple[Order, Order]]:
    """Yield the pairs of bid and offer that meet while a volume trades, by price, then time."""
    bids, offers = book.orders(BUY), book.orders(SELL)
    bid, offer = next(bids), next(offers)
    bid_left, offer_left = bid.leaves_qty, offer.leaves_qty
    while True:
        yield bid, offer
        qty = min(volume, bid_left, offer_left)
        volume -= qty
        bid_left -= qty
        offer_left -= qty
        if not volume:
            return
        if not bid_left:
            bid = next(bids)
            bid_left = bid.leaves_qty
        if not offer_left:
            offer = next(offers)
            offer_left = offer.leaves_qty
