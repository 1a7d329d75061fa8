"""History: one interface for everything that looks at a run, at any moment of any branch.

It changes and journals nothing. Answers are `Work`, done in small steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sim.kernel.branches import Branch
from sim.kernel.instants import format_instant
from sim.read.history.frames import last_frames
from sim.read.history.moments import Moments
from sim.read.history.pages import Query, Rows, Source
from sim.read.history.records import record
from sim.read.history.work import Work
from sim.run.actors.operator.views import VIEWS, ViewFilter, unknown_view
from sim.run.actors.operator.views import view as read_view
from sim.run.actors.operator.views import views as read_views
from sim.run.simulation import Simulation


class History:
    """The history of a simulation."""

    def __init__(self, simulation: Simulation, source: Source | None = None) -> None:
        """`source` provides the rows of a run whose replay is still in progress."""
        self._rows = Rows(simulation, source)
        self._moments = Moments(simulation)

    def page(self, query: Query, branch: str = "") -> Work[dict[str, Any]]:
        """Return rows of a branch, by default the current one; see `Rows.page`."""
        return self._rows.page(query, self._rows.branch(branch))

    def check(self, seq: int, branch: str, least: int) -> None:
        """Refuse a moment that does not exist."""
        self._rows.check(self._rows.branch(branch), seq, least)

    def row(self, branch: Branch, seq: int) -> dict[str, Any]:
        """Return the row of an input on a branch."""
        return self._rows.plain(self._rows.entry(branch, seq))

    def record(self, seq: int, branch: str = "") -> Work[dict[str, Any]]:
        """Return the full record of an input; see `records.record`."""
        return record(self._rows, self._moments, self._rows.branch(branch), seq)

    def state(
        self, seq: int, view: str, branch: str = "", only: ViewFilter | None = None
    ) -> Work[dict[str, Any]]:
        """Return a view of the state right after an input; 0 is the start."""
        if view not in VIEWS:
            raise unknown_view(view)
        on = self._rows.branch(branch)
        self._rows.check(on, seq, least=0)
        replica = yield from self._moments.at(on, seq)
        return read_view(replica.engine, view, only or ViewFilter())

    def states(
        self, seq: int, names: Sequence[str], branch: str = "", only: ViewFilter | None = None
    ) -> Work[dict[str, Any]]:
        """Return several views of the moment right after an input, with its instant and digest."""
        for name in names:
            if name not in VIEWS:
                raise unknown_view(name)
        on = self._rows.branch(branch)
        self._rows.check(on, seq, least=0)
        replica = yield from self._moments.at(on, seq)
        return {
            "seq": seq,
            "at": format_instant(replica.now),
            "branch": on.holder(seq).name,
            "digest": replica.digest,
            **read_views(replica.engine, names, only or ViewFilter()),
        }

    def frames(self, seq: int, stream: int, branch: str = "") -> Work[dict[str, Any]]:
        """Return the last frames of a stream as of an input; see `frames.last_frames`."""
        on = self._rows.branch(branch)
        self._rows.check(on, seq, least=0)
        return last_frames(self._moments, on, seq, stream)

    def around(self, seq: int, branch: str = "") -> Work[None]:
        """Make moments around one quick to access, in idle time; see `Moments.around`."""
        return self._moments.around(self._rows.branch(branch), seq)

    def moment(self, seq: int, branch: str = "") -> Work[tuple[Simulation, Branch]]:
        """Return the run right after an input of a branch. A fork must be taken at once."""
        on = self._rows.branch(branch)
        self._rows.check(on, seq, least=0)
        replica = yield from self._moments.at(on, seq)
        return replica, replica.journal.branches[on.holder(seq).name]

    def branches(self) -> list[dict[str, Any]]:
        """Return every branch, oldest first."""
        return self._rows.branches()
