# generated from proto/, do not edit
from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from sim.contract.messages import FieldRule, Int32, Int64, JsonObject, Message, Timestamp
from sim.kernel.instants import parse_instant


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

    asset_class: Annotated[int, AssetClass] = 0
    symbol: str = ""  # [a-z0-9-], at most 64 characters


class AssetPriceCandle(Message, kw_only=True):
    """Prices of one bucket, decimal strings in the currency of the series."""

    timestamp: Annotated[Int64, FieldRule(as_number=True)] = 0  # start of the bucket, unix seconds
    open: str = ""
    high: str = ""
    low: str = ""
    close: str = ""  # carried forward when nothing ticked
    tick_count: Int32 = 0  # 0 = filled gap


class AssetPriceSeries(Message, kw_only=True):
    """One asset's candles: dense, rising in time."""

    asset: AssetId | None = None
    currency: str = ""  # ISO 4217
    bucket: Annotated[int, AssetPriceBucket] = 0
    from_: Annotated[Int64, FieldRule(as_number=True)] = 0  # effective, unix seconds
    to: Annotated[Int64, FieldRule(as_number=True)] = 0  # effective, unix seconds
    candles: list[AssetPriceCandle] = []


class AssetPriceTerms(Message, kw_only=True):
    """Terms of a market on an asset's price. Prices are decimal strings, in dollars."""

    market_type: Annotated[int, AssetPriceMarketType] = 0
    asset: AssetId | None = None
    index_symbol: str = ""  # BTCUSD
    horizon: str = ""  # 15m, 1h, 1d
    window_start: Timestamp | None = None
    window_end: Timestamp | None = None
    price_to_beat: str = ""  # of UP_DOWN, from the start of its window on
    strike: str = ""  # of ABOVE_BELOW and ONE_TOUCH
    range_lower: str = ""  # of RANGE, inclusive; empty without a lower bound
    range_upper: str = ""  # of RANGE, exclusive; empty without an upper bound
    range_kind: Annotated[int, AssetPriceRangeKind] = 0
    direction: Annotated[int, AssetPriceDirection] = 0  # of ONE_TOUCH
    settlement_price: str = ""  # once settled


class GetAssetPriceHistoryRequest(Message, kw_only=True):
    assets: Annotated[list[str], FieldRule(required=True)] = []  # <class>:<symbol>, 1 to 10
    from_: Annotated[Int64 | None, FieldRule(required=True)] = None  # unix seconds
    to: Int64 | None = None  # unix seconds; 0 or later than now = now
    bucket: Annotated[Annotated[int, AssetPriceBucket], FieldRule(required=True)] = 0


class GetAssetPriceHistoryResponse(Message, kw_only=True):
    series: list[AssetPriceSeries] = []  # one for each distinct asset, by symbol


class Subject(Message, kw_only=True):
    """A person or thing that markets are about. Deprecated."""

    id: Int32 = 0
    name: str = ""
    display_name: str = ""
    description: str = ""
    subject_type: str = ""
    image: str = ""
    color: str = ""
    dark_color: str = ""
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    slug: str = ""


class League(Message, kw_only=True):
    """A league or tour inside a sport."""

    id: Int32 = 0
    name: str = ""
    slug: str = ""
    image: str = ""
    resolution: str = ""
    ordering: str = ""
    created_at: Timestamp | None = None
    abbreviation: str = ""
    is_operational: bool = False
    sport_id: Int32 = 0
    tag_id: Int32 = 0
    active_series_id: Int32 = 0
    automatic_resolution: bool | None = None  # set where a league is part of a tag


class Sport(Message, kw_only=True):
    """A sport."""

    id: Int32 = 0
    name: str = ""
    slug: str = ""
    image: str = ""
    created_at: Timestamp | None = None
    tag_id: Int32 = 0
    default_jersey_image: Annotated[str, FieldRule(omit_empty=True)] = ""
    leagues: Annotated[list[League], FieldRule(omit_empty=True)] = []  # in the list of sports only


class Tag(Message, kw_only=True):
    """A label that groups events and markets."""

    id: str = ""
    label: str = ""
    slug: str = ""
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    image: str = ""
    tradable: bool = False
    parent_id: Int32 = 0
    league: League | None = None
    sport: Sport | None = None
    subtags: list[Tag] = []
    hub: JsonObject | None = None  # null


class TeamProvider(Message, kw_only=True):
    """The id of a team at one vendor."""

    provider: Annotated[int, Provider] = 0
    provider_id: str = ""


class ResolvedColor(Message, kw_only=True):
    """Colours for light and dark screens."""

    light: str = ""
    dark: str = ""


class Team(Message, kw_only=True):
    """A team or a single competitor."""

    id: Int32 = 0
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
    provider_id: Int32 = 0
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
    image_display_type: Annotated[Annotated[int, ImageDisplayType], FieldRule(omit_empty=True)] = 0


class Quote(Message, kw_only=True):
    """A price in reference data: a number (§2.10). Recordings show text with four decimals (assumption markets.quote_value)."""

    value: Annotated[float, FieldRule(text_by="markets.quote_value")] = 0.0
    currency: str = ""


class MarketSide(Message, kw_only=True):
    """One outcome of a market."""

    id: str = ""
    identifier: str = ""  # slug of the instrument
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    description: str = ""
    price: str = ""  # decimal, not padded; in recordings of the long side four decimals
    market_side_type: Annotated[int, MarketSideType] = 0
    market_id: Annotated[Int64, FieldRule(as_number=True)] = 0
    team_id: Annotated[Int32, FieldRule(omit_by="gateway.unset_fields")] = 0
    long: bool = False
    tradable: bool = False
    team: Annotated[Team | None, FieldRule(omit_by="gateway.unset_fields")] = None
    quote: Annotated[Quote | None, FieldRule(padded_by="long", omit_by="gateway.unset_fields")] = None
    participant_id: Annotated[str, FieldRule(until=parse_instant("2026-06-29"))] = ""


class Market(Message, kw_only=True):
    """A market: one instrument with two sides."""

    id: str = ""
    question: str = ""
    slug: str = ""
    end_date: Timestamp | None = None
    start_date: Timestamp | None = None
    category: str = ""
    image: Annotated[str, FieldRule(omit_by="gateway.unset_fields")] = ""
    description: str = ""
    market_type: Annotated[str, FieldRule(until=parse_instant("2026-06-29"), kept_by="markets.deprecated_fields")] = ""
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    game_start_time: Annotated[Timestamp | None, FieldRule(until=parse_instant("2026-06-29"), kept_by="markets.deprecated_fields")] = None
    sports_market_type: str = ""  # an open set: baseball_team_total_runs, tennis_match_winner, …
    sports_market_type_v2: Annotated[str, FieldRule(until=parse_instant("2026-06-29"), kept_by="markets.deprecated_fields")] = ""
    # a JSON array as text
    outcomes: Annotated[str, FieldRule(until=parse_instant("2026-06-29"), kept_by="markets.deprecated_fields")] = ""
    # a JSON array as text
    outcome_prices: Annotated[str, FieldRule(until=parse_instant("2026-06-29"), kept_by="markets.deprecated_fields")] = ""
    title: str = ""
    subtitle: Annotated[str, FieldRule(omit_by="gateway.unset_fields")] = ""
    title_short: str = ""
    color: Annotated[str, FieldRule(omit_by="gateway.unset_fields")] = ""
    dark_color: Annotated[str, FieldRule(omit_by="gateway.unset_fields")] = ""
    spread_total_suffix: Annotated[str, FieldRule(omit_by="gateway.unset_fields")] = ""
    rules_disclaimer: Annotated[str, FieldRule(omit_by="gateway.unset_fields")] = ""
    exchange_status: Annotated[str, FieldRule(vendor_json="ep3Status")] = ""
    exchange_synced_at: Annotated[Timestamp | None, FieldRule(vendor_json="ep3SyncedAt")] = None
    active: bool = False
    closed: bool = False
    archived: Annotated[bool, FieldRule(until=parse_instant("2026-06-29"), kept_by="markets.deprecated_fields")] = False
    manual_activation: Annotated[bool, FieldRule(until=parse_instant("2026-06-29"), kept_by="markets.deprecated_fields")] = False
    hidden: bool = False
    rules_disclaimer_popup: Annotated[bool, FieldRule(omit_by="gateway.unset_fields")] = False
    combo_enabled: bool = False
    order_price_min_tick_size: float = 0.0  # dollars
    minimum_trade_qty: float = 0.0  # contracts
    line: float | None = None  # absent where there is none; 0 is a line
    subject_id: Annotated[Int32, FieldRule(until=parse_instant("2026-06-29"))] = 0
    fee_coefficient: float = 0.0
    sort_order: Annotated[Int32, FieldRule(omit_by="gateway.unset_fields")] = 0
    volume: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    volume_24hr: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    volume_1wk: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    volume_1mo: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    volume_1yr: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    market_sides: list[MarketSide] = []
    tags: list[Tag] = []
    subject: Annotated[Subject | None, FieldRule(until=parse_instant("2026-06-29"))] = None
    best_bid_quote: Quote | None = None  # null while that side is empty
    best_ask_quote: Quote | None = None  # null while that side is empty
    metadata: Annotated[JsonObject | None, FieldRule(omit_by="gateway.unset_fields")] = None
    status: Annotated[Annotated[int, MarketStatus], FieldRule(omit_empty=True)] = 0
    image_display_type: Annotated[Annotated[int, ImageDisplayType], FieldRule(omit_empty=True)] = 0
    asset_price_terms: AssetPriceTerms | None = None  # null elsewhere than on an index


class EventParticipant(Message, kw_only=True):
    """Who takes part in an event. Deprecated: see teams."""

    id: str = ""
    name: str = ""
    team: Team | None = None


class EventSeries(Message, kw_only=True):
    """The series an event belongs to."""

    id: Annotated[Int64, FieldRule(as_number=True)] = 0
    slug: str = ""
    title: str = ""


class FeatureAvailability(Message, kw_only=True):
    """What an event can show besides its markets."""

    lineups: bool = False
    timeline: bool = False
    stats: bool = False


class EventCombos(Message, kw_only=True):
    """Whether an event's markets can be combined."""

    enabled: bool = False
    num_markets: Int32 = 0
    num_spreads_and_totals_markets: Int32 = 0


class PeriodScore(Message, kw_only=True):
    """Score of one period."""

    type: Annotated[int, PeriodScore_Type] = 0
    number: Int32 = 0
    score: str = ""


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
    football_state: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    soccer_state: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    tennis_state: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    baseball_state: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    cricket_state: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    ufc_state: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    main_spread_line: float | None = None
    main_total_line: float | None = None
    market_group_stats: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    period_scores: list[PeriodScore] = []


class Event(Message, kw_only=True):
    """Something that happens, and the markets on it."""

    id: Annotated[Int64, FieldRule(as_number=True, text_by="events.id")] = 0
    slug: str = ""
    title: str = ""
    description: str = ""
    category: str = ""  # slug
    active: bool = False  # open for trading
    closed: bool = False
    markets: list[Market] = []
    game_id: Annotated[str, FieldRule(omit_by="gateway.unset_fields")] = ""
    live: bool | None = None
    ended: bool | None = None
    score: Annotated[JsonObject | None, FieldRule(omit_by="gateway.unset_fields")] = None
    period: str = ""  # "NS" before the game
    participants: Annotated[list[EventParticipant], FieldRule(until=parse_instant("2026-06-29"), kept_by="events.deprecated_fields")] = []
    teams: list[Team] = []
    ticker: str = ""
    subtitle: str = ""
    resolution_source: str = ""
    start_date: Timestamp | None = None
    end_date: Timestamp | None = None
    creation_date: Timestamp | None = None
    start_time: Timestamp | None = None
    closed_time: Timestamp | None = None
    event_date: str = ""  # YYYY-MM-DD
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    image: str = ""
    archived: Annotated[bool, FieldRule(until=parse_instant("2026-06-29"), kept_by="events.deprecated_fields")] = False
    featured: bool = False
    liquidity: float = 0.0  # dollars
    volume: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0  # dollars
    open_interest: float = 0.0
    volume_24hr: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    volume_1wk: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    volume_1mo: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    volume_1yr: Annotated[float, FieldRule(omit_by="gateway.unset_fields")] = 0.0
    subcategory: str = ""
    series_slug: str = ""
    series: Annotated[EventSeries | None, FieldRule(omit_empty=True)] = None
    elapsed: str = ""
    finished_timestamp: Timestamp | None = None
    featured_order: Int32 = 0
    hidden: bool = False
    tags: list[Tag] = []
    primary_tag: Tag | None = None
    secondary_tag: Tag | None = None
    rescheduled_from_game_id: str = ""
    sportradar_game_id: str = ""
    sort_type: str = ""
    market_groups: list[JsonObject] = []  # empty unless asked for
    livestream_url: str = ""
    stream_provider: str = ""
    stream_requires_auth: bool = False
    feature_availability: Annotated[FeatureAvailability | None, FieldRule(omit_empty=True)] = None
    combos: EventCombos | None = None
    market_counts: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    # gameState, latestGameUpdate
    metadata: Annotated[JsonObject | None, FieldRule(omit_empty=True)] = None
    event_state: Annotated[EventState | None, FieldRule(omit_empty=True)] = None
    image_display_type: Annotated[int, ImageDisplayType] = 0


class ListEventsRequest(Message, kw_only=True):
    """Filters of a list of events; one that is left out filters nothing."""

    limit: Int32 = 0  # 0 = 100
    offset: Int32 = 0
    active: bool | None = None
    closed: bool | None = None
    archived: bool | None = None
    featured: bool | None = None
    categories: list[str] = []  # slugs
    series_id: list[Int64] = []
    live: bool | None = None
    ended: bool | None = None
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc
    id: list[Int64] = []
    slug: list[str] = []
    liquidity_min: float | None = None
    liquidity_max: float | None = None
    volume_min: float | None = None
    volume_max: float | None = None
    start_date_min: Timestamp | None = None
    start_date_max: Timestamp | None = None
    end_date_min: Timestamp | None = None
    end_date_max: Timestamp | None = None
    start_time_min: Timestamp | None = None
    start_time_max: Timestamp | None = None
    finished_timestamp_min: Timestamp | None = None
    finished_timestamp_max: Timestamp | None = None
    related_tags: bool = False
    tag_id: Int64 = 0
    tag_slug: str = ""
    tag_ids: list[Int64] = []
    tag_slugs_all: list[str] = []
    exclude_tag_id: list[Int64] = []
    exclude_series_id: list[Int64] = []
    exclude_event_id: list[Int64] = []
    user_id: str = ""
    event_date: str = ""  # YYYY-MM-DD
    event_week: Int32 | None = None
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
    team_id: Int64 = 0


class ListEventsResponse(Message, kw_only=True):
    events: list[Event] = []


class GetEventRequest(Message, kw_only=True):
    id: Int64 = 0
    groups: bool = False  # with market groups
    combo_enabled_only: bool = False
    include_popular_player_props: bool = False  # accepted; what it adds is published nowhere


class GetEventBySlugRequest(Message, kw_only=True):
    slug: str = ""
    groups: bool = False  # with market groups
    combo_enabled_only: bool = False
    include_popular_player_props: bool = False  # accepted; what it adds is published nowhere


class GetEventResponse(Message, kw_only=True):
    event: Event | None = None


class GetGatewayHealthRequest(Message, kw_only=True):
    pass


class GetGatewayHealthResponse(Message, kw_only=True):
    status: str = ""


class ListLeaguesRequest(Message, kw_only=True):
    limit: Int32 = 0  # 0 = 50; at most 50
    offset: Int32 = 0


class ListLeaguesResponse(Message, kw_only=True):
    leagues: list[League] = []


class GetLeagueRequest(Message, kw_only=True):
    slug: str = ""


class GetLeagueResponse(Message, kw_only=True):
    league: League | None = None


class ListLeagueEventsRequest(Message, kw_only=True):
    slug: str = ""
    limit: Int32 = 0
    offset: Int32 = 0
    exclude_event_id: list[Int64] = []
    type: str = ""  # sport, futures
    section: str = ""  # general, trending


class ListLeagueEventsResponse(Message, kw_only=True):
    type: str = ""
    type_title: str = ""
    section: str = ""
    section_title: str = ""
    events: list[Event] = []
    league: League | None = None


class ListMarketsRequest(Message, kw_only=True):
    """Filters of a list of markets; one that is left out filters nothing."""

    limit: Int32 = 0
    offset: Int32 = 0
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc; empty = desc
    id: list[Int64] = []
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
    start_date_min: Timestamp | None = None
    start_date_max: Timestamp | None = None
    end_date_min: Timestamp | None = None
    end_date_max: Timestamp | None = None
    related_tags: bool = False  # markets of the tags below those asked for, too
    game_id: str = ""
    # sportsMarketType, or its former name SPORTS_MARKET_TYPE_<NAME>
    sports_market_types: list[str] = []
    include_tag: bool | None = None  # false leaves the tags of markets out
    categories: list[str] = []
    market_types: list[str] = []
    include_hidden: bool = False
    tag_ids: list[Int64] = []
    tag_id: Int64 = 0
    cyom: bool | None = None
    question_ids: list[str] = []
    # least target size of a liquidity program that is active on the market
    rewards_min_size: float | None = None


class ListMarketsResponse(Message, kw_only=True):
    markets: list[Market] = []


class GetMarketBySlugRequest(Message, kw_only=True):
    slug: str = ""


class GetMarketByIdRequest(Message, kw_only=True):
    id: Int64 = 0


class GetMarketResponse(Message, kw_only=True):
    market: Market | None = None


class GetMarketSettlementRequest(Message, kw_only=True):
    slug: str = ""


class GetMarketSettlementResponse(Message, kw_only=True):
    slug: str = ""
    settlement: float = 0.0  # dollars per YES contract


class GetPartnerEventRequest(Message, kw_only=True):
    partner_key: str = ""
    external_id: str = ""


class GetPartnerEventResponse(Message, kw_only=True):
    event: Event | None = None
    mapped_market_sides: list[MarketSide] = []


class GetPriceHistoryRequest(Message, kw_only=True):
    """Either fixed_interval or timestamp."""

    symbol: Annotated[str, FieldRule(required=True)] = ""
    fixed_interval: Annotated[int, PriceInterval] = 0  # required unless timestamp is given
    timestamp: PriceWindow | None = None  # required unless fixed_interval is given
    fidelity: Annotated[Int32, FieldRule(required=True)] = 0  # minutes between two points


class PriceWindow(Message, kw_only=True):
    """In a query: timestamp.startTimestamp=…&timestamp.endTimestamp=…"""

    start_timestamp: Int64 = 0  # unix seconds
    end_timestamp: Int64 = 0  # unix seconds


class GetPriceHistoryResponse(Message, kw_only=True):
    history: list[PricePoint] = []


class PricePoint(Message, kw_only=True):
    """Prices of both sides at one time, in dollars."""

    timestamp: Annotated[Int64, FieldRule(as_number=True)] = 0  # unix seconds
    long_price: float = 0.0
    short_price: float = 0.0


class SearchEventsRequest(Message, kw_only=True):
    query: str = ""
    limit: Int32 = 0
    page: Int32 = 0
    series_ids: list[Int64] = []
    market_type: list[str] = []
    start_time_min: Timestamp | None = None
    start_time_max: Timestamp | None = None
    closed_time_min: Timestamp | None = None
    closed_time_max: Timestamp | None = None
    status: str = ""  # active, closed, upcoming
    combo_enabled_only: bool = False


class SearchEventsResponse(Message, kw_only=True):
    events: list[Event] = []


class Series(Message, kw_only=True):
    """One series."""

    id: str = ""
    slug: str = ""
    title: str = ""
    subtitle: Annotated[str, FieldRule(omit_empty=True)] = ""
    recurrence: Annotated[str, FieldRule(omit_empty=True)] = ""
    image: Annotated[str, FieldRule(omit_empty=True)] = ""
    active: bool = False
    created_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    description: Annotated[str, FieldRule(omit_empty=True)] = ""
    closed: bool = False
    archived: Annotated[bool, FieldRule(until=parse_instant("2026-06-29"))] = False


class ListSeriesRequest(Message, kw_only=True):
    limit: Int32 = 0
    offset: Int32 = 0
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc
    slug: list[str] = []
    active: bool | None = None
    archived: bool | None = None
    closed: bool | None = None
    recurrence: str = ""


class ListSeriesResponse(Message, kw_only=True):
    series: list[Series] = []


class GetSeriesRequest(Message, kw_only=True):
    id: Int64 = 0


class GetSeriesResponse(Message, kw_only=True):
    series: Series | None = None


class ListSeriesEventsRequest(Message, kw_only=True):
    series_id: Int64 = 0
    limit: Int32 = 0  # 0 = 100
    offset: Int32 = 0


class ListSportsRequest(Message, kw_only=True):
    pass


class ListSportsResponse(Message, kw_only=True):
    sports: list[Sport] = []


class GetSportRequest(Message, kw_only=True):
    slug: str = ""


class GetSportResponse(Message, kw_only=True):
    sport: Sport | None = None


class ListSportEventsRequest(Message, kw_only=True):
    slug: str = ""
    limit: Int32 = 0
    offset: Int32 = 0
    exclude_event_id: list[Int64] = []
    type: str = ""  # sport, futures
    section: str = ""  # general, trending


class ListSportEventsResponse(Message, kw_only=True):
    type: str = ""
    type_title: str = ""
    section: str = ""
    section_title: str = ""
    events: list[Event] = []
    sport: Sport | None = None


class ListSportListingsRequest(Message, kw_only=True):
    pass


class ListSportListingsResponse(Message, kw_only=True):
    sports: list[SportListing] = []


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


class LeagueListing(Message, kw_only=True):
    id: str = ""
    name: str = ""
    slug: str = ""


class ListTeamsRequest(Message, kw_only=True):
    limit: Int32 = 0
    offset: Int32 = 0
    order_by: list[str] = []
    order_direction: str = ""  # asc or desc
    filters: TeamFilters | None = None


class TeamFilters(Message, kw_only=True):
    """In a query: filters.league=nba&filters.name=…"""

    league: list[str] = []
    name: list[str] = []
    abbreviation: list[str] = []
    id: list[Int32] = []


class ListTeamsResponse(Message, kw_only=True):
    teams: list[Team] = []


class ListProviderTeamsRequest(Message, kw_only=True):
    team_ids: list[str] = []
    provider: Annotated[int, Provider] = 0
    league: str = ""


class ListProviderTeamsResponse(Message, kw_only=True):
    teams: dict[str, SportsTeam] = {}  # by the vendor's id


class SportsTeam(Message, kw_only=True):
    """A team with its vendor ids under their older names."""

    id: Int32 = 0
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


class SportsTeamProvider(Message, kw_only=True):
    provider: Annotated[int, Provider] = 0
    id: str = ""


class ListPlayersRequest(Message, kw_only=True):
    limit: Int32 = 0
    offset: Int32 = 0
    filters: PlayerFilters | None = None


class PlayerFilters(Message, kw_only=True):
    league: list[str] = []
    name: list[str] = []
    id: list[Int32] = []
    team_id: list[Int32] = []


class ListPlayersResponse(Message, kw_only=True):
    players: list[Player] = []


class Player(Message, kw_only=True):
    id: Int32 = 0
    name: str = ""
    league: str = ""
    team_id: Int32 = 0
    image: str = ""
    provider_ids: list[TeamProvider] = []


class ListSubjectsRequest(Message, kw_only=True):
    limit: Int32 = 0
    offset: Int32 = 0


class ListSubjectsResponse(Message, kw_only=True):
    subjects: list[Subject] = []


class GetSubjectRequest(Message, kw_only=True):
    id: Int32 = 0


class GetSubjectBySlugRequest(Message, kw_only=True):
    slug: str = ""


class GetSubjectResponse(Message, kw_only=True):
    subject: Subject | None = None


class ListSubjectMarketsRequest(Message, kw_only=True):
    id: Int32 = 0
    limit: Int32 = 0
    offset: Int32 = 0


class ListSubjectMarketsBySlugRequest(Message, kw_only=True):
    slug: str = ""
    limit: Int32 = 0
    offset: Int32 = 0


class ListSubjectMarketsResponse(Message, kw_only=True):
    markets: list[Market] = []


class ListTagsRequest(Message, kw_only=True):
    limit: Int32 = 0
    offset: Int32 = 0


class ListTagsResponse(Message, kw_only=True):
    tags: list[Tag] = []


class GetTagRequest(Message, kw_only=True):
    id: Int64 = 0


class GetTagBySlugRequest(Message, kw_only=True):
    slug: str = ""


class GetTagResponse(Message, kw_only=True):
    tag: Tag | None = None


class ListTagEventsRequest(Message, kw_only=True):
    slug: str = ""
    active: bool | None = None  # absent = true
    closed: bool | None = None  # absent = false
    limit: Int32 = 0
    offset: Int32 = 0


class ListTagEventsResponse(Message, kw_only=True):
    events: list[Event] = []
