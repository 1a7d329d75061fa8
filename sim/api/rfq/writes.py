"""Requests, quotes, acceptance and confirmation, for both hosts."""

from __future__ import annotations

from typing import Protocol

from sim.api.pipeline.handler import require
from sim.api.rfq.messages import CASH_PLACES, SIDES
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.bounds import MONEY, ORDER_QUANTITY
from sim.core.exchange import Exchange
from sim.core.model.quantities import CASH_SCALE, NotADecimal, decimal_text, scaled
from sim.core.model.refusals import InvalidRequest
from sim.core.rfq.rfqs import Party

_CASH_UNITS = 10**CASH_PLACES


class NewRfq(Protocol):
    """The fields that a request for quotes has on both hosts."""

    qty_decimal: str
    cash_order_qty: str
    symbol: str
    rest_remainder: bool | None


class NewQuote(Protocol):
    """The fields that a quote has on both hosts."""

    rfq_id: str
    buy_price: str
    sell_price: str
    rest_remainder: bool | None
    post_only: bool


def create_rfq(exchange: Exchange, party: Party, request: NewRfq) -> wire.CreateRFQResponse:
    """Ask for quotes on a combo, for a quantity or for dollars."""
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


def create_quote(
    exchange: Exchange, party: Party, request: NewQuote, *, keep_id: bool
) -> wire.CreateQuoteResponse:
    """Quote on somebody's request, on one side or both, or replace the quote."""
    scale = exchange.instruments.require(exchange.rfqs.rfq(request.rfq_id).symbol).price_scale
    quote = exchange.rfqs.quote(
        party,
        request.rfq_id,
        buy_price=_price("buyPrice", request.buy_price, scale),
        sell_price=_price("sellPrice", request.sell_price, scale),
        rest_remainder=_required(request.rest_remainder),
        post_only=request.post_only,
        keep_id=keep_id,
    )
    return wire.CreateQuoteResponse(quote_id=quote.id)


def delete_rfq(
    exchange: Exchange, account: str, request: wire.DeleteRFQRequest
) -> wire.DeleteRFQResponse:
    """Close one's own request."""
    exchange.rfqs.withdraw(account, request.rfq_id)
    return wire.DeleteRFQResponse()


def delete_quote(
    exchange: Exchange, account: str, request: wire.DeleteQuoteRequest
) -> wire.DeleteQuoteResponse:
    """Delete one's own quote, or decline it after it was accepted."""
    exchange.rfqs.delete_quote(account, request.quote_id, request.rfq_id)
    return wire.DeleteQuoteResponse()


def accept_quote(
    exchange: Exchange, account: str, request: wire.AcceptQuoteRequest
) -> wire.AcceptQuoteResponse:
    """Accept a side of a quote. Its maker then has some time to confirm it."""
    side = SIDES.get(request.accepted_side)
    if side is None:
        raise InvalidRequest("acceptedSide must be SIDE_BUY or SIDE_SELL", rule="L13")
    exchange.rfqs.accept(account, request.quote_id, side, request.rfq_id)
    return wire.AcceptQuoteResponse()


def confirm_quote(
    exchange: Exchange, account: str, request: wire.ConfirmQuoteRequest
) -> wire.ConfirmQuoteResponse:
    """Confirm one's own accepted quote. Its orders are then entered."""
    exchange.rfqs.confirm(account, request.quote_id, request.rfq_id)
    return wire.ConfirmQuoteResponse()


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
