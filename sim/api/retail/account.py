"""Balances of a retail account (§4.2)."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.retail.balances import balance_message
from sim.api.retail.order_request import account_of
from sim.contract.messages import retail_v1 as wire
from sim.core.exchange import Exchange


@handles("RetailAccountAPI.GetBalances")
def get_balances(
    exchange: Exchange, caller: Caller, request: wire.GetBalancesRequest
) -> wire.GetBalancesResponse:
    """Return the account's only balance, in dollars."""
    return wire.GetBalancesResponse(balances=[balance_message(exchange, account_of(caller))])
