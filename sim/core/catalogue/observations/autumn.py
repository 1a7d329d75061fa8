"""Observations of September and October 2026: answers and pages of the service."""

from sim.core.catalogue.assumptions import (
    EDGE_ERRORS,
    EMPTY_PAGE_TOKEN,
    INCENTIVE_ROWS,
    ORDER_REPLACED,
    RETAIL_SHORTFALL,
    REWARD_ACTIVITIES,
    SEARCH_PAGE_SIZE,
    TOKEN_LIFE,
    UNSET_FIELDS,
)
from sim.core.catalogue.observations.observation import DOCS, LIVE, Observation
from sim.core.catalogue.quirks import CONNECTION_REFUSED, RETRY_AFTER_MISSING, SHORT_CLOSE_PNL

_REFERENCE = "public API reference"
_TWO = "two independent sources"
_LISTS = "lists of events and markets, 08-25 to 10-09"
_ACCOUNTS = "positions, activities and balances of two accounts"
_FIRM = "one firm's session on the exchange API"
_MARKETS = ("GatewayMarketsAPI.ListMarkets", "GatewayMarketsAPI.GetMarketBySlug")
_EVENTS = ("GatewayEventsAPI.ListEvents", "GatewaySearchAPI.SearchEvents")
_SEARCHES = tuple(f"ReportAPI.Search{rows}" for rows in ("Orders", "Executions", "Trades"))
_REFUSED = ("refusal",)

RETAIL_ERRORS = (
    Observation("retail.error_body", "2026-09", (LIVE,), _TWO)
    .about(*_REFUSED)
    .of("RetailOrdersAPI.CreateOrder", "RetailAccountAPI.GetBalances")
    .shows(
        "Every error of the retail host but 429 has code, message and details, as on the gateway; "
        "429 has status and message."
    )
)
ORDER_DIRECTION = (
    Observation("gateway.order_direction", "2026-09-17", (LIVE,), "a client, synpath 0.11.0")
    .of("GatewayEventsAPI.ListEvents", "GatewayMarketsAPI.ListMarkets")
    .shows("orderDirection in capitals, and orderBy=id and orderBy=volume24hr, are accepted.")
)
SHORT_AVERAGE = (
    Observation("positions.short_average", "2026-10-04", (LIVE,), _ACCOUNTS)
    .about("answer", "relation")
    .of("RetailPortfolioAPI.ListPositions")
    .shows("avgPx of a short position is in NO terms: baseCost divided by the quantity.")
)
TRIMMED_ORDERS = (
    Observation("orders.trimmed", "2026-09-12", (LIVE,), "one client's account")
    .set_by(RETAIL_SHORTFALL, "trim")
    .of("RetailOrdersAPI.CreateOrder")
    .shows(
        "An order larger than the money is reduced to what the money pays for and rests; without "
        "any money it is refused."
    )
)
CONNECTION = (
    Observation("orders.connection_refused", "2026-09-12", (LIVE,), "one client's account")
    .set_by(CONNECTION_REFUSED, "always", in_observed=False)
    .about(*_REFUSED)
    .of("RetailOrdersAPI.CreateOrder")
    .shows(
        "From a data centre new orders are refused with 403, code 7, Your connection looks like a "
        "VPN; reads and cancels go on."
    )
)
REWARDS = (
    Observation("activities.rewards", "2026-10-04", (LIVE,), "two clients, 14,297 activities")
    .against("2.8")
    .set_by(REWARD_ACTIVITIES, "transfer")
    .of("RetailPortfolioAPI.ListActivities")
    .shows("Liquidity rewards are transfers; the types of their own were never seen.")
)
LISTED_PRICES = (
    Observation("markets.side_prices", "2026-09-17", (LIVE,), _TWO)
    .about("answer", "relation")
    .of(*_EVENTS, *_MARKETS)
    .shows(
        "In lists the price of the long side is the best bid and that of the short side the best "
        "ask, in YES terms, and outcomePrices has the same two; quote is the ask and 1 - bid. A "
        "single market shows the ask and 1 - bid in all of them. In observed the long side has "
        "four decimals and the short side is not padded."
    )
)
BALANCE_RELATIONS = (
    Observation("balances.relations", "2026-10-04", (LIVE,), _ACCOUNTS)
    .about("answer", "relation")
    .of("RetailAccountAPI.GetBalances")
    .shows(
        "balanceReservation = bonusReservation + depositReservation; displayedCash = buyingPower - "
        "balanceReservation; availableToWithdraw = currentBalance - marginRequirement - "
        "balanceReservation, exact to four decimals."
    )
)
PRICE_HISTORY = (
    Observation("price_history.sparse", "2026-09-17", (LIVE,), "a client, synpath 0.11.0")
    .of("GatewayPriceHistoryAPI.GetPriceHistory")
    .shows("A week in steps of a minute is answered; times without a trade have no point.")
)
TEAMS = (
    Observation("teams.ordering", "2026-10-06", (LIVE,), _LISTS)
    .of(*_EVENTS)
    .shows(
        "In American leagues the team of the long side has ordering away and that of the short "
        "side home; abbreviation is in lower case, displayAbbreviation in capitals."
    )
)
WHOLE_GAMES = (
    Observation("markets.whole_game_types", "2026-10-09", (LIVE,), _LISTS)
    .of(*_EVENTS)
    .shows(
        "From 2026-09-29 sportsMarketType of whole games names the sport: "
        "football_team_full_game_winner, …_spread, …_total, basketball and hockey alike, and "
        "soccer_team_full_time_winner. marketType does not change."
    )
)
FEE_SHOWN = (
    Observation("markets.fee_coefficient", "2026-09-17", (LIVE,), "53,624 rows of 09-16 and later")
    .about("answer", "timing")
    .of("GatewayMarketsAPI.ListMarkets")
    .shows("feeCoefficient is 0.0695 from 2026-09-17 on all markets; fees change on 09-25.")
)
SHARES = (
    Observation("market_data.shares", "2026-09-17", (LIVE,), "bodies of best prices")
    .of("RetailMarketDataAPI.GetBBO")
    .shows("From 2026-09-17 REST has bidShares and askShares too, cut to two figures.")
)
ABSENT_FIELDS = (
    Observation("gateway.unset_fields", "2026-10-09", (LIVE,), "35 bodies")
    .against("2.10")
    .set_by(UNSET_FIELDS, "absent")
    .of(*_MARKETS, *_EVENTS)
    .shows(
        "Optional keys of markets, sides, events and series that are not set are absent. "
        "assetPriceTerms and hub are null."
    )
)
FILTERED_POSITIONS = (
    Observation("positions.filtered", "2026-09-23", (LIVE,), _ACCOUNTS)
    .of("RetailPortfolioAPI.ListPositions")
    .shows("The answer for one market has no nextCursor.")
)
REPLACED_ORDERS = (
    Observation("orders.replaced", "2026-09", (LIVE,), "one client's prose: weak")
    .set_by(ORDER_REPLACED, "new_order", in_observed=False)
    .about("lifecycle")
    .of("RetailOrdersAPI.ModifyOrder")
    .shows(
        "A replaced order stays in the lists as ORDER_STATE_REPLACED and is dead; the new one has "
        "an id of its own."
    )
)
OLD_SETTLEMENTS = (
    Observation("markets.old_settlement", "2026-08-25", (LIVE,), "markets of months before")
    .about(*_REFUSED)
    .of("GatewayMarketsAPI.GetMarketSettlement")
    .shows("The settlement of a market that terminated without one is 404: Settlement not found.")
)
NO_RETRY_AFTER = (
    Observation("limits.no_retry_after", "2026-09", (LIVE,), "a comment of a client")
    .against("7.1")
    .set_by(RETRY_AFTER_MISSING, "always", in_observed=False)
    .about(*_REFUSED)
    .shows("429 of the edge often has no Retry-After.")
)
WRONG_PNL = (
    Observation("activities.short_close_pnl", "2026-10-04", (LIVE,), "six rows of one account")
    .set_by(SHORT_CLOSE_PNL, "always", in_observed=False)
    .of("RetailPortfolioAPI.ListActivities")
    .shows(
        "realizedPnl of a trade that closes a short is quantity times YES price less commission "
        "and costBasis, which is wrong."
    )
)
OCTOBER_RESOLUTIONS = (
    Observation("positions.resolution_form", "2026-10-04", (LIVE,), _ACCOUNTS)
    .of("RetailPortfolioAPI.ListActivities")
    .shows(
        "From 2026-10-01 a resolution leaves realized as it was, its positions have no "
        "qtyAvailableDecimal, cashValue is not padded and subject has an id of -1 and an image."
    )
)
NEW_QUOTES = (
    Observation("rfqs.new_quote_ids", "2026-10-01", (DOCS,), f"{_REFERENCE}, announced as breaking")
    .about("answer", "lifecycle")
    .of("RFQAPI.CreateQuote", "RFQAPI.StreamRFQEvents")
    .shows(
        "From 2026-10-01 each CreateQuote has a new quoteId, replacements too: the old quote is "
        "deleted, the new one created."
    )
)
LONG_TOKENS = (
    Observation("auth.token_life", "2026-09-19", (LIVE,), "two environments")
    .against("5.1")
    .set_by(TOKEN_LIFE, "1d")
    .about("answer", "timing")
    .of("TokenIssuerAPI.IssueToken")
    .shows("expires_in is 86400 in production and pre-production.")
)
ACCOUNT_BALANCE = (
    Observation("exchange.balance_request", "2026-09-19", (LIVE,), _TWO)
    .of("PositionAPI.GetAccountBalance")
    .shows("The request may name the account as account; amounts are not padded.")
)
PAGE_SIZE = (
    Observation("report.page_size", "2026-09-10", (LIVE,), _FIRM)
    .against("4.3")
    .set_by(SEARCH_PAGE_SIZE, "required")
    .about(*_REFUSED)
    .of(*_SEARCHES)
    .shows("A search without pageSize is 400, code 11, Maximum requested records is 5000.")
)
PAGE_TOKEN = (
    Observation("report.empty_page_token", "2026-09-10", (LIVE,), _FIRM)
    .against("4.3")
    .set_by(EMPTY_PAGE_TOKEN, "empty")
    .of(*_SEARCHES)
    .shows("The answer of an empty search has an empty nextPageToken.")
)
EDGE = (
    Observation("exchange.edge_errors", "2026-09-19", (LIVE,), _FIRM)
    .against("7.1")
    .set_by(EDGE_ERRORS, "edge")
    .about(*_REFUSED)
    .shows("An unknown path of the exchange host is 403; 401 is message: Unauthorized alone.")
)
EXCHANGE_ANSWERS = (
    Observation("exchange.answers", "2026-09-19", (LIVE,), _FIRM)
    .about("answer", "refusal")
    .of("AccountsAPI.GetWhoAmI", "OrderEntryAPI.PreviewOrder", "RefDataAPI.GetInstrument")
    .shows(
        "firm of whoami is firms/<name>; an unknown symbol is 404, code 5, instrument does not "
        "exist; a preview answers previewOrder in PENDING_NEW."
    )
)
AUDIENCES = (
    Observation("auth.audiences", "2026-09", (LIVE,), "probes, and clients that follow RFC 8414")
    .of("TokenIssuerAPI.IssueToken")
    .shows(
        "aud of an assertion may be the token endpoint, the issuer's address with its slash, the "
        "API's address, or the issuer that its metadata publish."
    )
)
SCOPES = (
    Observation("auth.scopes", "2026-09-19", (LIVE,), _FIRM)
    .of("TokenIssuerAPI.IssueToken")
    .shows(
        "Scopes: marketdata, instruments, l2marketdata, orders, reports, positions, dropcopy, "
        "accounts and funding to read, orders and accounts to write."
    )
)
QTY_SCALE = (
    Observation("instruments.qty_scale", "2026-09-19", (LIVE,), _FIRM)
    .of("RefDataAPI.ListInstruments")
    .shows(
        "fractionalQtyScale is 100 on every sports instrument. The default world keeps other "
        "scales in one instrument product, totals, for §2.6."
    )
)
TWO_PROGRAMS = (
    Observation("incentives.rows", "2026-10-05", (LIVE,), "a list of programs")
    .against("2.3")
    .set_by(INCENTIVE_ROWS, "program")
    .of("RetailIncentivesAPI.ListIncentives", "RetailIncentivesAPI.ListEarnings")
    .shows("A market in two programs has two rows.")
)
INNINGS = (
    Observation("markets.innings", "2026-09-29", (DOCS,), "changelog v0.0.93")
    .of("RefDataAPI.ListInstruments")
    .shows("Types baseball_team_inning1_total to inning9_total, lines 0.5 and 1.5.")
)
TIERS = (
    Observation("limits.tiers", "2026-09", (DOCS,), _REFERENCE)
    .about("refusal", "timing")
    .of("OrderEntryAPI.InsertOrder", "OrderEntryAPI.CancelOrder", "RFQAPI.CreateQuote")
    .shows(
        "Limits of order entry and quotes depend on the tier of the firm; 429 says rate limit "
        "exceeded. limits: {tier: 1} to 4 of a firm or key sets them."
    )
)
RFQ_GENERAL = (
    Observation("rfqs.general", "2026-10-01", (DOCS, LIVE), f"{_REFERENCE}; the 403 of one client")
    .about("answer", "refusal")
    .of("RetailRfqsAPI.CreateRfq", "RetailRfqsAPI.ListRfqTrades", "RFQAPI.GetRFQTrades")
    .shows(
        "Combos and requests for quotes are general on the retail API from 2026-10-01; before, a "
        "key without beta access gets 403. Trades before the history are FAILED_PRECONDITION; a "
        "quote carries executionDeadline, executedTime and the ids of both orders."
    )
)
UNSETTLED = (
    Observation("settlement.unsettled", "2026-09", (DOCS,), _REFERENCE)
    .of("SettlementService.GetInstrumentSettlement")
    .shows("A known instrument that is not settled is 200 without stats.")
)
