"""Reads, checks and builds a scenario."""
