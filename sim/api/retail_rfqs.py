"""Fills that came from quotes (retail facts §2.9). Quotes are not simulated, so there are none; the list says so rather than failing."""

from __future__ import annotations

from sim.api.callers import Caller
from sim.api.handles import handles
from sim.api.retail_cursor import bad_cursor, page_size
from sim.core.exchange import Exchange
from sim.core.refusals import InvalidRequest
from sim.messages import retail_v1 as wire


@handles("RetailRfqsAPI.ListRfqTrades")
def list_rfq_trades(exchange: Exchange, caller: Caller, request: wire.ListRfqTradesRequest) -> wire.ListRfqTradesResponse:
    """An empty page, for every filter that could be one."""
    page_size(request.limit)
    if request.cursor:
        raise bad_cursor()
    if request.start_time is not None and request.end_time is not None and request.start_time > request.end_time:
        raise InvalidRequest("start_time lies after end_time")
    return wire.ListRfqTradesResponse()
