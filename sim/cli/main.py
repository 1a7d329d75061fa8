"""The command line `sim`: finds the command, runs it, and maps every outcome to an exit code.

One module of this package is one command with its options; `COMMANDS` lists them. Modules of
commands import what they need when they run, so `sim --help` is fast.

| Exit code | Meaning |
|---|---|
| 0 | success |
| 1 | an expectation failed, a rule was broken, or journals differ |
| 2 | usage, an invalid scenario, or a file that cannot be read or written |
| 3 | a replay diverged from its journal |
| 4 | a listener's address could not be used |
| 5 | an internal error stopped the exchange; its journal is complete |
| 130, 143 | interrupted, terminated |

An interrupted command (Ctrl-C) prints and writes its results so far, and exits with 130 whatever
they are. A second Ctrl-C ends it at once.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn, TextIO, cast

from sim.cli.arguments import (
    COULD_NOT_LISTEN,
    DIVERGED,
    INTERRUPTED,
    TERMINATED,
    USAGE,
    Command,
    usage_error,
)
from sim.cli.json_lines import JsonLines, wants_json_lines
from sim.cli.parsing.parser import HelpFormatter, Parser, Version, nearest
from sim.read.layout import put

COMMANDS = {
    "an exchange to talk to": ("serve", "demo", "mcp"),
    "scenarios": ("init", "run", "check", "schema", "coverage"),
    "journals of finished runs": (
        *("open", "report", "replay", "diff", "timeline", "explain", "conformance", "audit"),
    ),
    "the real service": ("record", "compare", "infer", "fidelity", "witness"),
    "your client's own tests": ("certify", "calendar", "explore"),
    "search for failures": ("sweep", "hunt", "shrink", "bisect"),
    "reference and credentials": (
        *("catalogue", "openapi", "asyncapi", "collection", "proto"),
        *("keys", "token", "sign", "completion"),
    ),
}
# Groups whose commands have a folder of their own.
_FOLDERS = {
    "your client's own tests": "clients",
    "journals of finished runs": "journals",
    "search for failures": "search",
}
NAMES = tuple(name for group in COMMANDS.values() for name in group)
WITH_REST = ("explore", "certify", "calendar")
SERVING = ("serve", "demo", "open", "record")
EXAMPLES = """\
examples:
  sim demo
  sim serve quickstart --clock paced:60
  sim run scenarios/*.yaml
  sim replay runs/demo.ndjson

`sim COMMAND --help` shows the options of a command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    _prepare_process(handle_signals=argv is None)
    words = sys.argv[1:] if argv is None else list(argv)
    if wants_json_lines(words):
        with redirect_stderr(JsonLines(sys.stderr)):
            return _main(words)
    return _main(words)


def _main(argv: list[str]) -> int:
    try:
        code = _run(parse(argv))
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        notes = getattr(stop, "__notes__", ())
        put(" ".join(("sim: interrupted", *notes)), file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        return _file_error(error)
    except Exception as error:
        return _expected_error(error)
    return code


def _run(args: argparse.Namespace) -> int:
    """Run a command. If it was interrupted and has printed its results so far, the exit
    code is 130.
    """
    if args.problems:
        put(*args.problems.splitlines(), file=sys.stderr)
        return USAGE
    if args.command in SERVING:  # they handle the end themselves, and import only what they need
        return int(args.run(args))
    from sim.read.progress import reporting

    with reporting(sys.stderr) as report:
        code = int(args.run(args))
    return INTERRUPTED if report.interrupted else code


class _Output(io.FileIO):
    """A standard stream whose reader may stop early (`sim run … | head`).

    What nobody reads is dropped, so that the work is finished and its verdict stands.
    """

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            return len(memoryview(data).cast("B"))


def _prepare_process(*, handle_signals: bool) -> None:
    """Prepare for closed streams, readers that stop and terminals without Unicode, and let SIGTERM
    run the `finally` clauses.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if handle_signals:
        sys.stdout, sys.stderr = _unbroken(sys.stdout), _unbroken(sys.stderr)
        signal.signal(signal.SIGTERM, _terminate)


def _unbroken(stream: TextIO) -> TextIO:
    """Return a standard stream that outlives its reader; another stream as it is."""
    if stream not in (sys.__stdout__, sys.__stderr__):
        return stream
    raw = _Output(stream.fileno(), "wb", closefd=False)
    line_buffering = raw.isatty() or stream is sys.stderr
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=line_buffering,
    )


def _terminate(*_: object) -> NoReturn:
    raise SystemExit(TERMINATED)  # `finally` clauses end the worker processes


def _why(error: OSError) -> str:
    """Why a file or folder cannot be created; "" for other errors."""
    if isinstance(error, FileExistsError):
        return "the file exists already and is not overwritten; choose another name or remove it"
    if isinstance(error, NotADirectoryError) and error.filename:
        files = (each for each in Path(os.fsdecode(error.filename)).parents if each.is_file())
        return f"{next(files, 'a part of it')} is a file, not a folder"
    return ""


def _file_error(error: OSError) -> int:
    """Report an address that cannot be used, or a file or output that cannot be read or written."""
    from sim.server.listeners import CouldNotListen

    name = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    code = usage_error(name + (_why(error) or error.strerror or str(error)))
    try:
        sys.stdout.flush()
    except OSError:  # the rest of the buffer would fail again at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return COULD_NOT_LISTEN if isinstance(error, CouldNotListen) else code


def _expected_error(error: Exception) -> int:
    """Print an error about the user's input; raise any other error again, because it is a bug."""
    from sim.core.model.refusals import NotFound
    from sim.read.errors import UnreadableJournal, UsageError
    from sim.read.replay import Divergence
    from sim.world.format.order_flow import FlowError
    from sim.world.format.problem_text import with_carets
    from sim.world.format.yaml_tree import ScenarioError

    match error:
        case ScenarioError():
            put(*with_carets(error.problems), file=sys.stderr)
        case UnreadableJournal():
            put(error, file=sys.stderr)
        case UsageError() | FlowError():
            return usage_error(str(error))
        case NotFound():
            return usage_error(f"{error.message}: {error.remedy}")
        case Divergence():
            put(*error.lines(), file=sys.stderr)
            return DIVERGED
        case _:
            raise error
    return USAGE


# ---- parsing


def command_of(name: str) -> Command:
    """The module of a command, which is imported only now."""
    group = next(group for group, names in COMMANDS.items() if name in names)
    folder = f"{_FOLDERS[group]}." if group in _FOLDERS else ""
    return cast(Command, import_module(f"sim.cli.{folder}{name}"))


def parse(argv: list[str]) -> argparse.Namespace:
    """The arguments of a command. The arguments after `--` are `rest`: options of pytest (`sim
    explore`), or a client's own command.

    Exits with 2 and lists all mistakes of the command line.
    """
    rest: list[str] = []
    if "_ARGCOMPLETE" in os.environ:
        from sim.cli.completion import complete

        every, commands = parsers()
        complete(every, commands.values())
    if not argv:
        parsers()[0].print_help(sys.stderr)
        raise SystemExit(USAGE)
    if argv[:1] and argv[0] in WITH_REST and "--" in argv:
        end = argv.index("--")
        argv, rest = argv[:end], argv[end + 1 :]
    name = argv[0] if argv else ""
    parser, by_name = parsers((name,) if name in NAMES else NAMES)
    if name and not name.startswith("-") and name not in by_name:
        parser.error(f"there is no command {name!r}{nearest(name, NAMES)}")
    if name in NAMES:
        argv = _with_environment(by_name[name], argv)
    args, _ = parser.parse_known_args(argv)
    args.rest, args.command = rest, name
    if name not in NAMES:
        parser.fail(args.problems)
    inner = by_name[name]
    together = list(_problems_of(command_of(name), args))
    if args.problems:
        inner.fail([*args.problems, *together, *_missing_files(args)])
    args.problems = inner.message([*together, *_missing_files(args)]) if together else ""
    return args


def _problems_of(command: Command, args: argparse.Namespace) -> Iterable[str]:
    """Problems of options in combination, which the command itself checks."""
    check = getattr(command, "problems", None)
    return check(args) if check is not None else ()


def _missing_files(args: argparse.Namespace) -> Iterator[str]:
    """Missing input files, if there are other mistakes; otherwise the command reports
    them in detail.
    """
    for key in ("scenario", "scenarios", "journal", "journals", "files", "recording"):
        named = getattr(args, key, None)
        for name in named if isinstance(named, list) else [named]:
            if name is None or (isinstance(name, str) and not Path(name).suffix):
                continue  # it may be the name of a bundled scenario
            if not Path(name).exists():
                yield f"{name}: no such file"


def _with_environment(parser: Parser, argv: list[str]) -> list[str]:
    from sim.cli.parsing.environment import from_environment, unknown_variables

    word, *arguments = argv
    if "--help" not in arguments and "-h" not in arguments:
        for warning in unknown_variables(parser, os.environ, lambda: parsers()[1].values()):
            put(warning, file=sys.stderr)
    added = from_environment(parser, arguments, os.environ)
    parser.added = added
    return [word, *added, *arguments]


def parsers(names: Sequence[str] = NAMES) -> tuple[Parser, dict[str, Parser]]:
    """The parser of `sim` with some commands, and those of the commands by name. A run needs only
    its own command.

    Options cannot be abbreviated, because a new option would change the meaning of an abbreviation
    in a script.
    """
    modules = {name: command_of(name) for name in names}
    parser = Parser(
        prog="sim",
        usage="sim [--version] COMMAND ...",
        description=(
            "A deterministic sandbox of a prediction-market exchange."
            f"\n\n{_overview(modules)}\n\n{EXAMPLES}"
        ),
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(
        prog="sim", metavar="COMMAND", required=True, help=argparse.SUPPRESS
    )
    for name, command in modules.items():
        inner = commands.add_parser(
            name, description=command.__doc__, formatter_class=HelpFormatter, allow_abbrev=False
        )
        command.add_arguments(inner)
        inner.set_defaults(run=command.run)
    return parser, cast(dict[str, Parser], dict(commands.choices))


def _overview(modules: Mapping[str, Command]) -> str:
    """The commands by group, each with the first line of its docstring."""
    groups = []
    for heading, names in COMMANDS.items():
        lines = [
            f"  {name:<12} {(modules[name].__doc__ or '').partition('.')[0]}"
            for name in names
            if name in modules
        ]
        groups.append("\n".join([f"{heading}:", *lines]))
    return "\n\n".join(groups)
