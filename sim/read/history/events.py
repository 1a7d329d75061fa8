"""The consequences of an input, one line each: the events of its outcome that people ask about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sim.core.model.enums import ExecutionType, InstrumentState
from sim.read.explain.faults import sentence

Record = dict[str, Any]
MARK = {True: "✓", False: "✗", None: " "}
DOLLAR = 10**8


def details_of(events: Iterable[Record]) -> Iterator[str]:
    for event in events:
        if event.get("event") in _EVENTS:
            yield _EVENTS[event["event"]](event)


def _execution(event: Record) -> str:
    execution = event["execution"]
    order = execution["order"]
    kind = ExecutionType(execution.get("type", 0))
    done = "replaced" if kind == ExecutionType.REPLACE else kind.name.lower().replace("_", " ")
    price = _scaled(execution.get("last_px") or order["price"], order["price_scale"])
    qty = _scaled(execution.get("last_qty") or order["qty"], order["qty_scale"])
    side = "buy" if order["side"] == 1 else "sell"
    text = f" ({execution['text']})" if execution.get("text") else ""
    return f"order {order['id']} {done}: {side} {qty} {order['symbol']} @ {price}{text}"


def _cash(event: Record) -> str:
    change = event["after"] - event["before"]
    amount = f"{'+' if change >= 0 else '−'}${_scaled(abs(change), DOLLAR)}"
    return f"{short_name(event['account'])}: {amount} {event['description']}".rstrip()


def _decision(event: Record) -> str:
    decision = "approved" if event["approved"] else "rejected"
    return f"verification of {event['external_id']} {decision}"


_EVENTS: dict[str, Callable[[Record], str]] = {
    "Executed": _execution,
    "StateChanged": lambda e: f"{e['symbol']}: {_state(e['was'])} → {_state(e['state'])}",
    "InstrumentListed": lambda e: f"{e['symbol']} is listed, {_state(e['state'])}",
    "ShelfMoved": lambda e: f"all other instruments in {_state(e['was'])}: → {_state(e['state'])}",
    "Settled": lambda e: f"{e['symbol']} settles: {e['text'] or e['price']}",
    "CashMoved": _cash,
    "KycDecided": _decision,
    "FaultStruck": sentence,
    "MaintenanceChanged": lambda e: f"maintenance {'begins' if e['active'] else 'ends'}",
}


def result_of(result: Record) -> str:
    failures = "; ".join(result.get("failures", ()))
    return f"{MARK[not failures]} {result['name']}{f': {failures}' if failures else ''}"


def _state(number: int) -> str:
    return InstrumentState(number).name


def _scaled(value: int, scale: int) -> str:
    whole, rest = divmod(value, scale)
    digits = str(rest).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if rest else f"{whole}"


def short_name(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[-2:]) if len(parts) == 4 else parts[-1]
