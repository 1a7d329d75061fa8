"""Books, best prices and statistics as messages of the retail API.

Prices and quantities carry four decimals here.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from sim.api.rendering.retail_numbers import book_price, fixed, notional_amount, two_figures
from sim.api.rendering.retention import retained_stats
from sim.contract.messages import retail_v1 as wire
from sim.contract.messages.retail_v1 import Amount
from sim.core.catalogue.assumptions import HALTED_BOOK, NOTIONAL_TRADED, RETAIL_CLOSED_NAME
from sim.core.exchange import Exchange
from sim.core.market_data.statistics import SymbolStats
from sim.core.model.enums import InstrumentState, Side, TradeState
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CURRENCY, Price, Qty, decimal_text
from sim.kernel.dated import Dated
from sim.kernel.instants import last_trade_day_roll

_OPEN = InstrumentState.OPEN
_MARK_METHOD = "SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_3"
EXPIRED_STATES = (InstrumentState.EXPIRED, InstrumentState.TERMINATED)
SHARES_ON_REST = Dated(
    False,
    ("2026-09-17", True),
    name="market_data.shares",
    section="recordings",
    title="best prices over REST have bidShares and askShares",
)
_METHODS = {method.name: method.value for method in wire.SettlementPriceCalculationMethod}


def market_state(exchange: Exchange, symbol: str) -> int:
    """Return the state of a market.

    The retail API has no name for PENDING, which reads as closed because such a market has no book,
    and none for CLOSED, whose name is our choice (rule L15).
    """
    state = exchange.trading.state(symbol)
    if state is InstrumentState.PENDING or state is InstrumentState.CLOSED:
        return wire.MarketState[exchange.ctx.assumptions.text(RETAIL_CLOSED_NAME)]
    return int(state)


class _Sides(NamedTuple):
    """The visible levels of a market, best first, and its statistics."""

    bids: list[tuple[Price, Qty, int]]
    offers: list[tuple[Price, Qty, int]]
    stats: SymbolStats

    @property
    def bid(self) -> Price | None:
        return self.bids[0][0] if self.bids else None

    @property
    def ask(self) -> Price | None:
        return self.offers[0][0] if self.offers else None


def _sides(exchange: Exchange, symbol: str) -> _Sides:
    trading = exchange.trading
    book, halted = trading.book(symbol), trading.state(symbol) is InstrumentState.HALTED
    if book.hidden or (halted and exchange.ctx.assumptions.text(HALTED_BOOK) == "empty"):
        return _Sides([], [], retained_stats(exchange, symbol))
    return _Sides(book.levels(Side.BUY), book.levels(Side.SELL), retained_stats(exchange, symbol))


def book_message(exchange: Exchange, symbol: str, *, socket: bool = False) -> wire.MarketBook:
    """Return the current book of a market with its statistics, for REST or for the socket."""
    instrument = exchange.instruments.require(symbol)
    sides = _sides(exchange, symbol)
    sample = _sample(exchange, instrument, sides, exact=socket)
    stats = _stats_message(exchange, instrument, sides, socket=socket)
    stats.last_price_sample = sample
    return wire.MarketBook(
        market_slug=symbol,
        bids=[_level(instrument, price, qty) for price, qty, _ in sides.bids],
        offers=[_level(instrument, price, qty) for price, qty, _ in sides.offers],
        state=market_state(exchange, symbol),
        stats=stats,
        transact_time=exchange.now,
        last_price_sample=sample,
    )


def lite_message(exchange: Exchange, symbol: str, *, socket: bool = False) -> wire.MarketLite:
    """Return the best prices of a market, with sums.

    While both sides are quoted, it includes the current cost of buying: the best offer for YES, and
    one dollar less the best bid for NO.
    """
    instrument = exchange.instruments.require(symbol)
    scale, qty_scale = instrument.price_scale, instrument.qty_scale
    bids, offers, stats = sides = _sides(exchange, symbol)
    bid, ask = sides.bid, sides.ask
    settlement_px, _ = _settlement(exchange, instrument, stats)
    message = wire.MarketLite(
        market_slug=symbol,
        current_px=book_price(*_current(sides, scale, exact=socket)),
        last_trade_px=book_price(stats.last_trade_px, scale),
        settlement_px=book_price(settlement_px, scale),
        best_bid=book_price(bid, scale),
        best_ask=book_price(ask, scale),
        shares_traded=_sum(stats.shares_traded, qty_scale),
        open_interest=_sum(stats.open_interest, qty_scale),
        bid_depth=len(bids),
        ask_depth=len(offers),
        state=market_state(exchange, symbol),
        last_price_sample=_sample(exchange, instrument, sides, exact=socket),
    )
    if bid is not None and ask is not None:
        message.long_quote = book_price(ask, scale)
        message.short_quote = Amount(value=decimal_text(scale - bid, scale), currency=CURRENCY)
    if socket or SHARES_ON_REST.at(exchange.now):
        message.bid_shares = two_figures(sum(qty for _, qty, _ in bids), qty_scale)
        message.ask_shares = two_figures(sum(qty for _, qty, _ in offers), qty_scale)
    return message


def current_price(stats: SymbolStats, bid: Price | None, ask: Price | None) -> Price | None:
    """Return the price that retail clients see.

    That is the midpoint of both sides, rounded down to a price unit; else the last trade, also
    after the market has ended; else the settlement.
    """
    if bid is not None and ask is not None:
        return (bid + ask) // 2
    return stats.settlement_px if stats.last_trade_px is None else stats.last_trade_px


def market_price(exchange: Exchange, symbol: str) -> Price | None:
    """Return the `current_price` of a market now."""
    sides = _sides(exchange, symbol)
    return current_price(sides.stats, sides.bid, sides.ask)


def market_value(stats: SymbolStats, bid: Price | None, ask: Price | None) -> Price | None:
    """Return what one contract is worth now, or None if nothing is known about it.

    That is the settlement; else the last trade, limited to the range between best bid and best
    offer; else the midpoint or the only side that is quoted.
    """
    if stats.settlement_px is not None:
        return stats.settlement_px
    price = stats.last_trade_px
    if price is None:
        return bid if ask is None else ask if bid is None else (bid + ask) // 2
    if bid is not None and price < bid:
        return bid
    return ask if ask is not None and price > ask else price


def _current(sides: _Sides, scale: int, *, exact: bool) -> tuple[Price | None, int]:
    """Return the current price and its scale; `exact` keeps the fraction of the midpoint."""
    if exact and sides.bid is not None and sides.ask is not None:
        return sides.bid + sides.ask, 2 * scale
    return current_price(sides.stats, sides.bid, sides.ask), scale


def _stats_message(
    exchange: Exchange, instrument: Instrument, sides: _Sides, *, socket: bool
) -> wire.MarketStats:
    """Return the statistics of a market; a value that never existed is absent."""
    stats, scale, qty_scale = sides.stats, instrument.price_scale, instrument.qty_scale
    settlement_px, method = _settlement(exchange, instrument, stats)
    notional = stats.notional_traded
    undivided = exchange.ctx.assumptions.text(NOTIONAL_TRADED) == "undivided"
    if undivided and not socket and scale == 100:
        notional *= scale
    return wire.MarketStats(
        open_px=book_price(stats.open_px, scale),
        close_px=book_price(stats.close_px, scale),
        low_px=book_price(stats.low_px, scale),
        high_px=book_price(stats.high_px, scale),
        last_trade_px=book_price(stats.last_trade_px, scale),
        indicative_open_px=book_price(stats.indicative_open_px, scale),
        settlement_px=book_price(settlement_px, scale),
        current_px=book_price(*_current(sides, scale, exact=socket)),
        notional_traded=notional_amount(notional, scale, qty_scale) if notional else None,
        shares_traded=_sum(stats.shares_traded, qty_scale),
        last_trade_qty=_sum(stats.last_trade_qty or 0, qty_scale),
        open_interest=_sum(stats.open_interest, qty_scale),
        settlement_preliminary_flag=stats.settlement_preliminary,
        settlement_price_calculation_method=_METHODS.get(method or ""),
        open_set_time=stats.open_at,
        close_set_time=stats.close_at,
        high_set_time=stats.high_at,
        low_set_time=stats.low_at,
        last_trade_set_time=stats.last_trade_at,
        notional_set_time=stats.last_trade_at if notional else None,
        open_interest_set_time=stats.last_trade_at if stats.open_interest else None,
        settlement_set_time=stats.settlement_set_time,
    )


def _settlement(
    exchange: Exchange, instrument: Instrument, stats: SymbolStats
) -> tuple[Price | None, str | None]:
    """Return the settlement of a market with its method; for an open market, its daily mark.

    The mark is the last trade before 17:00 Eastern. It settles nothing and has no instant (§2.5).
    """
    symbol = instrument.symbol
    if stats.settlement_px is not None or exchange.trading.state(symbol) is not _OPEN:
        return stats.settlement_px, stats.settlement_method
    trades, roll = exchange.trading.trades, last_trade_day_roll(exchange.now)
    rows = trades.of_symbol(symbol)
    for index in range(bisect_left(rows, roll, key=lambda row: trades[row].at) - 1, -1, -1):
        trade = trades[rows[index]]
        if trade.state is not TradeState.BUSTED:
            return trade.price, _MARK_METHOD
    return None, None


def _sum(qty: Qty, qty_scale: int) -> str:
    """Return contracts with four decimals; empty for none."""
    return fixed(qty, qty_scale) if qty else ""


def _level(instrument: Instrument, price: Price, qty: Qty) -> wire.BookLevel:
    return wire.BookLevel(
        px=book_price(price, instrument.price_scale), qty=fixed(qty, instrument.qty_scale)
    )


def _sample(
    exchange: Exchange, instrument: Instrument, sides: _Sides, *, exact: bool
) -> wire.PriceSample | None:
    """Return the current prices of both sides, until the market has expired.

    The contract drops the field on 2026-07-03.
    """
    price, scale = _current(sides, instrument.price_scale, exact=exact)
    if price is None or exchange.trading.state(instrument.symbol) in EXPIRED_STATES:
        return None
    return wire.PriceSample(
        long_px=book_price(price, scale), short_px=book_price(scale - price, scale), ts=exchange.now
    )
