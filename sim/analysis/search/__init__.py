"""Searches over many runs: sweep, explore, shrink, bisect.

Runs are independent simulations; nothing here is part of one.
"""
