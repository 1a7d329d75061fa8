"""Observations of what the retail API and the gateway show."""

from sim.core.catalogue.assumptions import (
    EVENTS_DEPRECATED,
    EVENTS_ID,
    HALTED_BOOK,
    LAST_PRICE_SAMPLE,
    MARKETS_DEPRECATED,
    MARKETS_QUOTES,
    NOTIONAL_TRADED,
    PREVIEW_MARKET,
    RETAIL_SOCKETS,
    TIMESTAMP_TOLERANCE,
)
from sim.core.catalogue.observations.observation import DOCS, DOUBLE, LIVE, Observation
from sim.core.catalogue.quirks import CAMEL_CASE_QUERY_IGNORED

_PORTFOLIO = "portfolio and activities of two accounts"
_ORDERS = "orders of several accounts, 08-08 to 09-16"
_BODIES = "eleven bodies of best prices, 08-25 to 09-14"
_PROBES = "probes of February to September"
_MARKET_BODIES = "bodies of markets that several people published"

MARKETS_KEEP_FIELDS = (
    Observation("markets.deprecated_fields", "2026-09-05", (LIVE, DOCS), _MARKET_BODIES)
    .against("9")
    .set_by(MARKETS_DEPRECATED, "shown")
    .of("GatewayMarketsAPI.ListMarkets", "GatewayMarketsAPI.GetMarketBySlug")
    .shows(
        "A market shows marketType, outcomes, outcomePrices, sportsMarketTypeV2, archived, "
        "manualActivation and gameStartTime after their removal; the documentation declares them "
        "as deprecated."
    )
)
MARKETS_QUOTE_STRINGS = (
    Observation("markets.quote_value", "2026-09", (LIVE,), "five recordings, June to September")
    .against("2.10")
    .set_by(MARKETS_QUOTES, "string")
    .of("GatewayMarketsAPI.ListMarkets", "GatewayMarketsAPI.GetMarketBySlug")
    .shows(
        'Quote.value is a string: best bid and ask have four decimals ("0.5300"), the quote of a '
        'side may be unpadded ("0.47").'
    )
)
EVENTS_ID_STRING = (
    Observation("events.id", "2026-08-25", (LIVE,), "a published list of events")
    .against("2.11")
    .set_by(EVENTS_ID, "string")
    .of("GatewayEventsAPI.ListEvents")
    .shows("The id of an event is a string.")
)
EVENTS_KEEP_FIELDS = (
    Observation("events.deprecated_fields", "2026-08-25", (LIVE,), "a published list of events")
    .against("9")
    .set_by(EVENTS_DEPRECATED, "shown")
    .of("GatewayEventsAPI.ListEvents")
    .shows("An event shows participants (an empty list) and archived after their removal.")
)
EVENT_SHAPE = (
    Observation("events.shape", "2026-08-25", (LIVE,), "a published list of events")
    .of("GatewayEventsAPI.ListEvents")
    .shows(
        "marketGroups (a list, empty unless asked for), combos with enabled, and imageDisplayType "
        "are always there; startTime is set."
    )
)
CAMEL_CASE_QUERY = (
    Observation("retail.camel_case_query", "2026-09-27", (LIVE,), "activities read with marketSlug")
    .against("0")
    .set_by(CAMEL_CASE_QUERY_IGNORED, "never")
    .of("RetailPortfolioAPI.ListActivities")
    .shows(
        "camelCase query parameters work: activities?marketSlug= filters trades and resolutions "
        "and keeps changes of the balance; sortOrder=ASCENDING is the exact reverse."
    )
)
PRICE_SAMPLES = (
    Observation("market_data.last_price_sample", "2026-09-14", (LIVE,), "published market data")
    .against("4.2")
    .set_by(LAST_PRICE_SAMPLE, "shown")
    .of("RetailMarketDataAPI.GetBook")
    .shows(
        "lastPriceSample is still there after its removal, also without a trade, and null on "
        "markets that expired: longPx is currentPx, ts the transactTime. Books have it in stats."
    )
)
CASH_VALUE = (
    Observation("positions.cash_value", "2026-08-09", (LIVE,), _PORTFOLIO)
    .of("RetailPortfolioAPI.ListPositions")
    .shows(
        "cashValue of a position is the market value of the holding (19 contracts at 0.01 are "
        "0.1900), not its unrealised result."
    )
)
COST = (
    Observation("positions.cost", "2026-08-09", (LIVE,), _PORTFOLIO)
    .of("RetailPortfolioAPI.ListPositions")
    .shows(
        "cost is baseCost plus fees, and fees are what was collected, so cost is what left the "
        "account; the money of a position has four decimals, and costPerShare is null before a "
        "resolution."
    )
)
RESOLVED_POSITION = (
    Observation("positions.resolved", "2026-08-09", (LIVE,), _PORTFOLIO)
    .of("RetailPortfolioAPI.ListPositions", "RetailPortfolioAPI.ListActivities")
    .about("answer", "lifecycle")
    .shows(
        "After a resolution qtySold counts the settled contracts, the outcome is None, and avgPx, "
        "fees, baseCost and costPerShare are null; beforePosition carries the time of the last "
        "trade; the activity carries market and comboLegDetails."
    )
)
TRADES = (
    Observation(
        "activities.trades", "2026-08-09", (LIVE,), "two accounts, and an export of 6,747 trades"
    )
    .of("RetailPortfolioAPI.ListActivities")
    .shows(
        "A trade carries aggressorExecution and passiveExecution with their orders, the "
        "counterparty's too, and aggressor, passive, cost, market, reportingCounterparty, "
        "createTradeDate, updateTradeDate, tradeLinkId and comboLegDetails. They show its side. "
        "cost includes the fee and is not padded; price and lastPx have four decimals."
    )
)
BALANCE_CHANGES = (
    Observation("activities.balance_changes", "2026-08-09", (LIVE,), _PORTFOLIO)
    .of("RetailPortfolioAPI.ListActivities")
    .shows(
        "accountBalanceChange is flat and has transactions as well, with externalId, "
        "paymentMethod, metadata, failureReason, failureCode and failureAction; amounts are not "
        "padded."
    )
)
ACTIVITY_FILTER = (
    Observation(
        "activities.market_filter", "2026-09-27", (LIVE,), "activities read with marketSlug"
    )
    .of("RetailPortfolioAPI.ListActivities")
    .shows("A filter of activities by market keeps the changes of the balance.")
)
ORDER_MONEY = (
    Observation("orders.money", "2026-09-16", (LIVE,), _ORDERS)
    .of("RetailOrdersAPI.GetOrder")
    .shows(
        "avgPx has four decimals and is 0.0000, not null, while nothing is filled; cashOrderQty is "
        "0.0000, not null; commissions and lastShares have four decimals; the price is repeated as "
        "it was sent."
    )
)
COMMISSIONS = (
    Observation("orders.commissions", "2026-09-16", (LIVE,), _ORDERS)
    .of("RetailOrdersAPI.GetOrder")
    .shows(
        "commissionsBasisPoints and makerCommissionsBasisPoints are 0; commissionSpreadPx of a "
        "fill is the price of the own side."
    )
)
TRADE_DATES = (
    Observation("orders.trade_date", "2026-08-09", (LIVE,), _ORDERS)
    .of("RetailOrdersAPI.GetOrder")
    .shows(
        "transactTradeDate is midnight UTC of a date. The UTC date and the one that rolls at 17:00 "
        "Eastern both fit the samples; the exchange writes the latter."
    )
)
METADATA = (
    Observation("orders.market_metadata", "2026-09-16", (LIVE,), _ORDERS)
    .of("RetailOrdersAPI.GetOrder")
    .shows(
        "The title is the event's question, the outcome Yes or No, the subject an id of 0, a name "
        "and an empty subjectType; team and teamId are absent where there is none."
    )
)
PREVIEW = (
    Observation("orders.preview", "2026-09-14", (LIVE,), "a published preview")
    .of("RetailOrdersAPI.PreviewOrder")
    .shows("A preview is PENDING_NEW and has no lastTransactTime.")
)
PREVIEW_NEEDS_CASH = (
    Observation("orders.preview_market", "2026-09", (DOUBLE,), "one imitation of the service")
    .set_by(PREVIEW_MARKET, "cash", in_observed=False)
    .of("RetailOrdersAPI.PreviewOrder")
    .about("refusal")
    .shows("A preview of a market order without cashOrderQty is refused.")
)
CURRENT_PRICE = (
    Observation(
        "market_data.current_price",
        "2026-09-14",
        (LIVE,),
        "five bodies on REST, two frames of 08-30",
    )
    .of(
        "RetailMarketDataAPI.GetBook",
        "RetailMarketDataAPI.GetBBO",
        "RetailStreamsAPI.MarketsStream",
    )
    .shows(
        "currentPx is the middle of both sides, cut to a unit of 1/priceScale on REST and exact on "
        "the socket, whatever the last trade was; else the last trade, also after the end; else "
        "the settlement."
    )
)
BEST_PRICES = (
    Observation("market_data.best_prices", "2026-09-14", (LIVE,), _BODIES)
    .of("RetailMarketDataAPI.GetBBO")
    .shows(
        "longQuote and shortQuote are absent unless both sides quote, shortQuote is not padded, "
        "sharesTraded and openInterest are empty when there are none, and REST has no bidShares "
        "and askShares."
    )
)
STATISTICS = (
    Observation("statistics.keys", "2026-09-14", (LIVE,), "published books")
    .of("RetailMarketDataAPI.GetBook")
    .shows(
        "Statistics without a value are absent, not null; the time of the notional is called "
        "notionalSetTime; there is no method without a settlement."
    )
)
UNDIVIDED = (
    Observation("statistics.notional_traded", "2026-09", (LIVE,), "two sources")
    .set_by(NOTIONAL_TRADED, "undivided")
    .of("RetailMarketDataAPI.GetBook", "RetailStreamsAPI.MarketsStream")
    .shows(
        "notionalTraded is a hundred times the dollars in markets of price scale 100, on REST "
        "only. It looks like a mistake of the service, so only the reading observed has it."
    )
)
MARKS = (
    Observation("statistics.daily_mark", "2026-09", (LIVE,), "published books")
    .of("RetailMarketDataAPI.GetBook")
    .about("timing")
    .shows(
        "Open markets get a settlement mark at 17:00 Eastern each day (settlementPx, method "
        "EVENT_TIER_2 or 3) without a settlement set time. Here it is the last trade before, tier "
        "3."
    )
)
HALTED_BOOKS = (
    Observation("market_data.halted_book", "2026-09-05", (LIVE,), "one halt of the whole venue")
    .set_by(HALTED_BOOK, "empty", in_observed=False)
    .of("RetailMarketDataAPI.GetBook")
    .shows("Books of halted markets were empty during one halt. One incident does not show a rule.")
)
EXPIRED_BOOKS = (
    Observation("market_data.expired", "2026-09-05", (LIVE,), "markets of ten months before")
    .of("RetailMarketDataAPI.GetBook", "RetailMarketDataAPI.GetBBO")
    .shows("Markets that expired long ago still answer book and best prices, empty.")
)
BALANCES = (
    Observation("balances.keys", "2026-09-19", (LIVE,), "two published balances")
    .of("RetailAccountAPI.GetBalances")
    .shows(
        "A balance also has balanceReservation, depositReservation, bonusReservation, "
        "displayedBonus, displayedAvailableSoon, displayedCash and, from 2026-09-18, bonusHold; "
        "lastUpdated is null."
    )
)
CATALOGUE = (
    Observation("retail.catalogue", "2026-09", (LIVE,), _PROBES)
    .of(
        "GatewayMarketsAPI.ListMarkets",
        "GatewayEventsAPI.ListEvents",
        "GatewaySearchAPI.SearchEvents",
    )
    .shows("The retail host serves markets, events and search to signed callers as well.")
)
KEY_FIRST = (
    Observation("retail.key_first", "2026-09", (LIVE,), _PROBES)
    .about("refusal")
    .shows(
        "The retail host asks for the key before it looks for the address: without headers every "
        "path is 401 as plain text, Missing required API key headers. Such a call counts against "
        "the limit of its address. /v1/health is 200 without a key."
    )
)
EVERY_MARKET = (
    Observation(
        "sockets.every_market", "2026-02-23", (LIVE,), "a recorded session of the markets socket"
    )
    .of("RetailStreamsAPI.MarketsStream")
    .shows("A subscription of the markets socket without marketSlugs follows every market.")
)
UNSUBSCRIBED = (
    Observation("sockets.unsubscribed", "2026-09", (DOUBLE,), "two imitations of the service")
    .of("RetailStreamsAPI.MarketsStream")
    .shows("The end of a subscription is acknowledged: requestId, and unsubscribed is true.")
)
SOCKETS_PER_KEY = (
    Observation("sockets.per_key", "2026-09-17", (LIVE,), "twelve sockets of one key at once")
    .set_by(RETAIL_SOCKETS, "0", in_observed=False)
    .about("refusal")
    .shows("A key may have many open sockets; a limit of 5 that was reported earlier was not met.")
)
SIGNED_PATH = (
    Observation("retail.signed_path", "2026-08-30", (LIVE,), "a series of probes")
    .about("refusal")
    .shows(
        "A signature that covers the query is refused with 401; one over the path alone is right."
    )
)
OLD_TIMESTAMPS = (
    Observation(
        "retail.timestamp_tolerance", "2026-09", (LIVE,), "one probe whose clock was off: weak"
    )
    .set_by(TIMESTAMP_TOLERANCE, "3m")
    .about("refusal", "timing")
    .shows("A timestamp one to three minutes old was accepted; clients and documents say 30 s.")
)
HEADERS = Observation("http.headers", "2026-09", (LIVE,), "published answers with headers").shows(
    "Answers carry x-pm-trace-id (32 hexadecimal digits), x-pm-server-latency and Vary: Origin "
    "(x-trace-id and x-server-latency without --vendor-prefix). A book of the gateway may be "
    "cached for 30 s and has Last-Modified, and a conditional request is answered with 304."
)
OLD_PATHS = (
    Observation("gateway.paths", "2026-07-14", (LIVE, DOCS), _PROBES)
    .of("GatewayTagsAPI.ListTags", "GatewaySportsAPI.ListSeriesEvents")
    .shows("/v1/tags lists tags, and /v1/sports/{seriesId}/events the events of a series.")
)
