"""Assumptions, quirks, observations and bounds: every named choice with its reason."""
