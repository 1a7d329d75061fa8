"""`make bench`: measure every figure beside its floor, in interleaved rounds of one run.

`python -m benchmarks [AREA ...] [--rounds 7] [--before TREE] [--keep FOLDER] [--peers FOLDER]`
prints medians, because machines are noisy. `--before` measures an earlier commit in turns with this
one. `--soak MINUTES` alone is a long run that looks for leaks. Each area is a module of
`benchmarks.areas`. `--keep` writes `benchmarks.json`, in which an area measured again replaces its
earlier figures, and a plot of each area.
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

from benchmarks.before import in_turns
from benchmarks.figures import Figure, summary, table
from benchmarks.peers import use
from benchmarks.plots import plot

AREAS = (
    *("start", "http", "mocks", "grpc", "fanout", "subscribers", "reports", "catalogue"),
    *(
        "pages",
        "edge",
        "recorder",
        "matching",
        "simulators",
        "timers",
        "state",
        "travel",
        "history",
        "replay",
        "campaign",
        "participants",
        "memory",
        "refusals",
        "compare",
        "infer",
        "witness",
        "hunt",
    ),
)
SOAK = "soak"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Figures as ratios against a floor measured in the same run.",
    )
    parser.add_argument(
        "areas", nargs="*", choices=[*AREAS, []], help="areas to measure (default: all)"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="interleaved rounds of each pair (default 7)"
    )
    parser.add_argument(
        "--before",
        type=Path,
        metavar="TREE",
        help=(
            "also measure the earlier commit that is checked out there"
            " (`git worktree add TREE COMMIT`), in turns"
        ),
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="write figures and plots to this folder"
    )
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="FOLDER",
        help=(
            "also measure the peers installed in this folder (`python -m benchmarks.peers FOLDER`"
            " installs them)"
        ),
    )
    parser.add_argument(
        "--soak",
        type=float,
        metavar="MINUTES",
        help="instead of areas: one long run over a fixed working set, whose memory must not grow",
    )
    args = parser.parse_args()
    if args.peers:
        use(args.peers.resolve())
    measured: list[Figure] = []
    if args.soak is not None:
        from benchmarks import soak

        measured = soak.figures(args.soak)
        if args.keep:
            _keep(args.keep, SOAK, measured)
        print(table(measured))
        return 0
    for area in args.areas or AREAS:
        print(f"measuring {area} …", file=sys.stderr, flush=True)
        measure = importlib.import_module(f"benchmarks.areas.{area}").figures
        figures = (
            in_turns(area, args.rounds, args.before.resolve(), measure)
            if args.before
            else measure(args.rounds)
        )
        measured += figures
        if args.keep:
            _keep(args.keep, area, figures)
    print(table(measured))
    print(summary(measured))
    return 0


def _keep(folder: Path, area: str, figures: list[Figure]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
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
