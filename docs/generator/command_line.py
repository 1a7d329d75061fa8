"""Block of the command line: the help of every command."""

from __future__ import annotations

import argparse

from sim.cli import main as command_line


def commands() -> str:
    """The help of every command, as it prints it."""
    parser, by_name = command_line.parsers()
    parts = [f"```text\n{_help(parser)}\n```"]
    for name in command_line.NAMES:
        parts.append(f"## sim {name}\n\n```text\n{_help(by_name[name])}\n```")
    return "\n\n".join(parts)


def _help(parser: argparse.ArgumentParser) -> str:
    """The help text at 80 columns, whatever terminal runs this."""
    created = type(parser.formatter_class.__name__, (parser.formatter_class,), {})
    parser.formatter_class = lambda prog: created(prog, width=78, max_help_position=30)  # type: ignore
    return parser.format_help().rstrip()
