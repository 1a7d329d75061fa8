"""Scripted participants: makers, takers, noise, order flow from a file."""
