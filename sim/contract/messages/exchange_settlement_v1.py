# generated from proto/, do not edit
from __future__ import annotations

from sim.contract.messages import Message, exchange_v1


class GetInstrumentSettlementRequest(Message, kw_only=True):
    """Which instrument, exactly."""

    symbol: str = ""

    __full_name__ = "exchange.settlement.v1.GetInstrumentSettlementRequest"
    __wire__ = (
        (1001, "symbol", "symbol", "string", "", "", (("unpublished", True), ("required", True),)),
    )


class GetInstrumentSettlementResponse(Message, kw_only=True):
    """The settlement."""

    symbol: str = ""
    stats: exchange_v1.InstrumentStats | None = None  # absent until final
    price_scale: int = 0  # divides stats.settlement_px

    __full_name__ = "exchange.settlement.v1.GetInstrumentSettlementResponse"
    __wire__ = (
        (1001, "symbol", "symbol", "string", "", "", (("unpublished", True),)),
        (1002, "stats", "stats", "message", "", "exchange.v1.InstrumentStats", (("unpublished", True),)),
        (1003, "price_scale", "priceScale", "int64", "", "", (("unpublished", True),)),
    )
