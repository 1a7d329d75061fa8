"""`make bench`: every figure beside its floor, measured in interleaved rounds of one run; medians are quoted, machines are noisy.

`python -m benchmarks [AREA ...] [--rounds 7] [--json FILE]`, areas: start, http, grpc, matching, replay, travel, campaign. Each area is a module with a
function `figures(rounds)`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.figures import Figure, table

AREAS = ("start", "http", "grpc", "matching", "replay", "travel", "campaign")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Figures as ratios against a floor measured in the same run.")
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []], help="areas to measure; all when left out")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds of each pair (default 7)")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    given = parser.parse_args()
    figures = list(_measured(given.areas or AREAS, given.rounds))
    print(table(figures))
    if given.json:
        machine = {"python": platform.python_version(), "machine": platform.machine(), "rounds": given.rounds}
        given.json.write_text(json.dumps({**machine, "figures": [figure.plain() for figure in figures]}, indent=1) + "\n")
    return 0


def _measured(areas: Iterable[str], rounds: int) -> Iterable[Figure]:
    for area in areas:
        print(f"measuring {area} …", file=sys.stderr, flush=True)
        yield from importlib.import_module(f"benchmarks.{area}").figures(rounds)


if __name__ == "__main__":
    sys.exit(main())
