"""An audit: the law follows a simulation and judges each of its inputs.

After a jump in time the run goes on in an earlier state, so the law begins again with the state in
which the exchange is then. The input right after a jump is not judged.
"""

from __future__ import annotations

from sim.oracle.law import Law
from sim.oracle.verdict import AuditVerdict, Disagreement
from sim.read.observed import ObservedInput, beginning_of, follow
from sim.run.simulation import Simulation


class Audit:
    """Follows one simulation from now on. `new` has disagreements that nobody has taken yet."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._epoch = simulation.engine.epoch
        self._law = Law(beginning_of(simulation))
        self.verdict: AuditVerdict = self._law.verdict
        self.new: list[Disagreement] = []
        follow(simulation, self._take)

    def _take(self, observed: ObservedInput) -> None:
        if observed.epoch != self._epoch:
            self._epoch = observed.epoch
            self._law = Law(beginning_of(self._simulation), self.verdict)
            self.verdict.inputs += 1
            self.verdict.undecided["after a jump in time"] += 1
            return
        self.new += self._law.judge(observed)
