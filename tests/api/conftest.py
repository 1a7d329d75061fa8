"""Shared by the tests of the contract's compiler and codecs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from wire_values import probe_package


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module compiled from probe.proto: every shape a contract can have."""
    with probe_package(tmp_path_factory.mktemp("probe")) as module:
        yield module
