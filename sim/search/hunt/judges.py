"""Everything that judges a run, after each input and at its end.

What is judged is a history: inputs, and what came of them. So what a judge of a hunt finds, it
finds again in a replay of the journal, in any process (`check.py`).

A judge that fails is a find itself, a judge error. It judges no more of this run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from sim.api.pipeline.inputs import Input, Outcome
from sim.evidence.audit import Audit
from sim.evidence.witness.journal import Watch
from sim.evidence.witness.observation import ClientObservation
from sim.evidence.witness.witness import judge
from sim.run.simulation import Simulation
from sim.search.hunt.oracles import Oracles
from sim.search.hunt.relations import Relations
from sim.search.hunt.replayed import ReplayedFrames
from sim.search.hunt.troubles import JUDGE_ERROR, Trouble, judge_error


class Judge(Protocol):
    """Says what is wrong after an input."""

    def after_input(self, input_: Input, outcome: Outcome) -> Iterable[Trouble]: ...


class ClientWitness:
    """Notes what clients observed, and looks for a contradiction at the end of a run.

    `latest` is what they observed of the last input.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._watch = Watch(simulation)
        self._observations: list[ClientObservation] = []
        self.latest: list[ClientObservation] = []

    def after_input(self, input_: Input, outcome: Outcome) -> Iterable[Trouble]:
        """Note an input. Nothing is wrong yet."""
        self._watch.outcome(input_, outcome)
        self.latest = self._watch.take()
        self._observations += self.latest
        return ()

    def at_the_end(self) -> Iterator[Trouble]:
        """Yield the first contradiction of each check."""
        for check, verdict in judge(self._observations).checks.items():
            for contradiction in verdict.contradictions[:1]:
                text = f"{check}: {contradiction.sentence}"
                yield Trouble("contradiction", check, text)


class LawJudge:
    """Tells what the law disagrees with: one finding for each rule."""

    def __init__(self, simulation: Simulation) -> None:
        self.audit = Audit(simulation)

    def after_input(self, input_: Input, outcome: Outcome) -> Iterator[Trouble]:
        """Yield the disagreements about an input, which the audit has judged when it ended."""
        for disagreement in self.audit.take():
            kind = "law" if disagreement.rule else JUDGE_ERROR
            yield Trouble(kind, disagreement.rule or "law", str(disagreement))


class Judges:
    """The judges of one run."""

    def __init__(self, simulation: Simulation) -> None:
        self._oracles = Oracles(simulation)
        self.witness = ClientWitness(simulation)
        self._law = LawJudge(simulation)
        self._judges: dict[str, Judge] = {
            "witness": self.witness,
            "oracles": self._oracles,
            "law": self._law,
            "relations": Relations(simulation),
            "streams": ReplayedFrames(simulation),
        }

    def after_input(self, input_: Input, outcome: Outcome) -> list[Trouble]:
        """Return what is wrong after an input."""
        troubles: list[Trouble] = []
        for name, each in list(self._judges.items()):
            try:
                troubles += each.after_input(input_, outcome)
            except Exception as error:
                del self._judges[name]
                troubles.append(judge_error(f"after input {outcome.seq}, {name}", name, error))
        return troubles

    def at_the_end(self) -> list[Trouble]:
        """Return what is wrong at the end of a run in which nothing else was."""
        troubles: list[Trouble] = []
        for name, ends in (("oracles", self._oracles.at_the_end), ("witness", self._witnessed)):
            try:
                troubles += () if troubles else ends()
            except Exception as error:
                troubles.append(judge_error(f"at the end, {name}", name, error))
        return troubles

    def dismiss(self) -> None:
        """Follow the run no longer."""
        self._law.audit.end()

    def _witnessed(self) -> Iterable[Trouble]:
        return self.witness.at_the_end() if "witness" in self._judges else ()
