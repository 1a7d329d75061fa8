"""Orders bound to an order stream, and what the end of the stream means for them (assumption
`orders.session_id`).

Streams are no part of a saved state, and an input that is replayed after time travel may miss the
stream that it ended the first time. Therefore a session's end counts only where it cancels orders,
and while such a session is open no snapshot is taken (`blocks_snapshots`).
"""

from __future__ import annotations

from msgspec import Struct, convert

from sim.core.catalogue.assumptions import ORDER_SESSIONS, SESSION_CANCEL_AFTER
from sim.core.model.context import Context
from sim.core.model.refusals import InvalidRequest
from sim.core.trading.trading import Trading
from sim.kernel.timers import Timer, TimerHandlers

SESSION_TIMER = "orders.session_end"


class Session(Struct):
    """The accounts of an order stream, and whether its end cancels their orders.

    `cancels` is what the assumption said when the stream began; `ended` is kept only if it cancels.
    """

    accounts: tuple[str, ...]
    cancels: bool
    ended: bool = False


class OrderSessions:
    """Every session that there was, by id."""

    def __init__(self, ctx: Context, trading: Trading) -> None:
        self._ctx = ctx
        self._trading = trading
        self._sessions: dict[str, Session] = {}
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
                "session_id: no order subscription of this account has it",
                rule="orders.session_id",
                remedy="send the session_id of CreateOrderSubscription's messages, or leave it out",
            )

    def begin(self, session_id: str, accounts: tuple[str, ...]) -> None:
        """Begin the session of a stream."""
        cancels = self._ctx.assumptions.text(ORDER_SESSIONS) == "cancel_on_end"
        self._sessions[session_id] = Session(accounts, cancels)
        if cancels:
            self._open.add(session_id)

    def end(self, session_id: str) -> None:
        """End the session of a stream, unless time travel ended it before."""
        if session_id not in self._open:
            return
        self._open.remove(session_id)
        self._sessions[session_id].ended = True
        if self._trading.order_service.of_session(session_id):
            due = self._ctx.now + self._ctx.assumptions.number(SESSION_CANCEL_AFTER)
            self._ctx.timers.schedule(due, SESSION_TIMER, session_id)

    def close_all(self) -> None:
        """Forget the open streams: time travel closes them, which cancels nothing."""
        self._open.clear()

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {SESSION_TIMER: self._cancel_orders}

    def _cancel_orders(self, timer: Timer) -> None:
        self._trading.order_service.cancel_session(timer.subject)

    def save(self) -> dict[str, Session]:
        """Every session."""
        return self._sessions

    def load(self, state: object) -> None:
        """Take over saved sessions."""
        self._sessions = convert(state, dict[str, Session])
