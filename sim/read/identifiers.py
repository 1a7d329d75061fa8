"""Texts of two runs, compared without the identifiers that every run draws anew."""

from __future__ import annotations

import re

# An order or execution id, a UUID, a token's fingerprint.
_IDENTIFIERS = re.compile(
    r"\b(?:[0-9A-Z]{12,13}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,64})\b"
)
# The body of the answer, which a failure shows after the status.
_BODY = re.compile(r"^(status is \d+, not \d+): .*", re.DOTALL)


def without_identifiers(line: str) -> str:
    """Return a failure without anything that differs between any two runs."""
    return _IDENTIFIERS.sub("…", _BODY.sub(r"\1", line))
