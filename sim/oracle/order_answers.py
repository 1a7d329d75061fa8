"""What the answer to a call that enters orders shows of them (rules M7, M41, §2.8)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sim.oracle.state import Document

TYPES = ("NEW", "PARTIAL_FILL", "FILL", "CANCELED", "REPLACE", "REJECTED", "EXPIRED")
STATES = ("NEW", "PARTIALLY_FILLED", "FILLED", "CANCELED", "REPLACED", "REJECTED", "EXPIRED")


def order_ids(answer: Document) -> list[str]:
    """Return the ids of the orders in an answer, in its order; of an order it could not, none."""
    responses = answer.get("responses")
    if responses is not None:
        ids = [each.get("orderId", "") for each in responses]
    else:
        ids = answer.get("createdOrderIds") or [answer.get("orderId") or answer.get("id", "")]
    return [each for each in ids if each]


def execution_problems(reported: list[Document], events: list[Document]) -> Iterator[str]:
    """Yield where the executions of a synchronous answer differ from the reports (rule M41)."""
    reports = {
        event["execution"]["id"]: event["execution"]
        for event in events
        if event["event"] == "Executed"
    }
    for execution in reported:
        report = reports.get(execution["id"])
        if report is None:
            yield f"execution {execution['id']}, which no report has"
            continue
        for name, value in _fields(report).items():
            other = _field(execution, name)
            if other != value:
                yield f"{name} {other} in execution {execution['id']}, not {value}"


def _fields(report: Document) -> dict[str, Any]:
    order = report["order"]
    qty, price = order["qty_scale"], order["price_scale"]
    return {
        "type": f"EXECUTION_TYPE_{TYPES[report['type']]}",
        "tradeId": report.get("trade_id", ""),
        "lastShares": Fraction(report.get("last_qty", 0), qty),
        "lastPx": Fraction(report.get("last_px", 0), price),
        "order.id": order["id"],
        "order.state": f"ORDER_STATE_{STATES[order.get('state', 0)]}",
        "order.quantity": Fraction(order["qty"], qty),
        "order.cumQuantity": Fraction(order.get("cum_qty", 0), qty),
        "order.leavesQuantity": Fraction(order["leaves_qty"], qty),
    }


def _field(execution: Document, path: str) -> Any:
    """Return a field of a retail execution, an amount or a number as a fraction."""
    value: Any = execution
    for name in path.split("."):
        value = value.get(name)
    if isinstance(value, dict):
        value = value["value"]
    number = path in ("lastShares", "lastPx") or path.endswith("uantity")
    return Fraction(str(value or 0)) if number else value
