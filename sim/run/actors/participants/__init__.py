"""Simulated traders: makers, takers, noise traders, order flow from a file."""
