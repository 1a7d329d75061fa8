"""Run scenarios headless, in virtual time, and report.

Prints one line per run: verdict, seed, digest. Exit code 1 when an expectation or an invariant
fails.

example:
  sim run quickstart scenarios/my.yaml --seeds 1..20
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.cli.arguments import (
    FAILED,
    VERIFY,
    Options,
    campaign_of,
    campaign_problems,
    check_scenarios,
    check_writable,
)
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    parser.add_scenarios()
    parser.add_seeds("run each scenario with every seed of the range (default: its own)")
    parser.add_choices_of_scenario()
    parser.add_campaign(jobs=1, jobs_text="1")
    parser.add_flag("--verify", VERIFY)
    junit = "write JUnit XML: one suite per run, one case per step"
    parser.add_text("--junit", "FILE", junit)
    kept = (
        "write the journal of every run to this folder, as SCENARIO-SEED.ndjson; a name that ends"
        " in .ndjson is the file of a single run"
    )
    parser.add_text("--journal", "PATH", kept)
    met = "write which operations and answers the runs exercised, for `sim coverage`"
    parser.add_text("--coverage", "FILE", met)
    add_json(parser, "the reports")


problems = campaign_problems


def run(args: argparse.Namespace) -> int:
    from sim.read.errors import UsageError
    from sim.read.headless_run import names_a_file
    from sim.search.campaign import jobs_of, run_all

    plan = campaign_of(args)
    check_scenarios(args)
    journals = Path(args.journal) if args.journal else None
    one_file = journals if journals is not None and names_a_file(journals) else None
    if one_file is not None and (runs := len(jobs_of(plan))) > 1:
        raise UsageError(f"--journal {one_file} is one file, for {runs} runs: name a folder")
    folders = (args.save_failures, args.report, journals if one_file is None else None)
    check_writable(files=(args.junit, args.results, args.coverage, one_file), folders=folders)
    reports = run_all(plan, text_output(args))
    documents = [report.document() for report in reports]
    interrupted = len(reports) < len(jobs_of(plan))
    give_json(args, {"runs": documents, "interrupted": interrupted})
    return 0 if all(report.ok for report in reports) else FAILED
