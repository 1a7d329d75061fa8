"""Combos and lists of requests, quotes and fills, for both hosts.

A cursor contains the position of the last row of a page and a digest of the query. With other
filters, another limit of trades or another participant it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

from sim.api.pipeline.account_access import trading_account
from sim.api.pipeline.authentication import Caller, account_of
from sim.api.pipeline.handler import handles, require
from sim.api.pipeline.paging import CURSOR_PAGE_MAX, bad_cursor, read_cursor, write_cursor
from sim.api.rfq.messages import SIDES, combo_message, quote_message, rfq_message, trade_message
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import TradeType
from sim.core.model.orders import Trade
from sim.core.model.refusals import BeforeHistory, InvalidRequest, PermissionDenied
from sim.core.model.rfq_records import Quote, Rfq
from sim.core.rfq.combos import Leg
from sim.kernel.dated import Dated

_SELF = wire.UserFilter.USER_FILTER_SELF
RFQS_GENERAL = Dated(
    False,
    ("2026-10-01", True),
    name="rfqs.general",
    section="public API reference",
    title="combos and requests for quotes need no beta access on the retail API",
)


def own_account(exchange: Exchange, caller: Caller) -> str:
    """Return the account of the participant for whom a call acts, or of the retail key.

    Before combos and requests are general, a retail key needs beta access.
    """
    if caller.plane != "retail":
        return trading_account(caller, "")
    key = exchange.firms.api_key(caller.api_key or "")
    if key is not None and not key.beta and not RFQS_GENERAL.at(exchange.now):
        raise PermissionDenied(rule="L13", remedy="give the key beta access, or wait for October")
    return account_of(caller)


@handles("ComboAPI.CreateCombo", "RetailCombosAPI.CreateCombo")
def create_combo(
    exchange: Exchange, caller: Caller, request: wire.CreateComboRequest
) -> wire.CreateComboResponse:
    """Return the combo of these legs, and list it if it is new."""
    account, legs = (
        own_account(exchange, caller),
        [_leg(*entry) for entry in enumerate(request.legs)],
    )
    combo = exchange.combos.create(account, legs)
    return wire.CreateComboResponse(combo=combo_message(exchange, combo))


@handles("ComboAPI.GetCombos", "RetailCombosAPI.ListCombos")
def get_combos(
    exchange: Exchange, caller: Caller, request: wire.GetCombosRequest
) -> wire.GetCombosResponse:
    """Return the combo of a symbol, or none."""
    if caller.plane == "retail":
        own_account(exchange, caller)
    require(request.symbol, "symbol", rule="L13", remedy="POST /v1/combos returns a combo's symbol")
    combo = exchange.combos.get(request.symbol)
    combos = [] if combo is None else [combo_message(exchange, combo)]
    return wire.GetCombosResponse(combos=combos)


@handles("RFQAPI.GetRFQs", "RetailRfqsAPI.ListRfqs")
def get_rfqs(
    exchange: Exchange, caller: Caller, request: wire.GetRFQsRequest
) -> wire.GetRFQsResponse:
    """Return a page of the requests that the account may see, oldest first."""
    account, mine = own_account(exchange, caller), request.user_filter == _SELF
    if request.rfq_id and request.cursor:
        raise InvalidRequest("rfqId and cursor are mutually exclusive", rule="L13")

    def matches(rfq: Rfq) -> bool:
        return (
            request.rfq_id in ("", rfq.id)
            and request.symbol in ("", rfq.symbol)
            and request.status in (0, rfq.status)
            and (not mine or rfq.account == account)
        )

    query = ("rfqs", account, request.symbol, request.status, request.user_filter)
    rows = ((index, rfq) for index, rfq in exchange.rfqs.rfqs(account) if matches(rfq))
    rfqs, cursor = page(rows, request.limit, request.cursor, *query)
    return wire.GetRFQsResponse(rfqs=[rfq_message(exchange, rfq) for rfq in rfqs], cursor=cursor)


@handles("RFQAPI.GetQuotes", "RetailRfqsAPI.ListQuotes")
def get_quotes(
    exchange: Exchange, caller: Caller, request: wire.GetQuotesRequest
) -> wire.GetQuotesResponse:
    """Return a page of the quotes that the account made or received, oldest first."""
    account = own_account(exchange, caller)
    own_quotes, own_requests = request.user_filter == _SELF, request.rfq_user_filter == _SELF
    _check_quotes_query(request, filters=own_quotes + own_requests)

    def matches(quote: Quote) -> bool:
        return (
            request.rfq_id in ("", quote.rfq_id)
            and request.quote_id in ("", quote.id)
            and request.status in (0, quote.status)
            and (not own_quotes or quote.account == account)
            and (not own_requests or quote.account != account)
        )

    query = ("quotes", account, request.rfq_id, request.status, own_quotes, own_requests)
    rows = ((index, quote) for index, quote in exchange.rfqs.quotes(account) if matches(quote))
    on_page, cursor = page(rows, request.limit, request.cursor, *query)
    quotes = [quote_message(exchange, quote) for quote in on_page]
    return wire.GetQuotesResponse(quotes=quotes, cursor=cursor)


@handles("RFQAPI.GetRFQTrades", "RetailRfqsAPI.ListRfqTrades")
def get_rfq_trades(
    exchange: Exchange, caller: Caller, request: wire.GetRFQTradesRequest
) -> wire.GetRFQTradesResponse:
    """Return a page of everybody's fills that came from quotes, newest first."""
    account, start, end = own_account(exchange, caller), request.start_time, request.end_time
    if start is not None and end is not None and start >= end:
        raise InvalidRequest("startTime must lie before endTime", rule="L13")
    if start is not None and start < exchange.began:
        raise BeforeHistory(rule="L13", remedy="ask for trades since the exchange began")
    query = ("trades", account, request.limit, start, end, request.symbol)
    size, before = page_size(request.limit), place_of(request.cursor, *query)
    trades: list[Trade] = []
    for trade in _rfq_trades(exchange, request.symbol, before):
        if (start is None or trade.at >= start) and (end is None or trade.at < end):
            trades.append(trade)
            if len(trades) > size:
                break
    return wire.GetRFQTradesResponse(
        trades=[trade_message(exchange, trade) for trade in trades[:size]],
        cursor=bound_cursor(trades[size - 1].seq, *query) if len(trades) > size else "",
    )


@handles("RFQAPI.GetRFQUserID", "RetailRfqsAPI.GetRfqUserId")
def get_rfq_user_id(
    exchange: Exchange, caller: Caller, request: wire.GetRFQUserIDRequest
) -> wire.GetRFQUserIDResponse:
    """Return the pseudonym of an account in requests and quotes."""
    return wire.GetRFQUserIDResponse(
        rfq_user_id=exchange.rfqs.user_id(own_account(exchange, caller))
    )


def _check_quotes_query(request: wire.GetQuotesRequest, *, filters: int) -> None:
    if request.quote_id and not request.rfq_id:
        raise InvalidRequest("quote_id needs rfq_id", rule="L13")
    if request.quote_id and request.cursor:
        raise InvalidRequest("quote_id and cursor are mutually exclusive", rule="L13")
    if not request.rfq_id and filters != 1:
        raise InvalidRequest(
            "rfq_id, or exactly one of user_filter and rfq_user_filter, is required",
            rule="L13",
            remedy="user_filter=USER_FILTER_SELF lists your quotes,"
            " rfq_user_filter those made to you",
        )


def _rfq_trades(exchange: Exchange, symbol: str, before: int | None) -> Iterator[Trade]:
    """Yield the fills of quotes, newest first, before a position in the record."""
    trades = exchange.trading.execution_log.trades
    symbols = [combo.symbol for combo in exchange.combos.all() if symbol in ("", combo.symbol)]
    rows = sorted(seq for each in symbols for seq in trades.of_symbol(each))
    for seq in reversed(rows):
        if before is None or seq < before:
            trade = trades[seq]
            if trade.type is TradeType.REQUEST_FOR_QUOTE:
                yield trade


def _leg(index: int, leg: wire.ComboLeg) -> Leg:
    side = SIDES.get(leg.side)
    if side is None:
        raise InvalidRequest(f"legs[{index}].side must be SIDE_BUY or SIDE_SELL", rule="L13")
    if not leg.symbol:
        raise InvalidRequest(f"legs[{index}].symbol is required", rule="L13")
    return Leg(leg.symbol, side)


# ---- pages

R = TypeVar("R")
_DIGITS_MAX = 18


def page_size(limit: int) -> int:
    """Return the number of rows of a page, 100 for 0. Refuses a number outside 0 to 100."""
    if not 0 <= limit <= CURSOR_PAGE_MAX:
        raise InvalidRequest(
            f"limit must be 1 to {CURSOR_PAGE_MAX}",
            rule="L13",
            remedy="leave limit out for 100 rows",
        )
    return limit or CURSOR_PAGE_MAX


def bound_cursor(index: int, *query: object) -> str:
    """Return a cursor for the position of a row, for this query only."""
    return write_cursor(index, _digest(query))


def place_of(cursor: str, *query: object) -> int | None:
    """Return the position in a cursor, None for the first page. Refuses the cursor
    of another query.
    """
    if not cursor:
        return None
    index, digest = read_cursor(cursor, 2)
    if digest != _digest(query) or not index.isdecimal() or len(index) > _DIGITS_MAX:
        raise bad_cursor()
    return int(index)


def page(
    rows: Iterable[tuple[int, R]], limit: int, cursor: str, *query: object
) -> tuple[list[R], str]:
    """Return a page of rows, which have rising positions, and the cursor of the next page."""
    size, first = page_size(limit), place_of(cursor, *query) or 0
    taken = list(islice((each for each in rows if each[0] >= first), size + 1))
    following = bound_cursor(taken[size][0], *query) if len(taken) > size else ""
    return [row for _, row in taken[:size]], following


def _digest(query: tuple[object, ...]) -> str:
    return blake2b(repr(query).encode(), digest_size=8, person=b"sim-cursor").hexdigest()
