"""All-or-none crosses: two orders that were agreed beforehand and trade with each other.

A cross bypasses the book: it neither trades with resting orders nor rests itself. So that
no resting order is passed over, its price must not be worse for either side than the best
bid and offer (assumption `orders.cross_price`). The side with priority counts as the order
that arrived first.
"""

from __future__ import annotations

from sim.core.accounts.risk import Risk
from sim.core.catalogue.assumptions import CROSS_PRICE
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.matching.book import Book
from sim.core.matching.fills import Fills
from sim.core.matching.market_state import MarketState
from sim.core.matching.matching import Matching
from sim.core.matching.self_match import SELF_MATCH_TEXT, would_self_match
from sim.core.model.commands import PlaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import BUY, LIMIT, OPEN, RejectReason, Side
from sim.core.model.orders import Order
from sim.core.model.quantities import Price
from sim.core.model.refusals import (
    DuplicateOrder,
    InstrumentNotTradable,
    InvalidRequest,
    OrderRefused,
)
from sim.core.model.why import Why
from sim.core.trading.admission import OrderAdmission
from sim.core.trading.engine_queue import OrderPair

_ACCEPTED = Why("M44")
# Fields that would have no effect in a cross or contradict it, with their names in the wire format.
_FOREIGN = {
    "stop_price": "stop_price",
    "min_qty": "min_qty",
    "cash_qty": "cash_order_qty",
    "post_only": "participate_dont_initiate",
    "strict_limit": "strict_limit",
    "best_limit": "best_limit",
    "immediately_executable_limit": "immediately_executable_limit",
    "ignore_price_checks": "ignore_price_validity_checks",
}


def check_pair(commands: tuple[PlaceOrder, PlaceOrder]) -> None:
    """Refuse two orders that could never form a cross, on any instrument in any state."""
    for index, command in enumerate(commands):
        if command.type is not LIMIT:
            raise _no_cross(f"requests[{index}].type: a cross must consist of limit orders")
        for name, wire_name in _FOREIGN.items():
            if getattr(command, name):
                raise _no_cross(f"requests[{index}].{wire_name} is not allowed in a cross")
    first, second = commands
    if first.symbol != second.symbol:
        raise _no_cross("requests: both sides of a cross must have the same symbol")
    if first.side is second.side:
        raise _no_cross("requests: one side of a cross must buy, the other must sell")
    if first.qty != second.qty:
        raise _no_cross("requests: both sides of a cross must have the same order_qty")
    same_participant = first.participant == second.participant
    if first.clord_id and same_participant and first.clord_id == second.clord_id:
        raise DuplicateOrder(rule="M6", remedy="use different client order ids for the two sides")
    buyer, seller = commands if first.side is BUY else (second, first)
    if buyer.price < seller.price:
        raise _no_cross("requests: the buying price must not be below the selling price")


def _no_cross(text: str) -> InvalidRequest:
    return InvalidRequest(text, rule="M44")


class CrossOrders:
    """Validates and executes crosses."""

    def __init__(
        self,
        ctx: Context,
        lifecycle: Lifecycle,
        market: MarketState,
        risk: Risk,
        *,
        admission: OrderAdmission,
        matching: Matching,
        fills: Fills,
    ) -> None:
        self._ctx = ctx
        self._lifecycle = lifecycle
        self._orders = market.orders
        self._books = market.books
        self._risk = risk
        self._admission = admission
        self._matching = matching
        self._fills = fills

    def validate(self, pair: OrderPair, orders: tuple[Order, Order]) -> None:
        """Check both sides as separate orders, then the pair as a cross."""
        for command, order in zip(pair.commands, orders, strict=True):
            self._admission.validate(self._admission.drafted(command, order))
        symbol = orders[0].symbol
        if self._lifecycle.state(symbol) is not OPEN:
            text, reason = "Crosses need an open instrument", RejectReason.EXCHANGE_CLOSED
            raise InstrumentNotTradable(text, rule="M44", remedy="wait for OPEN", reason=reason)
        first, second = orders
        if would_self_match(first, second) or would_self_match(second, first):
            remedy = "use different self-match prevention ids for the two sides"
            raise OrderRefused(SELF_MATCH_TEXT, rule="M26", remedy=remedy)
        self._check_price(self._books.get(symbol), _passive(orders, pair.priority).price)

    def _check_price(self, book: Book, price: Price) -> None:
        rule = self._ctx.assumptions.text(CROSS_PRICE)
        if rule == "any":
            return
        bid, offer = book.bids.best, book.offers.best
        least = 1 if rule == "inside" else 0
        if (bid and price < bid + least) or (offer and price > offer - least):
            text = "Cross price is outside the best bid and offer"
            remedy = "the assumption orders.cross_price decides which prices are allowed"
            raise OrderRefused(text, rule="M44", remedy=remedy)

    def execute(self, pair: OrderPair, orders: tuple[Order, Order]) -> None:
        """Enter both sides and trade them, at the price of the side with priority."""
        book = self._books.get(orders[0].symbol)
        passive = _passive(orders, pair.priority)
        aggressor = orders[1] if passive is orders[0] else orders[0]
        host_cross_id = self._ctx.ids.next("cross")
        for order in (passive, aggressor):
            order.cross_id, order.host_cross_id = pair.cross_id, host_cross_id
            self._matching.enter(order, _ACCEPTED)
        self._orders.opened(passive)
        self._risk.reserve(passive, book.instrument, passive.leaves_qty)
        self._fills.match_prearranged(book, aggressor, passive, passive.qty, passive.price)
        self._matching.follow_up(book, release_stops=True)


def _passive(orders: tuple[Order, Order], priority: Side) -> Order:
    """Return the side with priority, or the first one if neither has it."""
    return orders[1] if orders[1].side is priority else orders[0]
