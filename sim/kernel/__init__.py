"""Determinism without markets: instants, timers, random streams, identifiers, journal, indexes."""
