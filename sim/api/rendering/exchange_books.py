"""Books and statistics as messages of the exchange contract, for handlers and streams."""

from __future__ import annotations

from itertools import islice

from sim.contract.messages import exchange_v1 as wire
from sim.core.market_data.statistics import SymbolStats
from sim.core.matching.book import Book
from sim.core.model.enums import InstrumentState, Side
from sim.core.model.quantities import Price, Qty
from sim.kernel.instants import Instant


def levels_message(levels: list[tuple[Price, Qty, int]]) -> list[wire.BookEntry]:
    """Return price levels as entries of a book, best first."""
    return [wire.BookEntry(px=price, qty=qty) for price, qty, _ in levels]


def book_message(
    book: Book,
    state: InstrumentState,
    stats: SymbolStats,
    at: Instant,
    *,
    depth: int | None = None,
    unaggregated: bool = False,
    scales: bool = False,
) -> wire.MarketDataUpdate:
    """Return a whole book as the market data streams show it.

    `depth` limits the entries per side; an `unaggregated` book lists single orders; `scales` adds
    the price and quantity scales. A hidden book shows no entries (rule L3).
    """
    instrument = book.instrument
    return wire.MarketDataUpdate(
        symbol=book.symbol,
        bids=_entries(book, Side.BUY, depth, unaggregated),
        offers=_entries(book, Side.SELL, depth, unaggregated),
        state=state,
        stats=stats_message(stats),
        transact_time=at,
        book_hidden=book.hidden,
        price_scale=instrument.price_scale if scales else None,
        quantity_scale=instrument.qty_scale if scales else None,
    )


def _entries(book: Book, side: Side, depth: int | None, unaggregated: bool) -> list[wire.BookEntry]:
    if book.hidden:
        return []
    if not unaggregated:
        return levels_message(book.levels(side, depth))
    orders = islice(book.orders(side), depth)
    return [wire.BookEntry(px=order.price, qty=order.leaves_qty) for order in orders]


def stats_message(stats: SymbolStats) -> wire.InstrumentStats:
    """Return the statistics of an instrument; fields without a value stay unset (§2.5)."""
    return wire.InstrumentStats(
        open_px=stats.open_px,
        close_px=stats.close_px,
        low_px=stats.low_px,
        high_px=stats.high_px,
        last_trade_px=stats.last_trade_px,
        indicative_open_px=stats.indicative_open_px,
        settlement_px=stats.settlement_px,
        shares_traded=stats.shares_traded,
        notional_traded=stats.notional_traded,
        open_interest=stats.open_interest,
        settlement_preliminary=stats.settlement_preliminary,
        settlement_price_calculation_method=stats.settlement_method,
        settlement_price_calculation_text=stats.settlement_text,
        last_trade_qty=stats.last_trade_qty,
        settlement_set_time=stats.settlement_set_time,
    )
