"""Recordings of the real service: their files, contradictions in them, the sandbox beside them."""
