"""Find the mistakes of scenario files, and run them in memory.

Every problem is printed as file:line:column: message, with the line and a caret below it. Names and
values are checked first. A file without mistakes is then run with its own seed: a step that the
exchange refuses is a problem, unless it expects the refusal. Whether other expectations hold is
left to `sim run`. A run stops after 50,000 inputs, and a matrix after 100 combinations; the command
then says how far it came. A scenario whose steps need a client, which only `sim serve` has, is
checked with --static.

exit codes:
  0  every file is valid
  2  a file has problems, or cannot be read
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from sim.cli.arguments import USAGE, Options
from sim.cli.json_output import add_json, give_json, is_alone, text_output
from sim.read.layout import put

if TYPE_CHECKING:
    from sim.read.scenario_check import Checked


def add_arguments(parser: Options) -> None:
    parser.add_scenarios()
    parser.add_flag("--static", "check names and values only, without a run")
    add_json(parser, "the problems, by file,")


def run(args: argparse.Namespace) -> int:
    from sim.kernel.instants import format_instant
    from sim.read.scenario_check import check
    from sim.world.format.problem_text import with_carets
    from sim.world.format.yaml_tree import ScenarioError

    code, out = 0, text_output(args)
    results: list[dict[str, Any]] = []
    for name in args.scenarios:
        try:
            checked = check(name, static=args.static)
        except ScenarioError as error:
            problems = [problem._asdict() for problem in error.problems]
            results.append({"scenario": name, "problems": problems})
            if not is_alone(args):
                put(*with_carets(error.problems), file=sys.stderr)
            code = USAGE
            continue
        put(f"{name}: {_verdict(checked)}", *(f"  {note}" for note in checked.notes), file=out)
        result: dict[str, Any] = {"steps": checked.steps, "runs": checked.combinations}
        if checked.runs:
            result |= {"tried": checked.runs, "inputs": checked.inputs}
            result |= {"until": format_instant(checked.until), "complete": checked.complete}
            result |= {"notes": list(checked.notes)} if checked.notes else {}
        results.append({"scenario": name, "problems": [], **result})
    give_json(args, {"scenarios": results})
    return code


def _verdict(checked: Checked) -> str:
    """The verdict in words, with how far the scenario was run unless that was to its end."""
    from sim.kernel.instants import format_instant
    from sim.read.layout import counted

    size = counted(checked.steps, "step")
    if checked.combinations > 1:
        size += f", {counted(checked.combinations, 'combination')}"
    part = f"the first {checked.runs}" if checked.runs > 1 else "the first one"
    part = f"; {part} of them ran" if 0 < checked.runs < checked.combinations else ""
    if checked.complete:
        return f"valid, {size}{part}"
    reached = f"{counted(checked.inputs, 'input')}, until {format_instant(checked.until)}"
    return f"valid as far as it was run: {reached} ({size}{part})"
