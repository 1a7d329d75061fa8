# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum
from typing import Any

from sim.contract.messages import Message


class AssetClass(IntEnum):
    """What kind of thing is priced."""

    ASSET_CLASS_UNSPECIFIED = 0
    ASSET_CLASS_CRYPTO = 1


class AssetPriceBucket(IntEnum):
    """Width of a candle."""

    ASSET_PRICE_BUCKET_UNSPECIFIED = 0  # refused
    ASSET_PRICE_BUCKET_1S = 1
    ASSET_PRICE_BUCKET_5S = 2
    ASSET_PRICE_BUCKET_15S = 3
    ASSET_PRICE_BUCKET_1M = 4
    ASSET_PRICE_BUCKET_5M = 5
    ASSET_PRICE_BUCKET_15M = 6
    ASSET_PRICE_BUCKET_1H = 7
    ASSET_PRICE_BUCKET_1D = 8


class AssetPriceMarketType(IntEnum):
    """What an asset's price must do for a market to pay."""

    ASSET_PRICE_MARKET_TYPE_UNSPECIFIED = 0
    ASSET_PRICE_MARKET_TYPE_UP_DOWN = 1
    ASSET_PRICE_MARKET_TYPE_ABOVE_BELOW = 2
    ASSET_PRICE_MARKET_TYPE_RANGE = 3
    ASSET_PRICE_MARKET_TYPE_ONE_TOUCH = 4
    ASSET_PRICE_MARKET_TYPE_DATE = 5
    ASSET_PRICE_MARKET_TYPE_FIRST_TO_HIT = 6


class AssetPriceRangeKind(IntEnum):
    """Which part of the price line a range covers."""

    ASSET_PRICE_RANGE_KIND_UNSPECIFIED = 0
    ASSET_PRICE_RANGE_KIND_INTERIOR = 1
    ASSET_PRICE_RANGE_KIND_BELOW = 2
    ASSET_PRICE_RANGE_KIND_ABOVE = 3


class AssetPriceDirection(IntEnum):
    """Which way the price must move."""

    ASSET_PRICE_DIRECTION_UNSPECIFIED = 0
    ASSET_PRICE_DIRECTION_UP = 1
    ASSET_PRICE_DIRECTION_DOWN = 2


class PeriodScore_Type(IntEnum):
    REGULATION = 0
    OVERTIME = 1


class MarketSideType(IntEnum):
    """How a side of a market is held."""

    MARKET_SIDE_TYPE_ERC1155 = 0
    MARKET_SIDE_TYPE_INSTRUMENT = 1


class MarketStatus(IntEnum):
    """Where a market stands as reference data."""

    MARKET_STATUS_UNSPECIFIED = 0
    MARKET_STATUS_OPEN = 1
    MARKET_STATUS_CLOSED = 2
    MARKET_STATUS_RESOLVING = 3
    MARKET_STATUS_RESOLVED = 4
    MARKET_STATUS_HALTED = 5


class PriceInterval(IntEnum):
    """How far back from now a history reaches."""

    INTERVAL_UNSPECIFIED = 0
    INTERVAL_1H = 1
    INTERVAL_6H = 2
    INTERVAL_1D = 3
    INTERVAL_1W = 4
    INTERVAL_1M = 5
    INTERVAL_ALL = 6
    INTERVAL_LIVE = 7


class Provider(IntEnum):
    """A vendor of sports data."""

    PROVIDER_UNSPECIFIED = 0
    PROVIDER_SPORTSDATAIO = 1
    PROVIDER_SPORTRADAR = 2
    PROVIDER_OPTICODDS = 3
    PROVIDER_PANDASCORE = 4
    PROVIDER_INFRONT = 5
    PROVIDER_ENETPULSE = 6
    PROVIDER_UFC = 7
    PROVIDER_ODDSPAPI = 8
    PROVIDER_BETER = 9
    PROVIDER_CHAMPION_DATA = 10
    PROVIDER_ALTSPORTSDATA = 11
    PROVIDER_GRID = 12


class ImageDisplayType(IntEnum):
    """What kind of picture an image is."""

    IMAGE_DISPLAY_TYPE_UNSPECIFIED = 0
    IMAGE_DISPLAY_TYPE_HEADSHOT = 1
    IMAGE_DISPLAY_TYPE_LOGO = 2
    IMAGE_DISPLAY_TYPE_FLAG = 3
    IMAGE_DISPLAY_TYPE_ARTWORK = 4


class AssetId(Message, kw_only=True):
    """A priced thing; written <class>:<symbol>, as in crypto:btc."""

    asset_class: int = 0
    symbol: str = ""  # [a-z0-9-], at most 64 characters

    __full_name__ = "gateway.v1.AssetId"
    __wire__ = (
        (1, "asset_class", "assetClass", "enum", "", "gateway.v1.AssetClass", ()),
        (2, "symbol", "symbol", "string", "", "", ()),
    )


class AssetPriceCandle(Message, kw_only=True):
    """Prices of one bucket, decimal strings in the currency of the series."""

    timestamp: int = 0  # start of the bucket, unix seconds
    open: str = ""
    high: str = ""
    low: str = ""
    close: str = ""  # carried forward when nothing ticked
    tick_count: int = 0  # 0 = filled gap

    __full_name__ = "gateway.v1.AssetPriceCandle"
    __wire__ = (
        (1, "timestamp", "timestamp", "int64", "", "", (("number", True),)),
        (2, "open", "open", "string", "", "", ()),
        (3, "high", "high", "string", "", "", ()),
        (4, "low", "low", "string", "", "", ()),
        (5, "close", "close", "string", "", "", ()),
        (6, "tick_count", "tickCount", "int32", "", "", ()),
    )


class AssetPriceSeries(Message, kw_only=True):
    """One asset's candles: dense, rising in time."""

    asset: AssetId | None = None
    currency: str = ""  # ISO 4217
    bucket: int = 0
    from_: int = 0  # effective, unix seconds
    to: int = 0  # effective, unix seconds
    candles: list[AssetPriceCandle] = []

    __full_name__ = "gateway.v1.AssetPriceSeries"
    __wire__ = (
        (1, "asset", "asset", "message", "", "gateway.v1.AssetId", ()),
        (2, "currency", "currency", "string", "", "", ()),
        (3, "bucket", "bucket", "enum", "", "gateway.v1.AssetPriceBucket", ()),
        (4, "from", "from", "int64", "", "", (("number", True),)),
        (5, "to", "to", "int64", "", "", (("number", True),)),
        (6, "candles", "candles", "message", "repeated", "gateway.v1.AssetPriceCandle", ()),
    )


class AssetPriceTerms(Message, kw_only=True):
    """Terms of a market on an asset's price. Prices are decimal strings, in dollars."""

    market_type: int = 0
    asset: AssetId | None = None
    index_symbol: str = ""  # BTCUSD
    horizon: str = ""  # 15m, 1h, 1d
    window_start: int | None = None
    window_end: int | None = None
    price_to_beat: str = ""  # of UP_DOWN, from the start of its window on
    strike: str = ""  # of ABOVE_BELOW and ONE_TOUCH
    range_lower: str = ""  # of RANGE, inclusive; empty without a lower bound
    range_upper: str = ""  # of RANGE, exclusive; empty without an upper bound
    range_kind: int = 0
    direction: int = 0  # of ONE_TOUCH
    settlement_price: str = ""  # once settled

    __full_name__ = "gateway.v1.AssetPriceTerms"
    __wire__ = (
        (1, "market_type", "marketType", "enum", "", "gateway.v1.AssetPriceMarketType", ()),
        (2, "asset", "asset", "message", "", "gateway.v1.AssetId", ()),
        (3, "index_symbol", "indexSymbol", "string", "", "", ()),
        (4, "horizon", "horizon", "string", "", "", ()),
        (5, "window_start", "windowStart", "timestamp", "", "", ()),
        (6, "window_end", "windowEnd", "timestamp", "", "", ()),
        (7, "price_to_beat", "priceToBeat", "string", "", "", ()),
        (8, "strike", "strike", "string", "", "", ()),
        (9, "range_lower", "rangeLower", "string", "", "", ()),
        (10, "range_upper", "rangeUpper", "string", "", "", ()),
        (11, "range_kind", "rangeKind", "enum", "", "gateway.v1.AssetPriceRangeKind", ()),
        (12, "direction", "direction", "enum", "", "gateway.v1.AssetPriceDirection", ()),
        (13, "settlement_price", "settlementPrice", "string", "", "", ()),
    )


class GetAssetPriceHistoryRequest(Message, kw_only=True):
    assets: list[str] = []  # <class>:<symbol>, 1 to 10
    from_: int | None = None  # unix seconds
    to: int | None = None  # unix seconds; 0 or later than now = now
    bucket: int = 0

    __full_name__ = "gateway.v1.GetAssetPriceHistoryRequest"
    __wire__ = (
        (1, "assets", "assets", "string", "repeated", "", (("required", True),)),
        (2, "from", "from", "int64", "optional", "", (("required", True),)),
        (3, "to", "to", "int64", "optional", "", ()),
        (4, "bucket", "bucket", "enum", "", "gateway.v1.AssetPriceBucket", (("required", True),)),
    )


class GetAssetPriceHistoryResponse(Message, kw_only=True):
    series: list[AssetPriceSeries] = []  # one for each distinct asset, by symbol

    __full_name__ = "gateway.v1.GetAssetPriceHistoryResponse"
    __wire__ = (
        (1, "series", "series", "message", "repeated", "gateway.v1.AssetPriceSeries", ()),
    )


class Subject(Message, kw_only=True):
    """A person or thing that markets are about. Deprecated."""

    id: int = 0
    name: str = ""
    display_name: str = ""
    description: str = ""
    subject_type: str = ""
    image: str = ""
    color: str = ""
    dark_color: str = ""
    created_at: int | None = None
    updated_at: int | None = None
    slug: str = ""

    __full_name__ = "gateway.v1.Subject"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "display_name", "displayName", "string", "", "", ()),
        (4, "description", "description", "string", "", "", ()),
        (5, "subject_type", "subjectType", "string", "", "", ()),
        (6, "image", "image", "string", "", "", ()),
        (7, "color", "color", "string", "", "", ()),
        (8, "dark_color", "darkColor", "string", "", "", ()),
        (9, "created_at", "createdAt", "timestamp", "", "", ()),
        (10, "updated_at", "updatedAt", "timestamp", "", "", ()),
        (11, "slug", "slug", "string", "", "", ()),
    )


class League(Message, kw_only=True):
    """A league or tour inside a sport."""

    id: int = 0
    name: str = ""
    slug: str = ""
    image: str = ""
    resolution: str = ""
    ordering: str = ""
    created_at: int | None = None
    abbreviation: str = ""
    is_operational: bool = False
    sport_id: int = 0
    tag_id: int = 0
    active_series_id: int = 0
    automatic_resolution: bool | None = None  # set where a league is part of a tag

    __full_name__ = "gateway.v1.League"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "slug", "slug", "string", "", "", ()),
        (4, "image", "image", "string", "", "", ()),
        (5, "resolution", "resolution", "string", "", "", ()),
        (6, "ordering", "ordering", "string", "", "", ()),
        (7, "created_at", "createdAt", "timestamp", "", "", ()),
        (8, "abbreviation", "abbreviation", "string", "", "", ()),
        (9, "is_operational", "isOperational", "bool", "", "", ()),
        (10, "sport_id", "sportId", "int32", "", "", ()),
        (11, "tag_id", "tagId", "int32", "", "", ()),
        (12, "active_series_id", "activeSeriesId", "int32", "", "", ()),
        (13, "automatic_resolution", "automaticResolution", "bool", "optional", "", ()),
    )


class Sport(Message, kw_only=True):
    """A sport."""

    id: int = 0
    name: str = ""
    slug: str = ""
    image: str = ""
    created_at: int | None = None
    tag_id: int = 0
    default_jersey_image: str = ""
    leagues: list[League] = []  # in the list of sports only

    __full_name__ = "gateway.v1.Sport"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "slug", "slug", "string", "", "", ()),
        (4, "image", "image", "string", "", "", ()),
        (5, "created_at", "createdAt", "timestamp", "", "", ()),
        (6, "tag_id", "tagId", "int32", "", "", ()),
        (7, "default_jersey_image", "defaultJerseyImage", "string", "", "", (("omit_empty", True),)),
        (8, "leagues", "leagues", "message", "repeated", "gateway.v1.League", (("omit_empty", True),)),
    )


class Tag(Message, kw_only=True):
    """A label that groups events and markets."""

    id: str = ""
    label: str = ""
    slug: str = ""
    created_at: int | None = None
    updated_at: int | None = None
    image: str = ""
    tradable: bool = False
    parent_id: int = 0
    league: League | None = None
    sport: Sport | None = None
    subtags: list[Tag] = []
    hub: dict[str, Any] | None = None

    __full_name__ = "gateway.v1.Tag"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "label", "label", "string", "", "", ()),
        (3, "slug", "slug", "string", "", "", ()),
        (4, "created_at", "createdAt", "timestamp", "", "", ()),
        (5, "updated_at", "updatedAt", "timestamp", "", "", ()),
        (6, "image", "image", "string", "", "", ()),
        (7, "tradable", "tradable", "bool", "", "", ()),
        (8, "parent_id", "parentId", "int32", "", "", ()),
        (9, "league", "league", "message", "", "gateway.v1.League", ()),
        (10, "sport", "sport", "message", "", "gateway.v1.Sport", ()),
        (11, "subtags", "subtags", "message", "repeated", "gateway.v1.Tag", ()),
        (12, "hub", "hub", "struct", "", "", (("omit_empty", True),)),
    )


class TeamProvider(Message, kw_only=True):
    """The id of a team at one vendor."""

    provider: int = 0
    provider_id: str = ""

    __full_name__ = "gateway.v1.TeamProvider"
    __wire__ = (
        (1, "provider", "provider", "enum", "", "gateway.v1.Provider", ()),
        (2, "provider_id", "providerId", "string", "", "", ()),
    )


class ResolvedColor(Message, kw_only=True):
    """Colours for light and dark screens."""

    light: str = ""
    dark: str = ""

    __full_name__ = "gateway.v1.ResolvedColor"
    __wire__ = (
        (1, "light", "light", "string", "", "", ()),
        (2, "dark", "dark", "string", "", "", ()),
    )


class Team(Message, kw_only=True):
    """A team or a single competitor."""

    id: int = 0
    name: str = ""
    abbreviation: str = ""
    league: str = ""  # slug
    record: str = ""
    logo: str = ""
    alias: str = ""
    safe_name: str = ""
    home_icon: str = ""
    away_icon: str = ""
    color_primary: str = ""
    provider_id: int = 0
    ordering: str = ""
    long_icon: str = ""
    short_icon: str = ""
    display_abbreviation: str = ""
    ranking: str = ""
    conference: str = ""
    provider_ids: list[TeamProvider] = []
    long_icon_dark: str = ""
    short_icon_dark: str = ""
    color: ResolvedColor | None = None
    image_display_type: int = 0

    __full_name__ = "gateway.v1.Team"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "abbreviation", "abbreviation", "string", "", "", ()),
        (4, "league", "league", "string", "", "", ()),
        (5, "record", "record", "string", "", "", ()),
        (6, "logo", "logo", "string", "", "", ()),
        (7, "alias", "alias", "string", "", "", ()),
        (8, "safe_name", "safeName", "string", "", "", ()),
        (9, "home_icon", "homeIcon", "string", "", "", ()),
        (10, "away_icon", "awayIcon", "string", "", "", ()),
        (11, "color_primary", "colorPrimary", "string", "", "", ()),
        (12, "provider_id", "providerId", "int32", "", "", ()),
        (13, "ordering", "ordering", "string", "", "", ()),
        (14, "long_icon", "longIcon", "string", "", "", ()),
        (15, "short_icon", "shortIcon", "string", "", "", ()),
        (16, "display_abbreviation", "displayAbbreviation", "string", "", "", ()),
        (17, "ranking", "ranking", "string", "", "", ()),
        (18, "conference", "conference", "string", "", "", ()),
        (19, "provider_ids", "providerIds", "message", "repeated", "gateway.v1.TeamProvider", ()),
        (20, "long_icon_dark", "longIconDark", "string", "", "", ()),
        (21, "short_icon_dark", "shortIconDark", "string", "", "", ()),
        (22, "color", "color", "message", "", "gateway.v1.ResolvedColor", ()),
        (23, "image_display_type", "imageDisplayType", "enum", "", "gateway.v1.ImageDisplayType", (("omit_empty", True),)),
    )


class Quote(Message, kw_only=True):
    """A price in reference data: a number (§2.10). Recordings show text with four decimals (assumption markets.quote_value)."""

    value: float = 0.0
    currency: str = ""

    __full_name__ = "gateway.v1.Quote"
    __wire__ = (
        (1, "value", "value", "double", "", "", (("text_by", "markets.quote_value"),)),
        (2, "currency", "currency", "string", "", "", ()),
    )


class MarketSide(Message, kw_only=True):
    """One outcome of a market."""

    id: str = ""
    identifier: str = ""  # slug of the instrument
    created_at: int | None = None
    updated_at: int | None = None
    description: str = ""
    price: str = ""  # decimal, not padded
    market_side_type: int = 0
    market_id: int = 0
    team_id: int = 0
    long: bool = False
    tradable: bool = False
    team: Team | None = None
    quote: Quote | None = None
    participant_id: str = ""

    __full_name__ = "gateway.v1.MarketSide"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "identifier", "identifier", "string", "", "", ()),
        (3, "created_at", "createdAt", "timestamp", "", "", ()),
        (4, "updated_at", "updatedAt", "timestamp", "", "", ()),
        (5, "description", "description", "string", "", "", ()),
        (6, "price", "price", "string", "", "", ()),
        (7, "market_side_type", "marketSideType", "enum", "", "gateway.v1.MarketSideType", ()),
        (8, "market_id", "marketId", "int64", "", "", (("number", True),)),
        (9, "team_id", "teamId", "int32", "", "", ()),
        (10, "long", "long", "bool", "", "", ()),
        (11, "tradable", "tradable", "bool", "", "", ()),
        (12, "team", "team", "message", "", "gateway.v1.Team", ()),
        (13, "quote", "quote", "message", "", "gateway.v1.Quote", ()),
        (14, "participant_id", "participantId", "string", "", "", (("until", 1782705600000000000),)),
    )


class Market(Message, kw_only=True):
    """A market: one instrument with two sides."""

    id: str = ""
    question: str = ""
    slug: str = ""
    end_date: int | None = None
    start_date: int | None = None
    category: str = ""
    image: str = ""
    description: str = ""
    market_type: str = ""
    created_at: int | None = None
    updated_at: int | None = None
    game_start_time: int | None = None
    sports_market_type: str = ""  # an open set: baseball_team_total_runs, tennis_match_winner, …
    sports_market_type_v2: str = ""
    outcomes: str = ""  # a JSON array as text
    outcome_prices: str = ""  # a JSON array as text
    title: str = ""
    subtitle: str = ""
    title_short: str = ""
    color: str = ""
    dark_color: str = ""
    spread_total_suffix: str = ""
    rules_disclaimer: str = ""
    exchange_status: str = ""
    exchange_synced_at: int | None = None
    active: bool = False
    closed: bool = False
    archived: bool = False
    manual_activation: bool = False
    hidden: bool = False
    rules_disclaimer_popup: bool = False
    combo_enabled: bool = False
    order_price_min_tick_size: float = 0.0  # dollars
    minimum_trade_qty: float = 0.0  # contracts
    line: float | None = None  # absent where there is none; 0 is a line
    subject_id: int = 0
    fee_coefficient: float = 0.0
    sort_order: int = 0
    volume: float = 0.0
    volume_24hr: float = 0.0
    volume_1wk: float = 0.0
    volume_1mo: float = 0.0
    volume_1yr: float = 0.0
    market_sides: list[MarketSide] = []
    tags: list[Tag] = []
    subject: Subject | None = None
    best_bid_quote: Quote | None = None  # null while that side is empty
    best_ask_quote: Quote | None = None  # null while that side is empty
    metadata: dict[str, Any] | None = None
    status: int = 0
    image_display_type: int = 0
    asset_price_terms: AssetPriceTerms | None = None

    __full_name__ = "gateway.v1.Market"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "question", "question", "string", "", "", ()),
        (3, "slug", "slug", "string", "", "", ()),
        (4, "end_date", "endDate", "timestamp", "", "", ()),
        (5, "start_date", "startDate", "timestamp", "", "", ()),
        (6, "category", "category", "string", "", "", ()),
        (7, "image", "image", "string", "", "", ()),
        (8, "description", "description", "string", "", "", ()),
        (9, "market_type", "marketType", "string", "", "", (("until", 1782705600000000000), ("kept_by", "markets.deprecated_fields"),)),
        (10, "created_at", "createdAt", "timestamp", "", "", ()),
        (11, "updated_at", "updatedAt", "timestamp", "", "", ()),
        (12, "game_start_time", "gameStartTime", "timestamp", "", "", (("until", 1782705600000000000), ("kept_by", "markets.deprecated_fields"),)),
        (13, "sports_market_type", "sportsMarketType", "string", "", "", ()),
        (14, "sports_market_type_v2", "sportsMarketTypeV2", "string", "", "", (("until", 1782705600000000000), ("kept_by", "markets.deprecated_fields"),)),
        (15, "outcomes", "outcomes", "string", "", "", (("until", 1782705600000000000), ("kept_by", "markets.deprecated_fields"),)),
        (16, "outcome_prices", "outcomePrices", "string", "", "", (("until", 1782705600000000000), ("kept_by", "markets.deprecated_fields"),)),
        (17, "title", "title", "string", "", "", ()),
        (18, "subtitle", "subtitle", "string", "", "", ()),
        (19, "title_short", "titleShort", "string", "", "", ()),
        (20, "color", "color", "string", "", "", ()),
        (21, "dark_color", "darkColor", "string", "", "", ()),
        (22, "spread_total_suffix", "spreadTotalSuffix", "string", "", "", ()),
        (23, "rules_disclaimer", "rulesDisclaimer", "string", "", "", ()),
        (24, "exchange_status", "exchangeStatus", "string", "", "", (("vendor_json", "ep3Status"),)),
        (25, "exchange_synced_at", "exchangeSyncedAt", "timestamp", "", "", (("vendor_json", "ep3SyncedAt"),)),
        (26, "active", "active", "bool", "", "", ()),
        (27, "closed", "closed", "bool", "", "", ()),
        (28, "archived", "archived", "bool", "", "", (("until", 1782705600000000000), ("kept_by", "markets.deprecated_fields"),)),
        (29, "manual_activation", "manualActivation", "bool", "", "", (("until", 1782705600000000000), ("kept_by", "markets.deprecated_fields"),)),
        (30, "hidden", "hidden", "bool", "", "", ()),
        (31, "rules_disclaimer_popup", "rulesDisclaimerPopup", "bool", "", "", ()),
        (32, "combo_enabled", "comboEnabled", "bool", "", "", ()),
        (33, "order_price_min_tick_size", "orderPriceMinTickSize", "double", "", "", ()),
        (34, "minimum_trade_qty", "minimumTradeQty", "double", "", "", ()),
        (35, "line", "line", "double", "optional", "", ()),
        (36, "subject_id", "subjectId", "int32", "", "", (("until", 1782705600000000000),)),
        (37, "fee_coefficient", "feeCoefficient", "double", "", "", ()),
        (38, "sort_order", "sortOrder", "int32", "", "", ()),
        (39, "volume", "volume", "double", "", "", ()),
        (40, "volume_24hr", "volume24hr", "double", "", "", ()),
        (41, "volume_1wk", "volume1wk", "double", "", "", ()),
        (42, "volume_1mo", "volume1mo", "double", "", "", ()),
        (43, "volume_1yr", "volume1yr", "double", "", "", ()),
        (44, "market_sides", "marketSides", "message", "repeated", "gateway.v1.MarketSide", ()),
        (45, "tags", "tags", "message", "repeated", "gateway.v1.Tag", ()),
        (46, "subject", "subject", "message", "", "gateway.v1.Subject", (("until", 1782705600000000000),)),
        (47, "best_bid_quote", "bestBidQuote", "message", "", "gateway.v1.Quote", ()),
        (48, "best_ask_quote", "bestAskQuote", "message", "", "gateway.v1.Quote", ()),
        (49, "metadata", "metadata", "struct", "", "", ()),
        (50, "status", "status", "enum", "", "gateway.v1.MarketStatus", (("omit_empty", True),)),
        (51, "image_display_type", "imageDisplayType", "enum", "", "gateway.v1.ImageDisplayType", (("omit_empty", True),)),
        (52, "asset_price_terms", "assetPriceTerms", "message", "", "gateway.v1.AssetPriceTerms", (("omit_empty", True),)),
    )


class EventParticipant(Message, kw_only=True):
    """Who takes part in an event. Deprecated: see teams."""

    id: str = ""
    name: str = ""
    team: Team | None = None

    __full_name__ = "gateway.v1.EventParticipant"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "team", "team", "message", "", "gateway.v1.Team", ()),
    )


class EventSeries(Message, kw_only=True):
    """The series an event belongs to."""

    id: int = 0
    slug: str = ""
    title: str = ""

    __full_name__ = "gateway.v1.EventSeries"
    __wire__ = (
        (1, "id", "id", "int64", "", "", (("number", True),)),
        (2, "slug", "slug", "string", "", "", ()),
        (3, "title", "title", "string", "", "", ()),
    )


class FeatureAvailability(Message, kw_only=True):
    """What an event can show besides its markets."""

    lineups: bool = False
    timeline: bool = False
    stats: bool = False

    __full_name__ = "gateway.v1.FeatureAvailability"
    __wire__ = (
        (1, "lineups", "lineups", "bool", "", "", ()),
        (2, "timeline", "timeline", "bool", "", "", ()),
        (3, "stats", "stats", "bool", "", "", ()),
    )


class EventCombos(Message, kw_only=True):
    """Whether an event's markets can be combined."""

    enabled: bool = False
    num_markets: int = 0
    num_spreads_and_totals_markets: int = 0

    __full_name__ = "gateway.v1.EventCombos"
    __wire__ = (
        (1, "enabled", "enabled", "bool", "", "", ()),
        (2, "num_markets", "numMarkets", "int32", "", "", ()),
        (3, "num_spreads_and_totals_markets", "numSpreadsAndTotalsMarkets", "int32", "", "", ()),
    )


class PeriodScore(Message, kw_only=True):
    """Score of one period."""

    type: int = 0
    number: int = 0
    score: str = ""

    __full_name__ = "gateway.v1.PeriodScore"
    __wire__ = (
        (1, "type", "type", "enum", "", "gateway.v1.PeriodScore.Type", ()),
        (2, "number", "number", "int32", "", "", ()),
        (3, "score", "score", "string", "", "", ()),
    )


class EventState(Message, kw_only=True):
    """How a game stands; at most one of the sports is there."""

    id: str = ""
    event_id: str = ""
    game_id: str = ""
    type: str = ""
    score: str = ""
    elapsed: str = ""
    period: str = ""
    live: bool = False
    ended: bool = False
    football_state: dict[str, Any] | None = None
    soccer_state: dict[str, Any] | None = None
    tennis_state: dict[str, Any] | None = None
    baseball_state: dict[str, Any] | None = None
    cricket_state: dict[str, Any] | None = None
    ufc_state: dict[str, Any] | None = None
    main_spread_line: float | None = None
    main_total_line: float | None = None
    market_group_stats: dict[str, Any] | None = None
    period_scores: list[PeriodScore] = []

    __full_name__ = "gateway.v1.EventState"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "event_id", "eventId", "string", "", "", ()),
        (3, "game_id", "gameId", "string", "", "", ()),
        (4, "type", "type", "string", "", "", ()),
        (5, "score", "score", "string", "", "", ()),
        (6, "elapsed", "elapsed", "string", "", "", ()),
        (7, "period", "period", "string", "", "", ()),
        (8, "live", "live", "bool", "", "", ()),
        (9, "ended", "ended", "bool", "", "", ()),
        (10, "football_state", "footballState", "struct", "", "", (("omit_empty", True),)),
        (11, "soccer_state", "soccerState", "struct", "", "", (("omit_empty", True),)),
        (12, "tennis_state", "tennisState", "struct", "", "", (("omit_empty", True),)),
        (13, "baseball_state", "baseballState", "struct", "", "", (("omit_empty", True),)),
        (14, "cricket_state", "cricketState", "struct", "", "", (("omit_empty", True),)),
        (15, "ufc_state", "ufcState", "struct", "", "", (("omit_empty", True),)),
        (16, "main_spread_line", "mainSpreadLine", "double", "optional", "", ()),
        (17, "main_total_line", "mainTotalLine", "double", "optional", "", ()),
        (18, "market_group_stats", "marketGroupStats", "struct", "", "", (("omit_empty", True),)),
        (19, "period_scores", "periodScores", "message", "repeated", "gateway.v1.PeriodScore", ()),
    )


class Event(Message, kw_only=True):
    """Something that happens, and the markets on it."""

    id: int = 0
    slug: str = ""
    title: str = ""
    description: str = ""
    category: str = ""  # slug
    active: bool = False  # open for trading
    closed: bool = False
    markets: list[Market] = []
    game_id: str = ""
    live: bool = False
    ended: bool = False
    score: dict[str, Any] | None = None
    period: str = ""  # "NS" before the game
    participants: list[EventParticipant] = []
    teams: list[Team] = []
    ticker: str = ""
    subtitle: str = ""
    resolution_source: str = ""
    start_date: int | None = None
    end_date: int | None = None
    creation_date: int | None = None
    start_time: int | None = None
    closed_time: int | None = None
    event_date: str = ""  # YYYY-MM-DD
    created_at: int | None = None
    updated_at: int | None = None
    image: str = ""
    archived: bool = False
    featured: bool = False
    liquidity: float = 0.0  # dollars
    volume: float = 0.0  # dollars
    open_interest: float = 0.0
    volume_24hr: float = 0.0
    volume_1wk: float = 0.0
    volume_1mo: float = 0.0
    volume_1yr: float = 0.0
    subcategory: str = ""
    series_slug: str = ""
    series: EventSeries | None = None
    elapsed: str = ""
    finished_timestamp: int | None = None
    featured_order: int = 0
    hidden: bool = False
    tags: list[Tag] = []
    primary_tag: Tag | None = None
    secondary_tag: Tag | None = None
    rescheduled_from_game_id: str = ""
    sportradar_game_id: str = ""
    sort_type: str = ""
    market_groups: list[dict[str, Any]] = []  # empty unless asked for
    livestream_url: str = ""
    stream_provider: str = ""
    stream_requires_auth: bool = False
    feature_availability: FeatureAvailability | None = None
    combos: EventCombos | None = None
    market_counts: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None  # gameState, latestGameUpdate
    event_state: EventState | None = None
    image_display_type: int = 0

    __full_name__ = "gateway.v1.Event"
    __wire__ = (
        (1, "id", "id", "int64", "", "", (("number", True), ("text_by", "events.id"),)),
        (2, "slug", "slug", "string", "", "", ()),
        (3, "title", "title", "string", "", "", ()),
        (4, "description", "description", "string", "", "", ()),
        (5, "category", "category", "string", "", "", ()),
        (6, "active", "active", "bool", "", "", ()),
        (7, "closed", "closed", "bool", "", "", ()),
        (8, "markets", "markets", "message", "repeated", "gateway.v1.Market", ()),
        (9, "game_id", "gameId", "string", "", "", ()),
        (10, "live", "live", "bool", "", "", ()),
        (11, "ended", "ended", "bool", "", "", ()),
        (12, "score", "score", "struct", "", "", ()),
        (13, "period", "period", "string", "", "", ()),
        (14, "participants", "participants", "message", "repeated", "gateway.v1.EventParticipant", (("until", 1782705600000000000), ("kept_by", "events.deprecated_fields"),)),
        (15, "teams", "teams", "message", "repeated", "gateway.v1.Team", ()),
        (16, "ticker", "ticker", "string", "", "", ()),
        (17, "subtitle", "subtitle", "string", "", "", ()),
        (18, "resolution_source", "resolutionSource", "string", "", "", ()),
        (19, "start_date", "startDate", "timestamp", "", "", ()),
        (20, "end_date", "endDate", "timestamp", "", "", ()),
        (21, "creation_date", "creationDate", "timestamp", "", "", ()),
        (22, "start_time", "startTime", "timestamp", "", "", ()),
        (23, "closed_time", "closedTime", "timestamp", "", "", ()),
        (24, "event_date", "eventDate", "string", "", "", ()),
        (25, "created_at", "createdAt", "timestamp", "", "", ()),
        (26, "updated_at", "updatedAt", "timestamp", "", "", ()),
        (27, "image", "image", "string", "", "", ()),
        (28, "archived", "archived", "bool", "", "", (("until", 1782705600000000000), ("kept_by", "events.deprecated_fields"),)),
        (29, "featured", "featured", "bool", "", "", ()),
        (30, "liquidity", "liquidity", "double", "", "", ()),
        (31, "volume", "volume", "double", "", "", ()),
        (32, "open_interest", "openInterest", "double", "", "", ()),
        (33, "volume_24hr", "volume24hr", "double", "", "", ()),
        (34, "volume_1wk", "volume1wk", "double", "", "", ()),
        (35, "volume_1mo", "volume1mo", "double", "", "", ()),
        (36, "volume_1yr", "volume1yr", "double", "", "", ()),
        (37, "subcategory", "subcategory", "string", "", "", ()),
        (38, "series_slug", "seriesSlug", "string", "", "", ()),
        (39, "series", "series", "message", "", "gateway.v1.EventSeries", (("omit_empty", True),)),
        (40, "elapsed", "elapsed", "string", "", "", ()),
        (41, "finished_timestamp", "finishedTimestamp", "timestamp", "", "", ()),
        (42, "featured_order", "featuredOrder", "int32", "", "", ()),
        (43, "hidden", "hidden", "bool", "", "", ()),
        (44, "tags", "tags", "message", "repeated", "gateway.v1.Tag", ()),
        (45, "primary_tag", "primaryTag", "message", "", "gateway.v1.Tag", ()),
        (46, "secondary_tag", "secondaryTag", "message", "", "gateway.v1.Tag", ()),
        (47, "rescheduled_from_game_id", "rescheduledFromGameId", "string", "", "", ()),
        (48, "sportradar_game_id", "sportradarGameId", "string", "", "", ()),
        (49, "sort_type", "sortType", "string", "", "", ()),
        (50, "market_groups", "marketGroups", "struct", "repeated", "", ()),
        (51, "livestream_url", "livestreamUrl", "string", "", "", ()),
        (52, "stream_provider", "streamProvider", "string", "", "", ()),
        (53, "stream_requires_auth", "streamRequiresAuth", "bool", "", "", ()),
        (54, "feature_availability", "featureAvailability", "message", "", "gateway.v1.FeatureAvailability", (("omit_empty", True),)),
        (55, "combos", "combos", "message", "", "gateway.v1.EventCombos", ()),
        (56, "market_counts", "marketCounts", "struct", "", "", (("omit_empty", True),)),
        (57, "metadata", "metadata", "struct", "", "", (("omit_empty", True),)),
        (58, "event_state", "eventState", "message", "", "gateway.v1.EventState", (("omit_empty", True),)),
        (59, "image_display_type", "imageDisplayType", "enum", "", "gateway.v1.ImageDisplayType", ()),
    )


class ListEventsRequest(Message, kw_only=True):
    """Filters of a list of events; one that is left out filters nothing."""

    limit: int = 0  # 0 = 100
    offset: int = 0
    active: bool | None = None
    closed: bool | None = None
    archived: bool | None = None
    featured: bool | None = None
    categories: list[str] = []  # slugs
    series_id: list[int] = []
    live: bool | None = None
    ended: bool | None = None
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc
    id: list[int] = []
    slug: list[str] = []
    liquidity_min: float | None = None
    liquidity_max: float | None = None
    volume_min: float | None = None
    volume_max: float | None = None
    start_date_min: int | None = None
    start_date_max: int | None = None
    end_date_min: int | None = None
    end_date_max: int | None = None
    start_time_min: int | None = None
    start_time_max: int | None = None
    finished_timestamp_min: int | None = None
    finished_timestamp_max: int | None = None
    related_tags: bool = False
    tag_id: int = 0
    tag_slug: str = ""
    tag_ids: list[int] = []
    tag_slugs_all: list[str] = []
    exclude_tag_id: list[int] = []
    exclude_series_id: list[int] = []
    exclude_event_id: list[int] = []
    user_id: str = ""
    event_date: str = ""  # YYYY-MM-DD
    event_week: int | None = None
    featured_order: bool = False
    include_template: bool = False  # accepted; what it adds is published nowhere
    recurrence: str = ""
    game_id: str = ""
    rescheduled_from_game_id: str = ""
    sportradar_game_id: str = ""
    period: str = ""
    resolution: str = ""  # accepted; what it compares is published nowhere
    market_types: list[str] = []
    sports_market_types: list[str] = []  # as in ListMarkets
    include_hidden: bool = False
    include_combo_market_counts: bool = False
    include_popular_player_props: bool = False  # accepted; what it adds is published nowhere
    team_id: int = 0

    __full_name__ = "gateway.v1.ListEventsRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
        (3, "active", "active", "bool", "optional", "", ()),
        (4, "closed", "closed", "bool", "optional", "", ()),
        (5, "archived", "archived", "bool", "optional", "", ()),
        (6, "featured", "featured", "bool", "optional", "", ()),
        (7, "categories", "categories", "string", "repeated", "", ()),
        (8, "series_id", "seriesId", "int64", "repeated", "", ()),
        (9, "live", "live", "bool", "optional", "", ()),
        (10, "ended", "ended", "bool", "optional", "", ()),
        (11, "order_by", "orderBy", "string", "repeated", "", ()),
        (12, "order_direction", "orderDirection", "string", "", "", ()),
        (13, "id", "id", "int64", "repeated", "", ()),
        (14, "slug", "slug", "string", "repeated", "", ()),
        (15, "liquidity_min", "liquidityMin", "double", "optional", "", ()),
        (16, "liquidity_max", "liquidityMax", "double", "optional", "", ()),
        (17, "volume_min", "volumeMin", "double", "optional", "", ()),
        (18, "volume_max", "volumeMax", "double", "optional", "", ()),
        (19, "start_date_min", "startDateMin", "timestamp", "", "", ()),
        (20, "start_date_max", "startDateMax", "timestamp", "", "", ()),
        (21, "end_date_min", "endDateMin", "timestamp", "", "", ()),
        (22, "end_date_max", "endDateMax", "timestamp", "", "", ()),
        (23, "start_time_min", "startTimeMin", "timestamp", "", "", ()),
        (24, "start_time_max", "startTimeMax", "timestamp", "", "", ()),
        (25, "finished_timestamp_min", "finishedTimestampMin", "timestamp", "", "", ()),
        (26, "finished_timestamp_max", "finishedTimestampMax", "timestamp", "", "", ()),
        (27, "related_tags", "relatedTags", "bool", "", "", ()),
        (28, "tag_id", "tagId", "int64", "", "", ()),
        (29, "tag_slug", "tagSlug", "string", "", "", ()),
        (30, "tag_ids", "tagIds", "int64", "repeated", "", ()),
        (31, "tag_slugs_all", "tagSlugsAll", "string", "repeated", "", ()),
        (32, "exclude_tag_id", "excludeTagId", "int64", "repeated", "", ()),
        (33, "exclude_series_id", "excludeSeriesId", "int64", "repeated", "", ()),
        (34, "exclude_event_id", "excludeEventId", "int64", "repeated", "", ()),
        (35, "user_id", "userId", "string", "", "", ()),
        (36, "event_date", "eventDate", "string", "", "", ()),
        (37, "event_week", "eventWeek", "int32", "optional", "", ()),
        (38, "featured_order", "featuredOrder", "bool", "", "", ()),
        (39, "include_template", "includeTemplate", "bool", "", "", ()),
        (40, "recurrence", "recurrence", "string", "", "", ()),
        (41, "game_id", "gameId", "string", "", "", ()),
        (42, "rescheduled_from_game_id", "rescheduledFromGameId", "string", "", "", ()),
        (43, "sportradar_game_id", "sportradarGameId", "string", "", "", ()),
        (44, "period", "period", "string", "", "", ()),
        (45, "resolution", "resolution", "string", "", "", ()),
        (46, "market_types", "marketTypes", "string", "repeated", "", ()),
        (47, "sports_market_types", "sportsMarketTypes", "string", "repeated", "", ()),
        (48, "include_hidden", "includeHidden", "bool", "", "", ()),
        (49, "include_combo_market_counts", "includeComboMarketCounts", "bool", "", "", ()),
        (50, "include_popular_player_props", "includePopularPlayerProps", "bool", "", "", ()),
        (51, "team_id", "teamId", "int64", "", "", ()),
    )


class ListEventsResponse(Message, kw_only=True):
    events: list[Event] = []

    __full_name__ = "gateway.v1.ListEventsResponse"
    __wire__ = (
        (1, "events", "events", "message", "repeated", "gateway.v1.Event", ()),
    )


class GetEventRequest(Message, kw_only=True):
    id: int = 0
    groups: bool = False  # with market groups
    combo_enabled_only: bool = False
    include_popular_player_props: bool = False  # accepted; what it adds is published nowhere

    __full_name__ = "gateway.v1.GetEventRequest"
    __wire__ = (
        (1, "id", "id", "int64", "", "", ()),
        (2, "groups", "groups", "bool", "", "", ()),
        (3, "combo_enabled_only", "comboEnabledOnly", "bool", "", "", ()),
        (4, "include_popular_player_props", "includePopularPlayerProps", "bool", "", "", ()),
    )


class GetEventBySlugRequest(Message, kw_only=True):
    slug: str = ""
    groups: bool = False  # with market groups
    combo_enabled_only: bool = False
    include_popular_player_props: bool = False  # accepted; what it adds is published nowhere

    __full_name__ = "gateway.v1.GetEventBySlugRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "groups", "groups", "bool", "", "", ()),
        (3, "combo_enabled_only", "comboEnabledOnly", "bool", "", "", ()),
        (4, "include_popular_player_props", "includePopularPlayerProps", "bool", "", "", ()),
    )


class GetEventResponse(Message, kw_only=True):
    event: Event | None = None

    __full_name__ = "gateway.v1.GetEventResponse"
    __wire__ = (
        (1, "event", "event", "message", "", "gateway.v1.Event", ()),
    )


class GetGatewayHealthRequest(Message, kw_only=True):
    __full_name__ = "gateway.v1.GetGatewayHealthRequest"


class GetGatewayHealthResponse(Message, kw_only=True):
    status: str = ""

    __full_name__ = "gateway.v1.GetGatewayHealthResponse"
    __wire__ = (
        (1, "status", "status", "string", "", "", ()),
    )


class ListLeaguesRequest(Message, kw_only=True):
    limit: int = 0  # 0 = 50; at most 50
    offset: int = 0

    __full_name__ = "gateway.v1.ListLeaguesRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
    )


class ListLeaguesResponse(Message, kw_only=True):
    leagues: list[League] = []

    __full_name__ = "gateway.v1.ListLeaguesResponse"
    __wire__ = (
        (1, "leagues", "leagues", "message", "repeated", "gateway.v1.League", ()),
    )


class GetLeagueRequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "gateway.v1.GetLeagueRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetLeagueResponse(Message, kw_only=True):
    league: League | None = None

    __full_name__ = "gateway.v1.GetLeagueResponse"
    __wire__ = (
        (1, "league", "league", "message", "", "gateway.v1.League", ()),
    )


class ListLeagueEventsRequest(Message, kw_only=True):
    slug: str = ""
    limit: int = 0
    offset: int = 0
    exclude_event_id: list[int] = []
    type: str = ""  # sport, futures
    section: str = ""  # general, trending

    __full_name__ = "gateway.v1.ListLeagueEventsRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "limit", "limit", "int32", "", "", ()),
        (3, "offset", "offset", "int32", "", "", ()),
        (4, "exclude_event_id", "excludeEventId", "int64", "repeated", "", ()),
        (5, "type", "type", "string", "", "", ()),
        (6, "section", "section", "string", "", "", ()),
    )


class ListLeagueEventsResponse(Message, kw_only=True):
    type: str = ""
    type_title: str = ""
    section: str = ""
    section_title: str = ""
    events: list[Event] = []
    league: League | None = None

    __full_name__ = "gateway.v1.ListLeagueEventsResponse"
    __wire__ = (
        (1, "type", "type", "string", "", "", ()),
        (2, "type_title", "typeTitle", "string", "", "", ()),
        (3, "section", "section", "string", "", "", ()),
        (4, "section_title", "sectionTitle", "string", "", "", ()),
        (5, "events", "events", "message", "repeated", "gateway.v1.Event", ()),
        (6, "league", "league", "message", "", "gateway.v1.League", ()),
    )


class ListMarketsRequest(Message, kw_only=True):
    """Filters of a list of markets; one that is left out filters nothing."""

    limit: int = 0
    offset: int = 0
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc; empty = desc
    id: list[int] = []
    slug: list[str] = []
    event_slug: list[str] = []
    archived: bool | None = None
    active: bool | None = None
    closed: bool | None = None
    volume_num_min: float | None = None
    volume_num_max: float | None = None
    volume_min: float | None = None
    volume_max: float | None = None
    liquidity_num_min: float | None = None
    liquidity_num_max: float | None = None
    liquidity_min: float | None = None
    liquidity_max: float | None = None
    start_date_min: int | None = None
    start_date_max: int | None = None
    end_date_min: int | None = None
    end_date_max: int | None = None
    related_tags: bool = False  # markets of the tags below those asked for, too
    game_id: str = ""
    # sportsMarketType, or its former name SPORTS_MARKET_TYPE_<NAME>
    sports_market_types: list[str] = []
    include_tag: bool | None = None  # false leaves the tags of markets out
    categories: list[str] = []
    market_types: list[str] = []
    include_hidden: bool = False
    tag_ids: list[int] = []
    tag_id: int = 0
    cyom: bool | None = None
    question_ids: list[str] = []
    # least target size of a liquidity program that is active on the market
    rewards_min_size: float | None = None

    __full_name__ = "gateway.v1.ListMarketsRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
        (3, "order_by", "orderBy", "string", "repeated", "", ()),
        (4, "order_direction", "orderDirection", "string", "", "", ()),
        (5, "id", "id", "int64", "repeated", "", ()),
        (6, "slug", "slug", "string", "repeated", "", ()),
        (7, "event_slug", "eventSlug", "string", "repeated", "", ()),
        (8, "archived", "archived", "bool", "optional", "", ()),
        (9, "active", "active", "bool", "optional", "", ()),
        (10, "closed", "closed", "bool", "optional", "", ()),
        (11, "volume_num_min", "volumeNumMin", "double", "optional", "", ()),
        (12, "volume_num_max", "volumeNumMax", "double", "optional", "", ()),
        (13, "volume_min", "volumeMin", "double", "optional", "", ()),
        (14, "volume_max", "volumeMax", "double", "optional", "", ()),
        (15, "liquidity_num_min", "liquidityNumMin", "double", "optional", "", ()),
        (16, "liquidity_num_max", "liquidityNumMax", "double", "optional", "", ()),
        (17, "liquidity_min", "liquidityMin", "double", "optional", "", ()),
        (18, "liquidity_max", "liquidityMax", "double", "optional", "", ()),
        (19, "start_date_min", "startDateMin", "timestamp", "", "", ()),
        (20, "start_date_max", "startDateMax", "timestamp", "", "", ()),
        (21, "end_date_min", "endDateMin", "timestamp", "", "", ()),
        (22, "end_date_max", "endDateMax", "timestamp", "", "", ()),
        (23, "related_tags", "relatedTags", "bool", "", "", ()),
        (24, "game_id", "gameId", "string", "", "", ()),
        (25, "sports_market_types", "sportsMarketTypes", "string", "repeated", "", ()),
        (26, "include_tag", "includeTag", "bool", "optional", "", ()),
        (27, "categories", "categories", "string", "repeated", "", ()),
        (28, "market_types", "marketTypes", "string", "repeated", "", ()),
        (29, "include_hidden", "includeHidden", "bool", "", "", ()),
        (30, "tag_ids", "tagIds", "int64", "repeated", "", ()),
        (31, "tag_id", "tagId", "int64", "", "", ()),
        (32, "cyom", "cyom", "bool", "optional", "", ()),
        (33, "question_ids", "questionIds", "string", "repeated", "", ()),
        (34, "rewards_min_size", "rewardsMinSize", "double", "optional", "", ()),
    )


class ListMarketsResponse(Message, kw_only=True):
    markets: list[Market] = []

    __full_name__ = "gateway.v1.ListMarketsResponse"
    __wire__ = (
        (1, "markets", "markets", "message", "repeated", "gateway.v1.Market", ()),
    )


class GetMarketBySlugRequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "gateway.v1.GetMarketBySlugRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetMarketByIdRequest(Message, kw_only=True):
    id: int = 0

    __full_name__ = "gateway.v1.GetMarketByIdRequest"
    __wire__ = (
        (1, "id", "id", "int64", "", "", ()),
    )


class GetMarketResponse(Message, kw_only=True):
    market: Market | None = None

    __full_name__ = "gateway.v1.GetMarketResponse"
    __wire__ = (
        (1, "market", "market", "message", "", "gateway.v1.Market", ()),
    )


class GetMarketSettlementRequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "gateway.v1.GetMarketSettlementRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetMarketSettlementResponse(Message, kw_only=True):
    slug: str = ""
    settlement: float = 0.0  # dollars per YES contract

    __full_name__ = "gateway.v1.GetMarketSettlementResponse"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "settlement", "settlement", "double", "", "", ()),
    )


class GetPartnerEventRequest(Message, kw_only=True):
    partner_key: str = ""
    external_id: str = ""

    __full_name__ = "gateway.v1.GetPartnerEventRequest"
    __wire__ = (
        (1, "partner_key", "partnerKey", "string", "", "", ()),
        (2, "external_id", "externalId", "string", "", "", ()),
    )


class GetPartnerEventResponse(Message, kw_only=True):
    event: Event | None = None
    mapped_market_sides: list[MarketSide] = []

    __full_name__ = "gateway.v1.GetPartnerEventResponse"
    __wire__ = (
        (1, "event", "event", "message", "", "gateway.v1.Event", ()),
        (2, "mapped_market_sides", "mappedMarketSides", "message", "repeated", "gateway.v1.MarketSide", ()),
    )


class GetPriceHistoryRequest(Message, kw_only=True):
    """Either fixed_interval or timestamp."""

    symbol: str = ""
    fixed_interval: int = 0  # required unless timestamp is given
    timestamp: PriceWindow | None = None  # required unless fixed_interval is given
    fidelity: int = 0  # minutes between two points

    __full_name__ = "gateway.v1.GetPriceHistoryRequest"
    __wire__ = (
        (1, "symbol", "symbol", "string", "", "", (("required", True),)),
        (2, "fixed_interval", "fixedInterval", "enum", "", "gateway.v1.PriceInterval", ()),
        (3, "timestamp", "timestamp", "message", "", "gateway.v1.PriceWindow", ()),
        (4, "fidelity", "fidelity", "int32", "", "", (("required", True),)),
    )


class PriceWindow(Message, kw_only=True):
    """In a query: timestamp.startTimestamp=…&timestamp.endTimestamp=…"""

    start_timestamp: int = 0  # unix seconds
    end_timestamp: int = 0  # unix seconds

    __full_name__ = "gateway.v1.PriceWindow"
    __wire__ = (
        (1, "start_timestamp", "startTimestamp", "int64", "", "", ()),
        (2, "end_timestamp", "endTimestamp", "int64", "", "", ()),
    )


class GetPriceHistoryResponse(Message, kw_only=True):
    history: list[PricePoint] = []

    __full_name__ = "gateway.v1.GetPriceHistoryResponse"
    __wire__ = (
        (1, "history", "history", "message", "repeated", "gateway.v1.PricePoint", ()),
    )


class PricePoint(Message, kw_only=True):
    """Prices of both sides at one time, in dollars."""

    timestamp: int = 0  # unix seconds
    long_price: float = 0.0
    short_price: float = 0.0

    __full_name__ = "gateway.v1.PricePoint"
    __wire__ = (
        (1, "timestamp", "timestamp", "int64", "", "", (("number", True),)),
        (2, "long_price", "longPrice", "double", "", "", ()),
        (3, "short_price", "shortPrice", "double", "", "", ()),
    )


class SearchEventsRequest(Message, kw_only=True):
    query: str = ""
    limit: int = 0
    page: int = 0
    series_ids: list[int] = []
    market_type: list[str] = []
    start_time_min: int | None = None
    start_time_max: int | None = None
    closed_time_min: int | None = None
    closed_time_max: int | None = None
    status: str = ""  # active, closed, upcoming
    combo_enabled_only: bool = False

    __full_name__ = "gateway.v1.SearchEventsRequest"
    __wire__ = (
        (1, "query", "query", "string", "", "", ()),
        (2, "limit", "limit", "int32", "", "", ()),
        (3, "page", "page", "int32", "", "", ()),
        (4, "series_ids", "seriesIds", "int64", "repeated", "", ()),
        (5, "market_type", "marketType", "string", "repeated", "", ()),
        (6, "start_time_min", "startTimeMin", "timestamp", "", "", ()),
        (7, "start_time_max", "startTimeMax", "timestamp", "", "", ()),
        (8, "closed_time_min", "closedTimeMin", "timestamp", "", "", ()),
        (9, "closed_time_max", "closedTimeMax", "timestamp", "", "", ()),
        (10, "status", "status", "string", "", "", ()),
        (11, "combo_enabled_only", "comboEnabledOnly", "bool", "", "", ()),
    )


class SearchEventsResponse(Message, kw_only=True):
    events: list[Event] = []

    __full_name__ = "gateway.v1.SearchEventsResponse"
    __wire__ = (
        (1, "events", "events", "message", "repeated", "gateway.v1.Event", ()),
    )


class Series(Message, kw_only=True):
    """One series."""

    id: str = ""
    slug: str = ""
    title: str = ""
    subtitle: str = ""
    recurrence: str = ""
    image: str = ""
    active: bool = False
    created_at: int | None = None
    updated_at: int | None = None
    description: str = ""
    closed: bool = False
    archived: bool = False

    __full_name__ = "gateway.v1.Series"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "slug", "slug", "string", "", "", ()),
        (3, "title", "title", "string", "", "", ()),
        (4, "subtitle", "subtitle", "string", "", "", ()),
        (5, "recurrence", "recurrence", "string", "", "", ()),
        (6, "image", "image", "string", "", "", ()),
        (7, "active", "active", "bool", "", "", ()),
        (8, "created_at", "createdAt", "timestamp", "", "", ()),
        (9, "updated_at", "updatedAt", "timestamp", "", "", ()),
        (10, "description", "description", "string", "", "", (("omit_empty", True),)),
        (11, "closed", "closed", "bool", "", "", ()),
        (12, "archived", "archived", "bool", "", "", (("until", 1782705600000000000),)),
    )


class ListSeriesRequest(Message, kw_only=True):
    limit: int = 0
    offset: int = 0
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc
    slug: list[str] = []
    active: bool | None = None
    archived: bool | None = None
    closed: bool | None = None
    recurrence: str = ""

    __full_name__ = "gateway.v1.ListSeriesRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
        (3, "order_by", "orderBy", "string", "repeated", "", ()),
        (4, "order_direction", "orderDirection", "string", "", "", ()),
        (5, "slug", "slug", "string", "repeated", "", ()),
        (6, "active", "active", "bool", "optional", "", ()),
        (7, "archived", "archived", "bool", "optional", "", ()),
        (8, "closed", "closed", "bool", "optional", "", ()),
        (9, "recurrence", "recurrence", "string", "", "", ()),
    )


class ListSeriesResponse(Message, kw_only=True):
    series: list[Series] = []

    __full_name__ = "gateway.v1.ListSeriesResponse"
    __wire__ = (
        (1, "series", "series", "message", "repeated", "gateway.v1.Series", ()),
    )


class GetSeriesRequest(Message, kw_only=True):
    id: int = 0

    __full_name__ = "gateway.v1.GetSeriesRequest"
    __wire__ = (
        (1, "id", "id", "int64", "", "", ()),
    )


class GetSeriesResponse(Message, kw_only=True):
    series: Series | None = None

    __full_name__ = "gateway.v1.GetSeriesResponse"
    __wire__ = (
        (1, "series", "series", "message", "", "gateway.v1.Series", ()),
    )


class ListSeriesEventsRequest(Message, kw_only=True):
    series_id: int = 0
    limit: int = 0  # 0 = 100
    offset: int = 0

    __full_name__ = "gateway.v1.ListSeriesEventsRequest"
    __wire__ = (
        (1, "series_id", "seriesId", "int64", "", "", ()),
        (2, "limit", "limit", "int32", "", "", ()),
        (3, "offset", "offset", "int32", "", "", ()),
    )


class ListSportsRequest(Message, kw_only=True):
    __full_name__ = "gateway.v1.ListSportsRequest"


class ListSportsResponse(Message, kw_only=True):
    sports: list[Sport] = []

    __full_name__ = "gateway.v1.ListSportsResponse"
    __wire__ = (
        (1, "sports", "sports", "message", "repeated", "gateway.v1.Sport", ()),
    )


class GetSportRequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "gateway.v1.GetSportRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetSportResponse(Message, kw_only=True):
    sport: Sport | None = None

    __full_name__ = "gateway.v1.GetSportResponse"
    __wire__ = (
        (1, "sport", "sport", "message", "", "gateway.v1.Sport", ()),
    )


class ListSportEventsRequest(Message, kw_only=True):
    slug: str = ""
    limit: int = 0
    offset: int = 0
    exclude_event_id: list[int] = []
    type: str = ""  # sport, futures
    section: str = ""  # general, trending

    __full_name__ = "gateway.v1.ListSportEventsRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "limit", "limit", "int32", "", "", ()),
        (3, "offset", "offset", "int32", "", "", ()),
        (4, "exclude_event_id", "excludeEventId", "int64", "repeated", "", ()),
        (5, "type", "type", "string", "", "", ()),
        (6, "section", "section", "string", "", "", ()),
    )


class ListSportEventsResponse(Message, kw_only=True):
    type: str = ""
    type_title: str = ""
    section: str = ""
    section_title: str = ""
    events: list[Event] = []
    sport: Sport | None = None

    __full_name__ = "gateway.v1.ListSportEventsResponse"
    __wire__ = (
        (1, "type", "type", "string", "", "", ()),
        (2, "type_title", "typeTitle", "string", "", "", ()),
        (3, "section", "section", "string", "", "", ()),
        (4, "section_title", "sectionTitle", "string", "", "", ()),
        (5, "events", "events", "message", "repeated", "gateway.v1.Event", ()),
        (6, "sport", "sport", "message", "", "gateway.v1.Sport", ()),
    )


class ListSportListingsRequest(Message, kw_only=True):
    __full_name__ = "gateway.v1.ListSportListingsRequest"


class ListSportListingsResponse(Message, kw_only=True):
    sports: list[SportListing] = []

    __full_name__ = "gateway.v1.ListSportListingsResponse"
    __wire__ = (
        (1, "sports", "sports", "message", "repeated", "gateway.v1.SportListing", ()),
    )


class SportListing(Message, kw_only=True):
    """A sport in its older form; id, name, slug and leagues are what the public client reads."""

    id: str = ""
    name: str = ""
    slug: str = ""
    leagues: list[LeagueListing] = []
    sport: str = ""
    image: str = ""
    resolution: str = ""
    ordering: str = ""
    tags: str = ""  # ids, separated by commas
    series: str = ""  # id
    is_operational: bool = False
    automatic_resolution: bool = False
    default_jersey_image: str = ""

    __full_name__ = "gateway.v1.SportListing"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "slug", "slug", "string", "", "", ()),
        (4, "leagues", "leagues", "message", "repeated", "gateway.v1.LeagueListing", ()),
        (5, "sport", "sport", "string", "", "", ()),
        (6, "image", "image", "string", "", "", ()),
        (7, "resolution", "resolution", "string", "", "", ()),
        (8, "ordering", "ordering", "string", "", "", ()),
        (9, "tags", "tags", "string", "", "", ()),
        (10, "series", "series", "string", "", "", ()),
        (11, "is_operational", "isOperational", "bool", "", "", ()),
        (12, "automatic_resolution", "automaticResolution", "bool", "", "", ()),
        (13, "default_jersey_image", "defaultJerseyImage", "string", "", "", ()),
    )


class LeagueListing(Message, kw_only=True):
    id: str = ""
    name: str = ""
    slug: str = ""

    __full_name__ = "gateway.v1.LeagueListing"
    __wire__ = (
        (1, "id", "id", "string", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "slug", "slug", "string", "", "", ()),
    )


class ListTeamsRequest(Message, kw_only=True):
    limit: int = 0
    offset: int = 0
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc
    filters: TeamFilters | None = None

    __full_name__ = "gateway.v1.ListTeamsRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
        (3, "order_by", "orderBy", "string", "repeated", "", ()),
        (4, "order_direction", "orderDirection", "string", "", "", ()),
        (5, "filters", "filters", "message", "", "gateway.v1.TeamFilters", ()),
    )


class TeamFilters(Message, kw_only=True):
    """In a query: filters.league=nba&filters.name=…"""

    league: list[str] = []
    name: list[str] = []
    abbreviation: list[str] = []
    id: list[int] = []

    __full_name__ = "gateway.v1.TeamFilters"
    __wire__ = (
        (1, "league", "league", "string", "repeated", "", ()),
        (2, "name", "name", "string", "repeated", "", ()),
        (3, "abbreviation", "abbreviation", "string", "repeated", "", ()),
        (4, "id", "id", "int32", "repeated", "", ()),
    )


class ListTeamsResponse(Message, kw_only=True):
    teams: list[Team] = []

    __full_name__ = "gateway.v1.ListTeamsResponse"
    __wire__ = (
        (1, "teams", "teams", "message", "repeated", "gateway.v1.Team", ()),
    )


class ListProviderTeamsRequest(Message, kw_only=True):
    team_ids: list[str] = []
    provider: int = 0
    league: str = ""

    __full_name__ = "gateway.v1.ListProviderTeamsRequest"
    __wire__ = (
        (1, "team_ids", "teamIds", "string", "repeated", "", ()),
        (2, "provider", "provider", "enum", "", "gateway.v1.Provider", ()),
        (3, "league", "league", "string", "", "", ()),
    )


class ListProviderTeamsResponse(Message, kw_only=True):
    teams: dict[str, SportsTeam] = {}  # by the vendor's id

    __full_name__ = "gateway.v1.ListProviderTeamsResponse"
    __wire__ = (
        (1, "teams", "teams", "message", "map:string", "gateway.v1.SportsTeam", ()),
    )


class SportsTeam(Message, kw_only=True):
    """A team with its vendor ids under their older names."""

    id: int = 0
    name: str = ""
    abbreviation: str = ""
    league: str = ""
    record: str = ""
    logo: str = ""
    alias: str = ""
    safe_name: str = ""
    home_icon: str = ""
    away_icon: str = ""
    color_primary: str = ""
    provider_ids: list[SportsTeamProvider] = []

    __full_name__ = "gateway.v1.SportsTeam"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "abbreviation", "abbreviation", "string", "", "", ()),
        (4, "league", "league", "string", "", "", ()),
        (5, "record", "record", "string", "", "", ()),
        (6, "logo", "logo", "string", "", "", ()),
        (7, "alias", "alias", "string", "", "", ()),
        (8, "safe_name", "safeName", "string", "", "", ()),
        (9, "home_icon", "homeIcon", "string", "", "", ()),
        (10, "away_icon", "awayIcon", "string", "", "", ()),
        (11, "color_primary", "colorPrimary", "string", "", "", ()),
        (12, "provider_ids", "providerIds", "message", "repeated", "gateway.v1.SportsTeamProvider", ()),
    )


class SportsTeamProvider(Message, kw_only=True):
    provider: int = 0
    id: str = ""

    __full_name__ = "gateway.v1.SportsTeamProvider"
    __wire__ = (
        (1, "provider", "provider", "enum", "", "gateway.v1.Provider", ()),
        (2, "id", "id", "string", "", "", ()),
    )


class ListPlayersRequest(Message, kw_only=True):
    limit: int = 0
    offset: int = 0
    filters: PlayerFilters | None = None

    __full_name__ = "gateway.v1.ListPlayersRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
        (3, "filters", "filters", "message", "", "gateway.v1.PlayerFilters", ()),
    )


class PlayerFilters(Message, kw_only=True):
    league: list[str] = []
    name: list[str] = []
    id: list[int] = []
    team_id: list[int] = []

    __full_name__ = "gateway.v1.PlayerFilters"
    __wire__ = (
        (1, "league", "league", "string", "repeated", "", ()),
        (2, "name", "name", "string", "repeated", "", ()),
        (3, "id", "id", "int32", "repeated", "", ()),
        (4, "team_id", "teamId", "int32", "repeated", "", ()),
    )


class ListPlayersResponse(Message, kw_only=True):
    players: list[Player] = []

    __full_name__ = "gateway.v1.ListPlayersResponse"
    __wire__ = (
        (1, "players", "players", "message", "repeated", "gateway.v1.Player", ()),
    )


class Player(Message, kw_only=True):
    id: int = 0
    name: str = ""
    league: str = ""
    team_id: int = 0
    image: str = ""
    provider_ids: list[TeamProvider] = []

    __full_name__ = "gateway.v1.Player"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "name", "name", "string", "", "", ()),
        (3, "league", "league", "string", "", "", ()),
        (4, "team_id", "teamId", "int32", "", "", ()),
        (5, "image", "image", "string", "", "", ()),
        (6, "provider_ids", "providerIds", "message", "repeated", "gateway.v1.TeamProvider", ()),
    )


class ListSubjectsRequest(Message, kw_only=True):
    limit: int = 0
    offset: int = 0

    __full_name__ = "gateway.v1.ListSubjectsRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
    )


class ListSubjectsResponse(Message, kw_only=True):
    subjects: list[Subject] = []

    __full_name__ = "gateway.v1.ListSubjectsResponse"
    __wire__ = (
        (1, "subjects", "subjects", "message", "repeated", "gateway.v1.Subject", ()),
    )


class GetSubjectRequest(Message, kw_only=True):
    id: int = 0

    __full_name__ = "gateway.v1.GetSubjectRequest"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
    )


class GetSubjectBySlugRequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "gateway.v1.GetSubjectBySlugRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetSubjectResponse(Message, kw_only=True):
    subject: Subject | None = None

    __full_name__ = "gateway.v1.GetSubjectResponse"
    __wire__ = (
        (1, "subject", "subject", "message", "", "gateway.v1.Subject", ()),
    )


class ListSubjectMarketsRequest(Message, kw_only=True):
    id: int = 0
    limit: int = 0
    offset: int = 0

    __full_name__ = "gateway.v1.ListSubjectMarketsRequest"
    __wire__ = (
        (1, "id", "id", "int32", "", "", ()),
        (2, "limit", "limit", "int32", "", "", ()),
        (3, "offset", "offset", "int32", "", "", ()),
    )


class ListSubjectMarketsBySlugRequest(Message, kw_only=True):
    slug: str = ""
    limit: int = 0
    offset: int = 0

    __full_name__ = "gateway.v1.ListSubjectMarketsBySlugRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "limit", "limit", "int32", "", "", ()),
        (3, "offset", "offset", "int32", "", "", ()),
    )


class ListSubjectMarketsResponse(Message, kw_only=True):
    markets: list[Market] = []

    __full_name__ = "gateway.v1.ListSubjectMarketsResponse"
    __wire__ = (
        (1, "markets", "markets", "message", "repeated", "gateway.v1.Market", ()),
    )


class ListTagsRequest(Message, kw_only=True):
    limit: int = 0
    offset: int = 0

    __full_name__ = "gateway.v1.ListTagsRequest"
    __wire__ = (
        (1, "limit", "limit", "int32", "", "", ()),
        (2, "offset", "offset", "int32", "", "", ()),
    )


class ListTagsResponse(Message, kw_only=True):
    tags: list[Tag] = []

    __full_name__ = "gateway.v1.ListTagsResponse"
    __wire__ = (
        (1, "tags", "tags", "message", "repeated", "gateway.v1.Tag", ()),
    )


class GetTagRequest(Message, kw_only=True):
    id: int = 0

    __full_name__ = "gateway.v1.GetTagRequest"
    __wire__ = (
        (1, "id", "id", "int64", "", "", ()),
    )


class GetTagBySlugRequest(Message, kw_only=True):
    slug: str = ""

    __full_name__ = "gateway.v1.GetTagBySlugRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
    )


class GetTagResponse(Message, kw_only=True):
    tag: Tag | None = None

    __full_name__ = "gateway.v1.GetTagResponse"
    __wire__ = (
        (1, "tag", "tag", "message", "", "gateway.v1.Tag", ()),
    )


class ListTagEventsRequest(Message, kw_only=True):
    slug: str = ""
    active: bool | None = None  # absent = true
    closed: bool | None = None  # absent = false
    limit: int = 0
    offset: int = 0

    __full_name__ = "gateway.v1.ListTagEventsRequest"
    __wire__ = (
        (1, "slug", "slug", "string", "", "", ()),
        (2, "active", "active", "bool", "optional", "", ()),
        (3, "closed", "closed", "bool", "optional", "", ()),
        (4, "limit", "limit", "int32", "", "", ()),
        (5, "offset", "offset", "int32", "", "", ()),
    )


class ListTagEventsResponse(Message, kw_only=True):
    events: list[Event] = []

    __full_name__ = "gateway.v1.ListTagEventsResponse"
    __wire__ = (
        (1, "events", "events", "message", "repeated", "gateway.v1.Event", ()),
    )
