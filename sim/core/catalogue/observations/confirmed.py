"""Observations that confirm what the specification or the public contract says."""

from sim.core.catalogue.observations.observation import LIVE, Observation

_RECORDINGS = "published recordings of several accounts"

ASYNCHRONOUS_ANSWER = (
    Observation("orders.answer", "2026-09-16", (LIVE,), _RECORDINGS)
    .of("RetailOrdersAPI.CreateOrder")
    .shows(
        "An order that is not synchronous is answered by its id of 12 upper-case letters and "
        "digits, and an empty list of executions."
    )
)
EXECUTIONS = (
    Observation("orders.executions", "2026-09-16", (LIVE,), _RECORDINGS)
    .of("RetailOrdersAPI.CreateOrder", "RetailStreamsAPI.PrivateStream")
    .about("lifecycle")
    .shows("NEW comes before FILL; an IOC order that nothing fills ends as EXPIRED.")
)
PREVIEW_ENVELOPE = (
    Observation("orders.preview_envelope", "2026-09-14", (LIVE,), "a published preview")
    .of("RetailOrdersAPI.PreviewOrder")
    .shows("The order to preview is in the field request.")
)
NO_SETTLEMENT = (
    Observation("markets.no_settlement", "2026-09", (LIVE,), _RECORDINGS)
    .of("GatewayMarketsAPI.GetMarketSettlement")
    .about("refusal")
    .shows("A market without a settlement answers 404 with code 5.")
)
SUBSCRIPTIONS = (
    Observation("sockets.bounds", "2026-09", (LIVE,), _RECORDINGS)
    .of("RetailStreamsAPI.MarketsStream", "RetailStreamsAPI.PrivateStream")
    .about("refusal")
    .shows("Ten subscriptions a connection, a hundred slugs a subscription.")
)
WRAPPED_FRAMES = (
    Observation("sockets.market_data", "2026-08-30", (LIVE,), _RECORDINGS)
    .of("RetailStreamsAPI.MarketsStream")
    .shows("A frame of market data has its content in the field marketData.")
)
