"""Rules about orders: closed markets, scales and ticks (§2.6, §3.1, §4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sim.core.lifecycle.states import EXPIRED_STATES, REFUSES
from sim.core.model.enums import ExecutionType, OrderType
from sim.core.model.events import Executed
from sim.core.model.orders import Order
from sim.core.model.quantities import decimal_text
from sim.kernel.instants import Instant
from sim.read.conformance.recorded_run import Call, ClientActivity, Finding
from sim.read.conformance.rules import rule

_ENTRY = ("InsertOrder", "CreateOrder", "PreviewOrder", "CancelReplaceOrder", "ModifyOrder")
_RETAIL_ENTRY = ("CreateOrder", "CreateOrders", "ModifyOrder", "ModifyOrders")
_ENTERED = (ExecutionType.NEW, ExecutionType.REPLACE, ExecutionType.REJECTED)
_TERMS = (
    *("GetInstrument", "ListInstruments", "SearchInstruments", "GetMarketBySlug"),
    *("GetMarketById", "ListMarkets", "GetEventBySlug", "ListEvents"),
)
_BY_STATE = frozenset({*REFUSES.values(), "L18", "W2"})  # rules that refuse by the state


def _symbol_of(call: Call) -> str:
    request = call.request
    return str(getattr(request, "symbol", "") or getattr(request, "market_slug", "") or "")


def _refused_by(call: Call) -> Iterator[str]:
    """Yield the rules by which an order was refused or rejected."""
    if call.rule:
        yield call.rule
    for event in call.events:
        if isinstance(event, Executed) and event.execution.type is ExecutionType.REJECTED:
            yield event.rule


def _state_changes(run: ClientActivity, symbol: str, now: Instant) -> int:
    """Return how often an instrument changed its state up to an instant.

    Two calls with the same number were made in the same state.
    """
    return sum(1 for at, _ in run.states.get(symbol, ()) if at <= now)


@rule("3.1", applies_to="an order that a market refused because of its state")
def market_state(run: ClientActivity) -> Iterator[Finding]:
    """Stop sending orders to a market that has refused them until its state changes."""
    refused: dict[tuple[str, str], tuple[int, Call]] = {}
    for call in run.calls:
        if call.rpc not in _ENTRY or _BY_STATE.isdisjoint(_refused_by(call)):
            continue
        symbol = _symbol_of(call)
        changes = _state_changes(run, symbol, call.at)
        subject = f"{call.rpc} in {symbol}"
        changes_before, before = refused.get((call.caller, symbol), (-1, call))
        if changes_before == changes:
            again = "the market had refused an order in this state before"
            yield call.finding(subject, again, before)
        else:
            yield call.finding(subject)
            refused[call.caller, symbol] = changes, call


@rule("3.1", applies_to="an order in an instrument that expires during the run")
def not_after_expiry(run: ClientActivity) -> Iterator[Finding]:
    """Send no order to an instrument that has expired."""
    for call in run.calls:
        symbol = _symbol_of(call) if call.rpc in _ENTRY else ""
        ends = [at for at, state in run.states.get(symbol, ()) if state in EXPIRED_STATES]
        if symbol and ends:
            broken = "the instrument had expired" if call.at > ends[0] else ""
            yield call.finding(f"{call.rpc} in {symbol}", broken)


@rule("2.6", applies_to="the first order of a caller in an instrument")
def scales_are_read(run: ClientActivity) -> Iterator[Finding]:
    """Read tick, scales and minimum of each instrument; do not infer them."""
    informed: set[str] = set()
    reported: set[tuple[str, str]] = set()
    terms_unread = "refused for its tick or size, and the instrument's terms had never been read"
    for call in run.calls:
        peer = call.input.peer
        if call.rpc in _TERMS and call.status < 400:
            informed |= {call.caller, peer}  # the gateway does not identify its callers
        symbol = _symbol_of(call)
        if call.rpc not in _ENTRY or (call.caller, symbol) in reported:
            continue
        reported.add((call.caller, symbol))
        off_tick, unread = "M4" in _refused_by(call), informed.isdisjoint((call.caller, peer))
        broken = terms_unread if off_tick and unread else ""
        yield call.finding(f"first {call.rpc} in {symbol}", broken)


@rule("4.2", applies_to="a retail order with a price")
def price_precision(run: ClientActivity) -> Iterator[Finding]:
    """Send prices that are whole ticks of the market; the exchange rounds others."""
    for call in run.calls:
        for sent, order in _priced(call):
            subject, price = f"{call.rpc} in {order.symbol}", Fraction(sent) * order.price_scale
            rounded = decimal_text(order.price, order.price_scale)
            yield call.finding(subject, "" if price == order.price else f"{sent} became {rounded}")
        if call.rule == "M4" and call.rpc in _RETAIL_ENTRY:
            yield call.finding(broken="the price was refused as off the tick")


def _priced(call: Call) -> Iterator[tuple[str, Order]]:
    """Yield the price of each retail order that a call entered or changed, and the order."""
    reports = (event.execution for event in call.events if isinstance(event, Executed))
    orders = {each.order.id: each.order for each in reports if each.type in _ENTERED}
    requests = getattr(call.request, "orders", None) or [call.request]
    for request, order in zip(requests, orders.values(), strict=False):
        amount = getattr(request, "price", None)
        if call.rpc in _RETAIL_ENTRY and amount and order.type is OrderType.LIMIT:
            yield amount.value, order
