"""Write a run as one page that opens anywhere, without a network.

The page is the control room with the run inside: every row, every record, and the state after
every input. The same journal always gives the same file. It has no control that changes anything.

example:
  sim report runs/quickstart-7.ndjson --out quickstart-7.html
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sim.cli.arguments import DIVERGED, JOURNAL, add_path, check_writable

_BEGINS = b"<!doctype html>"
_LONG = 2_000  # inputs of a run that is told of while it is written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help=JOURNAL)
    add_path(parser, "--out", "FILE.html", "write the page there")


def run(args: argparse.Namespace) -> int:
    from sim.analysis.errors import UsageError

    if args.out is None:
        raise UsageError("say where to write the page: --out FILE.html")
    return _write_page(args.journal, args.out)


def _write_page(journal: str, out: Path) -> int:
    from sim.analysis.history.recorded import RecordedRun
    from sim.analysis.report.report import write_report
    from sim.analysis.search.progress import Progress

    _check_page(out)
    recorded = RecordedRun(Path(journal))
    with Progress(sys.stderr, recorded.total, "inputs", log=recorded.total >= _LONG) as bar:
        difference = write_report(recorded, out, bar.step)
    print(f"{out}: {recorded.header.name}, {recorded.total} inputs, {_size(out)}")
    if difference is None:
        return 0
    print(*difference.lines(), sep="\n", file=sys.stderr)
    print(f"the page has records and states up to input {recorded.inputs}", file=sys.stderr)
    return DIVERGED


def _check_page(out: Path) -> None:
    """Refuse a file that is there and no page. UsageError, OSError."""
    from sim.analysis.errors import UsageError

    check_writable([out])
    if out.is_file() and out.stat().st_size:
        with out.open("rb") as file:
            if file.read(len(_BEGINS)).lower() != _BEGINS:
                raise UsageError(f"{out} is no page and would be overwritten")


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
