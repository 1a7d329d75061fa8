"""History: one interface for everything that looks at a run, at any moment of any branch.

It changes and journals nothing. Answers are `Work`, done in small steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from sim.api.pipeline.inputs import Outcome, Send
from sim.core.model.refusals import NotFound
from sim.kernel.branches import Branch
from sim.kernel.instants import format_instant
from sim.kernel.work import Work
from sim.read.history.moments import Moments
from sim.read.history.pages import Query, Rows, Source
from sim.read.history.records import frame_body, operations, record
from sim.run.actors.operator.views import (
    VIEWS,
    ViewFilter,
    unknown_view,
    view_in_steps,
    views_in_steps,
)
from sim.run.simulation import Simulation

FRAMES_MAX = 50
# The number of inputs that are repeated to obtain frames, of which the journal holds only counts.
INPUTS_MAX = 500


class History:
    """The history of a simulation.

    A moment is right after an input of a branch, by default of the current one; 0 is the start. A
    moment that does not exist is refused as not found.
    """

    def __init__(self, simulation: Simulation, source: Source | None = None) -> None:
        """`source` provides the rows of a run whose replay is still in progress."""
        self._rows = Rows(simulation, source)
        self._moments = Moments(simulation)

    def page(self, query: Query, branch: str = "") -> Work[dict[str, Any]]:
        """Return rows of a branch; see `Rows.page`."""
        return self._rows.page(query, self._rows.branch(branch))

    def check(self, seq: int, branch: str, least: int = 0) -> Branch:
        """Return the branch of a moment. Refuses one that does not exist or is before `least`."""
        on = self._rows.branch(branch)
        self._rows.check(on, seq, least)
        return on

    def row(self, branch: Branch, seq: int) -> dict[str, Any]:
        """Return the row of an input on a branch."""
        return self._rows.plain(self._rows.entry(branch, seq))

    def record(self, seq: int, branch: str = "") -> Work[dict[str, Any]]:
        """Return the full record of an input; see `records.record`."""
        return record(self._rows, self._moments, self._rows.branch(branch), seq)

    def state(
        self, seq: int, view: str, branch: str = "", only: ViewFilter | None = None
    ) -> Work[dict[str, Any]]:
        """Return a view of the state at a moment."""
        if view not in VIEWS:
            raise unknown_view(view)
        replica, _ = yield from self.moment(seq, branch)
        return (yield from view_in_steps(replica.engine, view, only or ViewFilter()))

    def states(
        self, seq: int, names: Sequence[str], branch: str = "", only: ViewFilter | None = None
    ) -> Work[dict[str, Any]]:
        """Return several views of a moment, with its instant and digest."""
        for name in names:
            if name not in VIEWS:
                raise unknown_view(name)
        replica, on = yield from self.moment(seq, branch)
        return {
            "seq": seq,
            "at": format_instant(replica.now),
            "branch": on.name,
            "digest": replica.digest,
            **(yield from views_in_steps(replica.engine, names, only or ViewFilter())),
        }

    def frames(self, seq: int, stream: int, branch: str = "") -> Work[dict[str, Any]]:
        """Return the latest frames of a stream up to a moment, oldest first, and whether it is
        still open then.

        Covers the inputs after `after`. Refused as not found if it was open at none of them.
        """
        on, after = self.check(seq, branch), max(0, seq - INPUTS_MAX)
        before = yield from self._moments.at(on, after)
        operation = operations(before).get(stream)
        frames: deque[dict[str, Any]] = deque(maxlen=FRAMES_MAX)

        def on_input(sim: Simulation, outcome: Outcome) -> None:
            nonlocal operation
            operation = operation or operations(sim).get(stream)
            for effect in outcome.effects:
                if isinstance(effect, Send) and effect.stream == stream and operation is not None:
                    body = frame_body(operation, effect.frame)
                    frames.append({"seq": sim.seq, "at": format_instant(sim.now), "body": body})

        replica = yield from self._moments.walk(on, after, seq, on_input)
        if operation is None:
            message = (
                f"stream {stream} was not open at input {seq}, nor in the {seq - after} before"
            )
            raise NotFound(message, rule="T1", remedy="GET /_sim/v1/history?kind=stream lists them")
        is_open = stream in operations(replica)
        return {"frames": list(frames), "after": after, "open": is_open}

    def around(self, seq: int, branch: str = "") -> Work[None]:
        """Make moments around one quick to access, in idle time; see `Moments.around`."""
        return self._moments.around(self._rows.branch(branch), seq)

    def moment(self, seq: int, branch: str = "") -> Work[tuple[Simulation, Branch]]:
        """Return the run at a moment, and the branch of its last input. Fork it at once."""
        on = self.check(seq, branch)
        replica = yield from self._moments.at(on, seq)
        return replica, replica.journal.branches[on.holder(seq).name]

    def branches(self) -> list[dict[str, Any]]:
        """Return every branch, oldest first."""
        return self._rows.branches()
