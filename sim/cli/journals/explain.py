"""Explain why a call was refused, or the state of an order.

The subject is a refused call, an order, stream, account, instrument, verification, webhook or
fault. The command replays the journal and asks the exchange. Without a subject it lists the
refused calls with their request ids.

The explanation cites decisions of the sandbox, such as rule M34, and sections of the service's
specification, such as §7.1. The page "Rules" of the documentation lists the rules; `sim serve` also
serves it, below /rules of its docs address. `sim catalogue ledger S7.1` prints the statements of a
section.

examples:
  sim explain run.ndjson
  sim explain run.ndjson 000000000000002a
  sim explain run.ndjson stream/7 --until 2026-09-08T18:05:00Z
"""

from __future__ import annotations

import argparse

from sim.cli.arguments import JOURNAL, Options
from sim.cli.json_output import add_json, give_json, text_output
from sim.read.layout import put


def add_arguments(parser: Options) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help=JOURNAL)
    subject = (
        "a request id, an order id, stream/7, firms/…, a symbol, kyc/EXTERNAL_ID,"
        " webhook/EVENT_ID or fault/f1"
    )
    parser.add_argument("subject", metavar="SUBJECT", nargs="?", default="", help=subject)
    parser.add_instant("--until", "explain the state at this instant")
    add_json(parser, "the explanation, as the control plane answers it,")


def run(args: argparse.Namespace) -> int:
    from sim.read.explain.text import explain_journal, text_of

    out = text_output(args)
    explanation = explain_journal(args.journal, args.subject, args.until)
    give_json(args, explanation)
    put(*text_of(explanation), file=out)
    return 0
