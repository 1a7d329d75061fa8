"""Why an order is in its state: its reports with their causes, and what an open order waits for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.core.catalogue.assumptions import ENGINE_LATENCY
from sim.core.lifecycle.states import ENTRY_STATES
from sim.core.model.enums import ExecutionType, InstrumentState, Side
from sim.core.model.events import CancelRejected, Executed
from sim.core.model.orders import Order
from sim.core.model.quantities import decimal_text
from sim.read.explain.causes import Cause, steps
from sim.read.explain.faults import strikes_of
from sim.read.record import facts_of
from sim.run.simulation import Simulation

# Why an order ended, by the rule that ended it, after "expired" or "canceled". Braces are facts.
_ENDINGS = {
    "L3": "a segment of the schedule began that ends every order",
    "L8": "the instrument became {state}, which ends every order",
    "L12": "the {ended_by} ends day orders",
    "L19": "in the auction it would have met another order of the same participant",
    "L23": "its good-till time came, which ends it in every state of the instrument",
    "M12": "a trade reached its stop price when the other side was empty",
    "M16": "the quantity that could not trade at once must not rest",
    "M17": "it trades completely at once or not at all, and {available} of {needed} were there",
    "M19": "its minimum quantity is {needed}, and {available} were there",
    "M22": "a strict limit trades at exactly its price, and there was a better one",
    "M26": "it would have met another order of the same participant",
    "M27": "it would have met another order of the same participant",
    "M28": "it would have met a later order of the same participant",
    "M29": "two orders of the same participant would have met",
    "M30": "it would have met another order of the same account",
    "M39": "the stream that its session belongs to has ended",
    "M43": "as requested",
    "P5": "after a fill elsewhere its account could no longer pay for it",
    "W2": "maintenance empties every book",
}


def explain_order(sim: Simulation, order_id: str) -> dict[str, Any] | None:
    """Explain an order by its id; None if it is unknown."""
    order = sim.exchange.trading.orders.get(order_id)
    if order is None:
        return None
    reports, chain = [], []
    for cause, is_report in _causes(sim, order_id, None):
        chain.append(cause)
        if is_report:
            reports.append(cause["what"])
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
    return [cause for cause, _ in _causes(sim, order_id, until)]


def _causes(sim: Simulation, order_id: str, until: int | None) -> Iterator[tuple[Cause, bool]]:
    """Yield what happened to an order, and whether it is a report of the order itself."""
    accepted, order = False, sim.exchange.trading.orders.get(order_id)
    # No line refers to an order before its creation, so a long run is not read from its start.
    after = sim.journal.seq_at(order.created - 1) if order is not None else 0
    for step in steps(sim, f':"{order_id}"', after=after, until=until):
        if not accepted:
            yield from ((cause, False) for cause in strikes_of(step, plane="engine"))
        for event in step.events:
            if isinstance(event, Executed) and event.execution.order.id == order_id:
                sentence = _report(event, triggered=accepted)
                yield step.decision(sentence, event, event.execution.at), True
                accepted = accepted or event.execution.type is ExecutionType.NEW
            elif isinstance(event, CancelRejected) and event.order_id == order_id:
                change = "replace" if event.is_replace else "cancel"
                sentence = f"a {change} was rejected: {event.text}; the order did not change"
                yield step.decision(sentence, event), False


def _report(event: Executed, *, triggered: bool) -> str:
    """Describe an execution report. An order that is reported NEW twice was a stop order."""
    execution, order = event.execution, event.execution.order
    match execution.type:
        case ExecutionType.FILL | ExecutionType.PARTIAL_FILL:
            qty = decimal_text(execution.last_qty, order.qty_scale)
            price = decimal_text(execution.last_px, order.price_scale)
            role = "taker" if execution.aggressor else "maker"
            trade = f"in trade {execution.trade_id} as {role}"
            return f"{qty} traded at {price} {trade}; {_remaining(order)}"
        case ExecutionType.NEW if triggered:
            return "a trade reached its stop price, which makes it active"
        case ExecutionType.NEW:
            side = "buy" if order.side is Side.BUY else "sell"
            tif = order.tif.name.replace("_", " ").lower()
            return f"accepted: {side} {_qty_at_price(order)}, {tif}"
        case ExecutionType.REPLACE:
            return f"replaced: now {_qty_at_price(order)}; {_remaining(order)}"
        case ExecutionType.REJECTED:
            return f"rejected: {execution.text}"
    ended = "expired" if execution.type is ExecutionType.EXPIRED else "canceled"
    return f"{ended}: {ending(event)}"


def ending(event: Executed) -> str:
    """Return why an order ended, in words, from the rule and the facts of its last report."""
    sentence = _ENDINGS.get(event.rule, "rule {rule}")
    return sentence.format_map({"rule": event.rule, **facts_of(event)})


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


def _qty_at_price(order: Order) -> str:
    price = decimal_text(order.price, order.price_scale)
    return f"{decimal_text(order.qty, order.qty_scale)} at {price}"


def _remaining(order: Order) -> str:
    left = order.leaves_qty
    return f"{decimal_text(left, order.qty_scale)} left" if left else "nothing left"
