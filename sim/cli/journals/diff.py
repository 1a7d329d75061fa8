"""Compare two runs: their first difference, counts, and ends.

Runs of different seeds and scenarios are aligned by what was done, by whom, for the n-th time.
Identifiers and what clients drew at random are ignored. Exit code 0: equal; 1: different; 2:
unreadable. `sim bisect FIRST SECOND` shows how the states differ right after the first difference.

example:
  sim diff runs/quickstart-1.ndjson runs/quickstart-2.ndjson --json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.cli.arguments import FAILED, JOURNAL, Options, check_regular_files
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    parser.add_argument("journals", nargs=2, metavar="JOURNAL", help=JOURNAL)
    add_json(parser, "the comparison")


def run(args: argparse.Namespace) -> int:
    from sim.read.run_diff import RunDiff

    check_regular_files(args.journals)
    out = text_output(args)
    first, second = map(Path, args.journals)
    difference = RunDiff(first, second)
    if args.json is not None:
        give_json(args, difference.document())
    difference.write(out)
    return 0 if difference.same else FAILED
