"""Requests for quotes on the retail API (implemented in `sim/api/rfq`)."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.retail.order_request import account_of
from sim.api.rfq import reads, writes
from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages import retail_v1
from sim.core.exchange import Exchange
from sim.core.model.enums import Channel
from sim.core.rfq.rfqs import Party


@handles("RetailRfqsAPI.CreateRfq")
def create_rfq(
    exchange: Exchange, caller: Caller, request: retail_v1.CreateRfqRequest
) -> wire.CreateRFQResponse:
    """Request quotes on a combo."""
    return writes.create_rfq(exchange, _party(caller), request)


@handles("RetailRfqsAPI.CreateQuote")
def create_quote(
    exchange: Exchange, caller: Caller, request: retail_v1.CreateQuoteRequest
) -> wire.CreateQuoteResponse:
    """Quote on a request. A second quote replaces the first under a new id."""
    return writes.create_quote(exchange, _party(caller), request, keep_id=False)


@handles("RetailRfqsAPI.ListRfqs")
def list_rfqs(
    exchange: Exchange, caller: Caller, request: wire.GetRFQsRequest
) -> wire.GetRFQsResponse:
    """List all open requests, and any request that the caller made or quoted."""
    return reads.get_rfqs(exchange, account_of(caller), request)


@handles("RetailRfqsAPI.DeleteRfq")
def delete_rfq(
    exchange: Exchange, caller: Caller, request: wire.DeleteRFQRequest
) -> wire.DeleteRFQResponse:
    """Close one of the caller's requests."""
    return writes.delete_rfq(exchange, account_of(caller), request)


@handles("RetailRfqsAPI.ListQuotes")
def list_quotes(
    exchange: Exchange, caller: Caller, request: wire.GetQuotesRequest
) -> wire.GetQuotesResponse:
    """List the caller's quotes and the quotes on the caller's requests."""
    return reads.get_quotes(exchange, account_of(caller), request)


@handles("RetailRfqsAPI.DeleteQuote")
def delete_quote(
    exchange: Exchange, caller: Caller, request: wire.DeleteQuoteRequest
) -> wire.DeleteQuoteResponse:
    """Withdraw the caller's quote, or decline to confirm it."""
    return writes.delete_quote(exchange, account_of(caller), request)


@handles("RetailRfqsAPI.AcceptQuote")
def accept_quote(
    exchange: Exchange, caller: Caller, request: wire.AcceptQuoteRequest
) -> wire.AcceptQuoteResponse:
    """Accept one side of a quote."""
    return writes.accept_quote(exchange, account_of(caller), request)


@handles("RetailRfqsAPI.ConfirmQuote")
def confirm_quote(
    exchange: Exchange, caller: Caller, request: wire.ConfirmQuoteRequest
) -> wire.ConfirmQuoteResponse:
    """Confirm an accepted quote of the caller."""
    return writes.confirm_quote(exchange, account_of(caller), request)


@handles("RetailRfqsAPI.ListRfqTrades")
def list_rfq_trades(
    exchange: Exchange, caller: Caller, request: wire.GetRFQTradesRequest
) -> wire.GetRFQTradesResponse:
    """List all fills that resulted from quotes, without accounts."""
    return reads.get_rfq_trades(exchange, account_of(caller), request)


@handles("RetailRfqsAPI.GetRfqUserId")
def get_rfq_user_id(
    exchange: Exchange, caller: Caller, request: wire.GetRFQUserIDRequest
) -> wire.GetRFQUserIDResponse:
    """Return the caller's pseudonym in requests and quotes."""
    return wire.GetRFQUserIDResponse(rfq_user_id=exchange.rfqs.user_id(account_of(caller)))


def _party(caller: Caller) -> Party:
    return Party(account_of(caller), caller.participant or "", Channel.RETAIL)
