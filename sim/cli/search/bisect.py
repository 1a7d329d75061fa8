"""Find the input after which something stopped being true.

With one journal the command replays it and finds the first input after which an expectation, or
else an invariant of the exchange, no longer holds. With two journals it shows where they first
differ, and how the states of the exchange differ from there.

examples:
  sim bisect run.ndjson
  sim bisect run.ndjson --expect '{balance: {account: maker, cash: "100000"}}'
  sim bisect run.ndjson --expect '{order: {clord_id: b1, state: FILLED}}'
  sim bisect yesterday.ndjson today.ndjson

exit codes:
  0  it always holds, or the journals are equal
  1  found
  2  a file cannot be read
  3  the journal no longer replays
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from sim.cli.arguments import FAILED, Options, check_regular_files, count
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    journals = "one to search, or two to compare"
    parser.add_argument("journals", nargs="+", metavar="JOURNAL", help=journals)
    expect = "what should hold, as in a step's `expect` (default: the invariants)"
    parser.add_text("--expect", "YAML", expect)
    becomes = "find where it becomes false (default) or true"
    parser.add_option("--becomes", becomes, choices=("false", "true"), default="false")
    every = "check after every N-th line first (default: about 5000 checks in all)"
    parser.add_option("--every", every, type=count, default=0, metavar="N")
    add_json(parser, "what was found")


def problems(args: argparse.Namespace) -> Iterator[str]:
    if len(args.journals or ()) > 2 or (len(args.journals or ()) == 2 and args.expect):
        yield "give one journal, with or without --expect, or two journals to compare"


def run(args: argparse.Namespace) -> int:
    from sim.read.compare import Comparison
    from sim.search.bisect import bisect, print_bisection, question

    paths = [Path(name) for name in args.journals]
    check_regular_files(args.journals)
    out = text_output(args)
    if len(paths) == 2:
        compared = Comparison(*paths)
        give_json(args, compared.document())
        compared.write(out)
        return 0 if compared.same else FAILED
    becomes = args.becomes == "true"
    bisection = bisect(paths[0], question(args.expect), becomes=becomes, every=args.every)
    give_json(args, bisection.document())
    print_bisection(bisection, out)
    return 0 if bisection.ok else FAILED
