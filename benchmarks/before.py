"""The figures of an earlier commit, measured in turns with those of this tree.

The earlier commit is a checkout beside this one: `git worktree add ../before COMMIT`. It runs with
this environment, so both have the same libraries. Each round of either tree is a process of its
own: in the memory that an earlier round has left behind, a snapshot took a quarter longer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure


def in_turns(
    area: str, rounds: int, tree: Path, figures: Callable[[int], list[Figure]]
) -> list[Figure]:
    """Measure an area here and in the other tree, one round each, and so on.

    A figure that the earlier commit does not have stands alone.
    """
    merged: dict[str, Figure] = {}
    for _ in range(rounds):
        before = _round(area, tree)
        for figure in _fresh(figures):
            existing = merged.get(figure.work)
            merged[figure.work] = figure._replace(
                sandbox=[*(existing.sandbox if existing else ()), *figure.sandbox],
                floor=[*(existing.floor if existing else ()), *figure.floor],
                before=[*(existing.before if existing else ()), *before.get(figure.work, ())],
            )
    return list(merged.values())


def _fresh(figures: Callable[[int], list[Figure]]) -> list[Figure]:
    """One round of this tree, in a new interpreter."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(figures, 1).result()


def _round(area: str, tree: Path) -> dict[str, list[float]]:
    """One round in the other tree, by work."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks", area, "--rounds", "1", "--keep", folder]
        subprocess.run(command, cwd=tree, stdout=subprocess.DEVNULL, check=True)
        kept = json.loads((Path(folder) / "benchmarks.json").read_text())
    return {figure["work"]: figure["rounds"]["ours"] for figure in kept[area]["figures"]}
