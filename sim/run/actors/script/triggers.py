"""The conditions of `when`: whether an event or a call meets one, and its description."""

from __future__ import annotations

from sim.api.pipeline.request_log import LoggedCall
from sim.core.exchange import Exchange
from sim.core.model.enums import OrderState, TradeState
from sim.core.model.events import (
    Event,
    Executed,
    KycDecided,
    MaintenanceChanged,
    StateChanged,
    Traded,
)
from sim.world.format.steps import When


def matches_event(when: When, event: Event) -> bool:
    """Whether an event meets the condition."""
    match event:
        case Executed(execution=execution) if when.order is not None:
            order = execution.order
            return order.clord_id == when.order.name and order.state == when.order.state
        case StateChanged() if when.instrument is not None:
            return event.symbol == when.instrument.symbol and event.state == when.instrument.state
        case Traded() if when.trade is not None:
            return event.trade.symbol == when.trade.symbol and event.state is TradeState.NEW
        case KycDecided() if when.kyc is not None:
            approved = when.kyc.approved in (None, event.approved)
            return approved and event.external_id == when.kyc.external_id
        case MaintenanceChanged() if when.maintenance is not None:
            return event.active is when.maintenance
    return False


def holds(when: When, exchange: Exchange) -> bool:
    """Whether a condition about a state holds already. Anything else is an event: a trade, a call,
    the end of maintenance.
    """
    if when.instrument is not None:
        symbol, state = when.instrument.symbol, when.instrument.state
        return symbol in exchange.instruments and exchange.trading.state(symbol) is state
    return when.maintenance is True and exchange.maintenance.active


def matches_call(when: When, entry: LoggedCall) -> bool:
    """Whether a client's call meets the condition."""
    call = when.call
    if call is None or call.status not in (None, entry.status):
        return False
    return call.operation in (entry.operation, entry.operation.rpartition(".")[2])


def describe(when: When) -> str:
    """The condition in words."""
    if when.order is not None:
        return f"order {when.order.name} to be {OrderState(when.order.state).name}"
    if when.instrument is not None:
        return f"{when.instrument.symbol} to be {when.instrument.state.name}"
    if when.trade is not None:
        return f"a trade of {when.trade.symbol}"
    if when.call is not None:
        status = f" answered with {when.call.status}" if when.call.status else ""
        return f"a call of {when.call.operation}{status}"
    if when.kyc is not None:
        return f"the decision on {when.kyc.external_id}"
    return "maintenance to begin" if when.maintenance else "maintenance to end"
