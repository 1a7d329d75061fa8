"""Tasks for a coding agent: a client with a planted bug, what its author complains of, and what an
answer of the tools must say for the bug to be found. `agent.py` works on them without a model.

Try them with a model: give it `sim mcp`, `desk_client.py` with the bug's branch made the only one,
and the complaint; it should name the cause.
"""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """A planted bug. `found` is a pattern of what the tools say about it."""

    bug: str
    complaint: str
    pattern: str
    fault: bool = False  # the exchange drops the answer of the first order


TASKS = (
    Task("signs the query", "positions answer 401", r"sign timestamp \+ METHOD \+ path .*no query"),
    Task("stamps seconds", "positions answer 401", r"X-PM-Timestamp is too far from the server"),
    Task("keeps its token", "all is well for minutes, then 401", r"the token has expired"),
    Task("names the issuer", "no order is taken: 401", r"audience|aud\b"),
    Task("signs for an hour", "no order is taken: 401", r"set exp to 4 minutes after iat"),
    Task("names nobody", "orders answer 403", r"send x-participant-id"),
    Task("never sends", "no order appears, and no error", r"never left the client"),
    Task("forgets the scale", "orders are never filled", r"is not what was meant: .*0\.045"),
    Task("quotes off the tick", "orders answer 422", r"must be a multiple of 0\.005"),
    Task("mixes up sides", "the position goes the wrong way", r"is not what was meant: .*sell 10"),
    Task("buys too much", "orders answer 422", r"USD available, requested"),
    Task("orders twice", "two orders after an outage", r"idempotent-retry", fault=True),
    Task("cancels by its own id", "orders cannot be canceled", r"check the order id"),
)
