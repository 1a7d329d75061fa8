"""Write the smallest scenario that still fails in the same way.

The command removes steps, faults, settings, keys and times as long as the same step fails with the
same message, or the same invariant breaks. A journal of a client's session is first written as a
scenario.

examples:
  sim shrink failing.yaml --out small.yaml
  sim shrink my.yaml --seeds 1..1000 --because faults
  sim shrink run.ndjson --expect '{open_orders: {as: maker, count: 1}}'

exit codes:
  0    written
  2    nothing fails, or a file cannot be read
  130  interrupted: the smallest that was found so far is written
"""

from __future__ import annotations

import argparse

from sim.cli.arguments import Options, check_regular_files, check_writable, from_options, ordinal
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    source = "a scenario that fails, or a journal at whose end --expect does not hold"
    parser.add_argument("source", metavar="SCENARIO|JOURNAL", help=source)
    parser.add_seeds("shrink the first of these seeds that fails (default: the scenario's own)")
    parser.add_choices_of_scenario()
    expect = "for a journal: what should hold at its end (default: the invariants)"
    parser.add_text("--expect", "YAML", expect)
    cause = (
        "the cause that the smaller scenario must keep: faults, quirks, assumptions, preset,"
        " reading, seed=N, a step, or nothing (default: the command finds the cause)"
    )
    parser.add_text("--because", "CAUSE", cause)
    any_failure = "accept any failure of the same step, not only one with the same message"
    parser.add_flag("--any", any_failure, dest="any_failure")
    most = "run at most N scenarios (default 3000)"
    parser.add_option("--trials", most, type=ordinal, default=3000, metavar="N")
    parser.add_path("--out", "FILE", "where to write it (default: NAME-small.yaml here)")
    add_json(parser, "the result")


def run(args: argparse.Namespace) -> int:
    from sim.search.shrink_command import ShrinkRequest, shrink

    check_regular_files([args.source])
    check_writable(files=(args.out,))
    request = from_options(ShrinkRequest, args, params=dict(args.param))
    written = shrink(request, text_output(args))
    give_json(args, written.document())
    return 0
