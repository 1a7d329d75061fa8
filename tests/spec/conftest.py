"""The world that most statements and rules are shown in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim.core.invariants import violations
from sim.run.client.client import Connection
from tests.spec.worlds import world_of


@pytest.fixture
def world() -> Iterator[Connection]:
    """The quickstart without rate limits; checks its invariants after the test."""
    found = world_of()
    yield found
    assert violations(found.simulation.exchange.trading) == []
