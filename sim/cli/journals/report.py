"""Write a run as one page that opens anywhere, without a network.

The page is the control room with the run inside: every row, every record, and the state after
every input. A run of more than 10,000 inputs is shown with all rows, but with records and states of
the last 10,000 only; --inputs changes this number. The same journal always gives the same file. The
page is read-only.

With --account the command prints the results of one account: fills with fees and rebates,
positions, profit and loss, its own quotes and their spread over time.

examples:
  sim report runs/quickstart-7.ndjson --out quickstart-7.html
  sim report run.ndjson --account firms/atlas-fcm/accounts/8f3a61c4 --csv out
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TextIO

from sim.cli.arguments import DIVERGED, JOURNAL, Options, check_writable, ordinal
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put

_BEGINS = b"<!doctype html>"
_LONG = 2_000  # inputs from which on a progress bar is shown


def add_arguments(parser: Options) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help=JOURNAL)
    parser.add_path("--out", "FILE.html", "write the page there")
    last = "with --out: records and states of the last N inputs (default: 10000)"
    parser.add_option("--inputs", last, metavar="N", type=ordinal, default=None)
    account = "print the results of this account, named by itself or its user"
    parser.add_text("--account", "NAME", account)
    parser.add_path("--csv", "DIR", "with --account: write its tables as CSV to this folder")
    add_json(parser, "with --account: its figures")


def run(args: argparse.Namespace) -> int:
    from sim.read.errors import UsageError

    if args.out is None and not args.account:
        raise UsageError(
            "name an output: --out FILE.html for the page, or --account NAME for figures"
        )
    if not args.account and (args.csv is not None or args.json is not None):
        raise UsageError("--csv and --json need --account NAME")
    if args.inputs is not None and args.out is None:
        raise UsageError("--inputs needs --out FILE.html")
    if args.csv is not None:
        check_writable(folders=[args.csv])
    code = _write_page(args, text_output(args)) if args.out is not None else 0
    if args.account:
        _print_figures(args)
    return code


def _print_figures(args: argparse.Namespace) -> None:
    from sim.read.replay import simulation_at
    from sim.read.report.figures import figures_of, print_figures, write_csv

    figures, out = figures_of(simulation_at(args.journal), args.account), text_output(args)
    if args.csv is not None:
        put(*write_csv(figures, args.csv), file=out)
    if not give_json(args, figures) and args.csv is None:
        print_figures(figures, out)


def _write_page(args: argparse.Namespace, notices_to: TextIO) -> int:
    from sim.read.history.recorded import RecordedRun
    from sim.read.progress import Progress
    from sim.read.report.contents import INPUTS
    from sim.read.report.report import write_report

    out: Path = args.out
    _check_page(out)
    recorded = RecordedRun(Path(args.journal))
    with Progress(recorded.total, "inputs", keeps=False, quiet_below=_LONG) as bar:
        difference, notices = write_report(recorded, out, bar.step, args.inputs or INPUTS)
    put(f"{out}: {recorded.header.name}, {recorded.total} inputs, {_size(out)}", file=notices_to)
    for notice in notices:
        put(f"the page has {notice}", file=notices_to)
    if difference is None:
        return 0
    put(*difference.lines(), file=sys.stderr)
    put(f"the page has records and states up to input {recorded.inputs}", file=sys.stderr)
    return DIVERGED


def _check_page(out: Path) -> None:
    """Refuse a file that is there and no page. UsageError, OSError."""
    from sim.read.errors import UsageError

    check_writable([out])
    if out.is_file() and out.stat().st_size:
        with out.open("rb") as file:
            if file.read(len(_BEGINS)).lower() != _BEGINS:
                raise UsageError(f"{out} is not an HTML page and would be overwritten")


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
