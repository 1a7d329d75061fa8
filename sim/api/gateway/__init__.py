"""Handlers of the public gateway: events, markets, prices, search."""
