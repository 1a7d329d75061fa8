"""Recurring markets: automated crypto products."""
