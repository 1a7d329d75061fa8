"""The trading half of the exchange alone, with funded accounts and short words for what tests say
most: for tests of rules, below every surface.
"""

from __future__ import annotations

from typing import Any

from sim.core.invariants import broken
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
    """One instrument "X" (a cent tick, whole contracts) unless told otherwise; accounts are opened
    and funded on first use with 10,000 dollars.
    """

    def __init__(
        self, *instruments: Instrument, now: Instant = START, cash: Cash = 10_000 * DOLLAR
    ) -> None:
        self.ctx = Context(seed=1, now=now)
        self.trading = Trading(self.ctx, Instruments())
        self._timers = self.trading.timers
        self.ctx.timers.close(self._timers)
        self.cash = cash
        for instrument in instruments or (Instrument(symbol="X"),):
            self.trading.listings.list_instrument(instrument)

    def fund(self, account: str, cash: Cash) -> None:
        """Open an account if need be and set its balance by a deposit."""
        if account not in self.trading.ledger:
            self.trading.open_account(account)
        self.trading.move_cash(
            account, cash - self.trading.ledger.balance(account), LedgerEntryType.DEPOSIT, "Deposit"
        )

    def command(
        self, account: str, side: Side, qty: int, price: int = 0, symbol: str = "X", **rest: Any
    ) -> PlaceOrder:
        """The command of an order; the participant has the account's name, time in force is GTC,
        and without a price it is a market-to-limit order.
        """
        if account not in self.trading.ledger:
            self.fund(account, self.cash)
        rest.setdefault(
            "type",
            (
                OrderType.LIMIT
                if price or rest.get("best_limit") or rest.get("immediately_executable_limit")
                else OrderType.MARKET_TO_LIMIT
            ),
        )
        rest.setdefault("participant", account)
        rest.setdefault("tif", GTC)
        return PlaceOrder(symbol=symbol, account=account, side=side, qty=qty, price=price, **rest)

    def buy(self, account: str, qty: int, price: int = 0, **rest: Any) -> Order:
        """Place a buy."""
        return self.trading.order_service.place(self.command(account, Side.BUY, qty, price, **rest))

    def sell(self, account: str, qty: int, price: int = 0, **rest: Any) -> Order:
        """Place a sale."""
        return self.trading.order_service.place(
            self.command(account, Side.SELL, qty, price, **rest)
        )

    def cancel(self, order: Order) -> Order:
        """Cancel an order as its owner."""
        return self.trading.order_service.cancel(
            CancelOrder(accounts=(order.account,), order_id=order.id)
        )

    def replace(self, order: Order, **rest: Any) -> Order:
        """Replace an order as its owner."""
        return self.trading.order_service.replace(
            ReplaceOrder(accounts=(order.account,), order_id=order.id, **rest)
        )

    def now(self, order: Order) -> Order:
        """An order as it is now."""
        return self.trading.orders.require(order.id)

    def advance(self, span: Span) -> None:
        """Let time pass, firing what is due in order."""
        self.until(self.ctx.now + span)

    def until(self, at: Instant) -> None:
        """Let time pass up to an instant, included."""
        while (timer := self.ctx.timers.pop_due(at)) is not None:
            self.ctx.now = max(self.ctx.now, timer.due)
            self._timers[timer.kind](timer)
            self.trading.flush()
        self.ctx.now = at

    def take(self) -> list[Event]:
        """Events since the last time, book changes included."""
        self.trading.flush()
        found, self.ctx.events = self.ctx.events, []
        return found

    def reports(self) -> list[Execution]:
        """Executions among the events since the last time."""
        return [event.execution for event in self.take() if isinstance(event, Executed)]

    def kinds(self) -> list[str]:
        """Types of the executions since the last time."""
        return [report.type.name for report in self.reports()]

    def depth(self, symbol: str = "X") -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """(price, quantity) of bids and of offers, best first."""
        book = self.trading.book(symbol)
        return [level[:2] for level in book.levels(Side.BUY)], [
            level[:2] for level in book.levels(Side.SELL)
        ]

    def move(self, state: InstrumentState | None, symbol: str = "X") -> InstrumentState:
        """Change an instrument's state as its operator."""
        return self.trading.listings.change_state(symbol, state)

    def check(self) -> None:
        """What must hold at any time (`core/invariants.py`)."""
        assert broken(self.trading) == []
