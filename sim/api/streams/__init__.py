"""Streams: WebSocket and gRPC subscriptions, resume, heartbeats."""
