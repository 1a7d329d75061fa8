"""What commands have in common: arguments read, problems told, exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario
    from sim.scenario.yaml_tree import ScenarioError

FAILED, USAGE, COULD_NOT_LISTEN, INTERRUPTED, TERMINATED = 1, 2, 4, 130, 143
SEEDS_MAX = 10_000_000


def add_option(command: argparse.ArgumentParser, name: str, *, old: str, **options: Any) -> None:
    """Add an option that was called `old` before: the old spelling works, --help does not show it."""
    action = command.add_argument(name, **options)
    command.add_argument(old, **{**options, "dest": action.dest, "help": argparse.SUPPRESS})


def scenario_of(name: str, params: Mapping[str, str] | None = None) -> Scenario | None:
    """A scenario, or None after saying what is wrong with it."""
    from sim.loader.load import load_scenario
    from sim.scenario.yaml_tree import ScenarioError

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
    if not (first.isdecimal() and (not dots or last.isdecimal())) or (
        last and int(last) < int(first)
    ):
        raise ValueError(f"--seeds is a number or a range such as 1..20, not {text!r}")
    if int(last or first) - int(first) >= SEEDS_MAX:
        raise ValueError(f"--seeds {text}: at most {SEEDS_MAX} at a time")
    return range(int(first), int(last or first) + 1)


def count(text: str) -> int:
    """A number from 0, as an option gives it; for argparse."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"a number from 0, not {text!r}")
    return int(text)


def ordinal(text: str) -> int:
    """A number from 1, as an option gives it; for argparse."""
    if count(text) < 1:
        raise argparse.ArgumentTypeError("a number from 1, not 0")
    return int(text)


def will_be_written(
    files: Iterable[Path | str | None] = (), folders: Iterable[Path | str | None] = ()
) -> None:
    """Make sure, before hours of work, that what comes out of it can be written: makes folders that
    are not there. OSError otherwise.
    """
    for folder in folders:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
    for file in files:
        if file:
            path = Path(file)
            path.parent.mkdir(parents=True, exist_ok=True)
            there = path.exists()
            path.open("ab").close()
            if not there:
                path.unlink()


def read_more_than_once(*files: str) -> None:
    """Refuse (ValueError) a pipe where a journal is read twice."""
    for name in files:
        if Path(name).exists() and not Path(name).is_file():
            raise ValueError(
                f"{name} is no file: this reads a journal more than once, so write it to a file"
                " first"
            )


def failed_on(error: OSError) -> str:
    """What an operating system's error says to a person: the file, and what is the matter with it."""
    return (
        f"{os.fsdecode(error.filename)}: {error.strerror}"
        if error.filename
        else error.strerror or str(error)
    )


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
