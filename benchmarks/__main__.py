"""`make bench`: every figure beside its floor, measured in interleaved rounds of one run; medians
are quoted, machines are noisy.

`python -m benchmarks [AREA ...] [--rounds 7] [--keep FOLDER] [--peers FOLDER]`, or `--soak MINUTES`
alone for a long run that looks for leaks. Each area is a module with a function `figures(rounds)`.
The folder that keeps them gets `benchmarks.json`, where an area measured again replaces what was
there, and a plot of each area.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, summary, table
from benchmarks.peers import use
from benchmarks.plots import plot

AREAS = (
    *("start", "http", "mocks", "grpc", "fanout", "subscribers", "reports", "catalogue"),
    *("matching", "timers", "state", "travel", "replay", "campaign", "participants", "memory"),
)
SOAK = "soak"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Figures as ratios against a floor measured in the same run.",
    )
    parser.add_argument(
        "areas", nargs="*", choices=[*AREAS, []], help="areas to measure; all when left out"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="interleaved rounds of each pair (default 7)"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep the figures and a plot of each area there"
    )
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="FOLDER",
        help=(
            "measure the peers installed there too (python -m benchmarks.peers FOLDER installs"
            " them)"
        ),
    )
    parser.add_argument(
        "--soak",
        type=float,
        metavar="MINUTES",
        help="instead of areas: one long run over a fixed working set, whose memory must not grow",
    )
    given = parser.parse_args()
    if given.peers:
        use(given.peers.resolve())
    found: list[Figure] = []
    if given.soak is not None:
        from benchmarks import soak

        found = soak.figures(given.soak)
        if given.keep:
            _keep(given.keep, SOAK, found)
        print(table(found))
        return 0
    for area in given.areas or AREAS:
        print(f"measuring {area} …", file=sys.stderr, flush=True)
        figures = importlib.import_module(f"benchmarks.{area}").figures(given.rounds)
        found += figures
        if given.keep:
            _keep(given.keep, area, figures)
    print(table(found))
    print(summary(found))
    return 0


def _keep(folder: Path, area: str, figures: list[Figure]) -> None:
    file = folder / "benchmarks.json"
    kept: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    machine = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
    kept[area] = {**machine, "figures": [figure.plain() for figure in figures]}
    file.write_text(
        json.dumps(
            {name: kept[name] for name in (*AREAS, SOAK) if name in kept},
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )
    drawing = plot(area, figures)
    if drawing:
        (folder / f"benchmarks-{area}.svg").write_text(drawing)


if __name__ == "__main__":
    sys.exit(main())
