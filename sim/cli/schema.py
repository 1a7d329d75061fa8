"""Print the JSON schema of scenario files, for editors."""

from __future__ import annotations

import argparse

from sim.cli.arguments import Options


def add_arguments(parser: Options) -> None:
    del parser


def run(args: argparse.Namespace) -> int:
    import json

    from sim.world.format.json_schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0
