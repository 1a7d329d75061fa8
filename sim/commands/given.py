"""What commands have in common: arguments read, problems told, exit codes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.scenario.document import ScenarioError
    from sim.scenario.model import Scenario

FAILED, USAGE, COULD_NOT_LISTEN, INTERRUPTED = 1, 2, 4, 130


def scenario_of(name: str, params: Mapping[str, str] | None = None) -> Scenario | None:
    """A scenario, or None after saying what is wrong with it."""
    from sim.scenario.document import ScenarioError
    from sim.scenario.load import load_scenario

    try:
        return load_scenario(name, params)
    except ScenarioError as error:
        told(error)
        return None


def params_or_exit(given: list[str]) -> dict[str, str]:
    """Parameters of `name=value` texts; ends the process with what is wrong."""
    try:
        return params_of(given)
    except ValueError as error:
        raise SystemExit(usage(str(error))) from None


def seeds_of(text: str) -> range | None:
    """Seeds of "1..20" or "7"; None for "". ValueError otherwise."""
    if not text:
        return None
    first, dots, last = text.partition("..")
    if not (first.isdecimal() and (not dots or last.isdecimal())) or (last and int(last) < int(first)):
        raise ValueError(f"--seeds is a number or a range such as 1..20, not {text!r}")
    return range(int(first), int(last or first) + 1)


def params_of(given: list[str]) -> dict[str, str]:
    """Parameters of `name=value` texts. ValueError otherwise."""
    if any("=" not in text for text in given):
        raise ValueError("--param is name=value")
    return dict(text.split("=", 1) for text in given)


def told(error: ScenarioError) -> int:
    """Say what is wrong with a scenario; the exit code."""
    for problem in error.problems:
        print(problem, file=sys.stderr)
    return USAGE


def instant_of(text: str | None) -> int | None:
    """An instant, None for none; ends the process when it is no instant."""
    from sim.kernel.instants import parse_instant

    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as error:
        raise SystemExit(usage(str(error))) from None


def usage(message: str) -> int:
    """Say what is wrong with the arguments; the exit code."""
    print(f"sim: {message}", file=sys.stderr)
    return USAGE
