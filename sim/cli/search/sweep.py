"""Run scenarios over many seeds and alternatives.

Alternatives are other values of assumptions and quirks, presets, and readings. Prints one table.
The invariants of money, positions, orders and books are checked after every input, and less often
while more than 1,000 orders are open. Without --seeds, --vary and --fuzz the command varies
assumptions and quirks.

examples:
  sim sweep my.yaml --seeds 1..1000
  sim sweep my.yaml --vary assumptions --only 'webhook.*'
  sim sweep my.yaml --seeds 1..50 --vary presets --save-failures runs/failed
  sim sweep quickstart --seeds 1..1000 --fuzz 200 --shrink smallest.yaml
"""

from __future__ import annotations

import argparse
import os

from sim.cli.arguments import (
    FAILED,
    VERIFY,
    Options,
    campaign_of,
    campaign_problems,
    check_scenarios,
    check_writable,
    count,
)
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    parser.add_scenarios()
    parser.add_seeds("run with every seed of the range (default: the scenario's own)")
    kinds = ("assumptions", "quirks", "presets", "readings")
    vary = "also run under every alternative of these; repeatable"
    parser.add_list("--vary", None, vary, choices=kinds)
    only = "with --vary: only names that match this pattern, such as 'webhook.*'"
    parser.add_text("--only", "NAME", only, default="*")
    fuzz = "append N random steps and a few random faults, drawn from the seed"
    parser.add_option("--fuzz", fuzz, type=count, default=0, metavar="N")
    parser.add_flag("--verify", VERIFY)
    witness = "also look for contradictions in what clients observed, as `sim witness` does"
    parser.add_flag("--witness", witness)
    shrink = "write the first failing run as the smallest scenario that still fails"
    parser.add_path("--shrink", "FILE", shrink)
    parser.add_choices_of_scenario()
    parser.add_campaign(os.cpu_count() or 1, "the machine's processors")
    cluster = "run on a Dask cluster, such as tcp://10.0.0.1:8786; its workers need this package"
    parser.add_text("--cluster", "ADDRESS", cluster)
    add_json(parser, "table and failures")


problems = campaign_problems


def run(args: argparse.Namespace) -> int:
    from sim.read.errors import UsageError
    from sim.search.sweep import sweep, variations

    check_scenarios(args)
    kinds = args.vary or (() if args.seeds or args.fuzz else ("assumptions", "quirks"))
    oracles = ("sim.evidence.witness.witness:contradiction_lines",) if args.witness else ()
    varied = variations(args.scenarios, kinds, args.only)
    features = args.json is not None
    plan = campaign_of(args, variations=varied, oracles=oracles, features=features)
    folders = () if args.cluster else (args.save_failures, args.report)
    check_writable((args.results, args.shrink), folders)
    out = text_output(args)
    if args.vary and len(plan.variations) == 1:
        raise UsageError(
            f"no name in {' and '.join(args.vary)} matches {args.only!r}; `sim catalogue"
            f" {args.vary[0]}` lists the names"
        )
    swept = sweep(plan, out)
    give_json(args, swept.document())
    if args.shrink is not None:
        swept.shrink(args.shrink, out)
    return 0 if swept.ok else FAILED
