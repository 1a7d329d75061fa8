"""Journals as people read them."""
