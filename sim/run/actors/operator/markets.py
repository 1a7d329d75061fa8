"""Operator actions on markets: list instruments, change their state, settle them, bust trades,
place and cancel orders of any user.
"""

from __future__ import annotations

from sim.core.model.commands import CancelOrder
from sim.core.model.enums import InstrumentState, OrderState
from sim.core.model.quantities import decimal_text
from sim.core.model.refusals import AlreadyExists, InvalidRequest
from sim.run.actors.operator.action import operator_action
from sim.run.actors.operator.answers import Answer, instrument_answer
from sim.run.engine.engine import Engine
from sim.world.format.control_entries import TradeEntry
from sim.world.format.instrument_terms import ListingError, list_instrument
from sim.world.format.steps import CancelStep, SettleStep, StateStep
from sim.world.format.world_entries import InstrumentEntry, OrderEntry
from sim.world.start.orders import in_units, order_command


@operator_action("instrument.create", "POST /instruments")
def create_instrument(engine: Engine, entry: InstrumentEntry) -> Answer:
    """List an instrument. It appears on every API at once."""
    exchange = engine.exchange
    if entry.symbol in exchange.instruments:
        raise AlreadyExists(f"{entry.symbol} already exists", rule="T1")
    try:
        instrument = list_instrument(entry, exchange.now)
    except ListingError as error:
        raise InvalidRequest(str(error), rule="T1") from error
    instrument = engine.world.add(instrument, entry, exchange.now)
    exchange.reference = engine.world.reference
    exchange.trading.listings.list_instrument(instrument, announce=True)
    return instrument_answer(exchange, instrument)


@operator_action("instrument.state", "POST /instruments/{symbol}/state", step="state")
def change_state(engine: Engine, entry: StateStep) -> Answer:
    """Change the state of an instrument, or return it to its schedule.

    IllegalTransition for a transition that the lifecycle does not have.
    """
    trading = engine.exchange.trading
    engine.exchange.instruments.require(entry.symbol)
    state = None if entry.state == "SCHEDULE" else InstrumentState[entry.state]
    was = trading.listings.change_state(entry.symbol, state)
    return {"symbol": entry.symbol, "state": trading.state(entry.symbol).name, "was": was.name}


@operator_action("instrument.settle", "POST /instruments/{symbol}/settle", step="settle")
def settle(engine: Engine, entry: SettleStep) -> Answer:
    """Set the settlement price and pay at once. An open instrument is closed first."""
    instrument = engine.exchange.instruments.require(entry.symbol)
    price = in_units(entry.price, instrument.price_scale, "price")
    if not 0 <= price <= instrument.price_scale:
        message = f"a settlement price must be between 0 and 1 dollar, not {entry.price}"
        raise InvalidRequest(message, rule="L26")
    paid = engine.exchange.trading.listings.settle(entry.symbol, price, text=entry.text)
    text = decimal_text(price, instrument.price_scale)
    return {"symbol": entry.symbol, "price": text, "paid": paid}


@operator_action("trade.bust", "POST /trades/{id}/bust", step="bust")
def bust_trade(engine: Engine, entry: TradeEntry) -> Answer:
    """Bust a trade (rule M42).

    NotFound for an unknown trade; Conflict if it is busted already or its instrument has paid.
    """
    trade = engine.exchange.trading.listings.bust(entry.id)
    return {"id": trade.id, "symbol": trade.symbol, "state": "BUSTED"}


@operator_action("order.place", "POST /orders", step="order")
def place_order(engine: Engine, entry: OrderEntry) -> Answer:
    """Place an order of any user. The answer of a rejected order has its reason."""
    command = order_command(engine.exchange, engine.world.parties, entry)
    trading = engine.exchange.trading
    order = trading.order_service.enter(command)
    answer: Answer = {
        "order_id": order.id,
        "state": f"ORDER_STATE_{order.state.name}",
        "filled": decimal_text(order.cum_qty, order.qty_scale),
    }
    if order.state is OrderState.REJECTED:
        answer["reason"] = trading.executions[-1].text
    return answer


@operator_action("order.cancel", step="cancel")
def cancel_orders(engine: Engine, entry: CancelStep) -> Answer:
    """Cancel one order by its client order id, or all orders of a participant."""
    user = engine.world.parties.require_user(entry.as_, engine.exchange.firms)
    trading = engine.exchange.trading
    accounts = (user.account,)
    if entry.all:
        symbols = (entry.symbol,) if entry.symbol else ()
        commands = [
            CancelOrder(accounts=accounts, participant=user.name, order_id=order.id)
            for order in trading.orders.open_of(accounts, symbols)
        ]
    else:
        commands = [CancelOrder(accounts=accounts, participant=user.name, clord_id=entry.order)]
    return {"canceled": [trading.order_service.cancel(command).id for command in commands]}
