"""Check what clients observed for contradictions.

The command searches recordings (of this exchange or of the real service) and journals for
observations that no consistent history explains: fills reported twice or never, balances that do
not add up, books and reads that go back in time.

exit codes:
  0  no contradiction was found
  1  contradictions were found
  2  a file cannot be read
  3  the journal does not replay

examples:
  sim witness session.ndjson
  sim witness runs/demo.ndjson --json
  sim witness --list
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.cli.arguments import FAILED, Options, check_writable
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    files = "recording, HAR file, or journal; each is checked by itself"
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help=files)
    parser.add_flag("--list", "list the checks")
    add_json(parser, "the verdict")
    parser.add_path(
        "--junit", "FILE", "also write JUnit XML, one suite per file, one case per check"
    )


def run(args: argparse.Namespace) -> int:
    from sim.evidence.witness.checks import describe
    from sim.evidence.witness.witness import document, junit_of, witness_file, write
    from sim.read.errors import UsageError

    out = text_output(args)
    if args.list:
        give_json(args, describe(out))
        return 0
    if not args.files:
        raise UsageError(
            "name a recording or a journal: sim witness FILE; `sim witness --list` lists the checks"
        )
    check_writable(files=(args.junit,))
    witnesses = {}
    for file in args.files:
        witnesses[str(file)] = witness_file(file)
        write(witnesses[str(file)], str(file), out)
    if args.junit is not None:
        args.junit.write_bytes(junit_of(witnesses))
    give_json(args, document(witnesses))
    return FAILED if any(witness.contradictions for witness in witnesses.values()) else 0
