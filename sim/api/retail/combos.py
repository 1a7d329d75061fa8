"""Combos on the retail API (implemented in `sim/api/rfq`)."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.retail.order_request import account_of
from sim.api.rfq import reads
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange


@handles("RetailCombosAPI.CreateCombo")
def create_combo(
    exchange: Exchange, caller: Caller, request: wire.CreateComboRequest
) -> wire.CreateComboResponse:
    """Return the combo of the given legs, listing it on the first request."""
    return reads.create_combo(exchange, account_of(caller), request)


@handles("RetailCombosAPI.ListCombos")
def list_combos(
    exchange: Exchange, caller: Caller, request: wire.GetCombosRequest
) -> wire.GetCombosResponse:
    """Return the combo with a given symbol."""
    return reads.get_combos(exchange, request)
