"""The state of the naive exchange: dictionaries and lists of plain records."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, TypeAlias

from sim.kernel.instants import Instant

Document: TypeAlias = dict[str, Any]

CASH = 100_000_000  # cash units in a dollar
BUY, SELL = 1, 2
MARKET_TO_LIMIT, LIMIT, STOP, STOP_LIMIT = 1, 2, 3, 4
DAY, GTC, IOC, GTT, FOK = 1, 2, 3, 4, 5
CLOSED, OPEN, PREOPEN, SUSPENDED, EXPIRED, TERMINATED, HALTED, AUCTION, PENDING = range(9)
STATES = (
    *("CLOSED", "OPEN", "PREOPEN", "SUSPENDED", "EXPIRED", "TERMINATED", "HALTED"),
    *("MATCH_AND_CLOSE_AUCTION", "PENDING"),
)
EXCHANGE, RETAIL, SCRIPT = 0, 1, 2  # the surface an order came from
# States of orders, and types of executions
NEW, PARTIALLY_FILLED, FILLED, CANCELED, REPLACED, REJECTED, ORDER_EXPIRED, PENDING_NEW = range(8)
REPORTS = ("NEW", "PARTIAL_FILL", "FILL", "CANCELED", "REPLACE", "REJECTED", "EXPIRED")


@dataclass(slots=True)
class NaiveOrder:
    """An order, with the names of the journal. `queue` is its place in time."""

    id: str
    symbol: str
    account: str
    participant: str = ""
    side: int = BUY
    type: int = LIMIT
    tif: int = DAY
    price: int = 0
    qty: int = 0
    leaves_qty: int = 0
    cum_qty: int = 0
    state: int = NEW
    clord_id: str = ""
    filled_at: dict[int, int] = field(default_factory=dict)
    avg_px: int = 0
    commission: int = 0
    created: Instant = 0
    good_till: Instant | None = None
    stop_price: int = 0
    min_qty: int = 0
    cash_qty: int = 0
    all_or_none: bool = False
    post_only: bool = False
    strict_limit: bool = False
    best_limit: bool = False
    immediately_executable_limit: bool = False
    ignore_price_checks: bool = False
    smp_id: str = ""
    smp: int = 0
    channel: int = EXCHANGE
    cross_id: str = ""
    host_cross_id: str = ""
    quote_id: str = ""
    session_id: str = ""
    submitter: str = ""
    seq: int = 0
    queue: int = 1 << 62  # behind all others until it is in the market
    admitted: Instant = 0
    waiting: bool = False  # a stop order that no trade has triggered yet
    taker_fees: Fraction = Fraction(0)  # exact fees of its fills as a taker, in dollars
    taker_charged: Fraction = Fraction(0)  # what was charged for them, in dollars

    @property
    def sign(self) -> int:
        """1 of a buy, -1 of a sell."""
        return 1 if self.side == BUY else -1

    @property
    def stops(self) -> bool:
        """Whether it is a stop order that has not been triggered."""
        return self.type in (STOP, STOP_LIMIT)

    @property
    def derived(self) -> bool:
        """Whether its limit is the best price of a side (rule M21)."""
        return self.best_limit or self.immediately_executable_limit

    @property
    def rejects_own(self) -> bool:
        """Whether it is refused rather than trade with its own (rules M26, M27, M30)."""
        return self.channel == RETAIL or (bool(self.smp_id) and self.smp in (0, 1))


_ORDER = {each.name for each in fields(NaiveOrder)}


def order_from(row: Document) -> NaiveOrder:
    """Return the order that a row of the journal shows."""
    values = {name: row[name] for name in row.keys() & _ORDER}
    order = NaiveOrder(**values)
    order.filled_at = {int(price): qty for price, qty in order.filled_at.items()}
    return order


@dataclass(slots=True)
class NaivePosition:
    """Net contracts of an account in an instrument, what they cost, and the fees of all fills, in
    notional units.
    """

    net: int = 0
    cost: int = 0
    realized: int = 0
    bought: int = 0
    sold: int = 0
    bod: int = 0
    changed: Instant = 0
    fees: int = 0


@dataclass(slots=True)
class NaiveAccount:
    """An account: cash, positions by symbol, and whether collateral is returned to it."""

    name: str
    kind: str = "trading"
    cash: int = 0
    collateral_return: bool = False
    positions: dict[str, NaivePosition] = field(default_factory=dict)


@dataclass(slots=True)
class Market:
    """An instrument: its terms as the run began with them, state, orders and trades.

    `orders` are open and in the book, `stops` wait outside it. `pinned` is the state that an
    operator set, `closes` when trading ends for good and `closed` when it last did. Schedule and
    dates change nothing before `due`.
    """

    terms: Document
    state: int = CLOSED
    orders: list[NaiveOrder] = field(default_factory=list)
    stops: list[NaiveOrder] = field(default_factory=list)
    trades: list[str] = field(default_factory=list)  # ids of those that were not busted
    settlement: Document | None = None
    reference: int | None = None  # the last price that was traded
    pinned: int | None = None
    closes: Instant = 0
    closed: Instant | None = None
    due: Instant | None = None
    dated: Instant = 0  # when its state was last worked out, if the run does not tell it
    listed: Instant = 0

    @property
    def symbol(self) -> str:
        """The symbol."""
        return str(self.terms["symbol"])

    @property
    def price_scale(self) -> int:
        """Price units in a dollar."""
        return int(self.terms["price_scale"])

    @property
    def qty_scale(self) -> int:
        """Quantity units in a contract."""
        return int(self.terms["qty_scale"])

    def side(self, side: int) -> list[NaiveOrder]:
        """Return the resting orders of a side, best price first, then oldest (rule M1)."""
        sign = 1 if side == BUY else -1
        return sorted(
            (order for order in self.orders if order.side == side),
            key=lambda order: (-sign * order.price, order.queue),
        )
