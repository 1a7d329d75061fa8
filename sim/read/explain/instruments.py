"""Why an instrument is in its state, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import json

from sim.core.catalogue.assumptions import (
    CANCEL_LEAD,
    GAMES_ARE_PLAYED,
    SETTLEMENT_DELAY,
    SETTLEMENT_PRELIMINARY,
)
from sim.core.lifecycle.settlement import SETTLEMENT_TIMER
from sim.core.lifecycle.states import ENTRY_STATES
from sim.core.model.enums import InstrumentState
from sim.core.model.quantities import decimal_text
from sim.core.model.timer_priority import DORMANT_TIMER, EDGE_TIMER
from sim.kernel.instants import format_instant
from sim.read.explain.causes import Basis, Cause, JournalStep, steps

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

_SETTLED = Basis("L25", "2.10", SETTLEMENT_DELAY, SETTLEMENT_PRELIMINARY)


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
            chain.append(step.cause("listed by the operator", Basis(section="3.1")))
        for event in step.events:
            if event["event"] == "StateChanged" and event["symbol"] == symbol:
                before, after = InstrumentState(event["was"]), InstrumentState(event["state"])
                why, basis = _state_change(step, event)
                what = f"{before.name} → {after.name}: {why}"
                chain.append(step.cause(what, basis, event["at"]))
            elif event["event"] == "Settled" and event["symbol"] == symbol:
                scale = sim.exchange.instruments.require(symbol).price_scale
                kind = "preliminary" if event["preliminary"] else "final"
                reason = f": {event['text']}" if event["text"] else ""
                what = f"settlement price {decimal_text(event['price'], scale)}, {kind}{reason}"
                chain.append(step.cause(what, _SETTLED, event["at"]))
    return chain


def _creates(step: JournalStep, symbol: str) -> bool:
    return (
        step.input.get("action") == "instrument.create"
        and json.decode(step.input["arguments"]).get("symbol") == symbol
    )


def _state_change(step: JournalStep, event: dict[str, Any]) -> tuple[str, Basis]:
    """Return why an instrument changed its state, and the basis."""
    action, at, symbol = step.input.get("action", ""), event["at"], event["symbol"]
    match action:
        case "instrument.state":
            return "the operator moved it", Basis("L5", "3.1")
        case "instrument.settle":
            return "the operator settled it, which closes it first", Basis("L25", "3.1")
        case "event.update":
            return "the game is over", Basis("L25", "2.10")
    if step.fired(at, "maintenance.") or action.startswith("maintenance."):
        return "maintenance", Basis("W2", "8", CANCEL_LEAD)
    if step.fired(at, EDGE_TIMER, symbol) or step.fired(at, DORMANT_TIMER):
        event_id = step.sim.exchange.instruments.require(symbol).event
        closed = event["state"] == InstrumentState.CLOSED
        if closed and step.sim.exchange.games.event_end(event_id) == at:
            return "the game is over", Basis("L25", "2.10", GAMES_ARE_PLAYED)
        return "its dates and schedule", Basis("L4", "3.1")
    return "settlement", Basis("L25", "3.1")
