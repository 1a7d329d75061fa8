"""When the exchanges of tests begin, where somebody else than their scenario says so: `SIM_START`,
which `sim calendar` sets for each date, as it is for `sim serve`.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from sim.kernel.instants import parse_instant
from sim.world.format.scenario import Scenario

VARIABLE = "SIM_START"


def with_start(scenario: Scenario, start: str = "") -> Scenario:
    """The scenario, begun at an RFC 3339 instant with an offset: `start`, else that of `SIM_START`,
    else its own. ValueError where it is none, with the name of the variable if it is that.
    """
    text = start or os.environ.get(VARIABLE, "").strip()
    if not text:
        return scenario
    try:
        at = parse_instant(text)
    except ValueError as error:
        raise ValueError(f"{'start' if start else VARIABLE}: {error}") from None
    return replace(scenario, clock=replace(scenario.clock, start=at))
