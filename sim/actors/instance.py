"""What actors know of the instance (the running exchange) that they act on.

Actors stand below `Simulation`, which composes them, so they must not import it; this protocol
names the few attributes that they use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sim.actors.participants.participants import Participants
    from sim.api.pipeline.inputs import Outcome, StreamOpened
    from sim.api.pipeline.pipeline import Pipeline
    from sim.api.pipeline.request_log import RequestLog
    from sim.api.streams.hub import Hub
    from sim.contract.contract import Contract
    from sim.core.exchange import Exchange
    from sim.kernel.instants import Instant
    from sim.scenario.scenario import Scenario
    from sim.world.world import World


class Instance(Protocol):
    """A running exchange with the world that it began as."""

    scenario: Scenario
    start: Instant
    contract: Contract
    exchange: Exchange
    world: World
    pipeline: Pipeline
    hub: Hub
    participants: Participants
    log: RequestLog

    @property
    def now(self) -> Instant:
        """Virtual now."""

    @property
    def seq(self) -> int:
        """Number of inputs handled on this branch."""

    @property
    def digest(self) -> str:
        """Digest of the journal so far."""

    def publish(self, outcome: Outcome) -> None:
        """Tell streams and actors what has happened up to now, as part of an input."""

    def open_stream(self, opened: StreamOpened, outcome: Outcome, /) -> None:
        """Open a stream as part of an input."""
