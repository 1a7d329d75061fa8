"""Validate scenario files without running them.

Errors are printed as file:line:column: message.
"""

from __future__ import annotations

import argparse
import sys

from sim.cli.arguments import USAGE, add_scenarios


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenarios(parser)


def run(args: argparse.Namespace) -> int:
    from sim.loader.load import load_scenario, scenario_variants
    from sim.scenario.yaml_tree import ScenarioError

    code = 0
    for name in args.scenarios:
        try:
            variants = [load_scenario(name, params) for params in scenario_variants(name)]
        except ScenarioError as error:
            print(*error.problems, sep="\n", file=sys.stderr)
            code = USAGE
        else:
            runs = f", {len(variants)} combinations" if len(variants) > 1 else ""
            print(f"{name}: fine, {len(variants[0].steps)} steps{runs}")
    return code
