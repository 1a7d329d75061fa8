"""Check a run's clients against the documented rules for clients.

Exit code 1 if a client broke a rule. A rule that never applied is reported as skipped. § is the
section of the service's specification on which a rule is based; `sim catalogue ledger S7.1` prints
the statements of section 7.1.

examples:
  sim conformance run.ndjson --junit conformance.xml
  sim conformance run.ndjson --caller firms/atlas --rule backoff
  sim conformance --list
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from sim.cli.arguments import FAILED, JOURNAL, Options, check_writable
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    parser.add_argument("journal", metavar="JOURNAL", nargs="?", help=JOURNAL)
    parser.add_flag("--list", "list the rules")
    caller = "check only this firm, participant or address, as the request log names it"
    parser.add_text("--caller", "NAME", caller)
    parser.add_list("--rule", "NAME", "check only this rule; repeatable")
    parser.add_instant("--until", "check the run up to this instant")
    add_json(parser, "the report, as the control plane answers it,")
    parser.add_path("--junit", "FILE", "also write JUnit XML, one case per rule")


def problems(args: argparse.Namespace) -> Iterator[str]:
    if args.journal is None and not args.list:
        yield "name a journal: sim conformance JOURNAL; `sim conformance --list` lists the rules"


def run(args: argparse.Namespace) -> int:
    from sim.read.conformance import check, rulebook
    from sim.read.conformance.report import print_rules, rules_document
    from sim.read.replay import simulation_at

    out = text_output(args)
    if args.list:
        give_json(args, rules_document(rulebook()))
        print_rules(rulebook(), out)
        return 0
    check_writable(files=(args.junit,))
    simulation = simulation_at(args.journal, args.until)
    report = check(simulation, caller=args.caller, rules=tuple(args.rule))
    if args.junit is not None:
        args.junit.write_bytes(report.junit())
    give_json(args, report.document())
    report.write(out)
    return 0 if report.ok else FAILED
