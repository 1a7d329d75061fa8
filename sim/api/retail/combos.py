"""Combos over the retail API: create, list, and their legs as messages."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.retail.order_request import account_of
from sim.core.exchange import Exchange
from sim.core.model.enums import Side
from sim.core.model.quantities import decimal_text
from sim.core.model.refusals import InvalidRequest
from sim.core.rfq.combos import Combo, Leg
from sim.messages import retail_v1 as wire

WIRE_SIDES = {Side.BUY: wire.Side.SIDE_BUY, Side.SELL: wire.Side.SIDE_SELL}
SIDES: dict[int, Side] = {number: side for side, number in WIRE_SIDES.items()}


@handles("RetailCombosAPI.CreateCombo")
def create_combo(
    exchange: Exchange, caller: Caller, request: wire.CreateComboRequest
) -> wire.CreateComboResponse:
    """Return the combo of these legs, listing it if nobody has asked for it before."""
    account = account_of(caller)
    legs = [_leg(index, leg) for index, leg in enumerate(request.legs)]
    combo = exchange.combos.create(account, legs)
    return wire.CreateComboResponse(combo=combo_message(exchange, combo))


@handles("RetailCombosAPI.ListCombos")
def list_combos(
    exchange: Exchange, caller: Caller, request: wire.ListCombosRequest
) -> wire.ListCombosResponse:
    """List everybody's combos, oldest first, or the one of a symbol."""
    combos = [combo for combo in exchange.combos.all() if request.symbol in ("", combo.symbol)]
    return wire.ListCombosResponse(combos=[combo_message(exchange, combo) for combo in combos])


def combo_message(exchange: Exchange, combo: Combo) -> wire.Combo:
    """Return a combo as it is now."""
    instrument = exchange.instruments.require(combo.symbol)
    return wire.Combo(
        id=combo.symbol,
        legs=leg_messages(exchange, combo),
        state=exchange.trading.state(combo.symbol),
        created_time=combo.created,
        tick_size=instrument.tick / instrument.price_scale,
    )


def leg_messages(exchange: Exchange, combo: Combo) -> list[wire.ComboLeg]:
    """Return the legs of a combo, with their settlement prices once final."""
    messages = []
    for leg in combo.legs:
        message = wire.ComboLeg(symbol=leg.symbol, side=WIRE_SIDES[leg.side])
        settlement = exchange.trading.settlements.get(leg.symbol)
        if settlement is not None and not settlement.preliminary:
            scale = exchange.instruments.require(leg.symbol).price_scale
            message.settlement_price = decimal_text(settlement.price, scale)
        messages.append(message)
    return messages


def _leg(index: int, leg: wire.ComboLeg) -> Leg:
    side = SIDES.get(leg.side)
    if side is None:
        raise InvalidRequest(f"legs[{index}].side must be SIDE_BUY or SIDE_SELL", rule="combo")
    if not leg.symbol:
        raise InvalidRequest(f"legs[{index}].symbol is required", rule="combo")
    return Leg(leg.symbol, side)
