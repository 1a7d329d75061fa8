"""Assumptions about behaviour that recordings show and that the specification does not describe, or
describes differently.

The reading `observed` sets them together; `observations/` has the evidence.
"""

from sim.core.catalogue.assumption import choice, span

MARKETS_DEPRECATED = choice("markets.deprecated_fields", "removed", "shown", source="§9").because(
    "marketType, outcomes, outcomePrices, sportsMarketTypeV2, archived, manualActivation and "
    "gameStartTime of a market are removed on 2026-06-29. `shown` keeps them after that date."
)
REWARD_ACTIVITIES = choice("activities.rewards", "own_types", "transfer", source="§2.8").because(
    "Liquidity rewards and fee rebates are activities of types of their own, LIQUIDITY_PROGRAM and "
    "TAKER_FEE_REBATE. `transfer` shows them as TRANSFER, as 14,297 recorded activities do."
)
RETAIL_SHORTFALL = choice(
    "retail.shortfall", "refuse", "trim", source="one client; no document says"
).because(
    "An order that costs more than the account has is refused. `trim` reduces it to the quantity "
    "that the money pays for, and refuses it only if that is less than the least quantity."
)
EDGE_ERRORS = choice("exchange.edge_errors", "mapped", "edge", source="§7.1, §7.2").because(
    "The exchange host answers 401 with code and message, and an unknown path with 404. `edge` "
    'answers 401 with {"message": "Unauthorized"} alone and an unknown path with 403.'
)
SEARCH_PAGE_SIZE = choice("report.page_size", "optional", "required", source="§4.3").because(
    "A search of orders, executions or trades without a page size has pages of 100, as the sample "
    "of §4.3 shows. `required` answers 400 with code 11."
)
EMPTY_PAGE_TOKEN = choice("report.empty_page_token", "absent", "empty", source="§4.3").because(
    "The last page of a search has no nextPageToken. `empty` writes it as empty text."
)
ORDER_REPLACED = choice(
    "orders.replaced", "in_place", "new_order", source="one client; §7.1 shows no ids"
).because(
    "A retail order that is changed keeps its id. `new_order` leaves it in the lists as REPLACED "
    "and gives the changed order an id of its own."
)
INCENTIVE_ROWS = choice("incentives.rows", "market", "program", source="§2.3").because(
    "A market has one row of programs with all of their periods, and one row of earnings for each "
    "date. `program` gives each program of a market rows of its own."
)
UNSET_FIELDS = choice("gateway.unset_fields", "written", "absent", source="§2.10").because(
    "A field of a market, side, team or tag that is not set is written as empty text, 0 or null, "
    "because the specification lists it. `absent` leaves it out, as recordings do."
)
TOKEN_LIFE = span("token.life", "3m", least="1s", source="§5.1, §8").because(
    "An access token of the issuer lives for 180 s, as its expires_in says. Recordings of "
    "production and pre-production show a day."
)
MARKETS_QUOTES = choice("markets.quote_value", "number", "string", source="§2.10").because(
    "The value of a Quote in reference data is a number. `string` writes best bid and ask with "
    'four decimals ("0.5300") and the quotes of sides without padding ("0.47").'
)
TIMESTAMP_TOLERANCE = span(
    "auth.timestamp_tolerance", "30s", least="1s", source="official clients and documentation"
).because(
    "The timestamp of a signed retail request may be this far from the server's clock, either way. "
    "One probe, whose clock was off, was accepted with a timestamp one to three minutes old."
)
EVENTS_DEPRECATED = choice("events.deprecated_fields", "removed", "shown", source="§9").because(
    "participants and archived of an event are removed on 2026-06-29. `shown` keeps them after "
    "that date, participants as an empty list."
)
EVENTS_ID = choice("events.id", "number", "string", source="§2.11").because(
    "The id of an event is a number. `string` writes it in quotes."
)
NOTIONAL_TRADED = choice(
    "statistics.notional_traded",
    "dollars",
    "undivided",
    source="recordings; the specification does not say",
).because(
    "notionalTraded of a market's statistics is in dollars. `undivided` shows a hundred times as "
    "much on REST in markets of price scale 100, as recordings do; the socket shows dollars."
)
HALTED_BOOK = choice(
    "market_data.halted_book",
    "shown",
    "empty",
    source="one incident; §3.1 does not say what a halted book shows",
).because(
    "A halted market shows the orders that rest in it. `empty` shows none, as during one halt of "
    "the whole venue."
)
LAST_PRICE_SAMPLE = choice(
    "market_data.last_price_sample", "removed", "shown", source="§4.2"
).because(
    "lastPriceSample is removed on 2026-07-03. `shown` keeps it after that date, null on a market "
    "that expired."
)
BULK_EXPORT = choice("reports.bulk_export", "none", "served", source="§4.3").because(
    "No bulk export of reports exists: POST /v1/report/orders/csv, executions/csv and trades/csv "
    "are unknown paths, and their calls unknown methods. `served` answers them with CSV. The CSV "
    "of the two ledgers is documented, and served always."
)
