"""One market, twice: the exchange's instrument and the gateway's message of it, from the same
facts.

A market's slug is its instrument's symbol. The metadata an instrument carries depends on when it
was listed: sports instruments name home, away and tournament only when created after 2026-07-20
(§2.6).
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, json

from sim.core.market_data.assets import PRICE_SCALE
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import decimal_text, scaled
from sim.kernel.instants import EASTERN, Instant, parse_instant, to_datetime
from sim.messages.gateway_v1 import (
    AssetPriceTerms,
    Event,
    ImageDisplayType,
    Market,
    MarketSide,
    MarketSideType,
    MarketStatus,
    Subject,
    Tag,
    Team,
)

SORT_ORDERS = 1_000  # values that a market's sort order takes
NAMED_SIDES_FROM: Instant = parse_instant("2026-07-21")  # "created after 2026-07-20" (§2.6)

_V2 = {
    "moneyline": "SPORTS_MARKET_TYPE_MONEYLINE",
    "spreads": "SPORTS_MARKET_TYPE_SPREAD",
    "totals": "SPORTS_MARKET_TYPE_TOTAL",
    "props": "SPORTS_MARKET_TYPE_PROP",
    "futures": "SPORTS_MARKET_TYPE_FUTURE",
    "drawable_outcome": "SPORTS_MARKET_TYPE_DRAWABLE_OUTCOME",
}
EVENT_CATEGORIES = {
    "sports": "SPR",
    "politics": "POL",
    "crypto": "CRY",
    "economics": "ECO",
    "weather": "CLI",
    "culture": "CUL",
}


class Side(Struct, frozen=True):
    """What one side of a market is called, and the team behind it if there is one."""

    name: str
    team: Team | None = None

    @property
    def participant_id(self) -> str:
        """Identifier of the side on the exchange."""
        if self.team is not None:
            return f"{self.team.league}-{self.team.abbreviation.lower()}"
        return self.name.lower().replace(" ", "-")

    @property
    def participant_type(self) -> str:
        """What kind of thing the identifier names."""
        return "team" if self.team is not None else "outcome"


class Facts(Struct, frozen=True, kw_only=True):
    """What the gateway says about a market beyond its instrument's terms. `mid` is a price in
    dollars, as decimal text.
    """

    question: str
    long: Side
    short: Side
    title: str = ""
    subtitle: str = ""
    title_short: str = ""
    sports_market_type: str = ""
    line: str | None = None
    suffix: str = ""
    mid: str = "0.5"
    home: Team | None = None
    away: Team | None = None
    tournament: str = ""
    game_start: Instant | None = None
    tags: tuple[Tag, ...] = ()
    subject: Subject | None = None
    asset: AssetPriceTerms | None = None


def metadata_of(instrument: Instrument, facts: Facts, event_id: int) -> dict[str, str]:
    """The instrument's metadata map, empty values left out."""
    pairs = {
        "clearing_sym": instrument.product_id.upper(),
        "event_category": EVENT_CATEGORIES.get(instrument.category, "OTH"),
        "event_id": str(event_id),
        "event_product_id": (
            f"{instrument.product_id}-{instrument.series or instrument.subcategory or instrument.category}"
        ),
        "event_series": instrument.subcategory or instrument.series,
        "event_start_time": metadata_time(
            facts.game_start if facts.game_start is not None else instrument.expiration
        ),
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
        "participant_type": facts.long.participant_type,
        "product_id": instrument.product_id,
    }
    if instrument.category == "sports" and instrument.created >= NAMED_SIDES_FROM:
        pairs["tournament_name"] = facts.tournament
        if facts.home is not None and facts.away is not None:
            pairs |= {"home_team_name": facts.home.name, "away_team_name": facts.away.name}
    return {key: text for key, text in pairs.items() if text} | instrument.metadata


def metadata_time(at: Instant) -> str:
    """An instant as metadata spell it."""
    return to_datetime(at).strftime("%Y-%m-%d %H:%M:%S+00")


def price_text(price: int) -> str:
    """An index price in dollars."""
    return decimal_text(price, PRICE_SCALE, 2)


def sports_type_v2(market_type: str) -> str:
    """The newer name of a sports market's type; "" for one that has none."""
    return _V2.get(market_type, "")


def combinable(market_type: str) -> bool:
    """Whether sports markets of a type may be legs of a combo."""
    return market_type in ("moneyline", "spreads", "totals")


def market_of(number: int, instrument: Instrument, facts: Facts, now: Instant) -> Market:
    """The gateway's message of an instrument. What trading changes (quotes, exchange status,
    volumes, fee) is the exchange's to fill in.
    """
    scale = instrument.price_scale
    long_price = _price(facts.mid, 1)
    short_price = _price(facts.mid, -1)
    sports = instrument.category == "sports"
    closed = bool(instrument.expiration) and now >= instrument.expiration
    return Market(
        id=str(number),
        question=facts.question,
        slug=instrument.symbol,
        start_date=instrument.start,
        end_date=instrument.expiration,
        category=instrument.category,
        image=_image(facts),
        description=instrument.description,
        market_type=instrument.market_type,
        created_at=instrument.created,
        updated_at=instrument.created,
        game_start_time=facts.game_start,
        sports_market_type=facts.sports_market_type,
        sports_market_type_v2=sports_type_v2(instrument.market_type) if sports else "",
        outcomes=json.encode([facts.long.name, facts.short.name]).decode(),
        outcome_prices=json.encode([long_price, short_price]).decode(),
        title=facts.title or facts.question,
        subtitle=facts.subtitle,
        title_short=facts.title_short or facts.long.name,
        color=facts.long.team.color_primary if facts.long.team else "#111827",
        dark_color=facts.long.team.color_primary if facts.long.team else "#F9FAFB",
        spread_total_suffix=facts.suffix,
        rules_disclaimer="A sandbox market: it pays nothing outside this simulation.",
        active=not closed,
        closed=closed,
        combo_enabled=sports and combinable(instrument.market_type),
        order_price_min_tick_size=instrument.tick / scale,
        minimum_trade_qty=instrument.min_qty / instrument.qty_scale,
        line=float(facts.line) if facts.line is not None else None,
        subject_id=facts.subject.id if facts.subject else 0,
        sort_order=number % SORT_ORDERS,
        market_sides=[
            _side(number, 1, instrument, facts.long, long_price),
            _side(number, 0, instrument, facts.short, short_price),
        ],
        tags=list(facts.tags),
        subject=facts.subject,
        metadata=_shown_metadata(instrument, facts),
        status=MarketStatus.MARKET_STATUS_RESOLVED if closed else MarketStatus.MARKET_STATUS_OPEN,
        image_display_type=(
            facts.long.team.image_display_type
            if facts.long.team
            else ImageDisplayType.IMAGE_DISPLAY_TYPE_ARTWORK
        ),
        asset_price_terms=facts.asset,
    )


def _side(number: int, long: int, instrument: Instrument, side: Side, price: str) -> MarketSide:
    return MarketSide(
        id=str(number * 2 + 1 - long),
        identifier=instrument.symbol,
        created_at=instrument.created,
        updated_at=instrument.created,
        description=side.name,
        price=price,
        market_side_type=MarketSideType.MARKET_SIDE_TYPE_INSTRUMENT,
        market_id=number,
        team_id=side.team.id if side.team else 0,
        long=bool(long),
        tradable=True,
        team=side.team,
        participant_id=side.participant_id,
    )


def _price(mid: str, sign: int) -> str:
    units = scaled(mid, 10_000)
    return decimal_text(units if sign > 0 else 10_000 - units, 10_000)


def _image(facts: Facts) -> str:
    if facts.subject is not None:
        return facts.subject.image
    return facts.long.team.logo if facts.long.team else ""


def _shown_metadata(instrument: Instrument, facts: Facts) -> dict[str, Any]:
    return (
        {"outcomeType": instrument.market_type, "tournament": facts.tournament}
        if facts.tournament
        else {"outcomeType": instrument.market_type}
    )


def with_metadata(instrument: Instrument, facts: Facts, event: Event) -> Instrument:
    """The instrument with the metadata its facts and its listing date call for."""
    return msgspec.structs.replace(instrument, metadata=metadata_of(instrument, facts, event.id))


def eastern_day(at: Instant) -> str:
    """YYYY-MM-DD of an instant in Eastern Time."""
    return to_datetime(at, EASTERN).strftime("%Y-%m-%d")
