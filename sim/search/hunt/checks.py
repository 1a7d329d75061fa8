"""Checks of one episode: the features of each input, and everything that must hold."""

from __future__ import annotations

from collections.abc import Iterator

from sim.api.pipeline.inputs import Input, Outcome
from sim.evidence.witness.observation import ClientObservation
from sim.evidence.witness.witness import judge
from sim.read.features import FeatureReader
from sim.run.simulation import Simulation
from sim.search.hunt.oracles import Oracles, Trouble
from sim.search.hunt.twin import Twin


class EpisodeChecks:
    """Checks a simulation from its current moment on. `observations` are what clients observed."""

    def __init__(self, simulation: Simulation) -> None:
        self._reader = FeatureReader(simulation)
        self._oracles = Oracles(simulation)
        self._twin = Twin(simulation)
        self.observations: list[ClientObservation] = []

    def features(self, outcome: Outcome) -> list[str]:
        """Return the features that were met since the last call."""
        return self._reader.after_input(outcome)

    def troubles(self, input_: Input, outcome: Outcome) -> Iterator[Trouble]:
        """Yield what is wrong after an input."""
        yield from self._oracles.after_input(input_, outcome)
        yield from self._twin.after_input(input_, outcome)

    def at_the_end(self) -> Iterator[Trouble]:
        """Yield what is wrong at the end.

        What clients observed is checked only if nothing else is wrong.
        """
        wrong = list(self._oracles.at_the_end())
        yield from wrong
        if wrong:
            return
        for check, verdict in judge(self.observations).checks.items():
            for contradiction in verdict.contradictions[:1]:
                yield Trouble("contradiction", check, f"{check}: {contradiction.sentence}")


def frame_features(frame: ClientObservation) -> Iterator[str]:
    """Yield the kind of a frame: the names in it that have a value."""
    names = sorted(name for name, value in frame.body.items() if value not in (None, "", [], {}))
    yield f"stream:{frame.operation.name}|{' '.join(names)}"
