"""Orders bound to an order stream, and what happens to them when it ends (assumption
`orders.session_id`).

Streams are not part of the saved state, and an input that is replayed after time travel may miss
the stream that it ended the first time. Therefore the end of a session only matters if it cancels
orders, and no snapshot is taken while such a session is open (`blocks_snapshots`).
"""

from __future__ import annotations

from msgspec import Struct, convert

from sim.core.catalogue.assumptions import ORDER_SESSIONS, SESSION_CANCEL_AFTER
from sim.core.model.context import Context
from sim.core.model.refusals import InvalidRequest
from sim.core.trading.trading import Trading
from sim.kernel.timers import Timer, TimerHandlers

SESSION_TIMER = "orders.session_end"


class OrderSession(Struct):
    """The accounts of an order stream, and whether its end cancels their orders.

    `cancels` is the value of the assumption when the stream began; `ended` is recorded only
    if it cancels.
    """

    accounts: tuple[str, ...]
    cancels: bool
    ended: bool = False


class OrderSessions:
    """Every past and present session, by id."""

    def __init__(self, ctx: Context, trading: Trading) -> None:
        self._ctx = ctx
        self._trading = trading
        self._sessions: dict[str, OrderSession] = {}
        self._open: set[str] = set()

    @property
    def blocks_snapshots(self) -> bool:
        """Whether a session is open whose end would cancel orders."""
        return bool(self._open)

    def check(self, session_id: str, account: str) -> None:
        """Refuse a session that is unknown, ended, or of other accounts."""
        if not session_id or self._ctx.assumptions.text(ORDER_SESSIONS) == "ignore":
            return
        session = self._sessions.get(session_id)
        if session is None or session.ended or account not in session.accounts:
            raise InvalidRequest(
                "session_id: unknown to the order subscriptions of this account",
                rule="M39",
                remedy="send the session_id of CreateOrderSubscription's messages, or omit it",
            )

    def begin(self, session_id: str, accounts: tuple[str, ...]) -> None:
        """Begin the session of a stream."""
        cancels = self._ctx.assumptions.text(ORDER_SESSIONS) == "cancel_on_end"
        self._sessions[session_id] = OrderSession(accounts, cancels)
        if cancels:
            self._open.add(session_id)

    def end(self, session_id: str) -> None:
        """End the session of a stream, unless time travel has ended it."""
        if session_id not in self._open:
            return
        self._open.remove(session_id)
        self._sessions[session_id].ended = True
        if self._trading.order_service.of_session(session_id):
            due = self._ctx.now + self._ctx.assumptions.number(SESSION_CANCEL_AFTER)
            self._ctx.timers.schedule(due, SESSION_TIMER, session_id)

    def close_all(self) -> None:
        """Forget the open streams. Time travel closes them, which cancels nothing."""
        self._open.clear()

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {SESSION_TIMER: self._cancel_orders}

    def _cancel_orders(self, timer: Timer) -> None:
        self._trading.order_service.cancel_session(timer.subject)

    def save(self) -> dict[str, OrderSession]:
        """Return every session."""
        return self._sessions

    def load(self, state: object) -> None:
        """Restore saved sessions."""
        self._sessions = convert(state, dict[str, OrderSession])
