"""Plays a file of order flow with one timer, for its next row. Its orders enter like those of an
`order` step, so a refused one is reported as rejected.
"""

from __future__ import annotations

from msgspec import Struct

from sim.core.model.commands import CancelOrder, ReplaceOrder
from sim.core.model.quantities import scaled
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant
from sim.run.actors.operator.markets import place_order
from sim.run.engine.engine import Engine
from sim.world.format.order_flow import CANCEL, NEW, FlowRow, Reader, packed_of
from sim.world.format.participant_entries import FlowEntry

ROW_TIMER = "flow.row"
_NO_LINE = 1 << 62  # the number after the last line


class FlowState(Struct):
    """The progress of a flow: the number of its next line, rows sent, and rows refused (cancels and
    replaces that came too late).
    """

    line: int = 1
    sent: int = 0
    refused: int = 0


class FlowPlayer:
    """Sends the rows of one file when they are due."""

    def __init__(self, engine: Engine, entry: FlowEntry) -> None:
        self._engine = engine
        self.entry = entry
        self._reader = Reader(packed_of(entry), engine.run.start, entry.as_)
        self.load(FlowState())

    @property
    def due(self) -> Instant | None:
        """When the next row is due; None after the last."""
        return self._next.due if self._next is not None else None

    def load(self, state: FlowState) -> None:
        """Continue from a saved state."""
        self.state = state
        self._rows = self._reader.rows(state.line)
        self._next: FlowRow | None = None
        self._read()

    def _read(self) -> None:
        self.state.line, self._next = next(self._rows, (_NO_LINE, None))

    def begin(self) -> None:
        """Send the rows that are due at the start, and set the timer for the next one."""
        while self._next is not None and self._next.due <= self._engine.now:
            self._send(self._next)
        self._wait()

    def fire(self) -> None:
        """Send the row that is due, and set the timer for the next one."""
        if self._next is not None:
            self._send(self._next)
            self._wait()

    def _wait(self) -> None:
        if self._next is not None:
            self._engine.exchange.ctx.timers.schedule(self._next.due, ROW_TIMER, self.entry.name)

    def _send(self, row: FlowRow) -> None:
        self.state.sent += 1
        try:
            self._enter(row)
        except Refusal:
            self.state.refused += 1
        self._read()

    def _enter(self, row: FlowRow) -> None:
        order = row.order
        if row.action == NEW:
            place_order(self._engine, order)
            return
        user = self._engine.world.parties.require_user(order.as_)
        trading = self._engine.exchange.trading
        accounts = (user.account,)
        if row.action == CANCEL:
            cancel = CancelOrder(accounts=accounts, participant=user.name, clord_id=order.clord_id)
            trading.order_service.cancel(cancel)
            return
        terms = self._engine.exchange.instruments.require(order.symbol)
        replace = ReplaceOrder(
            accounts=accounts,
            participant=user.name,
            clord_id=order.clord_id,
            price=scaled(order.price, terms.price_scale) if order.price else 0,
            qty=scaled(order.qty, terms.qty_scale) if order.qty else 0,
        )
        trading.order_service.replace(replace)
