"""History: one interface for everything that looks at a run, at any moment of any branch.

Looking moves nothing and journals nothing. Answers are `Work`, done in small steps.
"""

from __future__ import annotations

from typing import Any

from sim.analysis.history.pages import Query, Rows
from sim.analysis.history.work import Work
from sim.simulation import Simulation


class History:
    """The history of a simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self._rows = Rows(simulation)

    def page(self, query: Query, branch: str = "") -> Work[dict[str, Any]]:
        """Rows of a branch, of the present one unless named; see `Rows.page`."""
        return self._rows.page(query, self._rows.branch(branch))

    def branches(self) -> list[dict[str, Any]]:
        """Every branch, oldest first."""
        return self._rows.branches()
