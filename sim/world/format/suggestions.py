"""Suggestions for unknown names: the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_NAME_MAX = (
    64  # no suggestion for longer names: the time of the search grows with the square of the length
)
_LISTED_MAX = 12  # names in one message


def nearest(name: str, names: Iterable[str]) -> str:
    """The known name that is most similar, or "". Case is ignored.

    If exactly one known name begins with this one, or is the beginning of it, that name wins
    over similar spellings.
    """
    if len(name) > _NAME_MAX:
        return ""
    spellings, low = {word.lower(): word for word in names}, name.lower()
    if len(low) > 2:
        words = [word for word in spellings if word]
        related = [word for word in words if word.startswith(low) or low.startswith(word)]
        if len(related) == 1:
            return spellings[related[0]]
    near = difflib.get_close_matches(low, list(spellings), n=1, cutoff=0.6)
    return spellings[near[0]] if near else ""


def known_names(name: str, choices: Iterable[str]) -> str:
    """The nearest known name as in `suggestion`, or else a list of all."""
    names = list(choices)
    listed = ", ".join(names[:_LISTED_MAX])
    more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
    return suggestion(name, names) or (f"; known: {listed}{more}" if names else "")


def suggestion(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, or ""."""
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near else ""
