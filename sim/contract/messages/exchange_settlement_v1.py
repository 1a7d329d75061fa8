# generated from proto/, do not edit
from __future__ import annotations

from typing import Annotated

from sim.contract.messages import FieldRule, Int64, Message, exchange_v1


class GetInstrumentSettlementRequest(Message, kw_only=True):
    """Which instrument, exactly."""

    symbol: Annotated[str, FieldRule(required=True)] = ""


class GetInstrumentSettlementResponse(Message, kw_only=True):
    """The settlement."""

    symbol: str = ""
    # absent until final
    stats: Annotated[exchange_v1.InstrumentStats | None, FieldRule(omit_empty=True)] = None
    price_scale: Int64 = 0  # divides stats.settlement_px
