"""The world of tests of games: nobody has touched it, and no limit of requests holds."""

from __future__ import annotations

import pytest

from tests.world.game_desk import GameDesk, play


@pytest.fixture
def world() -> GameDesk:
    """The default world without limits of requests."""
    return play()
