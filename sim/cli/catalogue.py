"""List operations, quirks, faults, assumptions and other catalogues.

The lists are printed from the code. One row is shown as a record.

kinds:
  operations    every call of every plane, with path, scope and dates
  quirks        documented oddities, with their probabilities
  faults        what a fault can do, and where
  patches       ready patches, which alter an answer, a frame or a delivery
  presets       sets of quirks and faults
  assumptions   our choices where the specification is silent, with alternatives
  observations  what recordings of the service show
  bounds        largest accepted values
  dates         changes of the interface and rules, by date
  ledger        statements of the specification, with their tests

examples:
  sim catalogue assumptions 'webhook.*'
  sim catalogue operations InsertOrder
  sim catalogue dates maintenance
  sim catalogue quirks --json
"""

from __future__ import annotations

import argparse
from typing import Any

from sim.cli.arguments import Options, usage_error
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put

KINDS = (
    *("operations", "quirks", "faults", "patches", "presets", "assumptions"),
    *("observations", "bounds", "dates", "ledger"),
)


KIND: dict[str, Any] = {"metavar": "KIND", "help": "one of the above (default: operations)"}


def add_arguments(parser: Options) -> None:
    parser.add_argument("kind", nargs="?", default="operations", choices=KINDS, **KIND)
    pattern = "only rows with this text in a column; with wildcards: 'positions.*'"
    parser.add_argument("pattern", nargs="?", default="*", metavar="PATTERN", help=pattern)
    form = parser.add_mutually_exclusive_group()
    add_json(form, "the rows")
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")


def run(args: argparse.Namespace) -> int:
    from sim.read.catalogues import name_of, rows
    from sim.read.tables import as_markdown, print_table
    from sim.world.format.suggestions import suggestion

    entries = rows(args.kind, pattern=args.pattern)
    if not entries:
        names = map(name_of, rows(args.kind))
        near = suggestion(args.pattern, names) or f"; `sim catalogue {args.kind}` lists all"
        return usage_error(f"no row of {args.kind} matches {args.pattern!r}{near}")
    out = text_output(args)
    give_json(args, entries)
    if args.markdown:
        put(*as_markdown(entries).split("\n"), file=out)
    else:
        # There is no running exchange, so the present value is the default.
        columns = [{k: v for k, v in row.items() if k != "value"} for row in entries]
        print_table(columns, out, one_as_record=True)
    return 0
