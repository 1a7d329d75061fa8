"""The findings of the tools, saved in the repository beside this file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("results.json")
SECONDS = Path(__file__).resolve().parents[2] / "build" / "detection" / "seconds.json"

# The tools of each column of the table.
COLUMNS = {
    "scenarios": ("sweep",),
    "invariants": ("sweep",),
    "witness": ("witness",),
    "conformance": ("conformance",),
    "explore": ("explore",),
    "machines": ("machines", "beliefs"),
    "hunt": ("hunt",),
    "judge": ("judge",),
    "certify": ("certify",),
}


@dataclass
class Results:
    """`trials` by bug and tool: the findings by column with their processor seconds, and all
    seconds. `controls` by tool: every finding without a bug.
    """

    trials: dict[str, dict[str, Any]] = field(default_factory=dict)
    controls: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Results:
        """Return the saved results, or empty ones."""
        return cls(**json.loads(FILE.read_text())) if FILE.exists() else cls()

    def keep(self, tool: str, bug: str, answer: dict[str, Any]) -> None:
        """Add the findings of a tool to the file, which other runs may have changed meanwhile."""
        SECONDS.parent.mkdir(parents=True, exist_ok=True)
        with SECONDS.with_name("lock").open("w") as lock:
            flock(lock, LOCK_EX)
            stored = Results.read()
            if bug:
                stored.trials.setdefault(bug, {})[tool] = answer
            else:
                stored.controls[tool] = answer
            FILE.write_text(json.dumps(vars(stored), indent=1, sort_keys=True) + "\n")
        self.trials, self.controls = stored.trials, stored.controls

    def finders(self, bug: str) -> dict[str, tuple[str, float]]:
        """Return by column the finding that detected a bug, and its processor seconds."""
        tools = self.trials.get(bug, {}).values()
        return {column: (at[0], at[1]) for tool in tools for column, at in tool["said"].items()}


def property_seconds() -> dict[str, float]:
    """Return the seconds of each property test without a bug on this machine, if measured."""
    return dict(json.loads(SECONDS.read_text())) if SECONDS.exists() else {}


def keep_seconds(seconds: dict[str, float]) -> None:
    """Save these seconds for later runs, which order the tests by them."""
    SECONDS.parent.mkdir(parents=True, exist_ok=True)
    SECONDS.write_text(json.dumps(seconds))
