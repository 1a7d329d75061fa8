"""The reading of the service that tests run in: `SIM_READING=observed pytest` runs them in that of
recordings.

The environment variable reaches servers and commands by itself. Here it reaches simulations that
tests begin in process, whatever their scenario leaves to the default. A test about a rule that
recordings contradict says `@pytest.mark.reading("documented")`, and one about the other side
`@pytest.mark.reading("observed")`: it runs in that reading whatever the environment says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pytest
from msgspec.structs import replace

from sim import Simulation
from sim.core.catalogue.observations import DOCUMENTED, READINGS
from sim.read import replay

VARIABLE = "SIM_READING"
CHOSEN = os.environ.get(VARIABLE) or DOCUMENTED
_began = Simulation.__init__


@wraps(_began)
def _begin(self: Simulation, scenario: Any, **options: Any) -> None:
    reading = os.environ.get(VARIABLE)
    if reading in READINGS and scenario.reading == DOCUMENTED != reading:
        scenario = replace(scenario, reading=reading)
    _began(self, scenario, **options)


def _begin_as_recorded(*arguments: Any, **options: Any) -> Simulation:
    """A journal says in which reading it was written."""
    with _environment(DOCUMENTED):
        return Simulation(*arguments, **options)


@contextmanager
def _environment(reading: str) -> Iterator[None]:
    before = os.environ.pop(VARIABLE, None)
    if reading != DOCUMENTED:
        os.environ[VARIABLE] = reading
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)
        if before is not None:
            os.environ[VARIABLE] = before


def follow_the_environment() -> None:
    """Let simulations in process begin in the reading that the environment names."""
    if CHOSEN not in READINGS:
        raise pytest.UsageError(f"{VARIABLE} is one of {', '.join(READINGS)}, not {CHOSEN!r}")
    Simulation.__init__ = _begin  # type: ignore[method-assign]
    vars(replay)["Simulation"] = _begin_as_recorded


def put_in_force(item: pytest.Item) -> None:
    """Put the reading of a test in force, before its fixtures begin."""
    marker = item.get_closest_marker("reading")
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    if marker is not None:
        reading = marker.args[0]
    elif any(value in READINGS for value in parameters.values() if isinstance(value, str)):
        reading = DOCUMENTED  # it chooses the reading by itself
    else:
        reading = CHOSEN
    os.environ.pop(VARIABLE, None)
    if reading != DOCUMENTED:
        os.environ[VARIABLE] = reading
