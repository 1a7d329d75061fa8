"""Inject every documented fault at every point that a run passes.

The first run records the fault points: calls, stream frames, webhook deliveries, orders on their
way into the book. Then each fault is injected once at each point. --pairs N goes on with up to N
pairs of faults and other timings of one, the most informative first. Only tests that use the
`exchange` fixture take part; options after `--` go to pytest. Exit code 1 if a fault breaks a
scenario or a test.

examples:
  sim explore my.yaml --pairs 100
  sim explore tests/test_my_client.py --faults 'lost*' -- -k orders -x
  sim explore tests/ --operations InsertOrder --json explored.json
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

from sim.cli.arguments import FAILED, INTERRUPTED, USAGE, Options, count, from_options
from sim.cli.json_output import add_json, give_json, is_alone, text_output


def add_arguments(parser: Options) -> None:
    sources = "scenarios; or files, folders and ids of tests, and pytest's own options after --"
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO|TESTS", help=sources)
    operations = "only operations that match, such as InsertOrder or 'RetailOrdersAPI.*'"
    parser.add_text("--operations", "NAME", operations, default="*")
    faults = "only faults that match: error, limited, lost, late, reset, hang, drop, ..."
    parser.add_text("--faults", "NAME", faults, default="*")
    most = "only the first N times that the run passes each point"
    number: dict[str, Any] = {"type": count, "default": 0, "metavar": "N"}
    parser.add_option("--max-occurrences", most, **number)
    pairs = "then try up to N pairs of faults and other timings of each scenario or test"
    parser.add_option("--pairs", pairs, **number)
    parser.add_params("set a parameter of the scenario")
    seconds = "stop an attempt of a test after N seconds (default: ten times the first run)"
    parser.add_option("--seconds", seconds, **number)
    jobs = "number of processes (default: the machine's processors for scenarios, 1 for tests)"
    parser.add_jobs(0, jobs)
    add_json(parser, "every trial")


def run(args: argparse.Namespace) -> int:
    if any("::" in name or name.endswith(".py") or Path(name).is_dir() for name in args.scenarios):
        return _explore_tests(args)
    from sim.search.explore import ExploreRequest, explore

    out = text_output(args)
    args.jobs = args.jobs or os.cpu_count() or 1
    request = from_options(ExploreRequest, args, params=dict(args.param))
    trials = explore(request, out)
    give_json(args, [it.document("scenario", {"failures": list(it.failures)}) for it in trials])
    return 0 if all(trial.survived for trial in trials) else FAILED


def _explore_tests(args: argparse.Namespace) -> int:
    """Run pytest in its own process, because it rewrites modules when it imports them.

    With `--json` alone pytest's own output goes to standard error.
    """
    from msgspec import json

    options = [
        "--explore",
        f"--explore-operations={args.operations}",
        f"--explore-faults={args.faults}",
        f"--explore-max-occurrences={args.max_occurrences}",
        f"--explore-pairs={args.pairs}",
        f"--explore-seconds={args.seconds}",
        f"--explore-jobs={args.jobs or 1}",
    ]
    text_output(args)  # finds a file that cannot be written
    with TemporaryDirectory() as folder:
        trials = Path(folder, "trials.json")
        options.append(f"--explore-json={trials}")
        command = [sys.executable, "-m", "pytest", *args.scenarios, *args.rest, *options]
        to = sys.stderr if is_alone(args) else None
        code = _run_pytest(command, to)
        if trials.is_file():
            give_json(args, json.decode(trials.read_bytes()))
    return code if code in (0, FAILED, INTERRUPTED) else USAGE


def _run_pytest(command: list[str], to: TextIO | None) -> int:
    """Run pytest; an interrupt is passed on, and pytest then ends with what it has. A terminal
    sends it to both, so nobody has to pass it on.
    """
    with subprocess.Popen(command, stdout=to) as running:
        try:
            return running.wait()
        except KeyboardInterrupt:
            if not sys.stdin.isatty():
                running.send_signal(signal.SIGINT)
            running.wait()
            return INTERRUPTED
