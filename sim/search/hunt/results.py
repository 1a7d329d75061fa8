"""The results of a hunt, and the moves that lead to them."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field

from sim.kernel.entropy import Entropy, Stream
from sim.kernel.instants import Span
from sim.read.commands import sim_command
from sim.search.hunt.oracles import Trouble


class DrawnMove(Struct, frozen=True, array_like=True):
    """A move: its kind, the seed of its choices, and the gap before it.

    It becomes inputs only where it is used, so a sequence stays meaningful when moves are left out.
    The gap is in nanoseconds, or a number of due instants if negative.
    """

    kind: str
    seed: int
    gap: Span = 0

    def choices(self) -> Stream:
        """The choices of this move, which are always the same."""
        return Entropy(self.seed).stream(self.kind)


class EpisodeResult(Struct):
    """The result of an episode: the features of each move, and what is wrong.

    `inputs` counts handled inputs. `over` says that the run has ended.
    """

    features: list[list[str]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    inputs: int = 0
    over: bool = False


class HuntFinding(Struct):
    """A trouble, and the root scenario and moves that lead to it."""

    trouble: Trouble
    root: int
    moves: list[DrawnMove]


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


class CampaignState(Struct):
    """The state of a campaign.

    `features` has the number of inputs after which each feature was first met, `kept` the number of
    sequences that met one first. `canary` is the number of inputs after which the planted bug was
    found; None: not yet.
    """

    inputs: int = 0
    cpu_s: float = 0.0
    episodes: int = 0
    features: dict[str, int] = field(default_factory=dict)
    findings: list[HuntFinding] = field(default_factory=list)
    canary: int | None = None
    canary_cpu_s: float = 0.0
    kept: int = 0
    interrupted: bool = False
