"""Hold journals against the law, which judges every input.

The law is a second, naive exchange, written from the specification and the page Rules. It says for
each input which orders, trades, money, states, answers and frames had to follow, and where the run
shows something else. A journal is replayed first, because it keeps only checksums of what streams
carried. What luck, an assumption or a fault decides is undecided where the law cannot tell, and
counted by kind.

exit codes:
  0  the law agrees
  1  it disagrees
  2  a file cannot be read
  3  a journal does not replay

examples:
  sim audit run.ndjson
  sim audit runs/*.ndjson --json
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sim.cli.arguments import FAILED, JOURNAL, Options
from sim.cli.json_output import add_json, give_json, text_output


def add_arguments(parser: Options) -> None:
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help=JOURNAL)
    add_json(parser, "the verdict")


def run(args: argparse.Namespace) -> int:
    from sim.evidence.audit import audit_file, write

    out = text_output(args)
    verdicts = {}
    for file in args.files:
        verdicts[str(file)] = audit_file(file)
        write(verdicts[str(file)], str(file), out)
    documents = [{"file": name} | verdict.document() for name, verdict in verdicts.items()]
    if len(documents) == 1:
        del documents[0]["file"]
        give_json(args, documents[0])
    else:
        give_json(args, {"files": documents})
    return FAILED if any(verdict.disagreements for verdict in verdicts.values()) else 0
