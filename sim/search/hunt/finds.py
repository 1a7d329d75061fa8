"""Finds on disk: the fewest moves that still lead to a trouble, as a journal and as a scenario.

A file is kept if `sim hunt --check` finds the trouble in it again, in a new process. What was found
in the process of the hunt may depend on what that process did before: then the journal as it was
recorded, or that of its replay, differs from a replay in a new process, and this is the find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sim.api.pipeline.inputs import Advanced
from sim.kernel.instants import format_instant
from sim.read.commands import sim_command
from sim.read.errors import UnreadableJournal
from sim.read.export.journal_to_scenario import recorded_steps, scenario_document
from sim.read.export.yaml_writer import as_yaml
from sim.read.record import JournalEntry
from sim.read.replay import Divergence, journal_lines
from sim.search.delta import minimal
from sim.search.hunt.campaign import HuntFinding, carry_out
from sim.search.hunt.check import check_in_new_process
from sim.search.hunt.sequences import DrawnMove
from sim.search.hunt.troubles import Trouble
from sim.search.hunt.watchdog import InputTimeout
from sim.world.format.yaml_tree import ScenarioError

TRIALS_MAX = 120
_TRIALS_ENDLESS = 12  # each may take as long as the watchdog allows


class SavedFinding(Struct, frozen=True):
    """A finding on disk.

    `journal` and `scenario` are paths; `scenario` is empty if none shows it. `inputs` is the length
    of the journal. `confirmed` says that a new process finds it in the journal.
    """

    trouble: Trouble
    journal: str
    scenario: str
    inputs: int
    confirmed: bool

    def commands(self) -> list[str]:
        """Return the commands that find it again."""
        paths = filter(None, (self.journal, self.scenario))
        return [sim_command("hunt", "--check", Path(path)) for path in paths]


def write_finding(
    new: HuntFinding, number: int, folder: Path, on_trial: Callable[[], None] = lambda: None
) -> SavedFinding:
    """Minimise a finding and write it as `find-N.ndjson` and `find-N.yaml`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"find-{number}.ndjson"
    journals = [*_fewest_inputs(new, on_trial), *new.journals]
    checks: list[list[Trouble]] = []
    for journal in journals:
        path.write_bytes(journal)
        checks.append(check_in_new_process(path))
        if any(trouble.is_like(new.trouble) for trouble in checks[-1]):
            break
    # of those that show another trouble, the smallest; if none shows any, the first
    chosen = max(range(len(checks)), key=lambda n: (_likeness(new.trouble, checks[n]), -n))
    path.write_bytes(journals[chosen])
    again, confirmed = checks[chosen], bool(checks[chosen])
    like = (trouble for trouble in again if trouble.is_like(new.trouble))
    trouble = next(like, again[0] if confirmed else new.trouble)
    scenario = _write_scenario(path, trouble, confirmed=confirmed)
    return SavedFinding(trouble, str(path), scenario, len(_entries(path)), confirmed)


def _likeness(trouble: Trouble, again: Sequence[Trouble]) -> int:
    return 2 if any(each.is_like(trouble) for each in again) else int(bool(again))


def _entries(journal: Path) -> list[JournalEntry]:
    with journal_lines(journal) as (_, lines):
        return [JournalEntry(raw) for _, raw in lines]


def _write_scenario(journal: Path, trouble: Trouble, *, confirmed: bool) -> str:
    """Write a journal as a scenario that shows the same; return its path, or "" if none does."""
    path = journal.with_suffix(".yaml")
    last = _entries(journal)[-1]
    end = last.input.to if isinstance(last.input, Advanced) else last.at
    for document, notes in _scenarios(journal):
        steps = [*document["steps"], {"at": format_instant(end + 1), "name": "end"}]
        comments = [f"Found by sim hunt: {trouble.kind}", *trouble.text.splitlines()[:1], *notes]
        path.write_text(as_yaml({**document, "steps": steps}, comments))
        if not confirmed:
            return str(path)
        if any(each.kind == trouble.kind for each in check_in_new_process(path)):
            return str(path)
    path.unlink(missing_ok=True)
    return ""


def _scenarios(journal: Path) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield a journal as steps to read, then as recorded inputs, each with comments."""
    try:
        written = scenario_document(journal)
        yield written.document, [f"left out: {n} {kind}" for kind, n in written.left_out.items()]
    except (Divergence, UnreadableJournal, ScenarioError):
        pass
    yield recorded_steps(journal), []


def _fewest_inputs(new: HuntFinding, on_trial: Callable[[], None]) -> list[bytes]:
    """Return the journals of the fewest moves that lead to the same trouble, if it recurs."""
    left = _TRIALS_ENDLESS if new.trouble.subject == InputTimeout.__name__ else TRIALS_MAX
    smallest: list[bytes] = []

    def fails(moves: Sequence[DrawnMove]) -> bool:
        nonlocal left, smallest
        left -= 1
        on_trial()
        if left < 0:
            return False
        result = carry_out(replace(new.task, moves=tuple(moves)))
        if not any(trouble.is_like(new.trouble) for trouble in result.troubles):
            return False
        smallest = result.journals
        return True

    if fails(new.task.moves):
        minimal(new.task.moves, fails)
    return smallest
