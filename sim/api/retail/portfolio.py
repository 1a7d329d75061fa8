"""Positions and activity of a retail account (§2.8, §4.2)."""

from __future__ import annotations

from itertools import islice

from sim.api.pipeline.authentication import Caller, account_of
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import bad_cursor, page_size, read_cursor, write_cursor
from sim.api.retail.activity import Place, activities
from sim.api.retail.positions import position_message, was_paid
from sim.api.retail.read_lag import positions_read
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import RETAIL_POSITIONS_PAGING
from sim.core.exchange import Exchange


@handles("RetailPortfolioAPI.ListPositions")
def list_positions(
    exchange: Exchange, caller: Caller, request: wire.ListPositionsRequest
) -> wire.ListPositionsResponse:
    """List positions by market, including those that a settlement closed (`expired`).

    Positions that were closed by trading are not listed. The answer for one market has no cursor.
    """
    paged = exchange.ctx.assumptions.flag(RETAIL_POSITIONS_PAGING)
    after = _symbol(exchange, request.cursor) if request.cursor and paged else ""
    positions = {
        position.symbol: position for position in positions_read(exchange, account_of(caller))
    }
    symbols = sorted(
        symbol
        for symbol, position in positions.items()
        if symbol > after
        and request.market in ("", symbol)
        and (position.net or was_paid(position))
    )
    size = page_size(request.limit) if paged else len(symbols)
    page = {
        symbol: position_message(exchange, positions[symbol], exchange.now)
        for symbol in symbols[:size]
    }
    more = len(symbols) > size
    return wire.ListPositionsResponse(
        positions=page,
        next_cursor=write_cursor(symbols[size - 1]) if more else None if request.market else "",
        eof=not more,
        available_positions=[position.qty_available or 0 for position in page.values()],
    )


@handles("RetailPortfolioAPI.ListActivities")
def list_activities(
    exchange: Exchange, caller: Caller, request: wire.ListActivitiesRequest
) -> wire.ListActivitiesResponse:
    """List trades, resolutions and balance changes, newest first by default.

    `start_time` is inclusive, `end_time` is exclusive.
    """
    size = page_size(request.limit)
    after = _place(request.cursor) if request.cursor else None
    entries = list(islice(activities(exchange, account_of(caller), request, after), size + 1))
    more = len(entries) > size
    return wire.ListActivitiesResponse(
        activities=[activity for _, activity in entries[:size]],
        next_cursor=write_cursor(*entries[size - 1][0]) if more else "",
        eof=not more,
    )


def _symbol(exchange: Exchange, cursor: str) -> str:
    (symbol,) = read_cursor(cursor, 1)
    if exchange.instruments.get(symbol) is None:
        raise bad_cursor()
    return symbol


def _place(cursor: str) -> Place:
    parts = read_cursor(cursor, len(Place._fields))
    try:
        position = Place(*map(int, parts))
    except ValueError:
        raise bad_cursor() from None
    if write_cursor(*position) != cursor:  # such as "+1"
        raise bad_cursor()
    return position
