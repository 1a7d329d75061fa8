"""A finished run that is shown: how far its replay is, and waiting for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from sim.core.model.refusals import Conflict
from sim.server.turns import in_turns

if TYPE_CHECKING:
    from sim.analysis.history.recorded import RecordedRun
    from sim.simulation import Simulation

_LOOK_S = 0.025
_REMEDY = 'POST /_sim/v1/fork with {"seq": n} begins a world that goes on from there'


class OpenedRun:
    """A finished run that is being replayed, or has been. `failed` says why it ended early."""

    def __init__(self, recorded: RecordedRun, simulation: Simulation) -> None:
        self.recorded = recorded
        self.simulation = simulation
        self.failed = ""

    @property
    def over(self) -> bool:
        """Whether the replay is at its end, wherever that is."""
        return bool(self.failed) or self.recorded.finished

    def progress(self) -> dict[str, Any]:
        """How far the replay is."""
        progress = {"inputs": self.recorded.inputs, "of": self.recorded.total}
        return progress | ({"failed": self.failed} if self.failed else {})

    async def replay(self) -> None:
        """Replay the run, in turns with those who read it. Divergence."""
        from sim.analysis.replay import Divergence

        try:
            await in_turns(self.recorded.replay(self.simulation))
        except Divergence as difference:
            difference.path = str(self.recorded.path)
            self.failed = next(difference.lines())
            raise

    async def reach(self, seq: int, branch: str = "") -> None:
        """Wait until the replay has come by a moment. Conflict when it never will."""
        on = self.recorded.branches[branch] if branch else self.recorded.branch
        while not self.recorded.reached(self.simulation, on.holder(seq).name, seq):
            if self.failed:
                raise Conflict(
                    f"this version replays the run up to input {self.recorded.inputs} only:"
                    f" {self.failed}",
                    rule="control",
                )
            await asyncio.sleep(_LOOK_S)

    @staticmethod
    def refuse_change() -> Conflict:
        """The refusal of a call that would change the run."""
        message = "this run is over: it can be read and forked, and not be changed"
        return Conflict(message, rule="control", remedy=_REMEDY)
