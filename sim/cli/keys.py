"""Create client credentials: a partner's RSA key pair, a retail API key."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write the RSA key pair to this folder as PEM files"
    )


def run(args: argparse.Namespace) -> int:
    from sim.server.keys import new_keys

    print(new_keys(args.out))
    return 0
