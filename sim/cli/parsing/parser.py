"""The parser of commands, which reports all mistakes of a command line at once, each with a remedy.

argparse stops at the first mistake. This parser notes each invalid value, option without its value
and unknown option, continues, and reports them at the end.
"""

from __future__ import annotations

import argparse
import difflib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from sim.cli.arguments import USAGE, Options
from sim.kernel.release import RELEASE


def nearest(word: str, choices: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the most similar known word, or ""."""
    near = difflib.get_close_matches(word, list(choices), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class HelpFormatter(argparse.HelpFormatter):
    """Wraps paragraphs, and keeps indented lines such as examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            paragraph if "\n  " in paragraph else textwrap.fill(paragraph, width)
            for paragraph in text.strip().split("\n\n")
        )


class Version(argparse.Action):
    """`--version`."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        print(f"sim {RELEASE}")
        parser.exit()


class _Stop(Exception):
    """argparse cannot continue."""


class Parser(Options):
    """Notes mistakes, and refers to the help instead of listing all options.

    `added` are the arguments from the environment.
    """

    added: Sequence[str] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._problems: list[str] = []
        self._without_value: set[str] = set()
        self._seen: set[str] = set()
        self._collects = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse. `namespace.problems` are the mistakes, including unknown words."""
        parsed = namespace if namespace is not None else argparse.Namespace()
        self._problems, self._collects = [], True
        self._seen.clear()
        unknown: list[str] = []
        try:
            unknown = super().parse_known_args(args, parsed)[1]
        except _Stop:
            pass
        finally:
            self._collects = False
        self._problems += self._unrecognized(unknown)
        parsed.problems = [*getattr(parsed, "problems", ()), *self._problems]
        return parsed, []

    def _unrecognized(self, words: Sequence[str]) -> Iterator[str]:
        """The mistakes of unknown words: each option, and all other words together."""
        for word in words:
            if word.startswith("-"):
                option = word.partition("=")[0]
                yield f"there is no option {option}{nearest(option, self._options())}"
        if words and not any(word.startswith("-") for word in words):
            yield f"unexpected argument: {' '.join(words)}"

    def _options(self) -> list[str]:
        """The options in the help."""
        return [
            option
            for action in self._actions
            if action.help is not argparse.SUPPRESS
            for option in action.option_strings
            if option.startswith("--")
        ]

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        """The number of values of an option. An option without its value is noted."""
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError:
            self._problems.append(f"{_name_of(action)}: needs a value, {_usage_of(action)}")
            self._without_value.add(action.dest)
            return 0

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """The value of an argument. For invalid text its default, and a note."""
        self._seen.add(action.dest)
        if not arg_strings and action.dest in self._without_value:
            self._without_value.discard(action.dest)
            return action.default
        try:
            return super()._get_values(action, arg_strings)
        except argparse.ArgumentError as error:
            self._problems.append(f"{_name_of(action)}: {error.message}")
            return action.default

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Suggest the nearest choice, and list all."""
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            expected = (
                f"expected one of {', '.join(choices)}, not {value!r}{nearest(str(value), choices)}"
            )
            raise argparse.ArgumentError(action, expected)

    def error(self, message: str) -> NoReturn:
        """Note a mistake while parsing; at any other time report it and exit."""
        if self._collects:
            self._problems += self._missing() if "are required" in message else [message]
            raise _Stop
        self.fail([message])

    def _missing(self) -> Iterator[str]:
        """The mistakes of missing arguments: argparse stops at them after everything
        else was read.
        """
        for action in self._actions:
            if action.required and action.dest not in self._seen:
                some = {2: "two ", "+": "at least one "}.get(action.nargs or "", "")
                name = action.metavar if not action.option_strings else _usage_of(action)
                about = f" ({action.help})" if action.help else ""
                yield f"missing argument: {some}{name}{about}"

    def fail(self, problems: Iterable[str]) -> NoReturn:
        """Report mistakes, each once, and exit."""
        self.exit(USAGE, self.message(problems))

    def message(self, problems: Iterable[str]) -> str:
        """Mistakes as text, each once."""
        lines = dict.fromkeys(
            f"{self.prog}: {self._with_source(problem)}\n" for problem in problems
        )
        return f"{''.join(lines)}`{self.prog} --help` shows the usage\n"

    def _with_source(self, problem: str) -> str:
        """A problem, with the environment variable from which the argument comes."""
        for option in (argument.partition("=")[0] for argument in self.added):
            if problem.startswith(f"{option}:"):
                from sim.cli.parsing.environment import variable

                return f"{problem} (from {variable(option)})"
        return problem


def _name_of(action: argparse.Action) -> str:
    """The name of an argument on the command line."""
    return "/".join(action.option_strings) or str(action.metavar or action.dest.upper())


def _usage_of(action: argparse.Action) -> str:
    """The usage of an option: `--seed N`."""
    value = action.metavar or (
        "{" + ",".join(map(str, action.choices)) + "}" if action.choices else action.dest.upper()
    )
    return f"{action.option_strings[0]} {value}"
