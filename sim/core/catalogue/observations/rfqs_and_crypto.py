"""Observations of requests for quotes, combos and crypto markets, by newer public pages."""

from sim.core.catalogue.observations.observation import DOCS, SDK, Observation

_REFERENCE = "public API reference"
_GUIDE = "public guide to crypto markets"

RFQ_PATHS = (
    Observation("rfqs.paths", "2026-09", (DOCS,), _REFERENCE)
    .of(*("RetailRfqsAPI.DeleteQuote", "RetailRfqsAPI.AcceptQuote", "RetailRfqsAPI.ConfirmQuote"))
    .shows("Paths of quotes name the request: /v1/rfqs/{rfqId}/quotes/{quoteId}, accept, confirm.")
)
RFQ_PRICES = (
    Observation("rfqs.prices", "2026-09", (DOCS,), _REFERENCE)
    .of("RetailRfqsAPI.CreateQuote", "RetailRfqsAPI.AcceptQuote")
    .shows(
        "buyPrice is the price at which the requester buys, so it is not below sellPrice; 0 means "
        "that the side is not offered."
    )
)
RFQ_LISTS = (
    Observation("rfqs.lists", "2026-09", (DOCS, SDK), _REFERENCE)
    .of("RetailRfqsAPI.ListRfqs", "RetailRfqsAPI.ListQuotes", "RetailRfqsAPI.ListRfqTrades")
    .shows(
        "Lists of requests and quotes take limit, cursor, ids, status and user filters and answer "
        "a cursor; a list of quotes needs one filter; trades take startTime and endTime."
    )
)
RFQ_EXCHANGE = (
    Observation("rfqs.exchange", "2026-09", (DOCS,), _REFERENCE)
    .of(
        *("ComboAPI.CreateCombo", "ComboAPI.GetCombos", "RFQAPI.GetRFQs", "RFQAPI.CreateRFQ"),
        "RFQAPI.StreamRFQEvents",
    )
    .shows("The exchange API has combos and requests for quotes too, over REST and gRPC.")
)
CRYPTO_METADATA = (
    Observation("crypto.metadata", "2026-09", (DOCS,), _REFERENCE)
    .of("RefDataAPI.ListInstruments", "RefDataAPI.GetInstrument")
    .shows(
        "Metadata of crypto instruments: interval_start and interval_end in seconds, clearing_sym "
        "CPC-<asset>, instrument_product cpc, the slug as event_id; clearingSym filters by it."
    )
)
CRYPTO_TERMS = (
    Observation("crypto.terms", "2026-09", (DOCS,), _REFERENCE)
    .of("GatewayMarketsAPI.GetMarketBySlug")
    .shows(
        "assetPriceTerms of a market: marketType, asset, indexSymbol, horizon, windowStart, "
        "windowEnd, priceToBeat, strike, range, direction, settlementPrice."
    )
)
CRYPTO_MEAN = Observation("crypto.mean", "2026-09", (DOCS,), _GUIDE).shows(
    "A market compares means of the 60 index prices of the last minute."
)
CRYPTO_LISTING = (
    Observation("crypto.listing", "2026-09", (DOCS,), _GUIDE)
    .about("timing")
    .shows(
        "Windows are listed as PENDING 12 hours (15 minutes long) and 24 hours (1 hour long) "
        "ahead, and open 90 seconds before they begin."
    )
)
