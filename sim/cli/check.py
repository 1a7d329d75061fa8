"""Validate scenario files without running them.

Every problem is printed as file:line:column: message, with the line and a caret below it.

exit codes:
  0  every file is valid
  2  a file has problems, or cannot be read
"""

from __future__ import annotations

import argparse
import sys

from sim.cli.arguments import USAGE, add_scenarios
from sim.cli.json_output import add_json, give_json, is_alone, text_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenarios(parser)
    add_json(parser, "the problems, by file,")


def run(args: argparse.Namespace) -> int:
    from sim.run.loader.load import load_scenario, scenario_variants
    from sim.world.format.problem_text import with_carets
    from sim.world.format.yaml_tree import ScenarioError

    code, results, out = 0, [], text_output(args)
    for name in args.scenarios:
        try:
            variants = [load_scenario(name, params) for params in scenario_variants(name)]
        except ScenarioError as error:
            problems = [problem._asdict() for problem in error.problems]
            results.append({"scenario": name, "problems": problems})
            if not is_alone(args):
                print(*with_carets(error.problems), sep="\n", file=sys.stderr)
            code = USAGE
        else:
            steps = len(variants[0].steps)
            results.append(
                {"scenario": name, "problems": [], "steps": steps, "runs": len(variants)}
            )
            runs = f", {len(variants)} combinations" if len(variants) > 1 else ""
            print(f"{name}: valid, {steps} steps{runs}", file=out)
    give_json(args, {"scenarios": results})
    return code
