"""What reads a journal and tells: `sim diff`, `timeline`, `explain`,
`conformance`. Arguments in, exit
codes out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from sim.cli.arguments import instant_of, usage, will_be_written


def add(commands: Any) -> None:
    """Add the parsers of this group."""
    command = commands.add_parser("diff", help="compare two journals")
    command.add_argument("journals", nargs=2, metavar="JOURNAL")
    command.set_defaults(run=_diff)
    command = commands.add_parser("timeline", help="a journal as people read it")
    command.add_argument("journal", metavar="JOURNAL")
    command.set_defaults(run=_timeline)
    command = commands.add_parser(
        "explain",
        help=(
            "why a call was refused, or an order, stream, account, instrument, verification or"
            " webhook is as it is, from a journal"
        ),
        epilog=(
            "examples:\n  sim explain run.ndjson                     what was refused, with ids\n "
            " sim explain run.ndjson 000000000000002a    a refused call\n  sim explain run.ndjson"
            " stream/7 --until 2026-09-08T18:05:00Z"
        ),
    )
    command.add_argument("journal", metavar="JOURNAL")
    subjects = (
        "request id, order id, stream/7, firms/…, symbol, kyc/EXTERNAL_ID, webhook/EVENT_ID; none:"
        " what was refused"
    )
    command.add_argument("subject", metavar="SUBJECT", nargs="?", default="", help=subjects)
    command.add_argument("--until", metavar="INSTANT", help="as of this instant")
    command.add_argument(
        "--json", action="store_true", help="as JSON, as the control plane answers it"
    )
    command.set_defaults(run=_explain)
    _add_judge(commands)


def _add_judge(commands: Any) -> None:
    command = commands.add_parser(
        "conformance",
        help=(
            "hold what a recorded run's clients did against the documented rules for clients; exit"
            " 1 when one was broken"
        ),
        epilog=(
            "examples:\n  sim conformance run.ndjson --junit conformance.xml\n  sim conformance run.ndjson --caller"
            " firms/atlas --rule backoff\n  sim conformance --list"
        ),
    )
    command.add_argument("journal", metavar="JOURNAL", nargs="?")
    command.add_argument(
        "--list", action="store_true", help="the rulebook, without judging anybody"
    )
    command.add_argument(
        "--caller",
        default="",
        metavar="NAME",
        help="only this firm, participant or address, as the request log names it",
    )
    command.add_argument(
        "--rule",
        action="append",
        default=[],
        metavar="NAME",
        help="only this rule; may be given again",
    )
    command.add_argument("--until", metavar="INSTANT", help="what was done up to this instant")
    command.add_argument(
        "--json", action="store_true", help="as JSON, as the control plane answers it"
    )
    command.add_argument(
        "--junit", type=Path, metavar="FILE", help="write JUnit XML too: a case per rule"
    )
    commands.choices["judge"] = command  # the former name, which --help does not list
    command.set_defaults(run=_judge)


def _diff(given: argparse.Namespace) -> int:
    from sim.analysis.replay import diff

    first, second = given.journals
    return diff(first, second, sys.stdout)


def _timeline(given: argparse.Namespace) -> int:
    from sim.analysis.timeline import timeline

    return timeline(given.journal, sys.stdout)


def _explain(given: argparse.Namespace) -> int:
    from sim.analysis.explain.text import explain_journal

    return explain_journal(
        given.journal,
        given.subject,
        instant_of(given.until),
        sys.stdout,
        sys.stderr,
        as_json=given.json,
    )


def _judge(given: argparse.Namespace) -> int:
    from sim.analysis.conformance.command import check_journal, list_rules

    if given.list:
        return list_rules(sys.stdout)
    if given.journal is None:
        return usage(
            "name a journal: sim conformance JOURNAL; or list the rules: sim conformance --list"
        )
    until, rules = instant_of(given.until), tuple(given.rule)
    will_be_written(files=(given.junit,))
    return check_journal(
        given.journal,
        sys.stdout,
        sys.stderr,
        until=until,
        caller=given.caller,
        rules=rules,
        as_json=given.json,
        junit=given.junit,
    )
