"""Shared by tests of codecs, of the gateway's lists and of the retail API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from evening import Evening
from retail_world import RetailWorld
from wire_values import probe_package


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module compiled from probe.proto: every shape a contract can have."""
    with probe_package(tmp_path_factory.mktemp("probe")) as module:
        yield module


@pytest.fixture(scope="session")
def evening() -> Evening:
    """A world in which something of everything has happened. Tests change nothing in it."""
    return Evening()


@pytest.fixture
def retail() -> RetailWorld:
    """Two retail accounts and two markets that nobody else trades."""
    return RetailWorld()
