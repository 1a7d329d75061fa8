"""Reference data with what trading knows of it: quotes, prices, states and volumes on markets, sums
and scores on events (§2.10, §2.11).

The reference stays as it is; a view is a copy with the live fields filled in, kept until something
in it changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import json
from msgspec.structs import replace

from sim.api.gateway.volume import Volumes, volumes
from sim.api.pipeline.answer_cache import AnswerCache
from sim.api.rendering.retail_books import current_price
from sim.core.accounts.fee_schedule import THETA_SCALE
from sim.core.exchange import Exchange
from sim.core.model.enums import InstrumentState
from sim.core.model.games import UNKNOWN_GAME, Game
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Price, decimal_text
from sim.kernel.instants import HOUR, NS_PER_S, Instant, format_instant
from sim.messages.gateway_v1 import (
    Event,
    EventState,
    Market,
    MarketSide,
    MarketStatus,
    PeriodScore,
    PeriodScore_Type,
    Quote,
)

if TYPE_CHECKING:
    from sim.reference.season import Season

CURRENCY = "USD"
ACTIVE = (
    InstrumentState.OPEN,
    InstrumentState.PREOPEN,
    InstrumentState.SUSPENDED,
    InstrumentState.HALTED,
    InstrumentState.MATCH_AND_CLOSE_AUCTION,
)
CLOSED = (InstrumentState.CLOSED, InstrumentState.EXPIRED, InstrumentState.TERMINATED)
_STATUSES = {
    InstrumentState.OPEN: MarketStatus.MARKET_STATUS_OPEN,
    InstrumentState.PREOPEN: MarketStatus.MARKET_STATUS_OPEN,
    InstrumentState.MATCH_AND_CLOSE_AUCTION: MarketStatus.MARKET_STATUS_OPEN,
    InstrumentState.SUSPENDED: MarketStatus.MARKET_STATUS_HALTED,
    InstrumentState.HALTED: MarketStatus.MARKET_STATUS_HALTED,
    InstrumentState.CLOSED: MarketStatus.MARKET_STATUS_CLOSED,
    InstrumentState.EXPIRED: MarketStatus.MARKET_STATUS_RESOLVING,
    InstrumentState.TERMINATED: MarketStatus.MARKET_STATUS_RESOLVED,
    InstrumentState.PENDING: MarketStatus.MARKET_STATUS_UNSPECIFIED,
}
_MEASURED = {
    "crypto_market_type": "cryptoMarketType",
    "crypto_horizon": "cryptoHorizon",
    "interval_start": "intervalStart",
    "interval_end": "intervalEnd",
    "price_to_beat": "priceToBeat",
    "crypto_settlement_price": "cryptoSettlementPrice",
}
# what periods of regular time are called: quarters, halves, sets, maps, thirds, innings, rounds
_REGULAR = ("Q", "H", "S", "M", "P", "I", "R")
_markets: AnswerCache[Market] = AnswerCache()
_events: AnswerCache[Event] = AnswerCache(512)  # an event of a large world has some twenty markets


# ---- markets


def listed(exchange: Exchange, market: Market) -> bool:
    """Whether a market has an instrument now: one that was made by hand has none before its making."""
    return market.slug in exchange.instruments


def exists(exchange: Exchange, event: Event) -> bool:
    """Whether there is an event now: one that is an automated window is there from its listing on."""
    return exchange.recurring.slot_of_event(event.slug) is None or listed(
        exchange, event.markets[0]
    )


def market_view(exchange: Exchange, market: Market) -> Market:
    """A market as it is now."""
    return _markets.get(
        exchange, market.slug, _market_version(exchange, market), lambda: _market(exchange, market)
    )


def _market_version(exchange: Exchange, market: Market) -> tuple[object, ...]:
    """What a view of a market depends on: its book, its state and settlement, the fees in force,
    the hour that volumes end in, and what an index says of it.
    """
    trading = exchange.trading
    instrument = exchange.instruments.require(market.slug)
    book = trading.books.touched(market.slug)
    measuring = instrument if instrument.index_condition is not None else None
    state = trading.state(market.slug)
    worth = _worth(exchange, market.slug, state, measuring is not None)
    return (
        book.version if book is not None else 0,
        state,
        trading.lifecycle.change_key(market.slug),
        worth,
        trading.fees.era(),
        exchange.now // HOUR,
        measuring,
    )


def _worth(exchange: Exchange, slug: str, state: InstrumentState, measured: bool) -> object:
    """What tells one settlement from the next. What settled by itself is looked at only while its
    state does not tell: before it expires or is final.
    """
    settlements = exchange.trading.settlements
    found = settlements.written(slug)
    if found is None and (
        state is InstrumentState.CLOSED
        or (
            state is InstrumentState.EXPIRED
            and (measured or exchange.trading.resolution.delays()[1])
        )
    ):
        found = settlements.get(slug)
    return None if found is None else (found.price, found.preliminary, found.set_at)


def _market(exchange: Exchange, market: Market) -> Market:
    trading = exchange.trading
    instrument = exchange.instruments.require(market.slug)
    book = trading.books.touched(market.slug)
    state = trading.state(market.slug)
    stats = trading.stats(market.slug)
    bid = None if book is None or book.hidden else book.bids.best or None
    ask = None if book is None or book.hidden else book.offers.best or None
    long, short = _side_prices(
        instrument, stats.settlement_px, bid, ask, current_price(stats, bid, ask)
    )
    sides = [
        _side(
            side, instrument, long if side.long else short, tradable=state is InstrumentState.OPEN
        )
        for side in market.market_sides
    ]
    traded = volumes(exchange, instrument)
    changed = last_change(exchange, market.slug, market.updated_at)
    final = trading.settlements.final(market.slug)
    return replace(
        market,
        exchange_status=state.name,
        exchange_synced_at=changed,
        updated_at=changed,
        active=state in ACTIVE and not final,
        closed=state in CLOSED or final,
        status=MarketStatus.MARKET_STATUS_RESOLVED if final else _STATUSES[state],
        best_bid_quote=_quote(bid, instrument),
        best_ask_quote=_quote(ask, instrument),
        market_sides=sides,
        outcome_prices=json.encode([side.price for side in sides]).decode(),
        order_price_min_tick_size=instrument.tick / instrument.price_scale,
        minimum_trade_qty=instrument.min_qty / instrument.qty_scale,
        fee_coefficient=trading.fees.theta(instrument, exchange.now).taker / THETA_SCALE,
        volume=traded.total,
        volume_24hr=traded.day,
        volume_1wk=traded.week,
        volume_1mo=traded.month,
        volume_1yr=traded.year,
        metadata=market.metadata if instrument.index_condition is None else _measured(instrument),
        asset_price_terms=market.asset_price_terms
        and replace(
            market.asset_price_terms, lower_price=instrument.metadata.get("price_to_beat", "")
        ),
    )


def _measured(instrument: Instrument) -> dict[str, str]:
    """What the instrument's metadata say of its index, as the gateway spells keys."""
    return {
        shown: instrument.metadata[key]
        for key, shown in _MEASURED.items()
        if key in instrument.metadata
    }


def _side_prices(
    instrument: Instrument,
    settlement: Price | None,
    bid: Price | None,
    ask: Price | None,
    current: Price | None,
) -> tuple[Price | None, Price | None]:
    """What a contract of the long and of the short side costs: the best offer, one dollar less the
    best bid; else what it is worth. None: nobody knows.
    """
    one = instrument.price_scale
    if settlement is not None:
        return settlement, one - settlement
    long = current if ask is None else ask
    short = current if bid is None else bid
    return long, None if short is None else one - short


def _side(
    side: MarketSide, instrument: Instrument, price: Price | None, *, tradable: bool
) -> MarketSide:
    if price is None:
        return replace(side, tradable=tradable)
    return replace(
        side,
        price=decimal_text(price, instrument.price_scale),
        quote=_quote(price, instrument),
        tradable=tradable,
    )


def _quote(price: Price | None, instrument: Instrument) -> Quote | None:
    return None if price is None else Quote(value=price / instrument.price_scale, currency=CURRENCY)


def last_change(exchange: Exchange, symbol: str, listed_at: Instant | None) -> Instant:
    """Instant of the last trade, change of state or settlement, in whole seconds as reference data
    has them; that of the listing before the first.
    """
    trading = exchange.trading
    lifecycle = trading.lifecycle
    settled = trading.settlements.get(symbol) if trading.state(symbol) in CLOSED else None
    moved = lifecycle.change_key(symbol)  # of one that has a state of its own
    moved = moved if moved > 0 else lifecycle.last_change(exchange.instruments.require(symbol))
    known = (
        listed_at,
        trading.statistics.last_trade_at(symbol),
        None if settled is None else settled.set_at,
        moved,
    )
    return whole_seconds(max(at for at in (*known, 0) if at is not None))


def whole_seconds(at: Instant) -> Instant:
    """An instant as reference data has it."""
    return at // NS_PER_S * NS_PER_S


# ---- events


def is_quiet(exchange: Exchange, number: int, slug: str) -> bool:
    """Whether nothing has happened to an event of the season: no market of it left the shelf or was
    added, nobody said how the game stands.
    """
    return (
        not exchange.trading.lifecycle.has_materialised(slug)
        and exchange.games.get(slug) is UNKNOWN_GAME
        and number not in exchange.reference.grown
    )


def open_on_shelf(exchange: Exchange) -> InstrumentState:
    """The state of quiet events that are to be open: maintenance suspends them all."""
    return exchange.trading.lifecycle.unless_suspended(InstrumentState.OPEN)


def season_state(exchange: Exchange, season: Season, number: int) -> InstrumentState:
    """The state of all markets of a quiet event."""
    lifecycle = exchange.trading.lifecycle
    asked, at = season.state(number, lifecycle.followed_to), lifecycle.followed_to
    return lifecycle.unless_suspended(
        lifecycle.state_by_dates(
            asked, exchange.event_end(season.slug(number)), season.dates_of(number)[2], at
        )
    )


def season_moved(
    exchange: Exchange, season: Season, number: int, state: InstrumentState
) -> Instant:
    """When the markets of a quiet event last changed their state, in whole seconds."""
    lifecycle = exchange.trading.lifecycle
    ends = exchange.event_end(season.slug(number))
    return whole_seconds(
        lifecycle.last_change_by_dates(season.created(number), season.dates_of(number), ends, state)
    )


def event_view(exchange: Exchange, event: Event) -> Event:
    """An event as it is now, with its markets."""
    game = how_it_stands(exchange, event)
    season = exchange.reference.season
    number = season.number(event.slug) if season is not None else None
    if number is not None and season is not None and is_quiet(exchange, number, event.slug):
        state = season_state(exchange, season, number)
        settled = state is InstrumentState.CLOSED and exchange.trading.settlements.final(
            event.markets[0].slug
        )
        quiet = (
            game,
            state,
            exchange.trading.lifecycle.dormant_changed_at,
            settled,
            exchange.trading.fees.era(),
            exchange.now // HOUR,
        )
        return _events.get(
            exchange,
            event.id,
            quiet,
            lambda: _event(exchange, event, _views(exchange, event.markets), game),
        )
    if number is not None:
        trading = exchange.trading
        known = (
            game,
            len(event.markets),
            trading.books.version_of(event.slug),
            trading.lifecycle.dormant_changed_at,
            trading.fees.era(),
            exchange.now // HOUR,
        )
        return _events.get(
            exchange,
            event.id,
            known,
            lambda: _event(exchange, event, _views(exchange, _listed(exchange, event)), game),
        )
    shown = _listed(exchange, event)
    version = (game, tuple(_market_version(exchange, market) for market in shown))
    return _events.get(
        exchange, event.id, version, lambda: _event(exchange, event, _views(exchange, shown), game)
    )


def _listed(exchange: Exchange, event: Event) -> list[Market]:
    return [market for market in event.markets if listed(exchange, market)]


def _views(exchange: Exchange, markets: list[Market]) -> list[Market]:
    return [market_view(exchange, market) for market in markets]


def how_it_stands(exchange: Exchange, event: Event) -> Game:
    """How the game of an event stands: as told, else by the clock, else as it ended."""
    return (
        exchange.simulated_game(event.slug)
        or _over(exchange, event)
        or exchange.games.get(event.slug)
    )


def _over(exchange: Exchange, event: Event) -> Game | None:
    """How a game of the world ended of which nobody has told; None while its markets are not past
    their expiration.
    """
    if (
        not event.game_id
        or event.end_date is None
        or exchange.trading.lifecycle.followed_to < event.end_date
    ):
        return None
    final = exchange.planned_final(event.slug)
    return None if final is None else replace(final, at=event.end_date)


def _event(exchange: Exchange, event: Event, markets: list[Market], game: Game) -> Event:
    traded = (
        Volumes(
            *map(
                sum,
                zip(
                    *(
                        (m.volume, m.volume_24hr, m.volume_1wk, m.volume_1mo, m.volume_1yr)
                        for m in markets
                    ),
                    strict=True,
                ),
            )
        )
        if markets
        else None
    )
    closed = all(market.closed for market in markets) if markets else event.closed
    view = replace(
        event,
        markets=markets,
        active=any(market.active for market in markets) if markets else event.active,
        closed=closed,
        updated_at=max(
            (
                at
                for at in (
                    event.updated_at,
                    whole_seconds(game.at),
                    *(market.updated_at for market in markets),
                )
                if at
            ),
            default=None,
        ),
        open_interest=sum(open_interest(exchange, market.slug) for market in markets),
        liquidity=sum(liquidity(exchange, market.slug) for market in markets),
    )
    if traded is not None:
        view.volume, view.volume_24hr, view.volume_1wk, view.volume_1mo, view.volume_1yr = traded
    if event.game_id:
        play(view, game)
    return view


def play(view: Event, game: Game) -> None:
    """Put in how a game stands."""
    view.live = view.live if game.live is None else game.live
    view.ended = view.ended if game.ended is None else game.ended
    view.period = view.period if game.period is None else game.period
    view.elapsed = view.elapsed if game.elapsed is None else game.elapsed
    text = ""
    if game.home_score is not None or game.away_score is not None:
        view.score = {"home": game.home_score or 0, "away": game.away_score or 0}
        text = f"{game.home_score or 0}-{game.away_score or 0}"
    if view.ended and game.at:
        view.finished_timestamp = whole_seconds(game.at)
    if game.at:
        state = "ended" if view.ended else "live" if view.live else "scheduled"
        view.metadata = {
            "gameState": state,
            "latestGameUpdate": format_instant(whole_seconds(game.at)),
        }
    view.event_state = EventState(
        id=f"{view.id}",
        event_id=f"{view.id}",
        game_id=view.game_id,
        type=view.subcategory,
        score=text,
        elapsed=view.elapsed,
        period=view.period,
        live=view.live,
        ended=view.ended,
        period_scores=sorted(
            (_period_score(name, score) for name, score in _periods(game).items()),
            key=lambda part: (part.type, part.number),
        ),
    )


def _periods(game: Game) -> dict[str, tuple[int, int]]:
    """The score (home, away) of each period; of the halves of a game of which the goals are known."""
    if game.periods or game.goals is None:
        return game.periods
    halves = {
        name: [goal.team for goal in game.goals if first <= goal.minute <= last]
        for name, first, last in (("1H", 1, 45), ("2H", 46, 90))
    }
    return {name: (teams.count("home"), teams.count("away")) for name, teams in halves.items()}


def _period_score(name: str, score: tuple[int, int]) -> PeriodScore:
    """Q1, 2H, S3, M1, P2 and I9 are regular, anything else (OT1, ET2, X10) is overtime."""
    number = "".join(filter(str.isdecimal, name))
    kind = (
        PeriodScore_Type.REGULATION
        if name.strip("0123456789") in _REGULAR
        else PeriodScore_Type.OVERTIME
    )
    return PeriodScore(type=kind, number=int(number or 0), score=f"{score[0]}-{score[1]}")


def open_interest(exchange: Exchange, symbol: str) -> float:
    """Contracts."""
    contracts = exchange.trading.positions.open_interest.get(symbol, 0)
    return contracts / exchange.instruments.require(symbol).qty_scale if contracts else 0.0


def liquidity(exchange: Exchange, symbol: str) -> float:
    """Dollars that resting orders would cost: price per bid, one dollar less price per offer."""
    book = exchange.trading.books.touched(symbol)
    if book is None or book.hidden:
        return 0.0
    instrument = book.instrument
    bids = sum(level.price * level.qty for level in book.bids.walk())
    offers = sum((instrument.price_scale - level.price) * level.qty for level in book.offers.walk())
    return (bids + offers) / instrument.notional_scale
