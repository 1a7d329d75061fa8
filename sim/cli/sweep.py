"""Run scenarios over many seeds and alternatives.

Alternatives are other values of assumptions and quirks, and presets. Prints one table. The
invariants of money, positions, orders and books are checked after every input, and less often
while more than 1,000 orders are open. Without --seeds, --vary and --fuzz the command varies
assumptions and quirks.

examples:
  sim sweep my.yaml --seeds 1..1000
  sim sweep my.yaml --vary assumptions --only 'webhook.*'
  sim sweep my.yaml --seeds 1..50 --vary presets --json sweep.json --save-failures runs/failed
  sim sweep quickstart --seeds 1..1000 --fuzz 200 --shrink smallest.yaml
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from sim.cli.arguments import (
    FAILED,
    add_campaign,
    add_choices_of_scenario,
    add_option,
    add_scenarios,
    add_seeds,
    check_writable,
    count,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenarios(parser)
    add_seeds(parser, "run with every seed of the range (default: the scenario's own)")
    add_option(
        parser,
        "--vary",
        former="--over",
        action="append",
        default=[],
        choices=("assumptions", "quirks", "presets"),
        help="also run under every alternative of these; repeatable",
    )
    parser.add_argument(
        "--only",
        default="*",
        metavar="NAME",
        help="with --vary: only names that match this pattern, such as 'webhook.*'",
    )
    add_option(
        parser,
        "--fuzz",
        former="--storm",
        type=count,
        default=0,
        metavar="N",
        help="append N random steps and a few random faults, drawn from the seed",
    )
    add_option(
        parser,
        "--verify",
        former="--prove",
        action="store_true",
        help="make every run twice and replay its journal; both must give the same digest",
    )
    parser.add_argument(
        "--shrink",
        type=Path,
        metavar="FILE",
        help="write the first failing run as the smallest scenario that still fails",
    )
    add_choices_of_scenario(parser)
    add_campaign(parser, os.cpu_count() or 1, "the machine's processors")
    parser.add_argument(
        "--cluster",
        default="",
        metavar="ADDRESS",
        help="run on a Dask cluster, such as tcp://10.0.0.1:8786, whose workers have this package",
    )
    parser.add_argument(
        "--json",
        default="",
        metavar="FILE",
        help="write table and failures as JSON; equal sweeps write equal bytes",
    )


def run(args: argparse.Namespace) -> int:
    from sim.analysis.errors import UsageError
    from sim.analysis.search.campaign import RunPlan
    from sim.analysis.search.sweep import sweep, variations

    if args.resume and not args.results:
        raise UsageError("--resume needs --results FILE, the file to resume from")
    kinds = args.vary or (() if args.seeds or args.fuzz else ("assumptions", "quirks"))
    plan = RunPlan(
        scenarios=args.scenarios,
        seeds=args.seeds,
        jobs=args.jobs,
        params=dict(args.param),
        preset=args.preset,
        results=args.results,
        resume=args.resume,
        save_failures=args.save_failures,
        variations=variations(args.scenarios, kinds, args.only),
        fuzz=args.fuzz,
        verify=args.verify,
        cluster=args.cluster,
    )
    check_writable(
        files=(args.json, args.results, args.shrink),
        folders=() if args.cluster else (args.save_failures,),
    )
    if args.vary and len(plan.variations) == 1:
        raise UsageError(
            f"none of the {' and '.join(args.vary)} is called {args.only!r}; `sim catalogue` lists"
            " the names"
        )
    return 0 if sweep(plan, sys.stdout, sys.stderr, args.json, args.shrink) else FAILED
