"""Limits of streams. Their periods are assumptions instead (`stream.heartbeat`, …)."""

from __future__ import annotations

from sim.kernel.dated import Dated

# The limit counts streams of all types together (S7). It exists since v0.0.32 of the changelog.
STREAMS_PER_FIRM = Dated(
    0,
    ("2026-05-01", 20),
    name="streams.per_firm",
    section="§8, §9",
    title="maximum number of concurrent gRPC streams of a firm; 0 means no limit",
)
KEEPALIVE_READ = Dated(
    False,
    ("2026-05-01", True),
    name="streams.keepalive_command",
    section="§9",
    title="the bidirectional stream knows KeepAliveCommand (field 7)",
)
MARKET_DATA_SYMBOLS_MAX = 1000  # per subscription (S8)
MARKET_DATA_DEPTH = 10  # levels per side when a request names none (S8)
ACK_SYMBOLS_MAX = 1000  # above it, an acknowledgement gives counts only (S10)

# Rows in one message of a snapshot or a replay: about 200 KB of orders, well within the 4 MiB that
# gRPC clients accept by default.
BATCH = 500

SLUGS_MAX = 100  # per WebSocket subscription (S16)
SUBSCRIPTIONS_MAX = 10  # per WebSocket connection (S16)
# WebSocket clients accept 1 MiB per frame (S16). A retail order with its market's texts takes 2 KB.
ORDERS_PER_FRAME = 200
