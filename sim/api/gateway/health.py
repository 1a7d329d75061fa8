"""Health of the gateway."""

from __future__ import annotations

from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange


@handles("GatewayHealthAPI.GetGatewayHealth")
def get_gateway_health(
    exchange: Exchange, request: wire.GetGatewayHealthRequest
) -> wire.GetGatewayHealthResponse:
    """Report that the gateway is up, also during maintenance (rule W6)."""
    return wire.GetGatewayHealthResponse(status="ok")
