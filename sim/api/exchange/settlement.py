"""Final settlement of one instrument."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.rendering.exchange_books import stats_message
from sim.contract.messages import exchange_settlement_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest


@handles("SettlementService.GetInstrumentSettlement")
def get_instrument_settlement(
    exchange: Exchange, caller: Caller, request: wire.GetInstrumentSettlementRequest
) -> wire.GetInstrumentSettlementResponse:
    """Return the settlement, scaled by `price_scale`; `stats` is unset until it is final.

    The symbol must be exact: an empty one, "/…" and "!…" are refused.
    """
    if not request.symbol or request.symbol[0] in "/!":
        raise InvalidRequest(
            "symbol is required, exactly as it is listed", remedy="ListSymbols gives the symbols"
        )
    instrument = exchange.instruments.require(request.symbol)
    final = exchange.trading.settlements.final(instrument.symbol)
    return wire.GetInstrumentSettlementResponse(
        symbol=instrument.symbol,
        stats=stats_message(exchange.trading.stats(instrument.symbol)) if final else None,
        price_scale=instrument.price_scale,
    )
