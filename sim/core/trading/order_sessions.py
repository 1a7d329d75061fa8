"""Orders that are bound to an order stream: which sessions there are, and what the end of one means
for its orders (assumption `orders.session_id`).

Streams are no part of a saved state, and an input that is run again after a journey in time may
miss the stream that it ended the first time. So a session's end counts only where it cancels, and
while such a session is open no moment is kept to run again from (`holding`).
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
    """An order stream's accounts. `cancels` as the assumption was when it began; `ended` is told of
    those only.
    """

    accounts: tuple[str, ...]
    cancels: bool
    ended: bool = False


class OrderSessions:
    """Every session there was, by id."""

    def __init__(self, ctx: Context, trading: Trading) -> None:
        self._ctx = ctx
        self._trading = trading
        self._sessions: dict[str, Session] = {}
        self._open: set[str] = set()

    @property
    def holding(self) -> bool:
        """Whether a session is open whose end would cancel orders."""
        return bool(self._open)

    def check(self, session_id: str, account: str) -> None:
        """Refuse a session that never was, that does not follow the account of the order, or that
        has ended and would have canceled it.
        """
        if not session_id or self._ctx.assumptions.text(ORDER_SESSIONS) == "ignore":
            return
        found = self._sessions.get(session_id)
        if found is None or found.ended or account not in found.accounts:
            raise InvalidRequest(
                "session_id: no order subscription of this account has it",
                rule="orders.session_id",
                remedy="send the session_id of CreateOrderSubscription's messages, or leave it out",
            )

    def begin(self, session_id: str, accounts: tuple[str, ...]) -> None:
        """A stream begins."""
        cancels = self._ctx.assumptions.text(ORDER_SESSIONS) == "cancel_on_end"
        self._sessions[session_id] = Session(accounts, cancels)
        if cancels:
            self._open.add(session_id)

    def end(self, session_id: str) -> None:
        """A stream has ended; one that a journey in time cut off does not count."""
        if session_id not in self._open:
            return
        self._open.remove(session_id)
        self._sessions[session_id].ended = True
        if self._trading.order_service.bound_to(session_id):
            self._ctx.timers.schedule(
                self._ctx.now + self._ctx.assumptions.number(SESSION_CANCEL_AFTER),
                SESSION_TIMER,
                session_id,
            )

    def close_all(self) -> None:
        """A journey in time ends every stream."""
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
        """Take saved sessions."""
        self._sessions = convert(state, dict[str, Session])
