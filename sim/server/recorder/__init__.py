"""Listeners that pass a client's traffic to the real service and record it (`sim record`)."""
