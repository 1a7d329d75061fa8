"""Numbers that streams keep to. Those marked S… are rules of the exchange, the others are our answers where the specification says "not shown"."""

from __future__ import annotations

from sim.kernel.instants import HOUR, MINUTE, NS_PER_MS, Span, days, seconds

# A sign of life at least this often on every stream (S5: the cadence is unpublished; clients call 75 s to 180 s of silence dead).
HEARTBEAT_EVERY: Span = seconds(30)
# Books that did not change are sent again after this long (S9).
REFRESH_EVERY: Span = MINUTE
# A bidirectional stream without a client frame ends after this long (S13).
IDLE_MAX: Span = HOUR
# Updates a WebSocket client allows to be merged are sent this long after the first of them (S16: unpublished).
DEBOUNCE: Span = 250 * NS_PER_MS
# A resume token older than this starts nothing: executions are kept as long (S3, §8).
RESUME_TOKEN_LIFETIME: Span = days(7)

STREAMS_PER_FIRM_MAX = 20  # pooled over all types (S7)
MARKET_DATA_SYMBOLS_MAX = 1000  # per subscription (S8)
MARKET_DATA_DEPTH = 10  # levels per side when a request names none (S8)
ACK_SYMBOLS_MAX = 1000  # beyond, an acknowledgement gives counts only (S10)

# Rows in one message of a snapshot or a replay: about 200 KB of orders, well within the 4 MiB that gRPC clients accept by default.
BATCH = 500

SLUGS_MAX = 100  # per WebSocket subscription (S16)
SUBSCRIPTIONS_MAX = 10  # per WebSocket connection (S16)
# WebSocket clients accept 1 MiB a frame (S16); a retail order with its market's texts takes some 2 KB.
ORDERS_PER_FRAME = 200
