"""Print a journal as a readable timeline."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL")


def run(args: argparse.Namespace) -> int:
    from sim.analysis.timeline import timeline

    return timeline(args.journal, sys.stdout)
