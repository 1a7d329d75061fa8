"""Run a client's own tests at every date of the changelog.

The report names the first date that breaks each test, and what changed on it. The dates are those
of `sim catalogue dates`, including announced ones. COMMAND runs once for each date, against an
exchange of its own that begins there. It finds the exchange by SIM_READY_FILE, SIM_GATEWAY,
SIM_RETAIL, SIM_EXCHANGE, SIM_AUTH, SIM_GRPC and SIM_CONTROL. Its tests are the cases of the JUnit
file that it writes to SIM_JUNIT (pytest does so by itself); without a file its exit code counts.
Exchanges that tests start themselves, such as those of pytest's fixture `exchange`, begin at
SIM_START. Exit code 1 if a date breaks a test, or no test called an exchange.

examples:
  sim calendar -- pytest tests/sandbox
  sim calendar --bisect --clock manual --junit calendar.xml -- npm test
  sim calendar --list
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from sim.cli.arguments import FAILED, Options, check_writable, clock_mode, from_options, ordinal
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put


def add_arguments(parser: Options) -> None:
    served = "what each exchange serves: bundled name or file"
    parser.add_text("--scenario", "SCENARIO", served, default="quickstart")
    out = "keep the journal and the output of each run here (default: calendar)"
    parser.add_option("--out", out, metavar="DIR", type=Path, default=Path("calendar"))
    clock = "the clock of each exchange (default: paced)"
    parser.add_text("--clock", "MODE", clock, default="paced", type=clock_mode)
    limit = "stop a run after N seconds and count it as failed (default: 120)"
    parser.add_option("--seconds", limit, metavar="N", type=ordinal, default=120)
    bisect = "search by bisection; assumes that a broken test stays broken"
    parser.add_flag("--bisect", bisect)
    parser.add_flag("--list", "list the dates and what changes on each")
    parser.add_path("--junit", "FILE", "also write JUnit XML, one case per test")
    add_json(parser, "the calendar")


def problems(args: argparse.Namespace) -> Iterator[str]:
    if not args.list and not args.rest:
        yield "name the client's test command after --: sim calendar -- pytest tests/sandbox"
    if args.list and args.rest:
        yield "--list runs no command: leave out what follows --"


def run(args: argparse.Namespace) -> int:
    from sim.testing import dated_runs
    from sim.testing.refusing_proxy import FENCED

    out = text_output(args)
    if args.list:
        every = dated_runs.every_date()
        give_json(args, [{"day": date.day, "changes": list(date.changes)} for date in every])
        for date in every:
            changes = date.changes or ("the day before the first date: the baseline",)
            put(date.day, *(f"  {change}" for change in changes), file=out)
        return 0
    check_writable((args.junit,), (args.out,))
    options = {"command": args.rest, "folder": args.out, "limit_s": args.seconds}
    put(FENCED, file=sys.stderr)
    plan = from_options(dated_runs.CalendarPlan, args, **options)
    calendar = dated_runs.calendar(plan)
    give_json(args, calendar.document())
    dated_runs.write(calendar, args.out, out)
    if args.junit is not None:
        args.junit.write_bytes(dated_runs.junit_of(calendar))
    return 0 if calendar.ok else FAILED
