"""The trading part of the exchange alone, for tests of rules below every surface: funded accounts,
and short methods for what such tests do most.
"""

from __future__ import annotations

from typing import Any

from sim.core.invariants import violations
from sim.core.model.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState, LedgerEntryType, OrderType, Side, TimeInForce
from sim.core.model.events import Event, Executed
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Execution, Order
from sim.core.model.quantities import DOLLAR, Cash
from sim.core.trading.trading import Trading
from sim.kernel.instants import Instant, Span, parse_instant

START = parse_instant("2026-10-08T14:00:00-04:00")
IOC = TimeInForce.IMMEDIATE_OR_CANCEL
FOK = TimeInForce.FILL_OR_KILL
GTC = TimeInForce.GOOD_TILL_CANCEL
GTT = TimeInForce.GOOD_TILL_TIME


class Market:
    """A market with one instrument "X" (one-cent tick, whole contracts), or with others.

    An account is opened on first use and funded with `cash`, 10,000 dollars by default.
    """

    def __init__(
        self, *instruments: Instrument, now: Instant = START, cash: Cash = 10_000 * DOLLAR
    ) -> None:
        self.ctx = Context(seed=1, now=now)
        self.trading = Trading(self.ctx, Instruments())
        self._orders = self.trading.order_service
        self._timers = self.trading.timers
        self.ctx.timers.close(self._timers)
        self.cash = cash
        for instrument in instruments or (Instrument(symbol="X"),):
            self.trading.listings.list_instrument(instrument)

    def fund(self, account: str, cash: Cash) -> None:
        """Open an account unless it is open, and set its balance by a deposit."""
        if account not in self.trading.ledger:
            self.trading.open_account(account)
        missing = cash - self.trading.ledger.balance(account)
        self.trading.move_cash(account, missing, LedgerEntryType.DEPOSIT, "Deposit")

    def command(
        self, account: str, side: Side, qty: int, price: int = 0, symbol: str = "X", **rest: Any
    ) -> PlaceOrder:
        """The command of an order of a participant with the account's name.

        Time in force is GTC. An order without any limit is a market-to-limit order.
        """
        if account not in self.trading.ledger:
            self.fund(account, self.cash)
        limit = price or rest.get("best_limit") or rest.get("immediately_executable_limit")
        kind = OrderType.LIMIT if limit else OrderType.MARKET_TO_LIMIT
        options = {"type": kind, "participant": account, "tif": GTC, **rest}
        return PlaceOrder(
            symbol=symbol, account=account, side=side, qty=qty, price=price, **options
        )

    def buy(self, account: str, qty: int, price: int = 0, **rest: Any) -> Order:
        """Place a buy order."""
        return self._orders.enter(self.command(account, Side.BUY, qty, price, **rest))

    def sell(self, account: str, qty: int, price: int = 0, **rest: Any) -> Order:
        """Place a sell order."""
        return self._orders.enter(self.command(account, Side.SELL, qty, price, **rest))

    def cancel(self, order: Order) -> Order:
        """Cancel an order as its owner."""
        return self._orders.cancel(CancelOrder(accounts=(order.account,), order_id=order.id))

    def replace(self, order: Order, **rest: Any) -> Order:
        """Replace an order as its owner."""
        command = ReplaceOrder(accounts=(order.account,), order_id=order.id, **rest)
        return self._orders.replace(command)

    def now(self, order: Order) -> Order:
        """The present state of an order."""
        return self.trading.orders.require(order.id)

    def advance(self, span: Span) -> None:
        """Let time pass and fire the timers that come due, in order."""
        self.until(self.ctx.now + span)

    def until(self, at: Instant) -> None:
        """Let time pass up to and including an instant."""
        while (timer := self.ctx.timers.pop_due(at)) is not None:
            self.ctx.now = max(self.ctx.now, timer.due)
            self._timers[timer.kind](timer)
            self.trading.flush()
        self.ctx.now = at

    def take(self) -> list[Event]:
        """Return the events since the last call, book changes included."""
        self.trading.flush()
        events, self.ctx.events = self.ctx.events, []
        return events

    def reports(self) -> list[Execution]:
        """Executions among the events since the last call."""
        return [event.execution for event in self.take() if isinstance(event, Executed)]

    def kinds(self) -> list[str]:
        """Types of the executions since the last call."""
        return [report.type.name for report in self.reports()]

    def depth(self, symbol: str = "X") -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """(price, quantity) of bids and of offers, best first."""
        book = self.trading.book(symbol)
        bids, offers = book.levels(Side.BUY), book.levels(Side.SELL)
        return [level[:2] for level in bids], [level[:2] for level in offers]

    def move(self, state: InstrumentState | None, symbol: str = "X") -> InstrumentState:
        """Change an instrument's state as the operator does."""
        return self.trading.listings.change_state(symbol, state)

    def check(self) -> None:
        """Assert what must hold at any time (`core/invariants.py`)."""
        assert violations(self.trading) == []
