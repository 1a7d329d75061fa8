"""Assumptions and quirks: every named choice with its reason."""
