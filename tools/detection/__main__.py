"""`make detection`: which tool finds which planted bug, in how many processor seconds.

Each tool runs with each bug in a separate process with a fixed budget. Results are saved in
`results.json` and not measured again (`--again BUG` discards them), so a run can be interrupted and
continued. A finding counts only if the tool does not report the same without the bug, in 1.5 times
the budget.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from contextlib import redirect_stdout
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from tools.detection.client_bugs import BELIEFS
from tools.detection.planted import PLANTED, Planted
from tools.detection.results import Results, keep_seconds, property_seconds
from tools.detection.tools import EXCHANGE_TOOLS, TOOLS
from tools.detection.trial import attempt, fingerprint, measure

CONTROL = 1.5  # factor of the budget, so that a control reports everything that a trial can
NONE = "none"
FORK = get_context("fork")  # one import for all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.detection", description=__doc__)
    parser.add_argument("--again", action="append", default=[], help="a bug to try anew")
    parser.add_argument("--bug", action="append", default=[], help="only these bugs")
    parser.add_argument("--tool", action="append", choices=TOOLS, help="only these tools")
    args = parser.parse_args()
    results = Results.read()
    for name in args.again:
        results.trials.pop(name, None)
    tools = args.tool or list(TOOLS)
    if "machines" in tools and not property_seconds():
        keep_seconds(_apart(measure, 3600))
    for tool in tools:
        _try(results, tool, args.bug)
    missed = [bug.name for bug in PLANTED if not results.finders(bug.name)]
    print(f"{len(PLANTED) - len(missed)} of {len(PLANTED)} found; missed: {', '.join(missed)}")
    return 0


def fits(tool: str, bug: Planted) -> bool:
    """Return whether a tool tests the side, and the client, that has the bug."""
    if bug.side == "exchange":
        return tool in EXCHANGE_TOOLS
    return tool == "beliefs" if bug.name in BELIEFS else tool in ("judge", "certify")


def _try(results: Results, tool: str, only: list[str]) -> None:
    """Run the control of a tool, then the tool with each bug that has no result yet."""
    if tool not in results.controls:
        results.keep(tool, "", _trial(tool, NONE, CONTROL))
    every = frozenset(results.controls[tool]["every"])
    for bug in PLANTED:
        if only and bug.name not in only:
            continue
        if fits(tool, bug) and tool not in results.trials.get(bug.name, {}):
            answer = _trial(tool, bug.name, 1, every)
            kept = {"said": answer["said"], "cpu_s": answer["cpu_s"], "bug": fingerprint(bug.name)}
            results.keep(tool, bug.name, kept)
            for column, (sentence, seconds) in answer["said"].items():
                print(f"{bug.name}: {column} after {seconds} s: {sentence[:120]}", flush=True)


def _trial(
    tool: str, bug: str, factor: float, existing: frozenset[str] = frozenset()
) -> dict[str, Any]:
    seconds = factor * TOOLS[tool].seconds
    try:
        answer: dict[str, Any] = _apart(attempt, 3 * seconds + 30, tool, bug, seconds, existing)
    except TimeoutError:  # a bug may make a tool run for ever
        column = TOOLS[tool].columns[-1]
        return {"said": {column: ("runs for ever", seconds)}, "every": [], "cpu_s": seconds}
    return answer


def _apart(function: Any, most: float, *values: Any) -> Any:
    """Return the result of a function in a separate process. Raises TimeoutError after a processor
    time.
    """
    mine, its = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_send, args=(its, function, most, values))
    process.start()
    its.close()
    try:
        answer = mine.recv()
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGVTALRM:
            raise TimeoutError from None
        raise RuntimeError(f"{values}: ended with {process.exitcode}") from None
    process.join()
    return answer


def _send(to: Connection, function: Any, most: float, values: tuple[Any, ...]) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, most)  # its signal ends the process
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        to.send(function(*values))


if __name__ == "__main__":
    sys.exit(main())
