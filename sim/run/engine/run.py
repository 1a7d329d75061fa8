"""What a run is made from."""

from __future__ import annotations

from typing import NamedTuple

from sim.api.pipeline.settings import Settings
from sim.kernel.instants import Instant
from sim.world.format.scenario import Scenario


class Run(NamedTuple):
    """What a run starts from.

    `signing_secrets` are keys of clients in clear, by their fingerprints. The process holds them,
    outside journal and state.
    """

    scenario: Scenario
    seed: int
    start: Instant
    settings: Settings
    signing_secrets: dict[str, bytes]
