"""Determinism without markets: instants, timers, named random streams, identifiers, the journal."""
