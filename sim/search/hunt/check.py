"""Judges a journal, or the run of a scenario, as a hunt judges its episodes.

Every find of a hunt is confirmed by this check in a new process, so that it depends on nothing but
the file. The replay of a journal is a judge too: its lines must come out again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path

from msgspec import DecodeError, Struct, field, json

from sim.api.pipeline.inputs import Advanced, Input, Outcome, Stepped
from sim.kernel.instants import Instant
from sim.kernel.journal import Header
from sim.kernel.journal_reader import read_journal
from sim.read.headless_run import run_steps
from sim.read.record import JournalEntry
from sim.read.replay import Divergence, journal_lines, replaying, simulation_of
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.hunt.judges import Judges
from sim.search.hunt.oracles import read_download
from sim.search.hunt.reordering import ENTRIES, order_troubles
from sim.search.hunt.troubles import JUDGE_ERROR, Trouble, internal_error, replay_trouble
from sim.search.hunt.watchdog import Watchdog

NumberedLine = tuple[int, bytes]


class CheckedFile(Struct, frozen=True):
    """What is wrong with the run in a file, and how many inputs were judged."""

    inputs: int
    troubles: list[Trouble] = field(name="found")


def check_file(path: Path) -> CheckedFile:
    """Judge a journal or a scenario, by the ending of its name.

    Raises UnreadableJournal or ScenarioError.
    """
    if path.suffix in (".yaml", ".yml"):
        journal = BytesIO()
        simulation = Simulation(load_scenario(str(path)), journal=journal)
        with Watchdog(lambda: simulation.seq + 1).watching():
            for _ in run_steps(simulation):
                pass
        header, lines = read_journal(BytesIO(journal.getvalue()))
        return _JournalCheck(header).run(list(lines))
    with journal_lines(path) as (header, lines):
        return _JournalCheck(header).run(list(lines))


def check_in_new_process(path: Path) -> list[Trouble]:
    """Return what `sim hunt --check` says about a file in a process of its own."""
    command = [sys.executable, "-P", "-m", "sim", "hunt", "--check", str(path), "--json"]
    done = subprocess.run(command, capture_output=True, check=False)
    try:
        return json.decode(done.stdout, type=CheckedFile).troubles
    except DecodeError:
        return []


class _JournalCheck:
    """Judges the run of one journal."""

    def __init__(self, header: Header) -> None:
        self._simulation = simulation_of(header)
        self._judges = Judges(self._simulation)
        self._input: Input | None = None
        self._troubles: list[Trouble] = []
        self._inputs = 0

    def run(self, lines: list[NumberedLine]) -> CheckedFile:
        """Judge the lines; stop after the input at which something is wrong, as a hunt does."""
        with Watchdog(lambda: self._simulation.seq + 1).watching():
            try:
                self._replay(lines)
            except Divergence as difference:
                self._troubles.append(replay_trouble(difference))
            if not self._troubles:
                self._troubles += self._judges.at_the_end()
        return CheckedFile(self._inputs, self._troubles)

    def _replay(self, lines: list[NumberedLine]) -> None:
        entries = replaying(self._simulation, self._noted(lines), on_outcome=self._judge)
        for number, entry in entries:
            if entry.mark == "failure":
                self._fail_again(number, entry)
            elif entry.mark:
                self._judges.dismiss()
                self._judges = Judges(self._simulation)
            if any(trouble.kind != JUDGE_ERROR for trouble in self._troubles):
                return

    def _noted(self, lines: list[NumberedLine]) -> Iterator[NumberedLine]:
        """Yield the lines; what needs the state before an input is judged before it is handled."""
        entries = [JournalEntry(raw) for _, raw in lines]
        for number, (line, entry) in enumerate(zip(lines, entries, strict=True)):
            if not entry.mark:
                self._input = entry.input
                if entry.out.operation in ENTRIES:
                    following = _next_entry(entries[number + 1 :], entry.at)
                    self._troubles += order_troubles(self._simulation, entry.input, following)
            yield line

    def _judge(self, outcome: Outcome) -> None:
        assert self._input is not None
        self._inputs += 1
        try:
            read_download(outcome)
        except Exception as error:
            self._troubles.append(internal_error(self._simulation.seq, self._input, error))
        self._troubles += self._judges.after_input(self._input, outcome)

    def _fail_again(self, number: int, failed: JournalEntry) -> None:
        """Repeat the input at which the run failed."""
        try:
            self._simulation.handle(failed.input)
        except Exception as error:
            seq = self._simulation.seq + 1
            self._troubles.append(internal_error(seq, failed.input, error))
        else:
            reason = failed.line.argument
            raise Divergence(number, "failure", reason, "the input does not fail")


def _next_entry(entries: Iterable[JournalEntry], at: Instant) -> Input | None:
    """Return the next input if it enters an order at an instant too, apart from what begins steps
    of a scenario.
    """
    for entry in entries:
        if entry.mark or entry.at > at:
            return None
        if not isinstance(entry.input, Stepped | Advanced) or entry.events:
            return entry.input if entry.out.operation in ENTRIES else None
    return None
