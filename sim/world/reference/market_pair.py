"""One market in both forms: the exchange's instrument and the gateway's message of it, from the
same facts.

A market's slug is its instrument's symbol. The metadata of an instrument depend on its listing
date: sports instruments name home, away and tournament only if created after 2026-07-20 (§2.6).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct, json

from sim.contract.messages import gateway_v1 as wire
from sim.contract.messages.gateway_v1 import Event, Market, MarketSide, Subject, Tag, Team
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import decimal_text, scaled
from sim.kernel.dated import Dated
from sim.kernel.instants import EASTERN, HOUR, Instant, to_datetime

SORT_ORDERS = 1_000  # values of a market's sort order
NAMED_SIDES = Dated(
    False,
    ("2026-07-21", True),
    name="markets.named_sides",
    section="§2.6",
    title="sides of a sports market created from then on have names",
)

_V2 = {
    "moneyline": "SPORTS_MARKET_TYPE_MONEYLINE",
    "spreads": "SPORTS_MARKET_TYPE_SPREAD",
    "totals": "SPORTS_MARKET_TYPE_TOTAL",
    "props": "SPORTS_MARKET_TYPE_PROP",
    "futures": "SPORTS_MARKET_TYPE_FUTURE",
    "drawable_outcome": "SPORTS_MARKET_TYPE_DRAWABLE_OUTCOME",
}
_COMBINABLE = ("moneyline", "spreads", "totals")  # types whose markets may be legs of a combo
_M = wire.MarketStatus
_PRICE_UNITS = 10_000  # in one dollar
EVENT_CATEGORIES = {
    "sports": "SPR",
    "politics": "POL",
    "crypto": "CRY",
    "economics": "ECO",
    "weather": "CLI",
    "culture": "CUL",
}


class PairSide(Struct, frozen=True):
    """One side of a market: its name, and its team if there is one."""

    name: str
    team: Team | None = None

    @property
    def participant_id(self) -> str:
        """The identifier of the side on the exchange."""
        if self.team is not None:
            return f"{self.team.league}-{self.team.abbreviation.lower()}"
        return self.name.lower().replace(" ", "-")


class Facts(Struct, frozen=True, kw_only=True):
    """Facts of a market for the gateway beyond its instrument's terms.

    `mid` is a price in dollars, as decimal text.
    """

    question: str
    long: PairSide
    short: PairSide
    sports_market_type: str = ""
    line: str | None = None
    mid: str = "0.5"
    home: Team | None = None
    away: Team | None = None
    tournament: str = ""
    game_start: Instant | None = None
    tags: tuple[Tag, ...] = ()
    subject: Subject | None = None
    asset: wire.AssetPriceTerms | None = None


def metadata_of(instrument: Instrument, facts: Facts, event_id: int) -> dict[str, str]:
    """Return the metadata of an instrument, without empty values."""
    series = instrument.series or instrument.subcategory or instrument.category
    starts = instrument.expiration if facts.game_start is None else facts.game_start
    pairs = {
        "clearing_sym": instrument.product_id.upper(),
        "event_category": EVENT_CATEGORIES.get(instrument.category, "OTH"),
        "event_id": str(event_id),
        "event_product_id": f"{instrument.product_id}-{series}",
        "event_series": instrument.subcategory or instrument.series,
        "event_start_time": metadata_time(starts),
        "event_subcategory": instrument.subcategory,
        "instrument_product": instrument.market_type,
        "instrument_rules": f"Pays one dollar per contract if: {facts.question}",
        "long_participant_id": facts.long.participant_id,
        "long_participant_name": facts.long.name,
        "short_participant_id": facts.short.participant_id,
        "short_participant_name": facts.short.name,
        "market_sport_type": facts.sports_market_type,
        "outcome_strike": facts.line or "",
        "outcome_type": instrument.market_type,
        "participant_type": "outcome" if facts.long.team is None else "team",
        "product_id": instrument.product_id,
    }
    if instrument.category == "sports" and NAMED_SIDES.at(instrument.created):
        pairs["tournament_name"] = facts.tournament
        if facts.home is not None and facts.away is not None:
            pairs |= {"home_team_name": facts.home.name, "away_team_name": facts.away.name}
    return {key: text for key, text in pairs.items() if text} | instrument.metadata


def metadata_time(at: Instant) -> str:
    """Return an instant in the form of metadata."""
    return to_datetime(at).strftime("%Y-%m-%d %H:%M:%S+00")


def market_of(number: int, instrument: Instrument, facts: Facts, now: Instant) -> Market:
    """Return the gateway's message of an instrument.

    Views fill in the values that trading changes: quotes, exchange status,
    volumes, fee (`live_views.py`).
    """
    sports, kind = instrument.category == "sports", instrument.market_type
    long, short, subject = facts.long, facts.short, facts.subject
    mid = scaled(facts.mid, _PRICE_UNITS)
    prices = [decimal_text(price, _PRICE_UNITS) for price in (mid, _PRICE_UNITS - mid)]
    tournament = {"tournament": facts.tournament} if facts.tournament else {}
    sides = [
        _side(number, 1, instrument, long, prices[0]),
        _side(number, 0, instrument, short, prices[1]),
    ]
    market = Market(
        id=str(number),
        question=facts.question,
        slug=instrument.symbol,
        start_date=instrument.start,
        end_date=instrument.expiration,
        category=instrument.category,
        description=instrument.description,
        market_type=kind,
        created_at=instrument.created,
        updated_at=instrument.created,
        game_start_time=instrument.expiration if facts.game_start is None else facts.game_start,
        sports_market_type=facts.sports_market_type,
        sports_market_type_v2=_V2.get(kind, "") if sports else "",
        outcomes=json.encode([long.name, short.name]).decode(),
        outcome_prices=json.encode(prices).decode(),
        title=facts.question,
        title_short=long.name,
        rules_disclaimer="A sandbox market: it pays nothing outside this simulation.",
        combo_enabled=sports and kind in _COMBINABLE,
        order_price_min_tick_size=instrument.tick / instrument.price_scale,
        minimum_trade_qty=instrument.min_qty / instrument.qty_scale,
        line=None if facts.line is None else float(facts.line),
        subject_id=subject.id if subject else 0,
        sort_order=number % SORT_ORDERS,
        market_sides=sides,
        tags=list(facts.tags),
        subject=subject,
        metadata={"outcomeType": kind} | tournament,
        asset_price_terms=facts.asset,
    )
    closed = bool(instrument.expiration) and now >= instrument.expiration
    market.active, market.closed = not closed, closed
    market.status = _M.MARKET_STATUS_RESOLVED if closed else _M.MARKET_STATUS_OPEN
    _set_appearance(market, facts.long.team, subject)
    return market


def _set_appearance(market: Market, team: Team | None, subject: Subject | None) -> None:
    """Set image and colours: of the player, else of the long side's team, else neutral ones."""
    market.image_display_type = wire.ImageDisplayType.IMAGE_DISPLAY_TYPE_ARTWORK
    market.color, market.dark_color = "#111827", "#F9FAFB"
    if team is not None:
        market.image, market.image_display_type = team.logo, team.image_display_type
        market.color = market.dark_color = team.color_primary
    if subject is not None:
        market.image = subject.image


def _side(number: int, long: int, instrument: Instrument, side: PairSide, price: str) -> MarketSide:
    """Return a side. Leagues that name the away team first have it on the long side (§2.6)."""
    team = side.team
    if team is not None and team.ordering == "away":
        team = msgspec.structs.replace(team, ordering="away" if long else "home")
    return MarketSide(
        id=str(number * 2 + 1 - long),
        identifier=instrument.symbol,
        created_at=instrument.created,
        updated_at=instrument.created,
        description=side.name,
        price=price,
        market_side_type=wire.MarketSideType.MARKET_SIDE_TYPE_INSTRUMENT,
        market_id=number,
        team_id=team.id if team else 0,
        long=bool(long),
        tradable=True,
        team=team,
        participant_id=side.participant_id,
    )


def new_event(listed: Instant, tags: list[Tag], **fields: Any) -> Event:
    """Return an event that is listed at an instant; the last of its tags refers to it."""
    return Event(
        active=True,
        start_date=listed,
        creation_date=listed,
        created_at=listed,
        updated_at=listed,
        tags=tags,
        primary_tag=tags[-1] if tags else None,
        **fields,
    )


def with_metadata(instrument: Instrument, facts: Facts, event: Event) -> Instrument:
    """Return the instrument with the metadata that follow from its facts and its listing date."""
    return msgspec.structs.replace(instrument, metadata=metadata_of(instrument, facts, event.id))


def eastern_day(at: Instant) -> str:
    """Return the date of an instant in Eastern Time, as YYYY-MM-DD."""
    return _day_of_hour(at // HOUR)


@lru_cache(maxsize=4096)
def _day_of_hour(hour: int) -> str:
    # A day does not begin within an hour, so the games of an hour can share the result.
    return to_datetime(hour * HOUR, EASTERN).strftime("%Y-%m-%d")


def event_texts(event: Event) -> Iterator[str]:
    """Yield the texts of an event and of its markets."""
    yield from (event.title, event.slug, event.subtitle, event.description)
    yield from (event.category, event.subcategory)
    for team in event.teams:
        yield from (team.name, team.abbreviation)
    for market in event.markets:
        yield from (market.question, market.slug)
