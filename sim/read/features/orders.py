"""What an execution report says about orders: the kind of order, and its outcome."""

from __future__ import annotations

from typing import NamedTuple

from sim.core.model.enums import ExecutionType
from sim.core.model.events import Executed

_CONDITIONS = (
    "all_or_none",
    "post_only",
    "strict_limit",
    "best_limit",
    "immediately_executable_limit",
    "ignore_price_checks",
    "min_qty",
    "cash_qty",
    "cross_id",
    "quote_id",
    "session_id",
)


# The rules of self-match prevention, in continuous trading and in an auction.
_SELF_MATCH = ("L19", "M26", "M27", "M28", "M29", "M30")


class ExecutionFeatures(NamedTuple):
    """The features of a report, the order's id, and the kind of report."""

    features: list[str]
    order: str
    kind: str


def execution_features(event: Executed) -> ExecutionFeatures:
    """Return the features of an execution report."""
    execution, order = event.execution, event.execution.order
    kind, channel = execution.type.name, order.channel.name
    role = ""
    if execution.type in (ExecutionType.FILL, ExecutionType.PARTIAL_FILL):
        role = "taker" if execution.aggressor else "maker"
    terms = f"{order.type.name}|{order.tif.name}"
    features = [f"order:{terms}|{kind}|{role}", f"order:{channel}|{kind}"]
    features += (f"order:{name}|{kind}|{role}" for name in _CONDITIONS if getattr(order, name))
    if execution.type is ExecutionType.REJECTED:
        features.append(f"order:reject|{execution.reject_reason.name}")
    if execution.type is ExecutionType.CANCELED:
        features.append(f"order:canceled|{execution.unsolicited.name}")
        if event.rule == "P5":
            features.append("order:canceled|unfunded")
    if event.rule in _SELF_MATCH:
        features += (f"order:self-match|{order.smp.name}", f"order:self-match|{channel}")
    if role and execution.commission:
        sign = "rebate" if execution.commission < 0 else "fee"
        features.append(f"order:commission|{role}|{sign}")
    return ExecutionFeatures(features, order.id, kind)
