"""Show which operations and answers runs exercised, and which never.

A coverage file comes from `pytest --exchange-coverage FILE` or `sim run --coverage FILE`. Several
files, such as those of the parts of a suite, count as one.

example:
  pytest --exchange-coverage met.json && sim coverage met.json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.cli.arguments import Options
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put


def add_arguments(parser: Options) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="coverage files")
    add_json(parser, "all counts, including zeros,")


def run(args: argparse.Namespace) -> int:
    from sim.read.exchange_coverage import document, lines, merged, read

    coverage = merged(read(Path(name).read_bytes(), name) for name in args.files)
    out = text_output(args)
    if give_json(args, document(coverage)):
        return 0
    put(*lines(coverage), file=out)
    return 0
