"""Assumptions about behaviour that recordings show and that the specification does not describe, or
describes differently.

The reading `observed` sets them together; `observations/` has the evidence.
"""

from sim.core.catalogue.assumption import choice, span

MARKETS_DEPRECATED = choice("markets.deprecated_fields", "removed", "shown", source="§9").because(
    "marketType, outcomes, outcomePrices, sportsMarketTypeV2, archived, manualActivation and "
    "gameStartTime of a market are removed on 2026-06-29. `shown` keeps them after that date."
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
