"""Print a journal as a readable timeline.

Consecutive moves of the clock that show nothing else are one line; --kind clock and --kind timer
show each.

examples:
  sim timeline run.ndjson --symbol my-market --since 2026-09-08T18:05:00Z
  sim timeline run.ndjson --kind request --caller mara-voss --json
"""

from __future__ import annotations

import argparse
import sys

from sim.cli.arguments import JOURNAL, Options, instant
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put

KINDS = ("clock", "timer", "request", "stream", "frame", "step", "control", "webhook", "jump")


def add_arguments(parser: Options) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help=JOURNAL)
    kinds = f"only rows of this kind, repeatable: {', '.join(KINDS)}"
    parser.add_list("--kind", "KIND", kinds, choices=KINDS)
    parser.add_text("--caller", "NAME", "only calls of this firm, participant or key")
    parser.add_text("--symbol", "SYMBOL", "only rows that name this instrument")
    since = "from this instant, or from the input of this number"
    parser.add_text("--since", "INSTANT|N", since, type=_since, default=0)
    add_json(parser, "the rows")


def run(args: argparse.Namespace) -> int:
    from sim.read.timeline import Selection, document, nothing_matches, timeline

    selection = Selection(tuple(args.kind), args.caller, args.symbol, args.since)
    out = text_output(args)
    if args.json is not None:
        rows = document(args.journal, selection)
        if not rows["rows"]:
            put(nothing_matches(args.journal), file=sys.stderr)
        if give_json(args, rows):
            return 0
    timeline(args.journal, out, selection)
    return 0


def _since(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else instant(text)
