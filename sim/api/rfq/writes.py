"""Requests, quotes, acceptance and confirmation, for both hosts."""

from __future__ import annotations

from typing import TypeAlias

from sim.api.pipeline.account_access import trading_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles, require
from sim.api.rfq.messages import CASH_PLACES, SIDES
from sim.api.rfq.reads import own_account
from sim.contract.messages import exchange_v1 as wire
from sim.contract.messages import retail_v1
from sim.core.catalogue.bounds import MONEY, ORDER_QUANTITY
from sim.core.exchange import Exchange
from sim.core.model.enums import Channel
from sim.core.model.quantities import CASH_SCALE, NotADecimal, decimal_text, scaled
from sim.core.model.refusals import InvalidRequest
from sim.core.rfq.rfqs import Party
from sim.kernel.dated import Dated

_CASH_UNITS = 10**CASH_PLACES
QUOTES_KEEP_IDS = Dated(
    True,
    ("2026-10-01", False),
    name="rfqs.quotes_keep_ids",
    section="public API reference, announced as breaking",
    title="on the exchange API a quote that replaces another keeps its id",
)


NewRfq: TypeAlias = wire.CreateRFQRequest | retail_v1.CreateRfqRequest
NewQuote: TypeAlias = wire.CreateQuoteRequest | retail_v1.CreateQuoteRequest


@handles("RFQAPI.CreateRFQ", "RetailRfqsAPI.CreateRfq")
def create_rfq(exchange: Exchange, caller: Caller, request: NewRfq) -> wire.CreateRFQResponse:
    """Ask for quotes on a combo, for a quantity or for dollars."""
    party = _party(exchange, caller, request)
    require(request.symbol, "symbol", rule="L13", remedy="send the id of a combo")
    if exchange.combos.get(request.symbol) is None:
        raise InvalidRequest("symbol: no such combo", rule="L13", remedy="POST /v1/combos first")
    rest_remainder = _required(request.rest_remainder)
    if bool(request.qty_decimal) == bool(request.cash_order_qty):
        raise InvalidRequest("exactly one of qtyDecimal and cashOrderQty is required", rule="L13")
    instrument = exchange.instruments.require(request.symbol)
    qty = _above_zero("qtyDecimal", request.qty_decimal, instrument.qty_scale)
    units = _above_zero(
        "cashOrderQty", request.cash_order_qty, _CASH_UNITS, MONEY.high * _CASH_UNITS
    )
    rfq = exchange.rfqs.request(
        party,
        instrument,
        qty=qty,
        cash=units * (CASH_SCALE // _CASH_UNITS),
        rest_remainder=rest_remainder,
    )
    return wire.CreateRFQResponse(rfq_id=rfq.id)


@handles("RFQAPI.CreateQuote", "RetailRfqsAPI.CreateQuote")
def create_quote(exchange: Exchange, caller: Caller, request: NewQuote) -> wire.CreateQuoteResponse:
    """Quote on somebody's request, on one side or both, or replace the quote.

    On the exchange API a quote that replaces another kept its id until 2026-10-01.
    """
    party = _party(exchange, caller, request)
    scale = exchange.instruments.require(exchange.rfqs.rfq(request.rfq_id).symbol).price_scale
    quote = exchange.rfqs.quote(
        party,
        request.rfq_id,
        buy_price=_price("buyPrice", request.buy_price, scale),
        sell_price=_price("sellPrice", request.sell_price, scale),
        rest_remainder=_required(request.rest_remainder),
        post_only=request.post_only,
        keep_id=party.channel is Channel.EXCHANGE and QUOTES_KEEP_IDS.at(exchange.now),
    )
    return wire.CreateQuoteResponse(quote_id=quote.id)


@handles("RFQAPI.DeleteRFQ", "RetailRfqsAPI.DeleteRfq")
def delete_rfq(
    exchange: Exchange, caller: Caller, request: wire.DeleteRFQRequest
) -> wire.DeleteRFQResponse:
    """Close one's own request."""
    exchange.rfqs.withdraw(own_account(exchange, caller), request.rfq_id)
    return wire.DeleteRFQResponse()


@handles("RFQAPI.DeleteQuote", "RetailRfqsAPI.DeleteQuote")
def delete_quote(
    exchange: Exchange, caller: Caller, request: wire.DeleteQuoteRequest
) -> wire.DeleteQuoteResponse:
    """Delete one's own quote, or decline it after it was accepted."""
    exchange.rfqs.delete_quote(own_account(exchange, caller), request.quote_id, request.rfq_id)
    return wire.DeleteQuoteResponse()


@handles("RFQAPI.AcceptQuote", "RetailRfqsAPI.AcceptQuote")
def accept_quote(
    exchange: Exchange, caller: Caller, request: wire.AcceptQuoteRequest
) -> wire.AcceptQuoteResponse:
    """Accept a side of a quote. Its maker then has some time to confirm it."""
    account, side = own_account(exchange, caller), SIDES.get(request.accepted_side)
    if side is None:
        raise InvalidRequest("acceptedSide must be SIDE_BUY or SIDE_SELL", rule="L13")
    exchange.rfqs.accept(account, request.quote_id, side, request.rfq_id)
    return wire.AcceptQuoteResponse()


@handles("RFQAPI.ConfirmQuote", "RetailRfqsAPI.ConfirmQuote")
def confirm_quote(
    exchange: Exchange, caller: Caller, request: wire.ConfirmQuoteRequest
) -> wire.ConfirmQuoteResponse:
    """Confirm one's own accepted quote. Its orders are then entered."""
    exchange.rfqs.confirm(own_account(exchange, caller), request.quote_id, request.rfq_id)
    return wire.ConfirmQuoteResponse()


def _party(exchange: Exchange, caller: Caller, request: NewRfq | NewQuote) -> Party:
    """Return the requester or quoter of a call.

    Unlike elsewhere, the exchange API requires the participant's `account` (§5.1).
    """
    if isinstance(request, retail_v1.CreateRfqRequest | retail_v1.CreateQuoteRequest):
        return Party(own_account(exchange, caller), caller.participant or "", Channel.RETAIL)
    require(request.account, "account", rule="L13", remedy="send the participant's account")
    account = trading_account(caller, request.account)
    return Party(account, caller.participant or "", Channel.EXCHANGE)


def _required(rest_remainder: bool | None) -> bool:
    if rest_remainder is None:
        raise InvalidRequest("restRemainder is required", rule="L13")
    return rest_remainder


def _price(name: str, text: str, scale: int) -> int:
    """Return a price in units of the instrument; 0 for a side that is not offered."""
    if not text:
        raise InvalidRequest(
            f'{name} is required; "0" means that the side is not offered', rule="L13"
        )
    value = _scaled(name, text, scale)
    if not 0 <= value <= scale:
        raise InvalidRequest(f"{name} must be 0 to 1", rule="L13")
    return value


def _above_zero(name: str, text: str, scale: int, most: int = ORDER_QUANTITY.high) -> int:
    """Return decimal text as a scaled integer above zero; 0 if the client left it out."""
    if not text:
        return 0
    value = _scaled(name, text, scale)
    if not 0 < value <= most:
        largest = decimal_text(most, scale)
        raise InvalidRequest(f"{name} must be above 0 and at most {largest}", rule="L13")
    return value


def _scaled(name: str, text: str, scale: int) -> int:
    try:
        return scaled(text, scale)
    except NotADecimal as error:
        raise InvalidRequest(f"{name}: {error}", rule="L13") from error
