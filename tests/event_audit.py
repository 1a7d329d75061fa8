"""Checks that the exchange's events agree with each other and with its state.

Read in order they must have no gap and no contradiction: every balance and position continues from
the previous one, every trade has two sides, and a done order has no later report.
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.core.accounts.ledger import HOUSE
from sim.core.accounts.positions import Position
from sim.core.lifecycle.states import AUCTION_STATES, LEGAL_EDGES
from sim.core.model.enums import DONE_STATES, OPEN, InstrumentState, OrderState, TradeState
from sim.core.model.events import CashMoved, Event, Executed, PositionChanged, StateChanged, Traded
from sim.core.model.orders import Execution
from sim.core.model.quantities import Cash
from sim.core.trading.trading import Trading


class Audit:
    """Follows the events of a market; `read` raises AssertionError at the first contradiction."""

    def __init__(self, trading: Trading) -> None:
        self._trading = trading
        self._states: dict[str, InstrumentState] = {
            instrument.symbol: trading.state(instrument.symbol)
            for instrument in trading.instruments
        }
        self._cash: dict[str, Cash] = {account.name: account.balance for account in trading.ledger}
        self._positions: dict[tuple[str, str], tuple[int, int, int]] = {
            (position.account, position.symbol): _figures(position)
            for position in trading.positions.all()
        }
        self._orders: dict[str, OrderState] = {}
        self._half: dict[str, Execution] = {}
        self.last_fill: dict[str, str] = {}

    def read(self, events: Iterable[Event]) -> None:
        """Check the events of one input. `last_fill` then has the last symbol of each account that
        traded in it.
        """
        self.last_fill.clear()
        uncrossing: set[str] = set()
        for event in events:
            if isinstance(event, Executed):
                self._executed(event.execution)
            elif isinstance(event, Traded):
                if event.state is TradeState.NEW:
                    state = self._states[event.trade.symbol]
                    assert state is OPEN or state in AUCTION_STATES, f"a trade in {state.name}"
                    if state is not OPEN:
                        uncrossing.add(event.trade.symbol)
            elif isinstance(event, StateChanged):
                assert self._states[event.symbol] is event.was, event
                assert event.state in LEGAL_EDGES[event.was], event
                self._states[event.symbol] = event.state
                uncrossing.discard(event.symbol)
            elif isinstance(event, CashMoved):
                assert self._cash.get(event.account, 0) == event.before, event
                self._cash[event.account] = event.after
            elif isinstance(event, PositionChanged):
                self._position_changed(event)
        assert not uncrossing, "traded in an auction that did not end"
        assert not self._half, "a trade with one side"
        self._check_state()

    def _executed(self, execution: Execution) -> None:
        """A done order has no later report and nothing left; both sides of a trade agree."""
        order = execution.order
        assert self._orders.get(order.id) not in DONE_STATES, execution
        assert (order.leaves_qty == 0) == (order.state in DONE_STATES), execution
        self._orders[order.id] = order.state
        if execution.trade_id and execution.last_qty:
            other = self._half.pop(execution.trade_id, None)
            if other is None:
                self._half[execution.trade_id] = execution
            else:
                assert (other.last_qty, other.last_px) == (execution.last_qty, execution.last_px)
                assert other.order.side is not order.side and other.order.symbol == order.symbol
            self.last_fill[order.account] = order.symbol

    def _position_changed(self, event: PositionChanged) -> None:
        net, cost, realized = self._positions.get((event.account, event.symbol), (0, 0, 0))
        after = net + event.qty_change, cost + event.cost_change, realized + event.realized_change
        assert after == (event.net, event.cost, event.realized), event
        self._positions[event.account, event.symbol] = after

    def _check_state(self) -> None:
        """Check that the state that follows from the events is the state of the exchange."""
        trading = self._trading
        for symbol, state in self._states.items():
            assert trading.state(symbol) is state
        for account in trading.ledger:
            if account.kind != HOUSE:
                assert self._cash.get(account.name, 0) == account.balance, account
        for position in trading.positions.all():
            key = position.account, position.symbol
            assert self._positions.get(key, (0, 0, 0)) == _figures(position), position


def _figures(position: Position) -> tuple[int, int, int]:
    return position.net, position.cost, position.realized
