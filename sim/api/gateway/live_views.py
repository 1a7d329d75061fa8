"""Views of markets: reference data with the values that trading changes (§2.10, §2.11).
`event_views.py` has the views of events.

Reference data never change. A view is a copy with the live fields filled in (quotes, prices,
states, volumes). It is cached until its *version* changes: the values on which the live fields
depend. The same functions compute the values by which lists filter and sort (`market_index.py`), so
a list never contradicts the views in it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

from msgspec import json
from msgspec.structs import replace

from sim.api.gateway.game_views import whole_seconds
from sim.api.gateway.volume import volumes
from sim.api.pipeline.answer_cache import AnswerCache
from sim.api.rendering.retail_books import market_value
from sim.api.rendering.retail_numbers import fixed
from sim.api.rendering.retention import retained_stats
from sim.api.rendering.sports_types import sports_market_type
from sim.contract.messages.gateway_v1 import (
    ImageDisplayType,
    Market,
    MarketSide,
    MarketStatus,
    Quote,
)
from sim.core.accounts.fee_schedule import THETA_SCALE
from sim.core.catalogue.assumptions import MARKETS_QUOTES
from sim.core.exchange import Exchange
from sim.core.lifecycle.settlement import Settlement
from sim.core.lifecycle.states import OVER_STATES, SESSION_STATES
from sim.core.market_data.assets import PRICE_SCALE
from sim.core.market_data.statistics import SymbolStats
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CURRENCY, Price, decimal_text
from sim.kernel.dated import Dated
from sim.kernel.instants import HOUR, Instant, parse_instant

_ARTWORK = ImageDisplayType.IMAGE_DISPLAY_TYPE_ARTWORK
_S, _M = InstrumentState, MarketStatus
_STATUSES = {
    _S.OPEN: _M.MARKET_STATUS_OPEN,
    _S.PREOPEN: _M.MARKET_STATUS_OPEN,
    _S.MATCH_AND_CLOSE_AUCTION: _M.MARKET_STATUS_OPEN,
    _S.SUSPENDED: _M.MARKET_STATUS_HALTED,
    _S.HALTED: _M.MARKET_STATUS_HALTED,
    _S.CLOSED: _M.MARKET_STATUS_CLOSED,
    _S.EXPIRED: _M.MARKET_STATUS_RESOLVING,
    _S.TERMINATED: _M.MARKET_STATUS_RESOLVED,
    _S.PENDING: _M.MARKET_STATUS_UNSPECIFIED,
}
# Metadata of an instrument on an index, by their names on the gateway.
_ON_INDEX = {
    "crypto_market_type": "cryptoMarketType",
    "crypto_horizon": "cryptoHorizon",
    "interval_start": "intervalStart",
    "interval_end": "intervalEnd",
    "price_to_beat": "priceToBeat",
    "crypto_range_lower": "cryptoRangeLower",
    "crypto_range_upper": "cryptoRangeUpper",
    "crypto_hit_direction": "cryptoHitDirection",
    "crypto_settlement_price": "cryptoSettlementPrice",
}
FEE_SHOWN = Dated(
    0,
    ("2026-09-17", parse_instant("2026-09-25T00:00:00-04:00")),
    name="markets.fee_coefficient",
    section="recordings",
    title="markets show the fee coefficient of 2026-09-25 before it is charged",
)
_markets: AnswerCache[Market] = AnswerCache()


# ---- markets


def listed(exchange: Exchange, market: Market) -> bool:
    """Return whether a market has an instrument now; after a rewind a manually listed one
    may have none.
    """
    return market.slug in exchange.instruments


def market_view(
    exchange: Exchange,
    market: Market,
    version: MarketVersion | None = None,
    *,
    single: bool = False,
) -> Market:
    """Return the view of a market, in a list unless `single` (the prices of its sides differ).

    `version` is its present one, for a caller that has it.
    """
    version = version or market_version(exchange, market)
    build = partial(_market, exchange, market, version.state, single=single)
    return _markets.get(exchange, (market.slug, single), version, build)


class MarketVersion(NamedTuple):
    """The values on which a view of a market depends: its book, state and settlement, the fees in
    force, the hour in which volumes end, its index, and how quotes are written.
    """

    book: int
    state: InstrumentState
    changed: Instant
    settlement: object
    fees: object
    hour: int
    on_index: Instrument | None
    quotes: str


def market_version(exchange: Exchange, market: Market) -> MarketVersion:
    """Return the version of a market's view."""
    trading, slug = exchange.trading, market.slug
    instrument = exchange.instruments.require(slug)
    on_index = instrument if instrument.index_condition is not None else None
    state = trading.state(slug)
    return MarketVersion(
        trading.books.version_of_symbol(slug),
        state,
        trading.lifecycle.change_key(slug),
        _settlement_version(exchange, slug, state, on_index is not None),
        trading.fees.era(),
        exchange.now // HOUR,
        on_index,
        exchange.ctx.assumptions.text(MARKETS_QUOTES),
    )


def _settlement_version(
    exchange: Exchange, slug: str, state: InstrumentState, on_index: bool
) -> object:
    """Return a value that distinguishes the settlements of a market.

    It is computed only in states in which the market may be settled.
    """
    trading = exchange.trading
    settlement = trading.settlements.newest_record(slug)
    if settlement is None and (
        state is _S.CLOSED or (state is _S.EXPIRED and (on_index or trading.resolution.delays()[1]))
    ):
        settlement = trading.settlements.get(slug)
    return (
        None
        if settlement is None
        else (settlement.price, settlement.preliminary, settlement.set_at)
    )


def _market(exchange: Exchange, market: Market, state: InstrumentState, *, single: bool) -> Market:
    """Return the view of a market in a state, in a list or as a single one."""
    trading, slug = exchange.trading, market.slug
    instrument, book = exchange.instruments.require(slug), trading.books.touched(slug)
    settlement = trading.settlements.get(slug)
    final = settlement is not None and not settlement.preliminary
    visible = book is not None and not book.hidden
    bid = book.bids.best or None if book is not None and visible else None
    ask = book.offers.best or None if book is not None and visible else None
    stats = retained_stats(exchange, slug)
    quotes = _side_prices(instrument, stats, bid, ask)
    prices = quotes if single else _listed_prices(quotes, stats, bid, ask)
    padded = exchange.ctx.assumptions.text(MARKETS_QUOTES) == "string"
    sides = []
    for side in market.market_sides:
        index = 0 if side.long else 1
        shown_side = _side(
            side, instrument, prices[index], quotes[index], padded=padded and side.long
        )
        shown_side.tradable = state is _S.OPEN
        sides.append(shown_side)
    traded = volumes(exchange, instrument)
    settled = settlement if state in OVER_STATES else None
    changed = last_change(exchange, slug, market.updated_at, settled)
    fees_at = max(exchange.now, FEE_SHOWN.at(exchange.now))
    view = replace(
        market,
        exchange_status=state.name,
        exchange_synced_at=changed,
        updated_at=changed,
        active=is_active(state, lambda: final),
        closed=is_closed(state, lambda: final),
        status=_M.MARKET_STATUS_RESOLVED if final else _STATUSES[state],
        best_bid_quote=_quote(bid, instrument),
        best_ask_quote=_quote(ask, instrument),
        market_sides=sides,
        outcome_prices=json.encode([side.price for side in sides]).decode(),
        order_price_min_tick_size=instrument.tick / instrument.price_scale,
        minimum_trade_qty=instrument.min_qty / instrument.qty_scale,
        fee_coefficient=trading.fees.theta(instrument, fees_at).taker / THETA_SCALE,
        sports_market_type=sports_market_type(exchange, market.sports_market_type, slug),
    )
    view.volume, view.volume_24hr, view.volume_1wk, view.volume_1mo, view.volume_1yr = traded
    facts = _index_facts(exchange, instrument)
    if instrument.index_condition is not None:
        view.metadata = {name: facts[key] for key, name in _ON_INDEX.items() if key in facts}
    if market.asset_price_terms is not None:
        view.asset_price_terms = replace(
            market.asset_price_terms,
            price_to_beat=facts.get("price_to_beat", ""),
            settlement_price=facts.get("crypto_settlement_price", ""),
        )
    return view


def _index_facts(exchange: Exchange, instrument: Instrument) -> dict[str, str]:
    """Return the metadata of an instrument on an index, with the price that has settled it."""
    trading, symbol = exchange.trading, instrument.symbol
    if instrument.index_condition is None or trading.settlements.get(symbol) is None:
        return instrument.metadata
    price = trading.resolution.reading(instrument).at_end
    if price is None:
        return instrument.metadata
    return instrument.metadata | {"crypto_settlement_price": decimal_text(price, PRICE_SCALE, 2)}


def is_active(state: InstrumentState, paid: Callable[[], bool]) -> bool:
    """Return whether a market in a state is active: in session and not paid."""
    return state in SESSION_STATES and not paid()


def is_closed(state: InstrumentState, paid: Callable[[], bool]) -> bool:
    """Return whether a market in a state is closed: over or paid."""
    return state in OVER_STATES or paid()


def _side_prices(
    instrument: Instrument, stats: SymbolStats, bid: Price | None, ask: Price | None
) -> tuple[Price | None, Price | None]:
    """Return the price of a contract of the long and of the short side; None if unknown.

    That is the best offer, and one dollar less the best bid; otherwise the value of the contract.
    """
    dollar = instrument.price_scale
    if stats.settlement_px is not None:
        return stats.settlement_px, dollar - stats.settlement_px
    current = market_value(stats, bid, ask)
    long = current if ask is None else ask
    short = current if bid is None else bid
    return long, None if short is None else dollar - short


Prices: TypeAlias = tuple[Price | None, Price | None]


def _listed_prices(
    quotes: Prices, stats: SymbolStats, bid: Price | None, ask: Price | None
) -> Prices:
    """Return the prices that sides have in lists, in YES terms: the best bid of the long side and
    the best offer of the short one, where there is one and no settlement.
    """
    if stats.settlement_px is not None:
        return quotes
    return quotes[0] if bid is None else bid, quotes[1] if ask is None else ask


def _side(
    side: MarketSide,
    instrument: Instrument,
    price: Price | None,
    quote: Price | None,
    *,
    padded: bool,
) -> MarketSide:
    """Return a side with its price and quote; `padded` writes four decimals."""
    if price is None:
        return replace(side)
    scale = instrument.price_scale
    text = fixed(price, scale) if padded else decimal_text(price, scale)
    return replace(side, price=text, quote=_quote(quote, instrument))


def _quote(price: Price | None, instrument: Instrument) -> Quote | None:
    return None if price is None else Quote(value=price / instrument.price_scale, currency=CURRENCY)


def last_change(
    exchange: Exchange, symbol: str, listed_at: Instant | None, settled: Settlement | None
) -> Instant:
    """Return when a market last traded, settled or changed its state, in whole seconds.

    Without any of these it is the instant of its listing. `settled` is the settlement of a market
    that is over.
    """
    trading, lifecycle = exchange.trading, exchange.trading.lifecycle
    moved = lifecycle.last_change(exchange.instruments.require(symbol))
    traded = trading.statistics.last_trade_at(symbol) or 0
    settled_at = 0 if settled is None else settled.set_at or 0
    return whole_seconds(max(listed_at or 0, traded, settled_at, moved))


def open_interest(exchange: Exchange, symbol: str) -> float:
    """Return the number of open contracts of a market."""
    contracts = exchange.trading.positions.open_interest.get(symbol, 0)
    return contracts / exchange.instruments.require(symbol).qty_scale if contracts else 0.0


def liquidity(exchange: Exchange, symbol: str) -> float:
    """Return the cost of resting orders: the price of a bid, one dollar less that of an offer."""
    book = exchange.trading.books.touched(symbol)
    if book is None or book.hidden:
        return 0.0
    instrument = book.instrument
    bids = sum(level.price * level.qty for level in book.bids.walk())
    offers = sum((instrument.price_scale - level.price) * level.qty for level in book.offers.walk())
    return (bids + offers) / instrument.notional_scale
