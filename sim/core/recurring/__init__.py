"""Recurring markets on an index."""
