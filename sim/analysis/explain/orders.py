"""Why an order is where it is: every report of it with its cause, and for an open one what it waits
for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.analysis.explain.causes import Basis, Cause, JournalStep, cause_of, steps
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

if TYPE_CHECKING:
    from sim.simulation import Simulation

_REFUSED = ("a cancel", "a replace")
_AT_ONCE = (TimeInForce.IMMEDIATE_OR_CANCEL, TimeInForce.FILL_OR_KILL)
_REJECTS = (
    (STOPGAP_TEXT, Basis("M37", "7.2", (ENGINE_LATENCY.name,))),
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


def explain_order(sim: Simulation, order_id: str) -> dict[str, Any]:
    """The explanation of an order there is."""
    order = sim.exchange.trading.orders.require(order_id)
    chain = order_chain(sim, order_id)
    reports = [one["what"] for one in chain if not one["what"].startswith(_REFUSED)]
    last = reports[-1] if reports else "it stood in the book when the scenario began"
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
        "summary": _waiting(sim, order) if order.live else last,
        "chain": chain,
    }


def order_chain(sim: Simulation, order_id: str, until: int | None = None) -> list[Cause]:
    """What happened to an order, oldest first."""
    chain: list[Cause] = []
    seen_new = False
    for step in steps(sim, f'"{order_id}"', until=until):
        for event in step.events:
            if event["event"] == "Executed" and event["execution"]["order"]["id"] == order_id:
                execution = event["execution"]
                chain.append(_reported(sim, step, execution, triggered=seen_new))
                seen_new = seen_new or not execution.get("type", 0)
            elif event["event"] == "CancelRejected" and event["order_id"] == order_id:
                what = (
                    f"{_REFUSED[event['is_replace']]} was rejected: {event['text']}; the order"
                    " stayed as it was"
                )
                chain.append(
                    cause_of(
                        sim,
                        step,
                        what,
                        Basis("M33" if event["is_replace"] else "M34", "7.1"),
                        event["at"],
                    )
                )
    return chain


def _reported(
    sim: Simulation, step: JournalStep, execution: dict[str, Any], *, triggered: bool
) -> Cause:
    kind = ExecutionType(execution.get("type", 0))
    order, text = execution["order"], execution.get("text", "")
    at: int = execution["at"]
    price, qty = (
        _shown(order, execution.get("last_px", 0), "price_scale"),
        _shown(order, execution.get("last_qty", 0), "qty_scale"),
    )
    if kind in (ExecutionType.FILL, ExecutionType.PARTIAL_FILL):
        role = (
            "it took what rested"
            if execution.get("aggressor")
            else "somebody took it where it rested"
        )
        auction = step.moved(order["symbol"], InstrumentState.OPEN) and step.input["type"] != "rest"
        basis = Basis("L16", "3.1") if auction else Basis("M1", "3.4")
        return cause_of(
            sim,
            step,
            f"{qty} traded at {price} in trade {execution['trade_id']}: {role}; {_left(order)}",
            basis,
            at,
        )
    if kind is ExecutionType.NEW:
        if triggered:
            return cause_of(
                sim,
                step,
                "its stop was reached: from here on it is what it stood for",
                Basis("M12", "3.4"),
                at,
            )
        side = "buy" if order["side"] == Side.BUY else "sell"
        what = (
            f"accepted: {side} {_shown(order, order['qty'], 'qty_scale')} at"
            f" {_shown(order, order['price'], 'price_scale')}, {_tif(order)}"
        )
        return cause_of(sim, step, what, Basis("M7", "3.4"), at)
    if kind is ExecutionType.REPLACE:
        what = (
            f"replaced: now {_shown(order, order['qty'], 'qty_scale')} at"
            f" {_shown(order, order['price'], 'price_scale')}; {_left(order)}"
        )
        return cause_of(sim, step, what, Basis("M31", "3.4"), at)
    if kind is ExecutionType.REJECTED:
        found = next((basis for part, basis in _REJECTS if part in text), None)
        basis = found or _REJECTS_BY_REASON.get(
            RejectReason(execution.get("reject_reason", 0)),
            Basis("M7", "7.1", (RETAIL_REJECTS.name,)),
        )
        return cause_of(sim, step, f"rejected: {text}", basis, at)
    what, basis = _ended(step, kind, execution)
    return cause_of(sim, step, what, basis, at)


def _ended(step: JournalStep, kind: ExecutionType, execution: dict[str, Any]) -> tuple[str, Basis]:
    """Why an order was canceled or expired."""
    order, at, text = execution["order"], execution["at"], execution.get("text", "")
    symbol, tif = order["symbol"], order["tif"]
    if kind is ExecutionType.EXPIRED:
        if step.fired(at, "order.expiry", order["id"]):
            return "expired: its good-till time came, whatever the instrument's state", Basis(
                "L23", "3.4"
            )
        if tif in _AT_ONCE or any(_is_new(event, order["id"]) for event in step.events):
            return f"expired: what could not trade at once does not rest ({_tif(order)})", Basis(
                "M17" if tif == TimeInForce.FILL_OR_KILL else "M16", "3.4"
            )
        if step.moved(symbol, InstrumentState.CLOSED) and tif == TimeInForce.DAY:
            return "expired: the instrument closed, which ends day orders", Basis("L20", "3.1")
        if step.moved(symbol, InstrumentState.EXPIRED):
            return "expired: the instrument expired, which ends every order", Basis(
                "L15", "3.1", (COLLAPSE_TO_EXPIRED.name,)
            )
        if step.fired(at, "trade_day.roll"):
            return "expired: the trade day rolled at 17:00 Eastern, which ends day orders", Basis(
                "L12", "3.4", (DAY_ROLL_EXPIRES.name,)
            )
        return "expired", Basis(section="3.4")
    if execution.get("unsolicited", 0) == UnsolicitedReason.UNDEFINED:
        return "canceled as asked", Basis("M34", "3.4")
    if text == SELF_MATCH_TEXT:
        return "canceled: it would have met another order of the same participant", Basis(
            "M28", "3.4"
        )
    if text == NO_LIQUIDITY_TEXT:
        return "canceled: when its stop was reached nothing stood on the other side", Basis(
            "M12", "3.4"
        )
    if text == "Insufficient funds":
        return "canceled: after a fill elsewhere its account could no longer pay for it", Basis(
            "P5", "3.4"
        )
    if step.fired(at, "maintenance.") or step.input.get("action") == "maintenance.add":
        return "canceled: a maintenance window was about to begin", Basis(
            "W2", "8", (CANCEL_LEAD.name,)
        )
    if step.moved(symbol, InstrumentState.TERMINATED):
        return "canceled: the instrument was terminated", Basis("L6", "3.1")
    return "canceled by the exchange" + (f": {text}" if text else ""), Basis(section="3.4")


def _is_new(event: dict[str, Any], order_id: str) -> bool:
    return (
        event["event"] == "Executed"
        and event["execution"]["order"]["id"] == order_id
        and not event["execution"].get("type", 0)
    )


def _waiting(sim: Simulation, order: Order) -> str:
    """What an open order waits for."""
    trading = sim.exchange.trading
    state = trading.state(order.symbol)
    if order.received:
        return f"the engine has not taken it yet ({ENGINE_LATENCY.name})"
    if order.stop_price and order.type.name.startswith("STOP"):
        return (
            "it waits off the book for a trade at"
            f" {decimal_text(order.stop_price, order.price_scale)}"
        )
    if state not in ENTRY_STATES:
        return f"it rests: {order.symbol} is {state.name}, where nothing trades"
    if state is not InstrumentState.OPEN:
        return f"it rests: {order.symbol} is {state.name}, where nothing trades before the auction"
    book = trading.book(order.symbol)
    ahead = sum(
        other.leaves_qty for other in _at_its_price(sim, order) if other.priority < order.priority
    )
    other_side = book.opposite(order.side).best
    best = (
        "nothing stands on the other side"
        if not other_side
        else f"the best price on the other side is {decimal_text(other_side, order.price_scale)}"
    )
    queue = (
        f"; {decimal_text(ahead, order.qty_scale)} stand before it at its price" if ahead else ""
    )
    return f"it rests at {decimal_text(order.price, order.price_scale)}: {best}{queue}"


def _at_its_price(sim: Simulation, order: Order) -> list[Order]:
    found = sim.exchange.trading.orders.open()
    return [
        other
        for other in found
        if other.symbol == order.symbol
        and other.side is order.side
        and other.price == order.price
        and not other.received
    ]


def _shown(order: dict[str, Any], value: int, scale: str) -> str:
    return decimal_text(value, order[scale])


def _left(order: dict[str, Any]) -> str:
    left = order["leaves_qty"]
    return f"{_shown(order, left, 'qty_scale')} left" if left else "nothing left"


def _tif(order: dict[str, Any]) -> str:
    return TimeInForce(order["tif"]).name.replace("_", " ").lower()
