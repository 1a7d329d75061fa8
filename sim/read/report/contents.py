"""The content of a report: every row of a run, every record, and the state after every input.

The run is replayed once. A *position* counts the lines of the journal in the order in which they
were written, and the starts of runs before them; it identifies a moment on any branch. The data for
a position is what the control plane would have answered there (`sim/server/room` reads it through
`recorded.js`); both are made by the same functions.

If a run has more inputs than requested, the report has all its rows, but records and states of the
last inputs only: `since` is the first of these, and `notices` inform the reader.

The report contains nothing about the machine, neither paths nor times, so that a journal always
gives the same report. If this version does not reproduce the recorded run, rows continue to the
end, while records and states stop: `stopped` says where and why.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from msgspec import json

from sim.api.pipeline.inputs import Outcome
from sim.api.pipeline.settings import Settings
from sim.contract.contract import Operation
from sim.core.catalogue.observations import reading_in_force
from sim.kernel.branches import Branch
from sim.kernel.instants import format_instant
from sim.read.catalogues import rows as catalogue_rows
from sim.read.history.pages import BranchEntry, Rows
from sim.read.history.recorded import RecordedRun
from sim.read.history.records import operations, result_of_input
from sim.read.replay import Divergence
from sim.read.report.packing import PackedSeries, Parts
from sim.read.report.states import States, keys_named_by
from sim.run.actors.operator.views import view
from sim.run.actors.script.view import script_view

INPUTS = 10_000  # inputs with records and states, by default
FIGURES_MAX = 20_000  # maximum number of rows of one view and account
FRAMES_MAX = 50  # frames of one input; the record has their number
_SYMBOL = re.compile(rb'"symbol":"([^"\\]+)"')


class Contents:
    """Writes the parts of a report while a run is replayed."""

    def __init__(self, recorded: RecordedRun, parts: Parts, inputs: int = INPUTS) -> None:
        """Raises UnreadableJournal, or Divergence of the first line."""
        self._recorded, self._parts, self._inputs = recorded, parts, inputs
        self.simulation = recorded.begin(Settings())
        self._rows = Rows(self.simulation, recorded)
        self._first, end = _first_positions(recorded)
        self._since = max(0, end - inputs) if recorded.total > inputs else 0
        self._states = States(parts, _symbols(recorded))
        self._row_series, self._records = PackedSeries(parts), PackedSeries(parts)
        # Positions of the inputs that sent frames, by stream
        self._frames: dict[int, list[int]] = {}
        self._streams: dict[int, Operation] = {}
        self._figures: dict[str, dict[str, dict[str, int]]] = {}  # parts by branch, view, account
        self._cut = 0  # number of truncated figures
        self._branch = ""
        self._until = 0  # the last position with a record and a state
        self.difference: Divergence | None = None

    def write(self, step: Callable[[], None]) -> dict[str, Any]:
        """Replay the run and write everything but the index, which is returned.

        `step` is called after each input.
        """
        outcomes_of_replay: list[Outcome] = []
        self._note_start()
        try:
            for _ in self._recorded.replay(self.simulation, outcomes_of_replay.append):
                while outcomes_of_replay:
                    self._add_input(outcomes_of_replay.pop())
                    step()
                self._note_start()
        except Divergence as difference:
            difference.path = str(self._recorded.path)
            self.difference = difference
            self._note_rows(step)
        self._row_series.end()
        self._records.end()
        return self._index()

    def _note_start(self) -> None:
        """Note which streams are open and, at the start of a run, its initial content."""
        self._streams = operations(self.simulation)
        branch = self.simulation.journal.branch
        if branch.parent is None and branch.name != self._branch:
            self._branch = branch.name
            if (position := self._first[branch.name] - 1) >= self._since:
                self._states.at(position, self.simulation.engine)

    def _add_input(self, outcome: Outcome) -> None:
        """Write everything about an input that has just been handled."""
        simulation = self.simulation
        branch, seq = self._recorded.branches[simulation.journal.branch.name], simulation.seq
        position, entry = self._add_row(branch, seq)
        if position >= self._since:
            self._note_record(position, entry, outcome)
        self._branch, self._until = branch.name, position
        if seq == branch.seq:
            self._figures[branch.name] = self._figures_now()

    def _add_row(self, branch: Branch, seq: int) -> tuple[int, BranchEntry]:
        """Write the row of an input. Return its position and its entry."""
        position = self._first[branch.name] + seq - branch.from_seq - 1
        entry = self._rows.entry(branch, seq)
        self._row_series.add(position, {"p": position, **self._rows.plain(entry)})
        return position, entry

    def _note_record(self, position: int, entry: BranchEntry, outcome: Outcome) -> None:
        record = result_of_input(self.simulation, entry, outcome, self._streams)
        record["frames"] = record["frames"][:FRAMES_MAX]
        for stream in {frame["stream"] for frame in record["frames"]}:
            self._frames.setdefault(stream, []).append(position)
        facts = {name: value for name, value in record.items() if value not in (None, [], 0)}
        self._records.add(position, {"p": position, **facts})
        branch_continues = (
            self._branch == self.simulation.journal.branch.name and position > self._since
        )
        if branch_continues:
            changed = keys_named_by(entry.recorded.events)
            self._states.at(position, self.simulation.engine, entry.row.kind, changed)
        else:
            self._states.at(position, self.simulation.engine)

    def _figures_now(self) -> dict[str, dict[str, int]]:
        """Write the figures of every account. Their rows name the input after which they apply."""
        figures: dict[str, dict[str, int]] = {}
        for name in ("fills", "performance", "quotes"):
            of: dict[str, list[dict[str, object]]] = {}
            for row in view(self.simulation.engine, name)[name]:
                of.setdefault(row["account"], []).append(row)
            self._cut += sum(len(rows) > FIGURES_MAX for rows in of.values())
            figures[name] = {
                account: self._parts.add(json.encode(rows[-FIGURES_MAX:]))
                for account, rows in of.items()
            }
        return figures

    def _note_rows(self, step: Callable[[], None]) -> None:
        """Write the rows that the replay of this version does not reach."""
        reached = True
        for branch in self._recorded.branches.values():
            begin = branch.from_seq
            if reached:
                branch_lines = self.simulation.journal.branches.get(branch.name)
                begin = branch.from_seq if branch_lines is None else branch_lines.seq
                reached = (
                    branch_lines is not None and branch_lines is not self.simulation.journal.branch
                )
            for seq in range(begin + 1, branch.seq + 1):
                self._add_row(branch, seq)
                step()

    def notices(self) -> list[str]:
        """Return sentences about what is missing in the report."""
        sentences, total = [], self._recorded.total
        if self._since:
            recent = f"records and states of the last {self._inputs:,} of {total:,} inputs"
            sentences.append(f"{recent}; every row is here, and sim open shows every moment")
        if self._cut:
            sentences.append(f"the last {FIGURES_MAX:,} figures of a kind and account")
        return sentences

    def _index(self) -> dict[str, Any]:
        simulation, header = self.simulation, self._recorded.header
        branch, due = self._recorded.branch, simulation.next_due()
        ctx, stopped = simulation.exchange.ctx, self.difference
        return {
            "health": {
                "status": "ok",
                "scenario": header.name,
                "seed": branch.holder(0).seed,
                "reading": reading_in_force(ctx.assumptions, ctx.quirks),
                "start": format_instant(header.start),
                "now": format_instant(simulation.now),
                "seq": branch.seq,
                "stopped": next(stopped.lines()) if stopped is not None else "",
                "reached": self._recorded.inputs,
                "notices": self.notices(),
            },
            "next_due": format_instant(due) if due is not None else None,
            "digest": simulation.digest,
            "until": self._until,
            "since": self._since,
            "branches": [
                {**row, "first": self._first[row["name"]]} for row in self._rows.branches()
            ],
            "script": script_view(simulation.script),
            "catalogue": {kind: catalogue_rows(kind, None) for kind in ("quirks", "assumptions")},
            "rows": self._row_series.index,
            "records": self._records.index,
            "states": self._states.end(),
            "frames": self._frames,
            "figures": self._figures,
        }


def _first_positions(recorded: RecordedRun) -> tuple[dict[str, int], int]:
    """Return the position of the first line of each branch, and the position after the last line.

    The start of a run has a position of its own, right before its first line.
    """
    first, position = {}, 0
    for branch in recorded.branches.values():
        position += branch.parent is None
        first[branch.name] = position
        position += branch.seq - branch.from_seq
    return first, position


def _symbols(recorded: RecordedRun) -> set[str]:
    """Return every instrument that the journal names."""
    return {
        symbol.decode()
        for branch in recorded.branches.values()
        for position in branch.positions(branch.from_seq, branch.seq)
        for symbol in _SYMBOL.findall(recorded.line_at(position))
    }
