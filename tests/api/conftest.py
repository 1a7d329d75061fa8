"""Shared by tests of codecs, of the gateway's lists and of the retail API."""

from __future__ import annotations

import pytest
from evening import Evening
from retail_world import RetailWorld

from tests.contract.wire_values import probe

__all__ = ["probe"]


@pytest.fixture(scope="session")
def evening() -> Evening:
    """A world in which something of everything has happened. Tests change nothing in it."""
    return Evening()


@pytest.fixture
def retail() -> RetailWorld:
    """Two retail accounts and two markets that nobody else trades."""
    return RetailWorld()
