"""Requests for quote and combos."""
