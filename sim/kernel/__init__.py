"""Determinism, and nothing about markets: time as integers, timers, named entropy, identifiers, the
journal.
"""
