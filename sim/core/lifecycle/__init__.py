"""Instrument states: schedule, transitions, listings, settlement, outcomes."""
