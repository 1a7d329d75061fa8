"""Replay a journal and verify every line of it.

Exit code 3 at the first line that differs. With --serve the exchange is then served in the state
it reached; the options about listening say how.

example:
  sim replay run.ndjson --until 2026-09-08T18:05:00Z --serve --port-base 0
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.cli.arguments import DIVERGED, JOURNAL, Options, count
from sim.cli.json_output import add_json, give_json, text_output
from sim.cli.listening import add_listening, listen, listening_problems
from sim.read.layout import put

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.run.simulation import Simulation


def add_arguments(parser: Options) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help=JOURNAL)
    until = "stop at this instant, within a recorded move of the clock if necessary"
    parser.add_instant("--until", until)
    seq = "then rewind to the state right after this input"
    parser.add_option("--seq", seq, type=count, metavar="N")
    parser.add_flag("--serve", "then serve the exchange")
    add_json(parser, "the verdict")
    add_listening(parser, default_clock="manual")


def problems(args: argparse.Namespace) -> Iterator[str]:
    if args.serve and args.json is not None:
        yield "--json cannot be combined with --serve"
    yield from listening_problems(args)


def run(args: argparse.Namespace) -> int:
    from sim.read.replay import replay_file

    if not args.serve:
        return _verify(args)

    def build(settings: Settings) -> Simulation:
        done = replay_file(args.journal, args.until, settings=settings, seq=args.seq)
        put(*done.lines())
        return done.simulation

    return listen(args, args.clock or "manual", build)


def _verify(args: argparse.Namespace) -> int:
    from sim.read.replay import Divergence, replay_file

    out = text_output(args)
    try:
        done = replay_file(args.journal, args.until, seq=args.seq, keeps=True)
    except Divergence as difference:
        give_json(args, difference.document())
        put(*difference.lines(), file=out)
        return DIVERGED
    give_json(args, done.document())
    put(*done.lines(), file=out)
    return 0
