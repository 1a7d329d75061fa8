"""Positions and activity of a retail account (§2.8, §4.2, retail facts §2.2)."""

from __future__ import annotations

from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.retail.activity import Place, activities
from sim.api.retail.cursor import bad_cursor, page_size, read_cursor, write_cursor
from sim.api.retail.messages import expired, position_message
from sim.api.retail.order_request import account_of
from sim.api.retail.read_lag import positions_read
from sim.core.catalogue.assumptions import RETAIL_POSITIONS_PAGING
from sim.core.exchange import Exchange
from sim.messages import retail_v1 as wire


@handles("RetailPortfolioAPI.ListPositions")
def list_positions(
    exchange: Exchange, caller: Caller, request: wire.ListPositionsRequest
) -> wire.ListPositionsResponse:
    """Holdings by market, and those a settlement closed (`expired`); positions that were traded
    back to nothing are not listed.
    """
    paged = exchange.ctx.assumptions.flag(RETAIL_POSITIONS_PAGING)
    after = read_cursor(request.cursor, 1)[0] if request.cursor and paged else ""
    held = positions_read(exchange, account_of(caller))
    wanted = (one for one in held if one.symbol > after and request.market in ("", one.symbol))
    shown = sorted((one for one in wanted if one.net or expired(one)), key=lambda one: one.symbol)
    size = page_size(request.limit) if paged else len(shown)
    page = {one.symbol: position_message(exchange, one, exchange.now) for one in shown[:size]}
    more = len(shown) > size
    return wire.ListPositionsResponse(
        positions=page,
        next_cursor=write_cursor(shown[size - 1].symbol) if more else "",
        eof=not more,
        available_positions=[position.qty_available or 0 for position in page.values()],
    )


@handles("RetailPortfolioAPI.ListActivities")
def list_activities(
    exchange: Exchange, caller: Caller, request: wire.ListActivitiesRequest
) -> wire.ListActivitiesResponse:
    """Trades, resolutions and balance changes, newest first unless asked otherwise. `start_time` is
    inclusive, `end_time` exclusive.
    """
    size = page_size(request.limit)
    after = _place(request.cursor) if request.cursor else None
    found: list[tuple[Place, wire.Activity]] = []
    for place, activity in activities(exchange, account_of(caller), request, after):
        if len(found) == size:
            return wire.ListActivitiesResponse(
                activities=[one for _, one in found],
                next_cursor=write_cursor(*found[-1][0]),
                eof=False,
            )
        found.append((place, activity))
    return wire.ListActivitiesResponse(activities=[one for _, one in found], eof=True)


def _place(cursor: str) -> Place:
    parts = read_cursor(cursor, len(Place._fields))
    try:
        return Place(*map(int, parts))
    except ValueError:
        raise bad_cursor() from None
