"""Write the smallest scenario that still fails in the same way.

The command removes steps, faults, settings, keys and times as long as the same step fails with the
same message, or the same invariant breaks. A journal of a client's session is first written as a
scenario.

examples:
  sim shrink failing.yaml --out small.yaml
  sim shrink my.yaml --seeds 1..1000 --because faults
  sim shrink run.ndjson --expect '{open_orders: {as: maker, count: 1}}'

exit codes:
  0  written
  2  nothing fails, or a file cannot be read
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim.cli.arguments import (
    add_choices_of_scenario,
    add_option,
    add_seeds,
    check_regular_files,
    check_writable,
    ordinal,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        metavar="SCENARIO|JOURNAL",
        help="a scenario that fails, or a journal at whose end --expect does not hold",
    )
    add_seeds(parser, "shrink the first of these seeds that fails (default: the scenario's own)")
    add_choices_of_scenario(parser)
    parser.add_argument(
        "--expect",
        default="",
        metavar="YAML",
        help="for a journal: what should hold at its end (default: the invariants)",
    )
    add_option(
        parser,
        "--because",
        former="--unless",
        default="",
        metavar="CAUSE",
        help=(
            "the cause that the smaller scenario must keep: faults, quirks, assumptions, preset,"
            " seed=N, a step, or nothing (default: the command finds the cause)"
        ),
    )
    parser.add_argument(
        "--any",
        action="store_true",
        help="accept any failure of the same step, not only one with the same message",
    )
    parser.add_argument(
        "--trials",
        type=ordinal,
        default=3000,
        metavar="N",
        help="run at most N scenarios (default 3000)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where to write it (default: NAME-small.yaml here)"
    )


def run(args: argparse.Namespace) -> int:
    from sim.analysis.search.shrink_command import ShrinkRequest, shrink

    check_regular_files([args.source])
    check_writable(files=(args.out,))
    request = ShrinkRequest(
        source=args.source,
        seeds=args.seeds,
        params=dict(args.param),
        preset=args.preset,
        expect=args.expect,
        because=args.because,
        any_failure=args.any,
        trials=args.trials,
        out=args.out,
    )
    shrink(request, sys.stdout, sys.stderr)
    return 0
