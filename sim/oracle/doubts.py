"""Why an input may be undecided: every kind, with its reason."""

from __future__ import annotations

DOUBTS = {
    "a cross that waits for the engine": "Both sides of a cross wait as one request.",
    "an order bound to a stream": "An order of a session depends on the end of that stream.",
    "trades outside the book": "The two orders of a confirmed quote trade with each other, at terms"
    " that were agreed before.",
}
