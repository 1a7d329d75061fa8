"""Integers of wide ranges for property tests.

Examples are derandomized and few, and Hypothesis alone tries little of a wide range besides small
numbers: edges have to be named.
"""

from __future__ import annotations

from hypothesis import strategies as st


def wide(low: int, high: int, *edges: int) -> st.SearchStrategy[int]:
    """A number from `low` to `high`: as often as not one of its ends, or an edge, or next to it."""
    named = {near for edge in (low, high, *edges) for near in (edge - 1, edge, edge + 1)}
    return st.sampled_from(sorted(item for item in named if low <= item <= high)) | st.integers(
        low, high
    )
