"""The world that most statements are shown in."""

from __future__ import annotations

import pytest

from sim.run.client.client import Connection
from tests.oracles.worlds import world_of


@pytest.fixture
def world() -> Connection:
    """The quickstart without rate limits."""
    return world_of()
