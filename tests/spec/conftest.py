"""The world that most statements and rules are shown in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim.core.invariants import violations
from tests.kit import Desk, begin


@pytest.fixture
def world() -> Iterator[Desk]:
    """The quickstart without rate limits; checks its invariants after the test."""
    desk = begin(limits=False)
    yield desk
    assert violations(desk.trading) == []
