"""Minimises finds: the fewest genes that still lead to them, the journal of that run, and the
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
from sim.run.simulation import Simulation
from sim.search.delta import minimal
from sim.search.hunt.arena import Arena
from sim.search.hunt.campaign import HuntFinding
from sim.search.hunt.checkpoints import Checkpoints, MomentPath
from sim.search.hunt.genes import PART, Gene
from sim.search.hunt.oracles import Trouble, replays
from sim.search.hunt.watchdog import InputTimeout

TRIALS_MAX = 120
_TRIALS_ENDLESS = 12  # each may take as long as the watchdog allows


class Find(Struct, frozen=True):
    """A find on disk.

    `journal` and `scenario` are paths, empty if there is none. `inputs` is the length of the
    smallest run.
    """

    kind: str
    says: str
    journal: str
    scenario: str
    inputs: int

    def lines(self) -> list[str]:
        """Return a line for each file, and for what shows the find."""
        sentences = []
        if self.journal:
            sentences.append(sim_command("timeline", Path(self.journal)))
        if self.scenario:
            sentences.append(sim_command("run", Path(self.scenario)))
        return sentences


class Finds:
    """Minimises the finds of a campaign and writes them to a folder."""

    def __init__(
        self,
        moments: Checkpoints,
        folder: Path,
        on_trial: Callable[[int], None] = lambda left: None,
    ) -> None:
        self._checkpoints = moments
        self._folder = folder
        self._on_trial = on_trial
        self._count = 0

    def write(self, new: HuntFinding) -> Find:
        """Write one find: its journal and, as far as possible, the same run as a scenario."""
        self._count += 1
        genes = self._smallest(new)
        journal = BytesIO()
        checkpoint = self._checkpoints.fresh(new.root, journal)
        troubles = _troubles(
            checkpoint.simulation, Arena(checkpoint).run(genes).troubles, new.trouble
        )
        says = next(
            (one.says for one in troubles if _is_same_trouble(one, new.trouble)), new.trouble.says
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"find-{self._count}.ndjson"
        path.write_bytes(journal.getvalue())
        scenario = self._scenario(path, new.trouble.kind, says)
        return Find(new.trouble.kind, says, str(path), scenario, checkpoint.simulation.seq)

    def _scenario(self, journal: Path, kind: str, says: str) -> str:
        """Write a journal as a scenario; return its path, or "" if it cannot be repeated."""
        try:
            replay_file(journal)
            scenario = scenario_document(journal)
        except (Divergence, UnreadableJournal):
            return ""
        path = journal.with_suffix(".yaml")
        comments = [
            f"Found by sim hunt: {kind}",
            *says.splitlines()[:1],
            *(f"left out: {count} {what}" for what, count in scenario.left_out.items()),
        ]
        path.write_text(as_yaml(scenario.document, comments))
        return str(path)

    def _smallest(self, new: HuntFinding) -> list[Gene]:
        """Return the fewest genes that lead to the same trouble.

        All of them if it does not recur.
        """
        tried = 0
        most = _TRIALS_ENDLESS if new.trouble.subject == InputTimeout.__name__ else TRIALS_MAX

        def fails(genes: list[Gene]) -> bool:
            nonlocal tried
            tried += 1
            self._on_trial(len(genes))
            if tried > most:
                return False
            checkpoint = self._checkpoints.checkpoint(MomentPath(new.root))
            troubles = Arena(checkpoint).run(genes).troubles
            return any(_is_same_trouble(one, new.trouble) for one in troubles)

        together = [gene for gene in new.genes if gene.kind != PART]
        for genes in (together, new.genes):
            if new.trouble.kind != "replay" and fails(genes):
                return minimal(genes, fails)
        return new.genes


def _is_same_trouble(one: Trouble, other: Trouble) -> bool:
    return (one.kind, one.subject) == (other.kind, other.subject)


def _troubles(simulation: Simulation, seen: list[Trouble], sought: Trouble) -> list[Trouble]:
    return [*seen, *replays(simulation)] if sought.kind == "replay" else seen
