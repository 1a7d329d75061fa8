"""Handlers of the retail API."""
