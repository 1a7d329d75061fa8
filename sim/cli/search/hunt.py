"""Search for bugs of the exchange itself.

Episodes of random moves begin in a small world: orders, streams, deals, people, actions of an
operator. What they meet first is printed: an operation, an answer, a state change, a rule, a frame.
Invariants and the contract are checked after every input, and what clients observed after every
episode. The hunt stops at the first bug and writes the smallest journal and scenario that still
show it; --check shows it again. Exit code 1 if it finds a bug.

The same seed and --inputs give the same hunt, whatever --jobs; --minutes only stops it.

examples:
  sim hunt --minutes 10 --jobs 2
  sim hunt my.yaml --inputs 50000 --seed 7 --corpus runs/corpus
  sim hunt --inputs 20000 --keep-going --json hunt.json
  sim hunt --check runs/hunt/find-1.ndjson
"""

from __future__ import annotations

import argparse
from math import inf
from pathlib import Path
from time import monotonic

from msgspec import to_builtins

from sim.cli.arguments import FAILED, Options, check_writable, count, from_options
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put

INPUTS = 20_000
SAVED = Path("runs/hunt")


def minutes_of(text: str) -> float:
    """Minutes above 0; they may be a fraction."""
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not 0 < minutes < 1e6:
        raise argparse.ArgumentTypeError(f"expected minutes above 0, not {text!r}")
    return minutes


def add_arguments(parser: Options) -> None:
    help_ = "bundled name or YAML file (default: a small world with every feature)"
    parser.add_argument("scenario", nargs="?", default="", metavar="SCENARIO", help=help_)
    stop = "stop after N minutes of real time"
    parser.add_option("--minutes", stop, type=minutes_of, default=0.0, metavar="N")
    inputs = f"stop after N inputs (default: {INPUTS:,}, unless --minutes is given)"
    parser.add_option("--inputs", inputs, type=count, default=0, metavar="N")
    seed = "seed of the hunt and of its runs (default: 1)"
    parser.add_option("--seed", seed, type=count, default=1, metavar="N")
    corpus = "keep what met something first in this folder; repeat what is there, then go on"
    parser.add_path("--corpus", "DIR", corpus)
    saved = f"folder for the journals and scenarios of bugs (default: {SAVED})"
    parser.add_path("--save-failures", "DIR", saved)
    checked = "judge this journal or scenario instead, as the hunt judges its episodes"
    parser.add_path("--check", "FILE", checked)
    parser.add_flag("--keep-going", "do not stop at the first bug")
    parser.add_jobs(1, "number of processes (default: 1)")
    cluster = "run on a Dask cluster, such as tcp://10.0.0.1:8786; its workers need this package"
    parser.add_text("--cluster", "ADDRESS", cluster)
    add_json(parser, "what was met and found")
    junit = "also write JUnit XML, one case for each kind of bug, and the canary"
    parser.add_path("--junit", "FILE", junit)


def run(args: argparse.Namespace) -> int:
    return _hunt(args) if args.check is None else _check(args)


def _check(args: argparse.Namespace) -> int:
    """Judge one file."""
    from sim.search.hunt.check import check_file

    out = text_output(args)
    checked = check_file(args.check)
    for trouble in checked.troubles:
        put(f"{trouble.kind}: {trouble.text}", file=out)
    if not checked.troubles:
        put(f"{args.check}: nothing is wrong in {checked.inputs:,} inputs", file=out)
    give_json(args, to_builtins(checked))
    return FAILED if checked.troubles else 0


def _hunt(args: argparse.Namespace) -> int:
    from sim.read.progress import Progress
    from sim.run.loader.load import load_single
    from sim.search.hunt.campaign import Campaign, HuntPlan
    from sim.search.hunt.finds import write_finding
    from sim.search.hunt.report import Printer, document, junit_of, lines
    from sim.search.hunt.roots import roots_of

    if args.scenario:
        load_single(args.scenario)
    out = text_output(args)
    folder = args.save_failures or SAVED
    check_writable((args.junit,), (args.corpus, folder))
    inputs = args.inputs or (0 if args.minutes else INPUTS)
    plan = from_options(HuntPlan, args, roots=roots_of(args.scenario), inputs=inputs)
    end = monotonic() + 60 * args.minutes if args.minutes else inf
    campaign, printer = Campaign(plan), Printer(out)
    state = campaign.state
    with Progress(0, "rounds", log=False) as rounds:
        for report in campaign.run():
            printer.show(report, state.inputs)
            if report.ends_round:
                rounds.step()
                if monotonic() >= end:
                    break
    state.interrupted = rounds.interrupted
    with Progress(0, "trials", log=False) as bar:
        findings = [
            write_finding(finding, number, folder, bar.step)
            for number, finding in enumerate(state.findings, 1)
        ]
    put(*lines(state, findings), file=out)
    if args.junit is not None:
        args.junit.write_bytes(junit_of(state, findings, plan.seed))
    give_json(args, document(state, findings, plan.seed))
    return FAILED if findings else 0
