"""Combos on the exchange API (implemented in `sim/api/rfq`)."""

from __future__ import annotations

from sim.api.pipeline.account_access import trading_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.rfq import reads
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange


@handles("ComboAPI.CreateCombo")
def create_combo(
    exchange: Exchange, caller: Caller, request: wire.CreateComboRequest
) -> wire.CreateComboResponse:
    """Return the combo of the given legs, listing it on the first request."""
    return reads.create_combo(exchange, trading_account(caller, ""), request)


@handles("ComboAPI.GetCombos")
def get_combos(
    exchange: Exchange, caller: Caller, request: wire.GetCombosRequest
) -> wire.GetCombosResponse:
    """Return the combo with a given symbol."""
    return reads.get_combos(exchange, request)
