"""Observations of the retail API and the gateway."""

from sim.core.catalogue.assumptions import (
    EVENTS_DEPRECATED,
    EVENTS_ID,
    LAST_PRICE_SAMPLE,
    MARKETS_DEPRECATED,
    MARKETS_QUOTES,
)
from sim.core.catalogue.observations.observation import DOCS, LIVE, Observation
from sim.core.catalogue.quirks import CAMEL_CASE_QUERY_IGNORED

_MARKET_BODIES = "bodies of markets that several people published"

MARKETS_KEEP_FIELDS = (
    Observation("markets.deprecated_fields", "2026-09-05", (LIVE, DOCS), _MARKET_BODIES)
    .against("9")
    .set_by(MARKETS_DEPRECATED, "shown")
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
    .shows(
        'Quote.value is a string: best bid and ask have four decimals ("0.5300"), the quote of a '
        'side may be unpadded ("0.47").'
    )
)
EVENTS_ID_STRING = (
    Observation("events.id", "2026-08-25", (LIVE,), "a published list of events")
    .against("2.11")
    .set_by(EVENTS_ID, "string")
    .shows("The id of an event is a string.")
)
EVENTS_KEEP_FIELDS = (
    Observation("events.deprecated_fields", "2026-08-25", (LIVE,), "a published list of events")
    .against("9")
    .set_by(EVENTS_DEPRECATED, "shown")
    .shows("An event shows participants (an empty list) and archived after their removal.")
)
EVENT_SHAPE = Observation(
    "events.shape", "2026-08-25", (LIVE,), "a published list of events"
).shows(
    "marketGroups (a list, empty unless asked for), combos with enabled, and imageDisplayType are "
    "always there; startTime is set."
)
CAMEL_CASE_QUERY = (
    Observation("retail.camel_case_query", "2026-09-27", (LIVE,), "activities read with marketSlug")
    .against("0")
    .set_by(CAMEL_CASE_QUERY_IGNORED, "never")
    .shows(
        "camelCase query parameters work: activities?marketSlug= filters trades and resolutions "
        "and keeps changes of the balance; sortOrder=ASCENDING is the exact reverse."
    )
)
PRICE_SAMPLES = (
    Observation("market_data.last_price_sample", "2026-09-14", (LIVE,), "published market data")
    .against("4.2")
    .set_by(LAST_PRICE_SAMPLE, "shown")
    .shows("lastPriceSample is still there after its removal, and null on markets that expired.")
)
