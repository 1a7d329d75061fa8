"""Incentive programs of the retail API on the exchange host, with earnings of firms (§2.3)."""

from __future__ import annotations

from msgspec import convert

from sim.api.pipeline.account_access import visible_accounts
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.retail.incentives import earned, programs
from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages import retail_v1 as retail
from sim.core.exchange import Exchange


@handles("IncentivesAPI.GetIncentives")
def get_incentives(
    exchange: Exchange, request: wire.GetIncentivesRequest
) -> wire.GetIncentivesResponse:
    """List programs by market, newest first by default. Needs no credentials."""
    query = convert(request, retail.ListIncentivesRequest, from_attributes=True)
    return convert(programs(exchange, query), wire.GetIncentivesResponse, from_attributes=True)


@handles("IncentivesAPI.GetIncentiveEarnings")
def get_incentive_earnings(
    exchange: Exchange, caller: Caller, request: wire.GetIncentiveEarningsRequest
) -> wire.GetIncentiveEarningsResponse:
    """List the earnings of the participant the call names, or else of all the firm's accounts."""
    query = convert(request, retail.ListEarningsRequest, from_attributes=True)
    rewards = earned(exchange, visible_accounts(caller), query)
    return wire.GetIncentiveEarningsResponse(
        rewards=convert(rewards, list[wire.UserReward], from_attributes=True)
    )
