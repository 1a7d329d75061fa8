"""The catalogue of observations, and the two readings of the service based on it.

There is one module per topic; `sim catalogue observations` prints the catalogue. The reading
`documented` leaves every switch as the specification demands. The reading `observed` sets the
switches of all observations that the specification contradicts. A switch can also be set by
its own name.
"""

from __future__ import annotations

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.catalogue.observations import autumn, confirmed, exchange, retail, rfqs_and_crypto
from sim.core.catalogue.observations.observation import Observation, written
from sim.core.catalogue.quirks import Quirk, Quirks

DOCUMENTED, OBSERVED = "documented", "observed"
READINGS = {
    DOCUMENTED: "where the specification contradicts what was observed, the specification holds",
    OBSERVED: "what recordings and newer public pages show holds, also against the specification",
}
_TOPICS = (retail, exchange, rfqs_and_crypto, autumn, confirmed)


def catalogue() -> dict[str, Observation]:
    """Return every observation by name, topic by topic."""
    values = (value for topic in _TOPICS for value in vars(topic).values())
    return {value.name: value for value in values if isinstance(value, Observation)}


def settings(reading: str) -> dict[str, str]:
    """Return the values by assumption or quirk that a reading sets.

    Both readings set the same names.
    """
    chosen: dict[str, str] = {}
    for observation in catalogue().values():
        if observation.switch is not None and observation.in_observed:
            chosen[observation.switch.name] = (
                observation.value if reading == OBSERVED else observation.default
            )
    return chosen


def apply(reading: str, assumptions: Assumptions, quirks: Quirks) -> None:
    """Set every switch according to a reading."""
    values = settings(reading)
    for observation in catalogue().values():
        if observation.switch is not None and observation.switch.name in values:
            target = quirks if isinstance(observation.switch, Quirk) else assumptions
            target.change(observation.switch.name, values[observation.switch.name])


def in_force(observation: Observation, assumptions: Assumptions, quirks: Quirks) -> bool:
    """Return whether an exchange now behaves as observed."""
    if observation.switch is None:
        return observation.done
    target = quirks if isinstance(observation.switch, Quirk) else assumptions
    return written(target.as_written(observation.switch.name)) == observation.value


def reading_in_force(assumptions: Assumptions, quirks: Quirks) -> str:
    """Return the reading to which the switches correspond; "mixed" if there is none."""
    states = {
        in_force(observation, assumptions, quirks)
        for observation in catalogue().values()
        if observation.switch is not None and observation.in_observed
    }
    return "mixed" if len(states) > 1 else OBSERVED if True in states else DOCUMENTED
