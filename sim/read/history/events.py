"""The consequences of an input, one line each: the events of its outcome that people ask about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.api.pipeline.inputs import StepResult
from sim.core.model.enums import ExecutionType, Side
from sim.core.model.events import (
    CashMoved,
    DormantInstrumentsMoved,
    Executed,
    FaultInjected,
    InstrumentListed,
    KycDecided,
    MaintenanceChanged,
    Settled,
    StateChanged,
)
from sim.core.model.orders import Execution
from sim.core.model.quantities import DOLLAR
from sim.read.explain.faults import sentence
from sim.run.engine.journal_record import RecordedEvent

MARK = {True: "✓", False: "✗", None: " "}


def details_of(events: Iterable[RecordedEvent]) -> Iterator[str]:
    return filter(None, map(_detail, events))


def _detail(event: RecordedEvent) -> str:
    match event:
        case Executed():
            return _execution(event.execution)
        case CashMoved():
            return _cash(event)
        case StateChanged():
            return f"{event.symbol}: {event.was.name} → {event.state.name}"
        case InstrumentListed():
            return f"{event.symbol} is listed, {event.state.name}"
        case DormantInstrumentsMoved():
            return f"all other instruments in {event.was.name}: → {event.state.name}"
        case Settled():
            return f"{event.symbol} settles: {event.text or event.price}"
        case KycDecided():
            decision = "approved" if event.approved else "rejected"
            return f"verification of {event.external_id} {decision}"
        case FaultInjected():
            return sentence(event)
        case MaintenanceChanged():
            return f"maintenance {'begins' if event.active else 'ends'}"
    return ""


def _execution(execution: Execution) -> str:
    order, kind = execution.order, execution.type
    done = "replaced" if kind is ExecutionType.REPLACE else kind.name.lower().replace("_", " ")
    price = _scaled(execution.last_px or order.price, order.price_scale)
    qty = _scaled(execution.last_qty or order.qty, order.qty_scale)
    side = "buy" if order.side is Side.BUY else "sell"
    text = f" ({execution.text})" if execution.text else ""
    return f"order {order.id} {done}: {side} {qty} {order.symbol} @ {price}{text}"


def _cash(event: CashMoved) -> str:
    change = event.after - event.before
    amount = f"{'+' if change >= 0 else '−'}${_scaled(abs(change), DOLLAR)}"
    return f"{short_name(event.account)}: {amount} {event.description}".rstrip()


def result_of(result: StepResult) -> str:
    failures = "; ".join(result.failures)
    return f"{MARK[not failures]} {result.name}{f': {failures}' if failures else ''}"


def _scaled(value: int, scale: int) -> str:
    units, rest = divmod(value, scale)
    digits = str(rest).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{units}.{digits}" if rest else f"{units}"


def short_name(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[-2:]) if len(parts) == 4 else parts[-1]
