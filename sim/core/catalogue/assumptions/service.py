"""Assumptions about limits, maintenance, retention and reports."""

from sim.core.catalogue.assumption import choice, flag, span, text

EXTRA_LIMITS = flag("limits.extra", False, source="rule R1").because(
    "Published limits that the specification's table does not have (order entry, books, ledgers, "
    "cash movements) are counted and not enforced: an answer over one carries x-sim-over-limit, "
    "and conformance reports them. `true` enforces them, as the presets realistic and hostile do."
)
MINUTE_LIMITS = choice("limits.per_minute", "bucket", "sliding", source="rule R2").because(
    "A limit of N a minute is a bucket of N that refills steadily. `sliding` counts the calls of "
    "the last 60 seconds."
)
ENDPOINT_TEXT = text(
    "limits.endpoint_text",
    "rate limit exceeded: method={method} rung={rung}, retry after {wait}",
    source="§7.2, rule R5",
).because(
    "Text of a refusal by the limit of one method. §7.2 asks for the method, the rung and the "
    "wait, but shows no text."
)
CANCEL_LEAD = span("maintenance.cancel_lead", "1m", source="rule W2").because(
    "Open orders are canceled and instruments suspended this long before a maintenance window "
    "begins."
)
MAINTENANCE_HOURS = choice("maintenance.windows", "spec", "docs", source="rule W1").because(
    "The specification's weekly hours. `docs` returns to 06:00-08:00 Eastern from 2026-09-24, as "
    "newer documentation says."
)
MAINTENANCE_STREAM_END = choice(
    "maintenance.stream_end", "unavailable", "ok", source="rule W5"
).because(
    "Streams end with UNAVAILABLE when maintenance begins. `ok` ends them as if they were complete."
)
IDLE_TIMEOUT = span("edge.idle_timeout", "10m", least="1s", source="§8, rule S13").because(
    "The load balancer ends a stream on which nothing was sent for this long. With the default "
    "heartbeat that never happens."
)
KEEP_ALIVE = span("edge.keep_alive", "0s").because(
    "The edge closes a connection over HTTP on which nothing was asked for this long in virtual "
    "time. 0s: it never does, so that a jump of the clock does not close every connection."
)
BIDI_IDLE_TIMEOUT = span("edge.bidi_idle_timeout", "1h", least="1s", source="§8, rule S13").because(
    "A bidirectional stream ends after this long without a frame from the client. Keepalive "
    "prevents it."
)
STATS_KEPT = choice(
    "retention.trade_stats", "trades", "market_data", source="§8, rule R10"
).because(
    "Trade statistics are sums over trades, so they are kept as long as trades. `market_data` "
    "keeps them for 45 days, as market data (§8)."
)
WIPE_DATES = choice("retention.wipe_dates", "none", "announced", source="rule R10").because(
    "Executions are kept for their days (§8). `announced` also deletes all of them in the windows "
    "of 2026-08-27, 09-01 and 09-02, as was once announced."
)
STATS_REQUIRE_PARTICIPANT = flag(
    "report.stats_requires_participant", False, source="§4.3, rule R11"
).because(
    "Trade statistics need no x-participant-id, although some environments answer code 7 without "
    "it."
)
STATS_BARS = choice("report.bars", "slices", "edges", source="§4.3").because(
    "`bars` is the number of equal slices. The documented example (6 bars over 14 days give "
    "buckets of 2.8 days) counts their edges."
)
REVERSED_WINDOW = choice(
    "report.reversed_window", "refuse", "empty", source="§7.1, which does not name this case"
).because(
    "A search or ledger query that ends before it starts is a bad combination (400). `empty` finds "
    "nothing instead."
)
