"""Records of orders, executions and trades, and the index of orders.

`matching/` decides what happens to orders; this module stores them. Quantities and prices are
scaled integers; the instrument's scales are copied onto the order (§2.7).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from itertools import chain, compress
from operator import attrgetter, is_not

from msgspec import Struct, field

from sim.core.model.enums import (
    Channel,
    ExecutionType,
    OrderState,
    OrderType,
    RejectReason,
    SelfMatchPrevention,
    Side,
    TimeInForce,
    TradeState,
    TradeType,
    UnsolicitedReason,
)
from sim.core.model.quantities import Cash, Notional, Price, Qty
from sim.core.model.refusals import NotFound
from sim.kernel.indexes.indexed_log import IndexedLog
from sim.kernel.instants import Instant


class Order(Struct, kw_only=True, omit_defaults=True, gc=False):
    """One order over its life.

    `leaves_qty` is the working quantity, 0 once the order is finished. `seq` counts orders;
    `priority` is the time priority, which may change. `taker_fee_exact` and
    `taker_fee_charged` are the sums of rule P12. `filled_at` holds the filled quantity by
    price; a fill replaces the dictionary and never changes it, so orders and their copies
    share it (`NOTHING_FILLED`, `filled_once`).
    """

    id: str
    symbol: str
    account: str
    participant: str
    side: Side
    type: OrderType
    tif: TimeInForce
    price: Price
    qty: Qty
    leaves_qty: Qty
    price_scale: int
    qty_scale: int
    state: OrderState = OrderState.NEW
    clord_id: str = ""
    cum_qty: Qty = 0
    filled_notional: Notional = 0
    avg_px: Price = 0
    commission: Notional = 0
    filled_at: dict[Price, Qty] = field(default_factory=dict)
    created: Instant = 0
    inserted: Instant | None = None
    changed: Instant = 0
    good_till: Instant | None = None
    stop_price: Price = 0
    min_qty: Qty = 0
    cash_qty: int = 0
    all_or_none: bool = False
    post_only: bool = False
    strict_limit: bool = False
    best_limit: bool = False
    immediately_executable_limit: bool = False
    ignore_price_checks: bool = False
    smp_id: str = ""
    smp: SelfMatchPrevention = SelfMatchPrevention.UNDEFINED
    last_trade_id: str = ""
    channel: Channel = Channel.EXCHANGE
    intent: int = 0
    order_capacity: int = 0
    manual_indicator: int = 0
    client_account_id: str = ""
    client_participant_id: str = ""
    submitter: str = ""
    cross_id: str = ""
    host_cross_id: str = ""
    parent_id: str = ""
    session_id: str = ""
    price_text: str = ""
    quote_id: str = ""
    taker_fee_exact: int = 0
    taker_fee_charged: Cash = 0
    seq: int = 0
    priority: int = 0
    expiry_timer: int = 0

    @property
    def live(self) -> bool:
        """Whether the order can still trade, be replaced or be canceled.

        A cash order has no quantity before the engine takes it, so PENDING_NEW is always live.
        """
        return self.leaves_qty > 0 or self.state is OrderState.PENDING_NEW

    @property
    def received(self) -> bool:
        """Whether the order is in the engine's queue, in no book and without a reservation."""
        return self.state is OrderState.PENDING_NEW


NOTHING_FILLED: dict[Price, Qty] = {}


@lru_cache(maxsize=4_096)
def filled_once(price: Price, qty: Qty) -> dict[Price, Qty]:
    """Return `Order.filled_at` after one fill.

    Most orders have one, so equal dictionaries are shared.
    """
    return {price: qty}


class Execution(Struct, frozen=True, omit_defaults=True, gc=False):
    """One execution report.

    `order` is a copy of the order right after the event (rule M41). `commission` is in notional
    units; a negative one is a rebate.
    """

    id: str
    seq: int
    type: ExecutionType
    order: Order
    at: Instant
    last_qty: Qty = 0
    last_px: Price = 0
    trade_id: str = ""
    aggressor: bool = False
    commission: Notional = 0
    text: str = ""
    reject_reason: RejectReason = RejectReason.EXCHANGE_OPTION
    unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED
    trace_id: str = ""


class Trade(Struct, frozen=True, omit_defaults=True, gc=False):
    """One match of two orders (rule M1), as its two executions. `state` follows clearing (M42)."""

    id: str
    seq: int
    symbol: str
    price: Price
    qty: Qty
    at: Instant
    aggressor: Execution
    passive: Execution
    type: TradeType = TradeType.REGULAR
    state: TradeState = TradeState.NEW
    state_at: Instant = 0
    cleared_at: Instant = 0


def live_of(orders: list[Order]) -> list[Order]:
    """Return the live orders.

    `Order.live` is inlined, because time travel may visit hundreds of thousands of orders.
    """
    pending = OrderState.PENDING_NEW
    return [order for order in orders if order.leaves_qty > 0 or order.state is pending]


class Orders:
    """Finds every order by id, open orders by account, and the newest order of each client order
    id.

    An order's `seq` less one is its index in `rows`.
    """

    def __init__(self) -> None:
        self.rows: IndexedLog[Order] = IndexedLog(
            attrgetter("created"), attrgetter("symbol"), lambda order: (order.account,)
        )
        self._by_id: dict[str, Order] = {}
        self._open: dict[str, dict[str, Order]] = {}
        self._clord_ids: dict[tuple[str, str], str] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, order: Order) -> None:
        """Store a new order, or the new object of one that lost its priority (see `book.py`).

        A rejected order does not use up its client order id, even if it had it while it waited
        for the engine.
        """
        rows, seq = self.rows, order.seq
        if seq and seq <= len(rows.rows):
            rows.rows[seq - 1] = order
        else:
            order.seq = len(rows.rows) + 1
            rows.rows.append(order)
        self._by_id[order.id] = order
        name = order.participant, order.clord_id
        if order.clord_id and order.state is not OrderState.REJECTED:
            self._clord_ids[name] = order.id
        elif self._clord_ids.get(name) == order.id:
            former = self._former(order)
            if former is None:
                del self._clord_ids[name]
            else:
                self._clord_ids[name] = former.id

    def _former(self, order: Order) -> Order | None:
        """Return the newest order that was not rejected and has the client order id of `order`.

        A participant has one account.
        """
        seqs = self.rows.of_text("clord_id", order.account, order.clord_id)
        same = map(self.rows.rows.__getitem__, reversed(seqs))
        return next((each for each in same if each.state is not OrderState.REJECTED), None)

    def opened(self, order: Order) -> None:
        """Note that an order is open."""
        mine = self._open.get(order.account)
        if mine is None:
            mine = self._open[order.account] = {}
        mine[order.id] = order

    def closed(self, order: Order) -> None:
        """Note that an order is no longer open."""
        self._open[order.account].pop(order.id, None)

    def get(self, order_id: str) -> Order | None:
        """Return the order, or None."""
        return self._by_id.get(order_id)

    def require(self, order_id: str) -> Order:
        """Return the order with an id that the exchange issued.

        Refuses an unknown id as not found.
        """
        order = self._by_id.get(order_id)
        if order is None:
            raise NotFound(f"unknown order: {order_id}")
        return order

    def by_clord_id(self, participant: str, clord_id: str) -> Order | None:
        """Return the participant's newest order with this client order id, open or
        finished (rule M6).
        """
        return self._by_id.get(self._clord_ids.get((participant, clord_id), ""))

    def of_account(self, account: str) -> list[Order]:
        """Return the open orders of one account in order of acceptance."""
        return self.open_of((account,))

    def open_of(self, accounts: Iterable[str], symbols: Iterable[str] = ()) -> list[Order]:
        """Return the open orders of accounts, in some symbols or in all, in order of acceptance."""
        symbols_asked = frozenset(symbols)
        matching = [
            order
            for account in accounts
            for order in self._open.get(account, {}).values()
            if not symbols_asked or order.symbol in symbols_asked
        ]
        matching.sort(key=lambda order: order.seq)
        return matching

    @property
    def open_count(self) -> int:
        """Return the number of open orders."""
        return sum(map(len, self._open.values()))

    def live(self) -> Iterator[Order]:
        """Yield every live order, in no particular order."""
        return chain.from_iterable(mine.values() for mine in self._open.values())

    def open(self, symbols: Container[str] | None = None) -> list[Order]:
        """Return every open order, or those in some symbols, by priority."""
        orders: Iterable[Order] = self.live()
        if symbols is not None:
            orders = [order for order in orders if order.symbol in symbols]
        return sorted(orders, key=attrgetter("priority"))

    def working(self) -> dict[str, list[Order]]:
        """Return the open orders that the engine has taken, by account, in no particular order."""
        pending = OrderState.PENDING_NEW
        return {
            account: [order for order in mine.values() if order.state is not pending]
            for account, mine in self._open.items()
        }

    def all(self) -> Iterator[Order]:
        """Yield every order ever created, in order of creation."""
        return iter(self.rows)

    def save(self) -> list[Order]:
        """Return all orders in order of creation: the list itself."""
        return self.rows.rows

    def load(self, state: list[Order]) -> None:
        """Restore saved orders, at a cost proportional to the difference.

        A finished order never changes, so most objects are those already present. Which orders are
        open follows from their states.
        """
        rows = self.rows.rows
        places = range(min(len(rows), len(state)))
        others = list(compress(places, map(is_not, rows, state)))
        gone = [rows[index] for index in others] + rows[len(state) :]
        come = [state[index] for index in others] + state[len(rows) :]
        for order in gone:
            self._by_id.pop(order.id, None)
        self._by_id.update(zip(map(attrgetter("id"), come), come, strict=True))
        # The indexes stay valid for rows that only changed: an order keeps its account and symbol.
        same = (index for index in others if _identity(rows[index]) != _identity(state[index]))
        self.rows.become(state, next(same, len(places)))
        if any(order.clord_id for order in chain(gone, come)):
            self._clord_ids = {
                (order.participant, order.clord_id): order.id
                for order in state
                if order.clord_id and order.state is not OrderState.REJECTED
            }
        self._reopen(gone, live_of(come))

    def _reopen(self, gone: list[Order], live: list[Order]) -> None:
        """Replace the set of open orders. Readers sort them."""
        for order in gone:
            if (mine := self._open.get(order.account)) is not None:
                mine.pop(order.id, None)
        for order in live:
            self._open.setdefault(order.account, {})[order.id] = order


def _identity(order: Order) -> tuple[str, str, str, Instant]:
    """Return what the indexes know about an order.

    Another branch may reuse its id for another one.
    """
    return order.id, order.account, order.symbol, order.created
