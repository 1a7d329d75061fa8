"""Parts that commands share: argument types, options of several commands, and exit codes.

A command is a module with `add_arguments(parser)` and `run(args) -> exit code`. Its docstring is
its help text: `sim --help` shows the first line. Modules of commands import what they need inside
`run`, so that `sim --help` and usage errors are fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sim.read.layout import put

if TYPE_CHECKING:
    from sim.search.campaign import RunPlan
    from sim.world.format.scenario import Scenario

T = TypeVar("T")
FAILED, USAGE, DIVERGED, COULD_NOT_LISTEN, INTERRUPTED, TERMINATED = 1, 2, 3, 4, 130, 143
JOURNAL = "file that serve, run or a test wrote with --journal"
VERIFY = (
    "hold every run against the law, as `sim audit` does, make it twice and replay its journal; all"
    " must give the same digest"
)
PRESETS = ("ideal", "realistic", "hostile")
READINGS = ("documented", "observed")
SEEDS_MAX = 10_000_000
DEFAULT_BASE, LAST_BASE = 18080, 65529


class Command(Protocol):
    """The interface of a module that is a command. The last part of its name is the name
    of the command.
    """

    __name__: str
    __doc__: str | None

    def add_arguments(self, parser: Options, /) -> None:
        """Declare positional arguments and options."""

    def run(self, args: argparse.Namespace, /) -> int:
        """Run the command and return the exit code."""


# ---- types of arguments: from text to value; ArgumentTypeError for invalid text


def count(text: str) -> int:
    """A number from 0."""
    return _number_from(0, text)


def ordinal(text: str) -> int:
    """A number from 1."""
    return _number_from(1, text)


def _number_from(least: int, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise argparse.ArgumentTypeError(f"expected a number from {least}, not {text!r}")
    return int(text)


def seed_number(text: str) -> int:
    """A seed."""
    from sim.core.catalogue.bounds import SEED, OutOfBounds

    try:
        return SEED.check(count(text))
    except OutOfBounds as error:
        raise argparse.ArgumentTypeError(f"{error}, not {text!r}") from None


def seeds(text: str) -> range | None:
    """The seeds of "1..20" or "7"; None for ""."""
    if not text:
        return None
    first, _, last = text.partition("..")
    if not first.isdecimal() or not (last.isdecimal() or text == first):
        raise argparse.ArgumentTypeError(
            f"expected a number or a range such as 1..20, not {text!r}"
        )
    numbers = range(seed_number(first), seed_number(last or first) + 1)
    if not numbers:
        raise argparse.ArgumentTypeError(f"expected an ascending range, not {text!r}")
    if len(numbers) > SEEDS_MAX:
        raise argparse.ArgumentTypeError(f"expected at most {SEEDS_MAX} seeds, not {text!r}")
    return numbers


def port_base(text: str) -> int:
    """The first of seven ports, or 0 for free ones."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) > LAST_BASE:
        raise argparse.ArgumentTypeError(f"expected 0 or a port up to {LAST_BASE}, not {text!r}")
    return int(text)


def clock_mode(text: str) -> str:
    """A mode of the clock; "" keeps that of the scenario."""
    if not text:
        return text
    from sim.world.format.clock_mode import parse_clock_mode

    try:
        parse_clock_mode(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def parameter(text: str) -> tuple[str, str]:
    """Name and value of a scenario's parameter, from "name=value"."""
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, not {text!r}")
    return name, value


def instant(text: str) -> int:
    """An instant in the format of RFC 3339 with offset."""
    from sim.kernel.instants import parse_instant

    try:
        return parse_instant(text)
    except ValueError:
        problem = f"expected an instant such as 2026-09-08T14:00:00-04:00, not {text!r}"
        raise argparse.ArgumentTypeError(problem) from None


def reading(text: str) -> str:
    """A reading of the service; "" keeps that of the scenario."""
    if text not in ("", *READINGS):
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(READINGS)}, not {text!r}")
    return text


class Options(argparse.ArgumentParser):
    """A parser with the kinds of options of this command line."""

    def add_option(self, name: str, help_text: str, **more: Any) -> None:
        """Add an option."""
        self.add_argument(name, help=help_text, **more)

    def add_text(self, name: str, metavar: str, help_text: str, **more: Any) -> None:
        """Add an option with a text, "" unless a default is given."""
        self.add_option(name, help_text, metavar=metavar, **{"default": "", **more})

    def add_path(self, name: str, metavar: str, help_text: str) -> None:
        """Add an option with the path of a file or folder, None by default."""
        self.add_option(name, help_text, metavar=metavar, type=Path)

    def add_flag(self, name: str, help_text: str, **more: Any) -> None:
        """Add an option without a value."""
        self.add_option(name, help_text, action="store_true", **more)

    def add_list(self, name: str, metavar: str | None, help_text: str, **more: Any) -> None:
        """Add an option that may be repeated."""
        self.add_option(name, help_text, metavar=metavar, action="append", default=[], **more)

    def add_instant(self, name: str, help_text: str) -> None:
        """Add an option with an instant, None by default."""
        self.add_option(name, help_text, metavar="INSTANT", type=instant)

    # ---- options that several commands have

    def add_scenarios(self) -> None:
        """Add the scenarios to run."""
        self.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="bundled name or file")

    def add_seeds(self, help_text: str) -> None:
        """Add `--seeds A..B`, also spelled `--seed N`."""
        self.add_argument("--seeds", "--seed", type=seeds, metavar="A..B", help=help_text)

    def add_params(self, help_text: str) -> None:
        """Add `--param NAME=VALUE`."""
        self.add_list("--param", "NAME=VALUE", help_text, type=parameter)

    def add_choices_of_scenario(self) -> None:
        """Add the options that change a scenario before it runs: parameters, preset and reading."""
        params = "set a parameter; of a matrix, only the combinations with this value are used"
        self.add_params(params)
        preset = "apply this preset of quirks and faults, instead of the scenario's"
        self.add_option("--preset", preset, choices=PRESETS, default="")
        self.add_reading()

    def add_reading(self) -> None:
        """Add the reading of the service."""
        read = (
            "the reading of the service, instead of the scenario's: documented or observed"
            " (default: the environment's SIM_READING)"
        )
        # argparse checks a default that is text like an argument, so an invalid SIM_READING is
        # refused.
        default = os.environ.get("SIM_READING", "")
        self.add_text("--reading", "READING", read, type=reading, default=default)

    def add_jobs(self, default: int, help_text: str) -> None:
        """Add the number of processes."""
        self.add_option("--jobs", help_text, type=ordinal, default=default, metavar="N")

    def add_campaign(self, jobs: int, jobs_text: str) -> None:
        """Add the options of many runs: processes, a results file to resume from,
        journals of failures.
        """
        self.add_jobs(jobs, f"number of processes (default: {jobs_text})")
        self.add_text("--results", "FILE", "write one JSON line per run as it finishes")
        self.add_flag("--resume", "skip the runs that the file of --results already contains")
        failed = "write the journals of failed runs to this folder"
        self.add_text("--save-failures", "DIR", failed)
        pages = "write a report of each failed run to this folder, as `sim report --out` does"
        self.add_text("--report", "DIR", pages)


# ---- from options to what a command calls


def from_options(kind: Callable[..., T], args: argparse.Namespace, **others: Any) -> T:
    """An object of a class whose fields have the names of options; `others` add
    or override fields.
    """
    from inspect import signature

    fields = signature(kind).parameters
    options = {name: value for name, value in vars(args).items() if name in fields}
    return kind(**{**options, **others})


def campaign_problems(args: argparse.Namespace) -> Iterator[str]:
    """Problems of the options of `add_campaign` in combination."""
    if args.resume and not args.results:
        yield "--resume needs --results FILE, the file to resume from"


def campaign_of(args: argparse.Namespace, **others: Any) -> RunPlan:
    """The plan from the options of `add_campaign` and of the scenario."""
    from sim.search.campaign import RunPlan

    return from_options(RunPlan, args, params=dict(args.param), **others)


# ---- checks before a long command begins, and messages


def check_writable(
    files: Iterable[Path | str | None] = (), folders: Iterable[Path | str | None] = ()
) -> None:
    """Check that results can be written, and create missing folders. OSError if they cannot."""
    for folder in folders:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
    for file in files:
        if file:
            path = Path(file)
            path.parent.mkdir(parents=True, exist_ok=True)
            existed = path.exists()
            path.open("ab").close()
            if not existed:
                path.unlink()


def check_regular_files(files: Sequence[str]) -> None:
    """Refuse a pipe for a command that reads a journal more than once. UsageError."""
    from sim.read.errors import UsageError

    for name in files:
        if Path(name).exists() and not Path(name).is_file():
            raise UsageError(
                f"{name} is not a regular file: this command reads a journal more than once, so"
                " write it to a file first"
            )


def read_scenario(name: str, args: argparse.Namespace) -> Scenario:
    """The scenario of this name or file, with the parameters of `--param`."""
    from sim.run.loader.load import load_scenario

    return load_scenario(name, dict(args.param))


def check_scenarios(args: argparse.Namespace) -> None:
    """Read every scenario before the first one runs. ScenarioError has the problems of
    all of them.
    """
    from sim.world.format.yaml_tree import ScenarioError

    problems: list[Any] = []
    for name in args.scenarios:
        try:
            read_scenario(name, args)
        except ScenarioError as error:
            problems += error.problems
    if problems:
        raise ScenarioError(problems)


def usage_error(message: str) -> int:
    """Print the problem with the arguments and return the exit code."""
    put(f"sim: {message}", file=sys.stderr)
    return USAGE
