"""Inject every documented fault at every point that a run passes.

The first run records the fault points: calls, stream frames, webhook deliveries, orders on their
way into the book. Then each fault is injected once at each point. Tests are those that use the
`exchange` fixture; what follows `--` goes to pytest. Exit code 1 when something did not survive.

examples:
  sim explore my.yaml
  sim explore tests/test_my_client.py --faults 'lost*' -- -k orders -x
  sim explore tests/ --operations InsertOrder --json explored.json
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from sim.cli.arguments import (
    FAILED,
    USAGE,
    add_jobs,
    add_option,
    add_params,
    add_text,
    check_writable,
    count,
    from_options,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    sources = "scenarios; or files, folders and ids of tests, and pytest's own options after --"
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO|TESTS", help=sources)
    operations = "only operations that match, such as InsertOrder or 'RetailOrdersAPI.*'"
    add_text(parser, "--operations", "NAME", operations, default="*")
    faults = "only faults that match: error, limited, lost, late, reset, hang, drop, ..."
    add_text(parser, "--faults", "NAME", faults, former="--attacks", default="*")
    most = "only the first N times that the run passes each point"
    number = {"type": count, "default": 0, "metavar": "N"}
    add_option(parser, "--max-occurrences", most, former="--each", **number)
    add_params(parser, "set a parameter of the scenario")
    jobs = "number of processes, for scenarios (default: the machine's processors)"
    add_jobs(parser, os.cpu_count() or 1, jobs)
    add_text(parser, "--json", "FILE", "write every trial as JSON")


def run(args: argparse.Namespace) -> int:
    if any("::" in name or name.endswith(".py") or Path(name).is_dir() for name in args.scenarios):
        return _explore_tests(args)
    from sim.analysis.search.explore import ExploreRequest, explore

    check_writable(files=(args.json,))
    request = from_options(ExploreRequest, args, params=dict(args.param))
    return 0 if explore(request, sys.stdout, sys.stderr) else FAILED


def _explore_tests(args: argparse.Namespace) -> int:
    """Run pytest in its own process, because it rewrites modules when it imports them."""
    options = [
        "--explore",
        f"--explore-operations={args.operations}",
        f"--explore-faults={args.faults}",
        f"--explore-max-occurrences={args.max_occurrences}",
        f"--explore-json={args.json}",
    ]
    command = [sys.executable, "-m", "pytest", *args.scenarios, *args.rest, *options]
    code = subprocess.run(command, check=False).returncode
    return code if code in (0, FAILED) else USAGE
