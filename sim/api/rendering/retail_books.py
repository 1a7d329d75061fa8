"""Books, best prices and statistics in the shapes of the retail API. Prices and quantities carry
four decimals here.
"""

from __future__ import annotations

from sim.api.rendering.amounts import book_price, fixed, notional_amount, two_figures
from sim.core.catalogue.assumptions import RETAIL_CLOSED_NAME
from sim.core.exchange import Exchange
from sim.core.market_data.statistics import SymbolStats
from sim.core.model.enums import InstrumentState, Side
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Price, Qty
from sim.messages import retail_v1 as wire

_METHODS = {method.name: method.value for method in wire.SettlementPriceCalculationMethod}


def market_state(exchange: Exchange, symbol: str) -> int:
    """State of a market. Retail has no name for PENDING, which never shows a book, so it reads as
    closed; nor for CLOSED, so that is chosen (rule L15).
    """
    state = exchange.trading.state(symbol)
    if state is InstrumentState.PENDING or state is InstrumentState.CLOSED:
        return wire.MarketState[exchange.ctx.assumptions.text(RETAIL_CLOSED_NAME)]
    return int(state)


def book_message(exchange: Exchange, symbol: str) -> wire.MarketBook:
    """The whole book with its statistics, as it is now."""
    trading = exchange.trading
    instrument = exchange.instruments.require(symbol)
    book = trading.book(symbol)
    stats = trading.stats(symbol)
    bids = [] if book.hidden else book.levels(Side.BUY)
    offers = [] if book.hidden else book.levels(Side.SELL)
    return wire.MarketBook(
        market_slug=symbol,
        bids=[_level(instrument, price, qty) for price, qty, _ in bids],
        offers=[_level(instrument, price, qty) for price, qty, _ in offers],
        state=market_state(exchange, symbol),
        stats=stats_message(
            instrument,
            stats,
            current_price(stats, bids[0][0] if bids else None, offers[0][0] if offers else None),
        ),
        transact_time=exchange.now,
        last_price_sample=_sample(instrument, stats),
    )


def lite_message(exchange: Exchange, symbol: str) -> wire.MarketLite:
    """Best prices and sums. What buying costs now: the best offer for YES, one dollar less the best
    bid for NO.
    """
    trading = exchange.trading
    instrument = exchange.instruments.require(symbol)
    scale, qty_scale = instrument.price_scale, instrument.qty_scale
    book = trading.book(symbol)
    bids = [] if book.hidden else book.levels(Side.BUY)
    offers = [] if book.hidden else book.levels(Side.SELL)
    bid = bids[0][0] if bids else None
    ask = offers[0][0] if offers else None
    stats = trading.stats(symbol)
    return wire.MarketLite(
        market_slug=symbol,
        current_px=book_price(current_price(stats, bid, ask), scale),
        last_trade_px=book_price(stats.last_trade_px, scale),
        settlement_px=book_price(stats.settlement_px, scale),
        best_bid=book_price(bid, scale),
        best_ask=book_price(ask, scale),
        long_quote=book_price(ask, scale),
        short_quote=book_price(None if bid is None else scale - bid, scale),
        shares_traded=fixed(stats.shares_traded, qty_scale),
        open_interest=fixed(stats.open_interest, qty_scale),
        bid_depth=len(bids),
        ask_depth=len(offers),
        bid_shares=two_figures(sum(qty for _, qty, _ in bids), qty_scale),
        ask_shares=two_figures(sum(qty for _, qty, _ in offers), qty_scale),
        state=market_state(exchange, symbol),
        last_price_sample=_sample(instrument, stats),
    )


def current_price(stats: SymbolStats, bid: Price | None, ask: Price | None) -> Price | None:
    """What one contract is worth now: its settlement, the last trade held within the best prices,
    or whichever of these is known.
    """
    if stats.settlement_px is not None:
        return stats.settlement_px
    price = stats.last_trade_px
    if price is None:
        return bid if ask is None else ask if bid is None else (bid + ask) // 2
    if bid is not None and price < bid:
        return bid
    return ask if ask is not None and price > ask else price


def stats_message(
    instrument: Instrument, stats: SymbolStats, current: Price | None
) -> wire.MarketStats:
    """Return the statistics of a market; a price that never existed is null."""
    scale, qty_scale = instrument.price_scale, instrument.qty_scale
    return wire.MarketStats(
        open_px=book_price(stats.open_px, scale),
        close_px=book_price(stats.close_px, scale),
        low_px=book_price(stats.low_px, scale),
        high_px=book_price(stats.high_px, scale),
        last_trade_px=book_price(stats.last_trade_px, scale),
        indicative_open_px=book_price(stats.indicative_open_px, scale),
        settlement_px=book_price(stats.settlement_px, scale),
        current_px=book_price(current, scale),
        notional_traded=notional_amount(stats.notional_traded, scale, qty_scale),
        shares_traded=fixed(stats.shares_traded, qty_scale),
        last_trade_qty=fixed(stats.last_trade_qty or 0, qty_scale),
        open_interest=fixed(stats.open_interest, qty_scale),
        settlement_preliminary_flag=bool(stats.settlement_preliminary),
        settlement_price_calculation_method=_METHODS.get(stats.settlement_method or "", 0),
        open_set_time=stats.open_at,
        close_set_time=stats.close_at,
        high_set_time=stats.high_at,
        low_set_time=stats.low_at,
        last_trade_set_time=stats.last_trade_at,
        notional_traded_set_time=stats.last_trade_at if stats.notional_traded else None,
        open_interest_set_time=stats.last_trade_at if stats.open_interest else None,
        settlement_set_time=stats.settlement_set_time,
    )


def _level(instrument: Instrument, price: Price, qty: Qty) -> wire.BookLevel:
    return wire.BookLevel(
        px=book_price(price, instrument.price_scale), qty=fixed(qty, instrument.qty_scale)
    )


def _sample(instrument: Instrument, stats: SymbolStats) -> wire.PriceSample | None:
    """Return both sides' prices at the last trade; the contract drops the field on 2026-07-03."""
    price = stats.last_trade_px
    if price is None:
        return None
    scale = instrument.price_scale
    return wire.PriceSample(
        timestamp=stats.last_trade_at,
        long_price=book_price(price, scale),
        short_price=book_price(scale - price, scale),
    )
