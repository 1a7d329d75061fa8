"""Determinism without markets: instants, timers, named randomness, identifiers, the journal."""
