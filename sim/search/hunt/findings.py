"""Minimises findings: the fewest moves that still lead to them, the journal of that run, and the
journal as a scenario.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from sim.read.errors import UnreadableJournal
from sim.read.export.journal_to_scenario import scenario_document
from sim.read.export.yaml_writer import as_yaml
from sim.read.replay import Divergence, replay_file
from sim.search.delta import minimal
from sim.search.hunt.episode import Episode
from sim.search.hunt.oracles import replays
from sim.search.hunt.results import DrawnMove, HuntFinding, SavedFinding
from sim.search.hunt.roots import Starts
from sim.search.hunt.watchdog import InputTimeout

TRIALS_MAX = 120
_TRIALS_ENDLESS = 12  # each may take as long as the watchdog allows


class FindingWriter:
    """Minimises the findings of a campaign and writes them to a folder."""

    def __init__(
        self, starts: Starts, folder: Path, on_trial: Callable[[int], None] = lambda left: None
    ) -> None:
        self._starts = starts
        self._folder = folder
        self._on_trial = on_trial
        self._count = 0

    def write(self, new: HuntFinding) -> SavedFinding:
        """Write a finding: its journal and, as far as possible, the same run as a scenario."""
        self._count += 1
        journal, trouble = BytesIO(), new.trouble
        simulation = self._starts.fresh(new.root, journal)
        troubles = Episode(simulation).run(self._fewest_moves(new)).troubles
        if trouble.kind == "replay":
            troubles += replays(simulation)
        text = next((each.text for each in troubles if each.is_like(trouble)), trouble.text)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"find-{self._count}.ndjson"
        path.write_bytes(journal.getvalue())
        scenario = self._scenario(path, trouble.kind, text)
        return SavedFinding(trouble.kind, text, str(path), scenario, simulation.seq)

    def _scenario(self, journal: Path, kind: str, text: str) -> str:
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

    def _fewest_moves(self, new: HuntFinding) -> list[DrawnMove]:
        """Return the fewest moves that lead to the same trouble; all if it does not recur."""
        left = _TRIALS_ENDLESS if new.trouble.subject == InputTimeout.__name__ else TRIALS_MAX

        def fails(moves: list[DrawnMove]) -> bool:
            nonlocal left
            left -= 1
            self._on_trial(len(moves))
            if left < 0:
                return False
            troubles = Episode(self._starts.copy(new.root)).run(moves).troubles
            return any(trouble.is_like(new.trouble) for trouble in troubles)

        if new.trouble.kind == "replay" or not fails(new.moves):
            return new.moves
        return minimal(new.moves, fails)
