"""Minimises findings: the fewest moves that still lead to them, the journal of that run, and the
journal as a scenario.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from msgspec import Struct

from sim.read.commands import sim_command
from sim.read.errors import UnreadableJournal
from sim.read.export.journal_to_scenario import scenario_document
from sim.read.export.yaml_writer import as_yaml
from sim.read.replay import Divergence, replay_file
from sim.search.delta import minimal
from sim.search.hunt.campaign import HuntFinding
from sim.search.hunt.episode import Episode
from sim.search.hunt.oracles import replays
from sim.search.hunt.roots import Starts
from sim.search.hunt.sequences import DrawnMove
from sim.search.hunt.watchdog import InputTimeout

TRIALS_MAX = 120
_TRIALS_ENDLESS = 12  # each may take as long as the watchdog allows


class SavedFinding(Struct, frozen=True):
    """A finding on disk.

    `journal` and `scenario` are paths, empty if there is none. `inputs` is the length of
    the smallest run that has this finding.
    """

    kind: str
    text: str
    journal: str
    scenario: str
    inputs: int

    def commands(self) -> list[str]:
        """Return the commands that show it."""
        pairs = (("timeline", self.journal), ("run", self.scenario))
        return [sim_command(verb, Path(path)) for verb, path in pairs if path]


def write_finding(
    new: HuntFinding,
    number: int,
    starts: Starts,
    folder: Path,
    on_trial: Callable[[], None] = lambda: None,
) -> SavedFinding:
    """Minimise a finding and write it: its journal and, as far as possible, the same run as a
    scenario, both with its number in their names.
    """
    journal, trouble = BytesIO(), new.trouble
    simulation = starts.fresh(new.root, journal)
    troubles = Episode(simulation).run(_fewest_moves(new, starts, on_trial)).troubles
    if trouble.kind == "replay":
        troubles += replays(simulation)
    text = next((each.text for each in troubles if each.is_like(trouble)), trouble.text)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"find-{number}.ndjson"
    path.write_bytes(journal.getvalue())
    scenario = _scenario(path, trouble.kind, text)
    return SavedFinding(trouble.kind, text, str(path), scenario, simulation.seq)


def _scenario(journal: Path, kind: str, text: str) -> str:
    """Write a journal as a scenario; return its path, or "" if it cannot be repeated."""
    try:
        replay_file(journal)
        scenario = scenario_document(journal)
    except (Divergence, UnreadableJournal):
        return ""
    path = journal.with_suffix(".yaml")
    comments = [
        f"Found by sim hunt: {kind}",
        *text.splitlines()[:1],
        *(f"left out: {count} {inputs}" for inputs, count in scenario.left_out.items()),
    ]
    path.write_text(as_yaml(scenario.document, comments))
    return str(path)


def _fewest_moves(
    new: HuntFinding, starts: Starts, on_trial: Callable[[], None]
) -> list[DrawnMove]:
    """Return the fewest moves that lead to the same trouble; all if it does not recur."""
    left = _TRIALS_ENDLESS if new.trouble.subject == InputTimeout.__name__ else TRIALS_MAX

    def fails(moves: list[DrawnMove]) -> bool:
        nonlocal left
        left -= 1
        on_trial()
        if left < 0:
            return False
        troubles = Episode(starts.copy(new.root)).run(moves).troubles
        return any(trouble.is_like(new.trouble) for trouble in troubles)

    if new.trouble.kind == "replay" or not fails(new.moves):
        return new.moves
    return minimal(new.moves, fails)
