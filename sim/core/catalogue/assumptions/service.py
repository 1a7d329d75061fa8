"""Assumptions about limits, maintenance, retention and reports."""

from sim.core.catalogue.assumption import choice, flag, span, text

EXTRA_LIMITS = flag(
    "limits.extra",
    False,
    "Published limits that the specification's table does not have (order entry, books, ledgers, "
    "cash movements) are not enforced.",
    "rule R1",
)
MINUTE_LIMITS = choice(
    "limits.per_minute",
    "bucket",
    ("bucket", "sliding"),
    "A limit of N a minute is a bucket of N that refills steadily. `sliding` counts the calls of "
    "the last 60 seconds.",
    "rule R2",
)
ENDPOINT_TEXT = text(
    "limits.endpoint_text",
    "rate limit exceeded: method={method} rung={rung}, retry after {wait}",
    "Text of a refusal by the limit of one method. §7.2 asks for the method, the rung and the "
    "wait, but shows no text.",
    "§7.2, rule R5",
)
CANCEL_LEAD = span(
    "maintenance.cancel_lead",
    "1m",
    "Open orders are canceled and instruments suspended this long before a maintenance window "
    "begins.",
    "rule W2",
)
MAINTENANCE_HOURS = choice(
    "maintenance.windows",
    "spec",
    ("spec", "docs"),
    "The specification's weekly hours. `docs` returns to 06:00-08:00 Eastern from 2026-09-24, as "
    "newer documentation says.",
    "rule W1",
)
MAINTENANCE_STREAM_END = choice(
    "maintenance.stream_end",
    "unavailable",
    ("unavailable", "ok"),
    "Streams end with UNAVAILABLE when maintenance begins. `ok` ends them as if they were "
    "complete.",
    "rule W5",
)
IDLE_TIMEOUT = span(
    "edge.idle_timeout",
    "10m",
    "The load balancer ends a stream on which nothing was sent for this long. With the default "
    "heartbeat that never happens.",
    "§8, rule S13",
    least="1s",
)
BIDI_IDLE_TIMEOUT = span(
    "edge.bidi_idle_timeout",
    "1h",
    "A bidirectional stream ends after this long without a frame from the client. Keepalive "
    "prevents it.",
    "§8, rule S13",
    least="1s",
)
STATS_KEPT = choice(
    "retention.trade_stats",
    "trades",
    ("trades", "market_data"),
    "Trade statistics are sums over trades, so they are kept as long as trades. `market_data` "
    "keeps them for 45 days, as market data (§8).",
    "§8, rule R10",
)
WIPE_DATES = choice(
    "retention.wipe_dates",
    "none",
    ("none", "announced"),
    "Executions are kept for their days (§8). `announced` also deletes all of them in the windows "
    "of 2026-08-27, 09-01 and 09-02, as was once announced.",
    "rule R10",
)
STATS_REQUIRE_PARTICIPANT = flag(
    "report.stats_requires_participant",
    False,
    "Trade statistics need no x-participant-id, although some environments answer code 7 without "
    "it.",
    "§4.3, rule R11",
)
STATS_BARS = choice(
    "report.bars",
    "slices",
    ("slices", "edges"),
    "`bars` is the number of equal slices. The documented example (6 bars over 14 days give "
    "buckets of 2.8 days) counts their edges.",
    "§4.3",
)
REVERSED_WINDOW = choice(
    "report.reversed_window",
    "refuse",
    ("refuse", "empty"),
    "A search or ledger query that ends before it starts is a bad combination (400). `empty` "
    "finds nothing instead.",
    "§7.1, which does not name this case",
)
