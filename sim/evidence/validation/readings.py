"""The two readings of the specification, and the switches that tell them apart."""

from __future__ import annotations

from functools import cache

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.observations import DOCUMENTED, OBSERVED, catalogue, settings
from sim.core.catalogue.quirks import Quirk


@cache
def wire_switches_of(reading: str) -> frozenset[str]:
    """Return the switches of JSON fields that are on in a reading."""
    from sim.api.pipeline.replies import wire_switches

    assumptions = Assumptions()
    for name, value in settings(reading).items():
        if name in _assumption_names():
            assumptions.change(name, value)
    return wire_switches(assumptions)


def _assumption_names() -> set[str]:
    switches = (observation.switch for observation in catalogue().values())
    return {
        switch.name for switch in switches if switch is not None and not isinstance(switch, Quirk)
    }


def observation_of(switch: str) -> str:
    """Return the name of the observation behind a switch; "" if there is none."""
    for observation in catalogue().values():
        if observation.switch is not None and observation.switch.name == switch:
            return observation.name
    return ""


def other_reading(reading: str) -> str:
    """The other of the two readings."""
    return OBSERVED if reading == DOCUMENTED else DOCUMENTED
