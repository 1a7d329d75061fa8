"""Journals in readable form."""
