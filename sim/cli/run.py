"""Run scenarios headless, in virtual time, and report.

Prints one line per run: verdict, seed, digest. Exit code 1 when an expectation or an invariant
fails.

example:
  sim run quickstart scenarios/my.yaml --seeds 1..20
"""

from __future__ import annotations

import argparse
import sys

from sim.cli.arguments import (
    FAILED,
    add_campaign,
    add_choices_of_scenario,
    add_scenarios,
    add_seeds,
    check_writable,
    read_scenario,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenarios(parser)
    add_seeds(parser, "run each scenario with every seed of the range (default: its own)")
    add_choices_of_scenario(parser)
    add_campaign(parser, jobs=1, jobs_text="1")
    parser.add_argument(
        "--junit",
        default="",
        metavar="FILE",
        help="write JUnit XML: one suite per run, one case per step",
    )


def run(args: argparse.Namespace) -> int:
    from sim.analysis.errors import UsageError
    from sim.analysis.search.campaign import RunPlan, run_all

    if args.resume and not args.results:
        raise UsageError("--resume needs --results FILE, the file to resume from")
    for name in args.scenarios:
        read_scenario(name, args)
    check_writable(files=(args.junit, args.results), folders=(args.save_failures,))
    plan = RunPlan(
        scenarios=args.scenarios,
        seeds=args.seeds,
        jobs=args.jobs,
        params=dict(args.param),
        preset=args.preset,
        results=args.results,
        resume=args.resume,
        junit=args.junit,
        save_failures=args.save_failures,
    )
    return 0 if run_all(plan, sys.stdout, sys.stderr) else FAILED
