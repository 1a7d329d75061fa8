"""Combos over the retail API (retail facts §2.9)."""

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

SIDES = {wire.Side.SIDE_BUY: Side.BUY, wire.Side.SIDE_SELL: Side.SELL}
WIRE_SIDES = {ours: theirs for theirs, ours in SIDES.items()}


@handles("RetailCombosAPI.CreateCombo")
def create_combo(
    exchange: Exchange, caller: Caller, request: wire.CreateComboRequest
) -> wire.CreateComboResponse:
    """The combo of these legs: found where somebody asked for it before, else listed now."""
    account = account_of(caller)
    legs = [_leg(index, leg) for index, leg in enumerate(request.legs)]
    return wire.CreateComboResponse(
        combo=combo_message(exchange, exchange.combos.create(account, legs))
    )


@handles("RetailCombosAPI.ListCombos")
def list_combos(
    exchange: Exchange, caller: Caller, request: wire.ListCombosRequest
) -> wire.ListCombosResponse:
    """Combos, oldest first, of everybody; one of them by its symbol."""
    found = [combo for combo in exchange.combos.all() if request.symbol in ("", combo.symbol)]
    return wire.ListCombosResponse(combos=[combo_message(exchange, combo) for combo in found])


def combo_message(exchange: Exchange, combo: Combo) -> wire.Combo:
    """A combo as it is now."""
    instrument = exchange.instruments.require(combo.symbol)
    return wire.Combo(
        id=combo.symbol,
        legs=leg_messages(exchange, combo),
        state=exchange.trading.state(combo.symbol),
        created_time=combo.created,
        tick_size=instrument.tick / instrument.price_scale,
    )


def leg_messages(exchange: Exchange, combo: Combo) -> list[wire.ComboLeg]:
    """The legs of a combo, with their settlement prices once final."""
    found = []
    for leg in combo.legs:
        settlement = exchange.trading.settlements.get(leg.symbol)
        price = None
        if settlement is not None and not settlement.preliminary:
            price = decimal_text(
                settlement.price, exchange.instruments.require(leg.symbol).price_scale
            )
        found.append(
            wire.ComboLeg(symbol=leg.symbol, side=WIRE_SIDES[leg.side], settlement_price=price)
        )
    return found


def _leg(index: int, leg: wire.ComboLeg) -> Leg:
    side = SIDES.get(
        wire.Side(leg.side) if leg.side in list(wire.Side) else wire.Side.SIDE_UNDEFINED
    )
    if side is None:
        raise InvalidRequest(f"legs[{index}].side must be SIDE_BUY or SIDE_SELL", rule="combo")
    if not leg.symbol:
        raise InvalidRequest(f"legs[{index}].symbol is required", rule="combo")
    return Leg(leg.symbol, side)
