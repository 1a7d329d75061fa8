"""What an execution report says about orders: the kind of order, and its outcome."""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.core.model.enums import (
    Channel,
    ExecutionType,
    OrderType,
    RejectReason,
    SelfMatchPrevention,
    TimeInForce,
    UnsolicitedReason,
)

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


def execution_features(event: dict[str, Any]) -> ExecutionFeatures:
    """Return the features of an execution report in its journal form."""
    execution, rule = event["execution"], event["rule"]
    order = execution["order"]
    kind = ExecutionType(execution["type"]).name
    type_ = OrderType(order.get("type", 0)).name
    tif = TimeInForce(order.get("tif", 0)).name
    channel = Channel(order.get("channel", 0)).name
    role = "taker" if execution.get("aggressor") else "maker"
    if kind not in ("FILL", "PARTIAL_FILL"):
        role = ""
    features = [f"order:{type_}|{tif}|{kind}|{role}", f"order:{channel}|{kind}"]
    features += (f"order:{name}|{kind}|{role}" for name in _CONDITIONS if order.get(name))
    if kind == "REJECTED":
        features.append(f"order:reject|{RejectReason(execution.get('reject_reason', 0)).name}")
    if kind == "CANCELED":
        why = UnsolicitedReason(execution.get("unsolicited", 0)).name
        features.append(f"order:canceled|{why}")
        if rule == "P5":
            features.append("order:canceled|unfunded")
    if rule in _SELF_MATCH:
        mode = SelfMatchPrevention(order.get("smp", 0)).name
        features += (f"order:self-match|{mode}", f"order:self-match|{channel}")
    if role and execution.get("commission"):
        sign = "rebate" if execution["commission"] < 0 else "fee"
        features.append(f"order:commission|{role}|{sign}")
    return ExecutionFeatures(features, order["id"], kind)
