"""Call auctions: the one price at which most trades, and the trades at it (rules L16-L22).

Used where PREOPEN turns OPEN and wherever MATCH_AND_CLOSE_AUCTION is left. Until then a book may be
crossed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from sim.core.matching.book import Book
from sim.core.matching.fills import Fills
from sim.core.matching.matching import Matching
from sim.core.matching.self_match import SELF_MATCH_TEXT, would_self_match
from sim.core.model.enums import BUY, SELL, ExecutionType, SelfMatchPrevention, UnsolicitedReason
from sim.core.model.orders import Order, Orders
from sim.core.model.quantities import Price, Qty


class Equilibrium(NamedTuple):
    """What would trade at the auction price."""

    price: Price
    qty: Qty


def equilibrium_price(
    book: Book, reference: Price | None, tiebreak: str = "reference"
) -> Equilibrium | None:
    """The auction price and its volume, or None when the book does not cross (rule L17).
    `tiebreak`: value of `auction.tiebreak`.

    Candidates are the ticks from best offer to best bid. Most volume wins; then the smaller
    surplus; then, where every candidate left has its surplus on one side, the highest for buyers
    and the lowest for sellers; then the nearest to the reference (without one, the middle of the
    candidates) or as `tiebreak` says; then the lower.
    """
    if not book.crossed:
        return None
    low, high = book.offers.best, book.bids.best
    ticks = range(low, high + 1, book.instrument.tick)
    demand = _at_or_beyond(
        ((level.price, level.qty) for level in book.bids.walk()), ticks, buying=True
    )
    supply = _at_or_beyond(
        ((level.price, level.qty) for level in book.offers.walk()), ticks, buying=False
    )
    volumes = [min(bid, offer) for bid, offer in zip(demand, supply, strict=True)]
    most = max(volumes)
    left = [index for index, volume in enumerate(volumes) if volume == most]
    surplus = {index: demand[index] - supply[index] for index in left}
    least = min(abs(value) for value in surplus.values())
    left = [index for index in left if abs(surplus[index]) == least]
    if all(surplus[index] > 0 for index in left):
        chosen = left[-1]
    elif all(surplus[index] < 0 for index in left):
        chosen = left[0]
    elif tiebreak != "reference":
        chosen = left[0] if tiebreak == "lowest" else left[-1]
    else:
        doubled = 2 * reference if reference is not None else low + high
        chosen = min(left, key=lambda index: (abs(2 * ticks[index] - doubled), index))
    return Equilibrium(ticks[chosen], most)


def _at_or_beyond(levels: Iterator[tuple[Price, Qty]], ticks: range, *, buying: bool) -> list[Qty]:
    """For each tick, the quantity of a side that would trade at it: bids at or above, offers at or
    below.
    """
    at = [0] * len(ticks)
    for price, qty in levels:  # best first, so the first one outside ends the candidates
        if not ticks[0] <= price <= ticks[-1]:
            break
        at[(price - ticks[0]) // ticks.step] += qty
    order = range(len(at) - 2, -1, -1) if buying else range(1, len(at))
    for index in order:
        at[index] += at[index + 1 if buying else index - 1]
    return at


class Auction:
    """Runs the uncross."""

    __slots__ = ("_fills", "_matching", "_orders")

    def __init__(self, orders: Orders, matching: Matching, fills: Fills) -> None:
        self._orders = orders
        self._matching = matching
        self._fills = fills

    def uncross(self, book: Book, reference: Price | None, tiebreak: str) -> Price | None:
        """Trade everything that crosses at one price, by price then time on each side. Returns the
        price, None when nothing traded.

        Strict limits stand aside, for they may not trade at a better price (rule M22).
        """
        aside = self._set_aside(book)
        found = self._agree(book, reference, tiebreak)
        if found is not None:
            self._trade(book, found)
        for order in aside:
            self._matching.rest(book, order)
        return found.price if found is not None else None

    def _agree(self, book: Book, reference: Price | None, tiebreak: str) -> Equilibrium | None:
        """The crossing, once self-match prevention is content. Each cancel may change the price, so
        it is looked for again until no conflict is left.
        """
        while True:
            found = equilibrium_price(book, reference, tiebreak)
            if found is None:
                return None
            conflict = self._conflict(book, found)
            if conflict is None:
                return found
            self._prevent(book, *conflict)

    def _trade(self, book: Book, found: Equilibrium) -> None:
        left = found.qty
        while left:
            bid = book.bids.levels[book.bids.best].oldest()
            offer = book.offers.levels[book.offers.best].oldest()
            qty = min(left, bid.leaves_qty, offer.leaves_qty)
            book.bids.take(book.bids.levels[bid.price], bid, qty)
            book.offers.take(book.offers.levels[offer.price], offer, qty)
            later, earlier = (bid, offer) if bid.priority > offer.priority else (offer, bid)
            self._fills.cross(book, later, earlier, qty, found.price)
            left -= qty

    def _set_aside(self, book: Book) -> list[Order]:
        """Take strict limits of a crossed book out for the moment; they come back at the end of
        their queues.
        """
        aside = []
        for side in (BUY, SELL):
            for order in [
                order
                for order in book.orders(side)
                if order.strict_limit and book.crosses(side, order.price)
            ]:
                record = replace(order)
                self._matching.withdraw(book, order)
                order.leaves_qty = 0
                aside.append(record)
        for record in aside:
            record.priority = self._matching.next_priority()
            self._orders.add(record)
        return aside

    def _conflict(self, book: Book, found: Equilibrium) -> tuple[Order, Order] | None:
        """First pair that would trade and must not, as (later, earlier)."""
        for bid, offer in _pairs(book, found.qty):
            later, earlier = (bid, offer) if bid.priority > offer.priority else (offer, bid)
            if would_self_match(later, earlier):
                return later, earlier
        return None

    def _prevent(self, book: Book, later: Order, earlier: Order) -> None:
        """The later order counts as the aggressor and its mode decides (rule L19)."""
        ends = {
            SelfMatchPrevention.CANCEL_RESTING: (earlier,),
            SelfMatchPrevention.REMOVE_BOTH: (earlier, later),
        }.get(later.smp, (later,))
        for order in ends:
            self._matching.remove(
                book,
                order,
                ExecutionType.CANCELED,
                text=SELF_MATCH_TEXT,
                unsolicited=UnsolicitedReason.EXCHANGE_OPTION,
            )


def _pairs(book: Book, volume: Qty) -> Iterator[tuple[Order, Order]]:
    """Which bid would meet which offer, by price then time, for a volume."""
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
