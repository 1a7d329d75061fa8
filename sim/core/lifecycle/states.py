"""The lifecycle of an instrument as two tables (§3.1): what a change of state does, and what a
state permits. No other module lists states by what they permit.

Four clocks move an instrument. Where they disagree, the first in this list wins:

1. **Expiration and termination dates.** At one of them, the instrument becomes EXPIRED or
   TERMINATED, whatever an operator or the schedule says (rules L8, L9). It passes through the
   states in between at the same instant, so day orders expire before the others do. These states
   are final.
2. **The operator.** Moving an instrument by hand pins it to that state: the clocks below are
   ignored until the operator unpins it (rule L5). An operator may take only the edges of rule L10.
3. **Start and closing date.** Before its start an instrument is PENDING. From its closing date on
   it is CLOSED for good. An instrument about a game closes when the game ends, unless its terms
   name a closing date.
4. **The weekly schedule.** Between start and closing date, the segments of the schedule determine
   the state; outside every segment the instrument is CLOSED (rules L3, L4).

Maintenance is not a fifth clock: it stops the others (rules W2, W7). Before a window opens,
everything OPEN becomes SUSPENDED, without being pinned. During the window, edges that fall due
wait. When it ends, they are taken in the order of their instants, and whatever is still SUSPENDED
because of the window opens again. `defer_past_maintenance` tells in advance when an edge that falls
into a window is taken.

A change of state affects orders, statistics and money. `transitions.py` applies the effects in the
order of `Effect`: those above STATE_CHANGED before the change is announced, the others after it.

Most instruments of a large world are *dormant*: nobody has traded, moved or subscribed to
them. A dormant instrument has no state and no timer; both are derived from its dates on
demand. The first thing that happens to it *materialises* it: it gets a state and one timer for
its next edge (`lifecycle.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from sim.core.model.enums import CancelRejectReason, InstrumentState, RejectReason
from sim.core.model.refusals import IllegalTransition, InstrumentNotTradable
from sim.core.model.why import Facts

_S = InstrumentState


class Effect(Enum):
    """An effect of a change of state, in the order of application.

    Values are the letters of the table below.
    """

    BEGIN_SESSION = "B"  # session statistics are reset
    UNCROSS = "U"  # collected orders trade at one price
    EXPIRE_DAY_ORDERS = "D"  # the session ends: statistics close, DAY orders expire
    EXPIRE_ORDERS = "X"  # every order expires
    CANCEL_ORDERS = "C"  # the exchange cancels every order
    RESOLVE_POSITIONS = "R"  # positions are paid at the known price and closed
    STATE_CHANGED = ""  # the change itself, announced to clients
    RELEASE_STOPS = "T"  # triggered stop orders enter the book
    AWAIT_SETTLEMENT = "S"  # a known outcome becomes the price after a delay
    POSTPONE_SETTLEMENT = "P"  # a pending settlement waits for the next close


# From (row) to (column) → effects. "." changes the state and nothing else; "-" is never taken. In
# brackets: dates and schedule take this edge, but an operator may not (rule L10). PENDING is never
# entered again. AUCTION is MATCH_AND_CLOSE_AUCTION.
_EDGES = """
            OPEN  PREOPEN  AUCTION  SUSPENDED  HALTED  CLOSED  EXPIRED  TERMINATED
PENDING     BUT   .        .        (.)        (.)     (DS)    (X)      -
PREOPEN     BUT   -        .        .          .       DS      (X)      -
OPEN        -     (.)      .        .          .       DS      (X)      -
SUSPENDED   UT    .        .        -          .       DS      (X)      -
HALTED      UT    .        .        .          -       DS      (X)      -
AUCTION     UT    U        -        U          U       UDS     UX       UCR
CLOSED      BUTP  P        P        (P)        (P)     -       X        -
EXPIRED     -     -        -        -          -       -       -        CR
TERMINATED  -     -        -        -          -       -       -        -
"""

# State → what it permits (x). orders: new orders and replaces are accepted. cancels: cancels are
# accepted. auction: orders are collected and an indicative price is shown. session: trading has
# begun and is not over, so the end of a game closes it. over: trading has ended and the settlement
# is shown. expired: only the termination date can still move it. data: market data is published.
_PERMITS = """
            orders  cancels  auction  session  over  expired  data
PENDING     .       .        .        .        .     .        .
PREOPEN     x       x        x        x        .     .        x
OPEN        x       x        .        x        .     .        x
SUSPENDED   .       x        .        x        .     .        x
HALTED      .       .        .        x        .     .        x
AUCTION     x       x        x        x        .     .        x
CLOSED      .       .        .        .        x     .        x
EXPIRED     .       .        .        .        x     x        x
TERMINATED  .       .        .        .        x     x        .
"""


class Edge(NamedTuple):
    """A change of state: its effects, and whether an operator may request it."""

    effects: frozenset[Effect]
    by_operator: bool


def _state(name: str) -> InstrumentState:
    return _S.MATCH_AND_CLOSE_AUCTION if name == "AUCTION" else InstrumentState[name]


def _cells(table: str) -> Iterator[tuple[InstrumentState, str, str]]:
    """Yield the cells of a table: state of the row, name of the column, content."""
    head, *rows = table.strip().splitlines()
    for row in rows:
        name, *cells = row.split()
        for column, cell in zip(head.split(), cells, strict=True):
            yield _state(name), column, cell


EDGES: dict[tuple[InstrumentState, InstrumentState], Edge] = {
    (was, _state(column)): Edge(frozenset(map(Effect, cell.strip("(.)"))), cell[0] != "(")
    for was, column, cell in _cells(_EDGES)
    if cell != "-"
}
# The states to which an operator may move an instrument (rule L10).
LEGAL_EDGES: dict[InstrumentState, frozenset[InstrumentState]] = {
    was: frozenset(to for (start, to), edge in EDGES.items() if start is was and edge.by_operator)
    for was in _S
}


def _permitting(column: str) -> frozenset[InstrumentState]:
    return frozenset(
        state for state, name, cell in _cells(_PERMITS) if name == column and cell == "x"
    )


ENTRY_STATES = _permitting("orders")
CANCEL_STATES = _permitting("cancels")
AUCTION_STATES = _permitting("auction")
SESSION_STATES = _permitting("session")
OVER_STATES = _permitting("over")
EXPIRED_STATES = _permitting("expired")
DATA_STATES = _permitting("data")


# The statement of §3.1 by which a state refuses orders, replaces or cancels.
REFUSES = {
    _S.PENDING: "S3.1-1",
    _S.SUSPENDED: "S3.1-9",
    _S.HALTED: "S3.1-10",
    _S.CLOSED: "S3.1-8",
    _S.EXPIRED: "S3.1-12",
    _S.TERMINATED: "S3.1-4",
}


def check_entry(symbol: str, state: InstrumentState) -> None:
    """Refuse a new order or a replace in a state that accepts none, with the text of table 1.2."""
    if state in ENTRY_STATES:
        return
    facts: Facts = {"state": state.name}
    if state is _S.TERMINATED:
        raise InstrumentNotTradable(
            f"Instrument Unavailable: {symbol}",
            rule=REFUSES[state],
            facts=facts,
            reason=RejectReason.UNKNOWN_SYMBOL,
        )
    text = "Instrument is not tradable" if state is _S.PENDING else f"Book is {state.name}"
    raise InstrumentNotTradable(
        text,
        rule=REFUSES[state],
        facts=facts,
        remedy="wait until the instrument is OPEN",
        reason=RejectReason.EXCHANGE_CLOSED,
        cancel_reason=CancelRejectReason.EXCHANGE_CLOSED,
    )


def check_cancel(state: InstrumentState) -> None:
    """Refuse a cancel in a state that accepts none."""
    if state not in CANCEL_STATES:
        raise InstrumentNotTradable(
            f"Book is {state.name}",
            rule=REFUSES[state],
            facts={"state": state.name},
            remedy="wait until the instrument is OPEN or SUSPENDED",
            cancel_reason=CancelRejectReason.EXCHANGE_CLOSED,
        )


def check_move(symbol: str, was: InstrumentState, state: InstrumentState) -> None:
    """Refuse an edge that an operator may not take (rule L10)."""
    legal = LEGAL_EDGES[was]
    if state not in legal:
        names = sorted(target.name for target in legal)
        remedy = "from here: " + ", ".join(names) if names else "this state is final"
        raise IllegalTransition(
            f"{symbol} is {was.name} and cannot become {state.name}", rule="L10", remedy=remedy
        )
