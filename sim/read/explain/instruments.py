"""Why an instrument is in its state, and what comes next."""

from __future__ import annotations

from typing import Any

from msgspec import json

from sim.api.pipeline.inputs import Controlled
from sim.core.lifecycle.settlement import SETTLEMENT_TIMER
from sim.core.lifecycle.states import ENTRY_STATES
from sim.core.model.events import Settled, StateChanged
from sim.core.model.quantities import decimal_text
from sim.core.model.timer_priority import EDGE_TIMER
from sim.kernel.instants import format_instant
from sim.read.explain.causes import Cause, JournalStep, steps
from sim.read.record import facts_of
from sim.run.simulation import Simulation

_EVENTS: tuple[type[StateChanged | Settled], ...] = (StateChanged, Settled)
# Why a state changed, by the rule that demanded it.
_CHANGES = {
    "L3": "its schedule",
    "L4": "its schedule, which has no segment now",
    "L5": "the operator moved it",
    "L6": "its start",
    "L7": "trading ended",
    "L8": "its dates",
    "L9": "it was not closed at its expiration",
    "L25": "settlement",
    "W2": "maintenance",
}


def explain_instrument(sim: Simulation, symbol: str) -> dict[str, Any] | None:
    """Explain an instrument by its symbol; None if it is unknown."""
    if symbol not in sim.exchange.instruments:
        return None
    trading = sim.exchange.trading
    state, pinned = trading.state(symbol), trading.lifecycle.is_pinned(symbol)
    coming = [
        {"at": format_instant(timer.due), "timer": timer.kind}
        for timer in sim.exchange.ctx.timers.pending()
        if timer.subject == symbol and timer.kind in (EDGE_TIMER, SETTLEMENT_TIMER)
    ]
    if pinned:
        following = "it stays there until an operator moves it"
    else:
        next_at = f"; next at {coming[0]['at']}" if coming else ""
        following = f"it follows its dates and schedule{next_at}"
    return {
        "subject": symbol,
        "kind": "instrument",
        "state": state.name,
        "held": pinned,
        "orders": "accepted" if state in ENTRY_STATES else "refused",
        "next": coming,
        "summary": f"{state.name}: {following}",
        "chain": instrument_chain(sim, symbol),
    }


def instrument_chain(sim: Simulation, symbol: str, until: int | None = None) -> list[Cause]:
    """Return state changes and settlements of an instrument, oldest first.

    Its initial state comes from the scenario and is not in any line.
    """
    chain: list[Cause] = []
    needles = [f':"{event}","symbol":"{symbol}"' for event in ("StateChanged", "Settled")]
    for step in steps(sim, *needles, '"action":"instrument.create"', until=until):
        if not chain and _creates(step, symbol):
            chain.append(step.cause("listed by the operator"))
        for event in step.events_of(*_EVENTS, symbol=symbol):
            chain.append(step.decision(_change(sim, event), event))
    return chain


def _change(sim: Simulation, event: StateChanged | Settled) -> str:
    """Describe a change of state, or a settlement."""
    if isinstance(event, StateChanged):
        game_over = facts_of(event).get("game") == "over"
        reason = "the game is over" if game_over else _CHANGES[event.rule]
        return f"{event.was.name} → {event.state.name}: {reason}"
    scale = sim.exchange.instruments.require(event.symbol).price_scale
    kind = "preliminary" if event.preliminary else "final"
    text = f": {event.text}" if event.text else ""
    return f"settlement price {decimal_text(event.price, scale)}, {kind}{text}"


def _creates(step: JournalStep, symbol: str) -> bool:
    return (
        isinstance(step.input, Controlled)
        and step.input.action == "instrument.create"
        and json.decode(step.input.arguments).get("symbol") == symbol
    )
