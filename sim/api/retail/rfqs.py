"""Requests for quotes over the retail API. Accounts appear to each other under pseudonyms."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.retail.combos import SIDES
from sim.api.retail.cursor import bad_cursor, page_size, read_cursor, write_cursor
from sim.api.retail.order_request import account_of
from sim.api.retail.rfq_messages import quote_message, rfq_message, rfq_trade_message
from sim.core.catalogue.assumptions import RFQ_ACCEPTED_SIDE
from sim.core.catalogue.bounds import MONEY, ORDER_QUANTITY
from sim.core.exchange import Exchange
from sim.core.model.enums import BUY, SELL, TradeType
from sim.core.model.quantities import CASH_SCALE, NotADecimal, scaled
from sim.core.model.refusals import InvalidRequest
from sim.messages import retail_v1 as wire


@handles("RetailRfqsAPI.CreateRfq")
def create_rfq(
    exchange: Exchange, caller: Caller, request: wire.CreateRfqRequest
) -> wire.CreateRfqResponse:
    """Ask for quotes on a combo, for a quantity or for dollars."""
    if not request.symbol:
        raise InvalidRequest("symbol is required", rule="rfq", remedy="send the id of a combo")
    if exchange.combos.get(request.symbol) is None:
        raise InvalidRequest("symbol: no such combo", rule="rfq", remedy="POST /v1/combos first")
    if request.rest_remainder is None:
        raise InvalidRequest("restRemainder is required", rule="rfq")
    if bool(request.qty_decimal) == bool(request.cash_order_qty):
        raise InvalidRequest("exactly one of qtyDecimal and cashOrderQty is required", rule="rfq")
    instrument = exchange.instruments.require(request.symbol)
    rfq = exchange.rfqs.request(
        account_of(caller),
        caller.participant or "",
        instrument,
        qty=_above_zero("qtyDecimal", request.qty_decimal, instrument.qty_scale),
        cash=_above_zero(
            "cashOrderQty", request.cash_order_qty, CASH_SCALE, MONEY.high * CASH_SCALE
        ),
        rest_remainder=request.rest_remainder,
    )
    return wire.CreateRfqResponse(rfq_id=rfq.id)


@handles("RetailRfqsAPI.ListRfqs")
def list_rfqs(
    exchange: Exchange, caller: Caller, request: wire.ListRfqsRequest
) -> wire.ListRfqsResponse:
    """List everybody's open requests and all of the caller's, oldest first."""
    rfqs = exchange.rfqs.rfqs(account_of(caller))
    return wire.ListRfqsResponse(
        rfqs=[rfq_message(exchange, rfq) for rfq in rfqs if request.symbol in ("", rfq.symbol)]
    )


@handles("RetailRfqsAPI.DeleteRfq")
def delete_rfq(
    exchange: Exchange, caller: Caller, request: wire.DeleteRfqRequest
) -> wire.DeleteRfqResponse:
    """Close one's own request."""
    exchange.rfqs.withdraw(account_of(caller), request.rfq_id)
    return wire.DeleteRfqResponse()


@handles("RetailRfqsAPI.CreateQuote")
def create_quote(
    exchange: Exchange, caller: Caller, request: wire.CreateQuoteRequest
) -> wire.CreateQuoteResponse:
    """Answer somebody's request on one side or both."""
    scale = exchange.instruments.require(exchange.rfqs.rfq(request.rfq_id).symbol).price_scale
    quote = exchange.rfqs.quote(
        account_of(caller),
        caller.participant or "",
        request.rfq_id,
        buy_price=_above_zero("buyPrice", request.buy_price, scale),
        sell_price=_above_zero("sellPrice", request.sell_price, scale),
        rest_remainder=request.rest_remainder,
        post_only=request.post_only,
    )
    return wire.CreateQuoteResponse(quote_id=quote.id)


@handles("RetailRfqsAPI.ListQuotes")
def list_quotes(
    exchange: Exchange, caller: Caller, request: wire.ListQuotesRequest
) -> wire.ListQuotesResponse:
    """List the caller's quotes and those on its requests, oldest first."""
    quotes = [
        quote_message(exchange, quote)
        for quote in exchange.rfqs.quotes(account_of(caller))
        if request.rfq_id in ("", quote.rfq_id)
    ]
    return wire.ListQuotesResponse(quotes=quotes)


@handles("RetailRfqsAPI.DeleteQuote")
def delete_quote(
    exchange: Exchange, caller: Caller, request: wire.DeleteQuoteRequest
) -> wire.DeleteQuoteResponse:
    """Take one's own quote back."""
    exchange.rfqs.delete_quote(account_of(caller), request.quote_id)
    return wire.DeleteQuoteResponse()


@handles("RetailRfqsAPI.AcceptQuote")
def accept_quote(
    exchange: Exchange, caller: Caller, request: wire.AcceptQuoteRequest
) -> wire.AcceptQuoteResponse:
    """Accept a side of a quote; its maker has some time to confirm."""
    side = SIDES.get(request.accepted_side)
    if side is None:
        raise InvalidRequest("acceptedSide must be SIDE_BUY or SIDE_SELL", rule="rfq")
    if exchange.ctx.assumptions.text(RFQ_ACCEPTED_SIDE) == "requester":
        side = SELL if side is BUY else BUY
    exchange.rfqs.accept(account_of(caller), request.quote_id, side)
    return wire.AcceptQuoteResponse()


@handles("RetailRfqsAPI.ConfirmQuote")
def confirm_quote(
    exchange: Exchange, caller: Caller, request: wire.ConfirmQuoteRequest
) -> wire.ConfirmQuoteResponse:
    """Confirm one's own accepted quote, which then trades."""
    exchange.rfqs.confirm(account_of(caller), request.quote_id)
    return wire.ConfirmQuoteResponse()


@handles("RetailRfqsAPI.ListRfqTrades")
def list_rfq_trades(
    exchange: Exchange, caller: Caller, request: wire.ListRfqTradesRequest
) -> wire.ListRfqTradesResponse:
    """List everybody's fills that came from quotes, without accounts, newest first."""
    size, start, end = page_size(request.limit), request.start_time, request.end_time
    if start is not None and end is not None and start > end:
        raise InvalidRequest("start_time lies after end_time")
    before = _seq(request.cursor) if request.cursor else None
    trades = exchange.trading.execution_log.trades
    symbols = [one.symbol for one in exchange.combos.all() if request.symbol in ("", one.symbol)]
    seqs = sorted(seq for symbol in symbols for seq in trades.of_symbol(symbol))
    rows = [
        trade
        for trade in (trades[seq] for seq in reversed(seqs) if before is None or seq < before)
        if trade.type is TradeType.REQUEST_FOR_QUOTE
        and (start is None or trade.at >= start)
        and (end is None or trade.at < end)
    ]
    page = rows[:size]
    return wire.ListRfqTradesResponse(
        trades=[rfq_trade_message(exchange, trade) for trade in page],
        cursor=write_cursor(page[-1].seq) if len(rows) > size else "",
    )


@handles("RetailRfqsAPI.GetRfqUserId")
def get_rfq_user_id(
    exchange: Exchange, caller: Caller, request: wire.GetRfqUserIdRequest
) -> wire.GetRfqUserIdResponse:
    """Return the caller's pseudonym in requests and quotes."""
    return wire.GetRfqUserIdResponse(rfq_user_id=exchange.rfqs.user_id(account_of(caller)))


def _seq(cursor: str) -> int:
    (text,) = read_cursor(cursor, 1)
    if not text.isdecimal() or len(text) > 18:
        raise bad_cursor()
    return int(text)


def _above_zero(name: str, text: str | None, scale: int, most: int = ORDER_QUANTITY.high) -> int:
    """Return decimal text as a scaled integer above zero; 0 if the client left it out."""
    if not text:
        return 0
    try:
        value = scaled(text, scale)
    except NotADecimal as error:
        raise InvalidRequest(f"{name}: {error}", rule="rfq") from error
    if not 0 < value <= most:
        raise InvalidRequest(f"{name} must be above zero, and not so large", rule="rfq")
    return value
