"""Why an input may be undecided: every kind, with its reason."""

from __future__ import annotations

DOUBTS = {
    "trades outside the book": "The two orders of a confirmed quote trade with each other, at terms"
    " that were agreed before."
}
