"""Why an order is in its state: its reports with their causes, and what an open order waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sim.core.catalogue.assumptions import (
    CANCEL_LEAD,
    COLLAPSE_TO_EXPIRED,
    DAY_ROLL_EXPIRES,
    ENGINE_LATENCY,
    RETAIL_REJECTS,
)
from sim.core.lifecycle.states import ENTRY_STATES
from sim.core.matching.matching import NO_LIQUIDITY_TEXT
from sim.core.matching.self_match import SELF_MATCH_TEXT
from sim.core.model.enums import (
    ExecutionType,
    InstrumentState,
    RejectReason,
    Side,
    TimeInForce,
    UnsolicitedReason,
)
from sim.core.model.orders import Order
from sim.core.model.quantities import decimal_text
from sim.core.trading.admission import POST_ONLY_TEXT
from sim.core.trading.engine_queue import STOPGAP_TEXT
from sim.read.explain.causes import Basis, Cause, JournalStep, steps
from sim.read.explain.faults import strikes_of

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

_REQUEST_REJECTED = ("a cancel was rejected", "a replace was rejected")
_AT_ONCE = (TimeInForce.IMMEDIATE_OR_CANCEL, TimeInForce.FILL_OR_KILL)
# The basis of a reject, by a part of its text, or else by its reason.
_REJECTS = (
    (STOPGAP_TEXT, Basis("M37", "7.2", ENGINE_LATENCY)),
    (SELF_MATCH_TEXT, Basis("M27", "3.4")),
    (POST_ONLY_TEXT, Basis("M20", "3.4")),
    ("No liquidity", Basis("M10", "3.4")),
    ("Order has attributes", Basis("L18", "3.1")),
    ("Book is", Basis("M2", "3.1")),
    ("price limit is", Basis("M5", "8")),
    ("size limit is", Basis("M5", "8")),
    ("USD available", Basis("P3", "3.4")),
    ("ClOrdID", Basis("M6", "7.1")),
)
_REJECTS_BY_REASON = {
    RejectReason.UNKNOWN_SYMBOL: Basis("M2", "7.1"),
    RejectReason.EXCHANGE_CLOSED: Basis("M2", "3.1"),
    RejectReason.INCORRECT_QUANTITY: Basis("M4", "2.6"),
    RejectReason.INVALID_PRICE_INCREMENT: Basis("M4", "2.6"),
}
_OTHER_REJECT = Basis("M7", "7.1", RETAIL_REJECTS)
# Why the exchange canceled an order, by the text of the report.
_CANCELS = {
    SELF_MATCH_TEXT: (
        "canceled: it would have met another order of the same participant",
        Basis("M28", "3.4"),
    ),
    NO_LIQUIDITY_TEXT: (
        "canceled: a trade reached its stop price when the other side was empty",
        Basis("M12", "3.4"),
    ),
    "Insufficient funds": (
        "canceled: after a fill elsewhere its account could no longer pay for it",
        Basis("P5", "3.4"),
    ),
}


def explain_order(sim: Simulation, order_id: str) -> dict[str, Any] | None:
    """Explain an order by its id; None if it is unknown."""
    order = sim.exchange.trading.orders.get(order_id)
    if order is None:
        return None
    chain = order_chain(sim, order_id)
    reports = [one["what"] for one in chain if not one["what"].startswith(_REQUEST_REJECTED)]
    last = reports[-1] if reports else "it was in the book from the start of the scenario"
    return {
        "subject": order_id,
        "kind": "order",
        "state": order.state.name,
        "symbol": order.symbol,
        "account": order.account,
        "participant": order.participant,
        "clord_id": order.clord_id,
        "filled": decimal_text(order.cum_qty, order.qty_scale),
        "leaves": decimal_text(order.leaves_qty, order.qty_scale),
        "summary": _waiting_reason(sim, order) if order.live else last,
        "chain": chain,
    }


def order_chain(sim: Simulation, order_id: str, until: int | None = None) -> list[Cause]:
    """Return what happened to an order, oldest first."""
    return list(_order_causes(sim, order_id, until))


def _order_causes(sim: Simulation, order_id: str, until: int | None) -> Iterator[Cause]:
    accepted, order = False, sim.exchange.trading.orders.get(order_id)
    # No line refers to an order before its creation, so a long run is not read from its start.
    after = sim.journal.seq_at(order.created - 1) if order is not None else 0
    for step in steps(sim, f':"{order_id}"', after=after, until=until):
        if not accepted:
            yield from (one for one in strikes_of(step) if "on engine" in one["what"])
        for event in step.events:
            if event["event"] == "Executed" and event["execution"]["order"]["id"] == order_id:
                execution = event["execution"]
                what, basis = _report(step, execution, is_stop=accepted)
                yield step.cause(what, basis, execution["at"])
                accepted = accepted or _is_new(execution)
            elif event["event"] == "CancelRejected" and event["order_id"] == order_id:
                rejected = _REQUEST_REJECTED[event["is_replace"]]
                what = f"{rejected}: {event['text']}; the order did not change"
                basis = Basis("M33" if event["is_replace"] else "M34", "7.1")
                yield step.cause(what, basis, event["at"])


def _report(step: JournalStep, execution: dict[str, Any], *, is_stop: bool) -> tuple[str, Basis]:
    """Describe an execution report, and its basis.

    An order that is reported NEW twice was a stop order.
    """
    kind, order = ExecutionType(execution.get("type", 0)), execution["order"]
    match kind:
        case ExecutionType.FILL | ExecutionType.PARTIAL_FILL:
            qty = decimal_text(execution.get("last_qty", 0), order["qty_scale"])
            price = decimal_text(execution.get("last_px", 0), order["price_scale"])
            role = "taker" if execution.get("aggressor") else "maker"
            opened = step.changed_state(order["symbol"], InstrumentState.OPEN)
            auction = opened and step.input["type"] != "rest"
            basis = Basis("L16", "3.1") if auction else Basis("M1", "3.4")
            trade = f"in trade {execution['trade_id']} as {role}"
            return f"{qty} traded at {price} {trade}; {_remaining(order)}", basis
        case ExecutionType.NEW if is_stop:
            return "a trade reached its stop price, which makes it active", Basis("M12", "3.4")
        case ExecutionType.NEW:
            side = "buy" if order["side"] == Side.BUY else "sell"
            return f"accepted: {side} {_qty_at_price(order)}, {_tif(order)}", Basis("M7", "3.4")
        case ExecutionType.REPLACE:
            return f"replaced: now {_qty_at_price(order)}; {_remaining(order)}", Basis("M31", "3.4")
        case ExecutionType.REJECTED:
            text, reason = (
                execution.get("text", ""),
                RejectReason(execution.get("reject_reason", 0)),
            )
            by_text = next((basis for part, basis in _REJECTS if part in text), None)
            return f"rejected: {text}", by_text or _REJECTS_BY_REASON.get(reason, _OTHER_REJECT)
        case ExecutionType.EXPIRED:
            return _expired(step, execution)
    return _canceled(step, execution)


def _expired(step: JournalStep, execution: dict[str, Any]) -> tuple[str, Basis]:
    """Return why an order expired."""
    order, at = execution["order"], execution["at"]
    symbol, tif = order["symbol"], order["tif"]
    if step.fired(at, "order.expiry", order["id"]):
        what = "expired: its good-till time came, which ends it in every state of the instrument"
        return what, Basis("L23", "3.4")
    arrived = any(
        event["execution"]["order"]["id"] == order["id"] and _is_new(event["execution"])
        for event in step.events_of("Executed")
    )
    if tif in _AT_ONCE or arrived:
        rule = "M17" if tif == TimeInForce.FILL_OR_KILL else "M16"
        what = f"expired: the quantity that could not trade at once must not rest ({_tif(order)})"
        return what, Basis(rule, "3.4")
    if step.changed_state(symbol, InstrumentState.CLOSED) and tif == TimeInForce.DAY:
        return "expired: the instrument closed, which ends day orders", Basis("L20", "3.1")
    if step.changed_state(symbol, InstrumentState.EXPIRED):
        what = "expired: the instrument expired, which ends every order"
        return what, Basis("L15", "3.1", COLLAPSE_TO_EXPIRED)
    if step.fired(at, "trade_day.roll"):
        what = "expired: the trade day rolled at 17:00 Eastern, which ends day orders"
        return what, Basis("L12", "3.4", DAY_ROLL_EXPIRES)
    return "expired", Basis(section="3.4")


def _canceled(step: JournalStep, execution: dict[str, Any]) -> tuple[str, Basis]:
    """Return why an order was canceled."""
    text = execution.get("text", "")
    if execution.get("unsolicited", 0) == UnsolicitedReason.UNDEFINED:
        return "canceled as requested", Basis("M34", "3.4")
    if text in _CANCELS:
        return _CANCELS[text]
    maintenance = step.input.get("action") == "maintenance.add"
    if maintenance or step.fired(execution["at"], "maintenance."):
        return "canceled: a maintenance window was about to begin", Basis("W2", "8", CANCEL_LEAD)
    if step.changed_state(execution["order"]["symbol"], InstrumentState.TERMINATED):
        return "canceled: the instrument was terminated", Basis("L6", "3.1")
    return f"canceled by the exchange{f': {text}' if text else ''}", Basis(section="3.4")


def _waiting_reason(sim: Simulation, order: Order) -> str:
    """Return what an open order waits for."""
    trading, symbol, scale = sim.exchange.trading, order.symbol, order.price_scale
    state = trading.state(symbol)
    if order.received:
        return f"the engine has not processed it yet ({ENGINE_LATENCY.name})"
    if order.stop_price and order.type.name.startswith("STOP"):
        return f"it waits off the book for a trade at {decimal_text(order.stop_price, scale)}"
    if state not in ENTRY_STATES:
        return f"it rests: {symbol} is {state.name}, where nothing trades"
    if state is not InstrumentState.OPEN:
        return f"it rests: {symbol} is {state.name}, where nothing trades before the auction"
    best = trading.book(symbol).opposite(order.side).best
    opposite = (
        f"the best price on the other side is {decimal_text(best, scale)}"
        if best
        else "the other side is empty"
    )
    level = trading.book(symbol).ladder(order.side).levels.get(order.price)
    ahead = sum(
        other.leaves_qty
        for other in (level.queue if level is not None else ())
        if other.priority < order.priority
    )
    queue = (
        f"; {decimal_text(ahead, order.qty_scale)} are ahead of it at its price" if ahead else ""
    )
    return f"it rests at {decimal_text(order.price, scale)}: {opposite}{queue}"


def _is_new(execution: dict[str, Any]) -> bool:
    return bool(execution.get("type", 0) == ExecutionType.NEW)


def _qty_at_price(order: dict[str, Any]) -> str:
    price = decimal_text(order["price"], order["price_scale"])
    return f"{decimal_text(order['qty'], order['qty_scale'])} at {price}"


def _remaining(order: dict[str, Any]) -> str:
    left = order["leaves_qty"]
    return f"{decimal_text(left, order['qty_scale'])} left" if left else "nothing left"


def _tif(order: dict[str, Any]) -> str:
    return TimeInForce(order["tif"]).name.replace("_", " ").lower()
