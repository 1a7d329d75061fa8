"""What a tester can do to markets: list, move and settle instruments, place and cancel orders of
anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.actors.operator.bodies import Answer
from sim.core.exchange import Exchange
from sim.core.model.commands import CancelOrder
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import decimal_text
from sim.core.model.refusals import AlreadyExists, InvalidRequest, NotFound
from sim.kernel.instants import format_instant
from sim.scenario.instrument_terms import ListingError, list_instrument
from sim.scenario.steps import CancelStep, SettleStep, StateStep
from sim.scenario.world_entries import InstrumentEntry, OrderEntry
from sim.world.orders import in_units, order_command

if TYPE_CHECKING:
    from sim.simulation import Simulation


def create_instrument(sim: Simulation, entry: InstrumentEntry) -> Answer:
    """List an instrument; it appears on every surface at once."""
    if entry.symbol in sim.exchange.instruments:
        raise AlreadyExists(f"{entry.symbol} is listed already", rule="control")
    try:
        instrument = list_instrument(entry, sim.now)
    except ListingError as error:
        raise InvalidRequest(str(error), rule="control") from error
    instrument = sim.world.add(instrument, entry, sim.now)
    sim.exchange.reference = sim.world.reference
    sim.exchange.trading.listings.list_instrument(instrument, tell=True)
    return shown_instrument(sim.exchange, instrument)


def shown_instrument(exchange: Exchange, instrument: Instrument) -> Answer:
    """Terms and state of an instrument."""
    return {
        "symbol": instrument.symbol,
        "state": exchange.trading.state(instrument.symbol).name,
        "tick_size": decimal_text(instrument.tick, instrument.price_scale),
        "price_scale": instrument.price_scale,
        "fractional_qty_scale": instrument.qty_scale,
        "minimum_trade_qty": instrument.min_qty,
        "price_limit": {
            "low": decimal_text(instrument.price_low, instrument.price_scale),
            "high": decimal_text(instrument.price_high, instrument.price_scale),
        },
        "start": format_instant(instrument.start),
        "expiration": format_instant(instrument.expiration),
        "termination": format_instant(instrument.termination),
    }


def change_state(sim: Simulation, step: StateStep) -> Answer:
    """Move an instrument to a state by hand, or let it follow its schedule again. IllegalTransition
    for an edge that does not exist.
    """
    trading = sim.exchange.trading
    sim.exchange.instruments.require(step.symbol)
    was = trading.listings.change_state(
        step.symbol, None if step.state == "SCHEDULE" else InstrumentState[step.state]
    )
    return {"symbol": step.symbol, "state": trading.state(step.symbol).name, "was": was.name}


def settle(sim: Simulation, step: SettleStep) -> Answer:
    """Set the settlement price and pay at once; an open instrument is closed first."""
    instrument = sim.exchange.instruments.require(step.symbol)
    price = in_units(step.price, instrument.price_scale, "price")
    if not 0 <= price <= instrument.price_scale:
        raise InvalidRequest(
            f"a settlement price lies between 0 and 1 dollar, not {step.price}", rule="L26"
        )
    paid = sim.exchange.trading.listings.settle(step.symbol, price, text=step.text)
    return {
        "symbol": step.symbol,
        "price": decimal_text(price, instrument.price_scale),
        "paid": paid,
    }


def bust_trade(sim: Simulation, trade_id: str) -> Answer:
    """Undo a trade (rule M42): NotFound, or Conflict when it is undone already or its instrument
    has paid.
    """
    trade = sim.exchange.trading.listings.bust(trade_id)
    return {"id": trade.id, "symbol": trade.symbol, "state": "BUSTED"}


# ---- orders


def place_order(sim: Simulation, entry: OrderEntry, name: str = "") -> Answer:
    """An order of a scripted participant or of any user."""
    order = sim.exchange.trading.order_service.place(
        order_command(sim.exchange, sim.world.parties, entry, name)
    )
    scale = order.qty_scale
    return {
        "order_id": order.id,
        "state": f"ORDER_STATE_{order.state.name}",
        "filled": decimal_text(order.cum_qty, scale),
    }


def cancel_orders(sim: Simulation, step: CancelStep) -> Answer:
    """Take out one order by its client order id, or all of a participant's."""
    user = sim.world.parties.user(step.as_)
    if user is None:
        raise NotFound(f"nobody is called {step.as_}", rule="control")
    trading = sim.exchange.trading
    if not step.all:
        command = CancelOrder(accounts=(user.account,), participant=user.name, clord_id=step.order)
        return {"canceled": [trading.order_service.cancel(command).id]}
    found = trading.orders.open_of((user.account,), (step.symbol,) if step.symbol else ())
    return {
        "canceled": [
            trading.order_service.cancel(
                CancelOrder(accounts=(user.account,), participant=user.name, order_id=order.id)
            ).id
            for order in found
        ]
    }
