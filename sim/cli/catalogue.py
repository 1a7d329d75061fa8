"""List operations, quirks, faults, presets or assumptions.

The lists are printed from the code. `ledger` shows each statement of the specification with the
tests that demonstrate it.
"""

from __future__ import annotations

import argparse

from sim.cli.arguments import add_flag

KINDS = ("operations", "quirks", "faults", "presets", "assumptions", "dates", "ledger")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", default="operations", choices=KINDS)
    form = parser.add_mutually_exclusive_group()
    add_flag(form, "--json", "print JSON")
    add_flag(form, "--markdown", "print a Markdown table")


def run(args: argparse.Namespace) -> int:
    import sys

    from sim.analysis.catalogues import rows
    from sim.analysis.tables import as_json, as_markdown, print_table

    found = rows(args.kind)
    if args.json or args.markdown:
        print(as_json(found) if args.json else as_markdown(found))
    else:
        print_table(found, sys.stdout)
    return 0
