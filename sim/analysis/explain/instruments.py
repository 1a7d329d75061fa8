"""Why an instrument is in its state, and what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import json

from sim.analysis.explain.causes import Basis, Cause, JournalStep, cause_of, steps
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
from sim.core.model.timer_priority import EDGE_TIMER, SHELF_TIMER
from sim.kernel.instants import format_instant

if TYPE_CHECKING:
    from sim.simulation import Simulation


def explain_instrument(sim: Simulation, symbol: str) -> dict[str, Any]:
    """The explanation of an instrument there is."""
    trading = sim.exchange.trading
    state, held = trading.state(symbol), trading.lifecycle.is_pinned(symbol)
    coming = [
        timer
        for timer in sim.exchange.ctx.timers.pending()
        if timer.subject == symbol and timer.kind in (EDGE_TIMER, SETTLEMENT_TIMER)
    ]
    following = (
        "it stays there until an operator moves it" if held else "it follows its dates and schedule"
    )
    if coming and not held:
        following += f"; next at {format_instant(coming[0].due)}"
    return {
        "subject": symbol,
        "kind": "instrument",
        "state": state.name,
        "held": held,
        "orders": "accepted" if state in ENTRY_STATES else "refused",
        "next": [{"at": format_instant(timer.due), "timer": timer.kind} for timer in coming],
        "summary": f"{state.name}: {following}",
        "chain": instrument_chain(sim, symbol),
    }


def instrument_chain(sim: Simulation, symbol: str, until: int | None = None) -> list[Cause]:
    """Edges and settlements of an instrument, oldest first. What it began with is the scenario's
    and in no line.
    """
    chain: list[Cause] = []
    for step in steps(
        sim,
        f'"StateChanged","symbol":"{symbol}"',
        f'"Settled","symbol":"{symbol}"',
        '"action":"instrument.create"',
        until=until,
    ):
        if (
            step.input.get("action") == "instrument.create"
            and json.decode(step.input["arguments"]).get("symbol") == symbol
            and not chain
        ):
            chain.append(cause_of(sim, step, "listed by hand", Basis(section="3.1")))
        for event in step.events:
            if event["event"] == "StateChanged" and event["symbol"] == symbol:
                was, now = InstrumentState(event["was"]).name, InstrumentState(event["state"]).name
                why, basis = _edge(sim, step, event)
                chain.append(cause_of(sim, step, f"{was} → {now}: {why}", basis, event["at"]))
            elif event["event"] == "Settled" and event["symbol"] == symbol:
                price = decimal_text(
                    event["price"], sim.exchange.instruments.require(symbol).price_scale
                )
                kind = "preliminary" if event["preliminary"] else "final"
                what = f"settlement price {price}, {kind}" + (
                    f": {event['text']}" if event["text"] else ""
                )
                chain.append(
                    cause_of(
                        sim,
                        step,
                        what,
                        Basis("L25", "2.10", (SETTLEMENT_DELAY.name, SETTLEMENT_PRELIMINARY.name)),
                        event["at"],
                    )
                )
    return chain


def _edge(sim: Simulation, step: JournalStep, event: dict[str, Any]) -> tuple[str, Basis]:
    action = step.input.get("action", "")
    if action == "instrument.state":
        return "an operator's word", Basis("L5", "3.1")
    if action == "instrument.settle":
        return "settled by hand, which closes first", Basis("L25", "3.1")
    if action == "event.update":
        return "the game is over", Basis("L25", "2.10")
    if step.fired(event["at"], "maintenance.") or action.startswith("maintenance."):
        return "maintenance", Basis("W2", "8", (CANCEL_LEAD.name,))
    by_date = step.fired(event["at"], EDGE_TIMER, event["symbol"]) or step.fired(
        event["at"], SHELF_TIMER
    )
    if (
        by_date
        and event["state"] == InstrumentState.CLOSED
        and sim.exchange.games.event_end(sim.exchange.instruments.require(event["symbol"]).event)
        == event["at"]
    ):
        return "the game is over", Basis("L25", "2.10", (GAMES_ARE_PLAYED.name,))
    if by_date:
        return "its dates and schedule", Basis("L4", "3.1")
    if step.fired(event["at"], "script.") or step.input["type"] in ("rest", "rpc"):
        return "a step of the scenario", Basis(section="3.1")
    return "settlement", Basis("L25", "3.1")
