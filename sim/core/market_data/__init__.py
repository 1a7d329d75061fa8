"""Executions, statistics, asset prices, candles."""
