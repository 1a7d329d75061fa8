"""Compare two journals and show where they first differ.

What clients drew at random is ignored. Exit code 0: equal; 1: different; 2: unreadable.
"""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journals", nargs=2, metavar="JOURNAL")


def run(args: argparse.Namespace) -> int:
    from sim.analysis.compare import diff

    first, second = args.journals
    return diff(first, second, sys.stdout)
