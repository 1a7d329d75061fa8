"""Access to a run's past: one reader at a time, and the replay of a finished run that is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sim.core.model.refusals import Conflict
from sim.kernel.work import Work
from sim.server.event_loop import in_slices

if TYPE_CHECKING:
    from sim.read.history.recorded import RecordedRun
    from sim.run.simulation import Simulation

T = TypeVar("T")
# Idle real time after which moments nearby are prepared.
_QUIET_S = 0.1
_LOOK_S = 0.025
_REMEDY = 'POST /_sim/v1/fork with {"seq": n} starts an exchange that continues from there'


class HistoryAccess:
    """Lets one caller at a time read a run's past, and prepares moments nearby in between."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self._making: asyncio.Task[None] | None = None

    async def read(self, work: Work[T], nearby: Callable[[], Work[None]]) -> T:
        """The result of the work. Afterwards, while there is no other caller, `nearby` is done."""
        self.stop()
        async with self.lock:
            answer = await in_slices(work)
        self.stop()
        self._making = asyncio.create_task(self._make_ready(nearby))
        return answer

    def stop(self) -> None:
        """Stop the preparation of moments."""
        if self._making is not None:
            self._making.cancel()
            self._making = None

    async def _make_ready(self, nearby: Callable[[], Work[None]]) -> None:
        await asyncio.sleep(_QUIET_S)
        async with self.lock:
            await in_slices(nearby())


class OpenedRun:
    """A finished run whose replay is under way or complete. `failed` says why the
    replay ended early.
    """

    def __init__(self, recorded: RecordedRun, simulation: Simulation) -> None:
        self.recorded = recorded
        self.simulation = simulation
        self.failed = ""

    @property
    def over(self) -> bool:
        """Whether the replay has ended."""
        return bool(self.failed) or self.recorded.finished

    def progress(self) -> dict[str, Any]:
        """The progress of the replay."""
        progress = {"inputs": self.recorded.inputs, "of": self.recorded.total}
        return progress | ({"failed": self.failed} if self.failed else {})

    async def replay(self) -> None:
        """Replay the run, in turns with requests that read it. Raises Divergence."""
        from sim.read.replay import Divergence

        try:
            await in_slices(self.recorded.replay(self.simulation))
        except Divergence as difference:
            difference.path = str(self.recorded.path)
            self.failed = next(difference.lines())
            raise

    async def reach(self, seq: int, branch: str = "") -> None:
        """Wait until the replay has passed a moment. Conflict if it never will."""
        on = self.recorded.branches[branch] if branch else self.recorded.branch
        while not self.recorded.reached(self.simulation, on.holder(seq).name, seq):
            if self.failed:
                raise Conflict(
                    f"this version replays the run up to input {self.recorded.inputs} only:"
                    f" {self.failed}",
                    rule="T1",
                )
            await asyncio.sleep(_LOOK_S)

    @staticmethod
    def refuse_change() -> Conflict:
        """The refusal of a call that would change the run."""
        message = "this run is over: it can be read and forked, but not changed"
        return Conflict(message, rule="T1", remedy=_REMEDY)
