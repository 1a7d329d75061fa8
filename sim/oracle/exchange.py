"""The naive exchange: everything that the law remembers of a run, and what it expects next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sim.kernel.instants import Instant
from sim.oracle.state import (
    PENDING_NEW,
    Document,
    Market,
    NaiveAccount,
    NaiveOrder,
    NaivePosition,
    order_from,
)
from sim.read.observed import Beginning


class Expected(NamedTuple):
    """Something that had to happen, as fields of an event of the journal.

    `kind` is the name of the event and `subject` what it is about: an order, an account, a symbol.
    Of two expectations with the same subject the first one has to happen first.
    """

    kind: str
    subject: str
    rule: str
    fields: Document


class NaiveExchange:
    """Instruments, orders, accounts, and the instant."""

    def __init__(self, beginning: Beginning) -> None:
        self.beginning = beginning
        self.now: Instant = beginning.now
        self.markets: dict[str, Market] = {}
        self.fresh: set[str] = set()  # symbols that this input asks for first, as they are after it
        self.awake: set[str] = set()  # symbols whose changes are told; others only have dates
        self._dated_state: Callable[[Market], int] | None = None
        self.orders: dict[str, NaiveOrder] = {}
        self.received: dict[str, NaiveOrder] = {}  # orders that the engine has not taken (M36)
        self.accounts = {
            row["name"]: NaiveAccount(
                row["name"], row["kind"], row["balance"], row["collateral_return"]
            )
            for row in beginning.accounts
        }
        self.maintenance = beginning.access["paused"]
        self.expected: list[Expected] = []
        self.filled: list[tuple[str, str]] = []  # accounts and symbols of the last fills
        self._queue = 0
        for row in beginning.positions:
            held = self.position(row["account"], row["symbol"])
            held.net, held.cost, held.realized = row["net"], row["cost"], row["realized"]
            held.bought, held.sold = row["qty_bought"], row["qty_sold"]
            held.bod, held.changed, held.fees = row["bod_net"], row["changed"], row["fees"]
        for row in beginning.orders:
            if row.get("state") == PENDING_NEW:
                self.received[row["id"]] = order_from(row)
            else:
                self.admit(order_from(row), waiting=row["type"] in (3, 4))

    # ---- what there is

    def market(self, symbol: str) -> Market:
        """Return an instrument, as the run began with it when it is asked for first."""
        market = self.markets.get(symbol)
        if market is None:
            terms = self.beginning.instruments[symbol]
            state = terms["state"]
            market = Market(
                terms,
                state,
                settlement=terms["settlement"],
                pinned=state if terms["pinned"] else None,
                closes=terms["closes"],
                closed=terms["closed_at"],
                listed=terms["created"],
            )
            self.markets[symbol] = market
            self.fresh.add(symbol)
        if symbol not in self.awake and self._dated_state and market.dated != self.now:
            market.dated = self.now
            market.state = self._dated_state(market)
        return market

    def date_others_by(self, state: Callable[[Market], int]) -> None:
        """From now on, instruments that are not awake are in this state."""
        self._dated_state = state

    def listed(self, symbol: str) -> Market | None:
        """Return an instrument, None of a symbol that there is not."""
        return self.market(symbol) if symbol in self.beginning.instruments else None

    def account(self, name: str) -> NaiveAccount:
        """Return an account. One that was opened during the run begins empty."""
        account = self.accounts.get(name)
        if account is None:
            account = self.accounts[name] = NaiveAccount(name)
        return account

    def position(self, account: str, symbol: str) -> NaivePosition:
        """Return a position; an empty one if there was none."""
        return self.account(account).positions.setdefault(symbol, NaivePosition())

    def assumed(self, name: str) -> Any:
        """Return the value of an assumption."""
        return self.beginning.assumed(name)

    # ---- orders

    def admit(self, order: NaiveOrder, *, waiting: bool = False) -> None:
        """Put an order into the book, or among the stop orders, behind all others."""
        self.orders[order.id] = order
        order.waiting = waiting
        order.admitted = self.now
        self.requeue(order)
        market = self.market(order.symbol)
        (market.stops if waiting else market.orders).append(order)

    def requeue(self, order: NaiveOrder) -> None:
        """Give an order a new place in time."""
        self._queue += 1
        order.queue = self._queue

    def remove(self, order: NaiveOrder) -> None:
        """Take an order out of the market. Nothing of it is left."""
        market = self.market(order.symbol)
        for orders in (market.orders, market.stops):
            if order in orders:
                orders.remove(order)
        order.leaves_qty = 0

    def open_orders(self, account: str = "", symbol: str = "") -> Iterator[NaiveOrder]:
        """Yield open orders, of one account or symbol or of all."""
        markets = [self.market(symbol)] if symbol else list(self.markets.values())
        for market in markets:
            for order in (*market.orders, *market.stops):
                if account in ("", order.account):
                    yield order

    # ---- what must happen

    def expect(self, kind: str, subject: str, rule: str, **fields: Any) -> None:
        """Note that something must happen as a consequence of what just did."""
        self.expected.append(Expected(kind, subject, rule, fields))
