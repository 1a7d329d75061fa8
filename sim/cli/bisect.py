"""Find the input after which something stopped being true.

With one journal the command replays it and finds the first input after which an expectation, or
else an invariant of the exchange, no longer holds. With two journals it shows where they first
differ, and how the states of the exchange differ from there.

examples:
  sim bisect run.ndjson
  sim bisect run.ndjson --expect '{balance: {account: maker, cash: "100000"}}'
  sim bisect run.ndjson --expect '{order: {clord_id: bid-3, state: FILLED}}' --becomes true
  sim bisect yesterday.ndjson today.ndjson

exit codes:
  0  it always holds, or the journals are equal
  1  found
  2  a file cannot be read
  3  the journal no longer replays
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim.cli.arguments import FAILED, add_option, add_text, check_regular_files, count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    journals = "one to search, or two to compare"
    parser.add_argument("journals", nargs="+", metavar="JOURNAL", help=journals)
    expect = "what should hold, as in a step's `expect` (default: the invariants)"
    add_text(parser, "--expect", "YAML", expect)
    becomes = "find where it becomes false (default) or true"
    add_option(parser, "--becomes", becomes, choices=("false", "true"), default="false")
    every = "check after every N-th line first (default: about 5000 checks in all)"
    add_option(parser, "--every", every, type=count, default=0, metavar="N")


def run(args: argparse.Namespace) -> int:
    from sim.analysis.compare import compare
    from sim.analysis.errors import UsageError
    from sim.analysis.search.bisect import bisect, question

    paths = [Path(name) for name in args.journals]
    if len(paths) > 2 or (len(paths) == 2 and args.expect):
        raise UsageError("give one journal, with or without --expect, or two journals to compare")
    check_regular_files(args.journals)
    if len(paths) == 2:
        return 0 if compare(paths[0], paths[1], sys.stdout) else FAILED
    becomes = args.becomes == "true"
    holds = bisect(paths[0], question(args.expect), sys.stdout, becomes=becomes, every=args.every)
    return 0 if holds else FAILED
