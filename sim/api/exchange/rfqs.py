"""Requests for quotes on the exchange API (implemented in `sim/api/rfq`)."""

from __future__ import annotations

from sim.api.pipeline.account_access import trading_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.rfq import reads, writes
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import Channel
from sim.core.model.refusals import InvalidRequest
from sim.core.rfq.rfqs import Party


@handles("RFQAPI.CreateRFQ")
def create_rfq(
    exchange: Exchange, caller: Caller, request: wire.CreateRFQRequest
) -> wire.CreateRFQResponse:
    """Request quotes on a combo."""
    return writes.create_rfq(exchange, _party(caller, request.account), request)


@handles("RFQAPI.CreateQuote")
def create_quote(
    exchange: Exchange, caller: Caller, request: wire.CreateQuoteRequest
) -> wire.CreateQuoteResponse:
    """Quote on a request. A second quote replaces the first and keeps its id."""
    return writes.create_quote(exchange, _party(caller, request.account), request, keep_id=True)


@handles("RFQAPI.GetRFQs")
def get_rfqs(
    exchange: Exchange, caller: Caller, request: wire.GetRFQsRequest
) -> wire.GetRFQsResponse:
    """List all open requests, and any request that the caller made or quoted."""
    return reads.get_rfqs(exchange, trading_account(caller, ""), request)


@handles("RFQAPI.DeleteRFQ")
def delete_rfq(
    exchange: Exchange, caller: Caller, request: wire.DeleteRFQRequest
) -> wire.DeleteRFQResponse:
    """Close one of the caller's requests."""
    return writes.delete_rfq(exchange, trading_account(caller, ""), request)


@handles("RFQAPI.GetQuotes")
def get_quotes(
    exchange: Exchange, caller: Caller, request: wire.GetQuotesRequest
) -> wire.GetQuotesResponse:
    """List the caller's quotes and the quotes on the caller's requests."""
    return reads.get_quotes(exchange, trading_account(caller, ""), request)


@handles("RFQAPI.DeleteQuote")
def delete_quote(
    exchange: Exchange, caller: Caller, request: wire.DeleteQuoteRequest
) -> wire.DeleteQuoteResponse:
    """Withdraw the caller's quote, or decline to confirm it."""
    return writes.delete_quote(exchange, trading_account(caller, ""), request)


@handles("RFQAPI.AcceptQuote")
def accept_quote(
    exchange: Exchange, caller: Caller, request: wire.AcceptQuoteRequest
) -> wire.AcceptQuoteResponse:
    """Accept one side of a quote."""
    return writes.accept_quote(exchange, trading_account(caller, ""), request)


@handles("RFQAPI.ConfirmQuote")
def confirm_quote(
    exchange: Exchange, caller: Caller, request: wire.ConfirmQuoteRequest
) -> wire.ConfirmQuoteResponse:
    """Confirm an accepted quote of the caller."""
    return writes.confirm_quote(exchange, trading_account(caller, ""), request)


@handles("RFQAPI.GetRFQTrades")
def get_rfq_trades(
    exchange: Exchange, caller: Caller, request: wire.GetRFQTradesRequest
) -> wire.GetRFQTradesResponse:
    """List all fills that resulted from quotes, without accounts."""
    return reads.get_rfq_trades(exchange, trading_account(caller, ""), request)


@handles("RFQAPI.GetRFQUserID")
def get_rfq_user_id(
    exchange: Exchange, caller: Caller, request: wire.GetRFQUserIDRequest
) -> wire.GetRFQUserIDResponse:
    """Return the caller's pseudonym in requests and quotes."""
    return wire.GetRFQUserIDResponse(rfq_user_id=exchange.rfqs.user_id(trading_account(caller, "")))


def _party(caller: Caller, account: str) -> Party:
    """Return the requester or quoter of a call. Unlike elsewhere, `account` is required (§5.1)."""
    if not account:
        raise InvalidRequest(
            "account is required", rule="L13", remedy="send the participant's account"
        )
    return Party(trading_account(caller, account), caller.participant or "", Channel.EXCHANGE)
