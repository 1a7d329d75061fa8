"""Run scenarios headless, in virtual time, and report.

Prints one line per run: verdict, seed, digest. Exit code 1 when an expectation or an invariant
fails.

example:
  sim run quickstart scenarios/my.yaml --seeds 1..20
"""

from __future__ import annotations

import argparse

from sim.cli.arguments import (
    FAILED,
    add_campaign,
    add_choices_of_scenario,
    add_scenarios,
    add_seeds,
    add_text,
    campaign_of,
    campaign_problems,
    check_scenarios,
    check_writable,
)
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenarios(parser)
    add_seeds(parser, "run each scenario with every seed of the range (default: its own)")
    add_choices_of_scenario(parser)
    add_campaign(parser, jobs=1, jobs_text="1")
    junit = "write JUnit XML: one suite per run, one case per step"
    add_text(parser, "--junit", "FILE", junit)
    kept = (
        "keep the journal of every run there, as SCENARIO-SEED.ndjson; runs of one name and"
        " seed get a number"
    )
    add_text(parser, "--journal", "DIR", kept)
    met = "write what the runs met of the exchange, for `sim coverage`"
    add_text(parser, "--coverage", "FILE", met)
    add_json(parser, "the reports")


problems = campaign_problems


def run(args: argparse.Namespace) -> int:
    from sim.analysis.search.campaign import jobs_of, run_all

    plan = campaign_of(args)
    check_scenarios(args)
    folders = (args.save_failures, args.journal, args.report)
    check_writable(files=(args.junit, args.results, args.coverage), folders=folders)
    reports = run_all(plan, text_output(args))
    documents = [report.document() for report in reports]
    interrupted = len(reports) < len(jobs_of(plan))
    give_json(args, {"runs": documents, "interrupted": interrupted})
    return 0 if all(report.ok for report in reports) else FAILED
