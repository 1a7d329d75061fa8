"""List operations, quirks, faults, presets, assumptions or observations.

The lists are printed from the code. A pattern keeps the rows whose first column matches it.
`ledger` shows each statement of the specification with the tests that demonstrate it.
"""

from __future__ import annotations

import argparse

from sim.cli.arguments import add_flag, usage_error
from sim.cli.json_output import add_json, give_json, text_output

KINDS = (
    *("operations", "quirks", "faults", "presets", "assumptions", "observations"),
    *("bounds", "dates", "ledger"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", default="operations", choices=KINDS)
    pattern = "only names that match, such as 'positions.*'; without wildcards, that hold this text"
    parser.add_argument("pattern", nargs="?", default="*", metavar="PATTERN", help=pattern)
    form = parser.add_mutually_exclusive_group()
    add_json(form, "the rows")
    add_flag(form, "--markdown", "print a Markdown table")


def run(args: argparse.Namespace) -> int:
    from sim.analysis.catalogues import rows
    from sim.analysis.tables import as_markdown, print_table

    found = rows(args.kind, pattern=args.pattern)
    if not found:
        return usage_error(f"none of the {args.kind} matches {args.pattern!r}")
    out = text_output(args)
    give_json(args, found)
    if args.markdown:
        print(as_markdown(found), file=out)
    else:
        print_table(found, out)
    return 0
