"""The reader of a run's journal, for tests of what a run wrote down."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import msgspec

from sim.api.pipeline.inputs import Input, recorded_input
from sim.kernel.journal import Header, Line
from sim.kernel.journal_reader import read_journal, read_line
from sim.run.simulation import Simulation

Row = dict[str, Any]


class JournalReader:
    """Reads the journal of a run, on its present branch. `since` is the number of an input: what
    comes after it is read.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def lines(self, since: int = 0) -> list[bytes]:
        """The inputs as they are written."""
        return list(self._simulation.journal.lines(since))

    def inputs(self, since: int = 0) -> list[Input]:
        """What came in."""
        return [recorded_input(read_line(line)) for line in self.lines(since)]

    def outcomes(self, since: int = 0) -> Iterator[tuple[int, Row]]:
        """Yield the outcome of each input, with its number."""
        for line in self.lines(since):
            record = msgspec.json.decode(line)
            if "out" in record:
                yield record["seq"], record["out"]

    def events(self, kind: str = "", since: int = 0, **fields: Any) -> list[tuple[int, Row]]:
        """The events of a kind that have these fields, each with the number of its input."""
        return [
            (seq, row)
            for seq, out in self.outcomes(since)
            for row in out.get("events", ())
            if kind in ("", row["event"]) and fields.items() <= row.items()
        ]

    # ---- the file, where the run was begun with one

    def file(self) -> io.BytesIO:
        """A copy of the file so far, at its beginning."""
        file = self._simulation.journal.file
        assert isinstance(file, io.BytesIO), "the run was begun without a journal in memory"
        return io.BytesIO(file.getvalue())

    def header(self) -> Header:
        """The first line of the file."""
        return read_journal(self.file())[0]

    def every_line(self) -> list[Line]:
        """Every further line of the file, abandoned branches and marks of time travel included."""
        return [read_line(line) for _, line in read_journal(self.file())[1]]

    def marks(self) -> list[tuple[str, str]]:
        """(mark, argument) of time travel, in order."""
        return [(line.mark, line.argument) for line in self.every_line() if line.mark]
