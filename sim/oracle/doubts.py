"""Why an input may be undecided: every kind, with its reason."""

from __future__ import annotations

DOUBTS = {
    "trades outside the book": "The two orders of a confirmed quote trade with each other, at terms"
    " that were agreed before.",
    "prices of an index": "The index follows a random walk, of which clients see candles only when"
    " they ask.",
    "facts of a game": "The clock plays the games of the default world. No client sees a result"
    " before it decides a market.",
}
