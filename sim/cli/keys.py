"""Create credentials: a partner's RSA key pair and a retail API key."""

from __future__ import annotations

import argparse

from sim.cli.arguments import add_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_path(parser, "--out", "DIR", "write the RSA key pair to this folder as PEM files")


def run(args: argparse.Namespace) -> int:
    from sim.server.keys import new_keys

    print(new_keys(args.out))
    return 0
