"""Open a finished run: look at any moment, fork from there.

The command replays the run once; you can read its rows meanwhile. Calls that would change the run
are refused.

example:
  sim open runs/quickstart-7.ndjson --open
"""

from __future__ import annotations

import argparse

from sim.cli.arguments import DEFAULT_BASE, JOURNAL, Options, port_base


def add_arguments(parser: Options) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help=JOURNAL)
    ports = f"use the ports that `sim serve` would (default {DEFAULT_BASE}); 0 takes free ones"
    parser.add_option("--port-base", ports, type=port_base, default=DEFAULT_BASE, metavar="N")
    parser.add_path("--ready-file", "PATH", "write the addresses as JSON once they answer")
    parser.add_flag("--open", "open the control room in a browser")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from sim.read.history.recorded import RecordedRun
    from sim.read.replay import Divergence
    from sim.server.logs import set_up_logging
    from sim.server.opened import OpenOptions, open_run

    set_up_logging("text")
    options = OpenOptions(args.port_base, args.ready_file, args.open)
    try:
        return open_run(RecordedRun(Path(args.journal)), options)
    except Divergence as difference:
        difference.path = args.journal
        raise
