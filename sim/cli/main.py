"""The command line: arguments in, exit codes out. Each command imports what it needs when it runs,
so that `sim --help` is instant.

Exit codes: 0 fine, 1 an expectation failed or journals differ, 2 usage or an invalid file, 3 a
replay diverged, 4 could not listen, 130 interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from sim.cli import journals, search, serve
from sim.cli.arguments import (
    FAILED,
    INTERRUPTED,
    TERMINATED,
    USAGE,
    add_option,
    failed_on,
    instant_of,
    ordinal,
    params_or_exit,
    scenario_of,
    seeds_of,
    told,
    usage,
    will_be_written,
)

PRESETS = ("ideal", "realistic", "hostile")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    _prepare_process(ours=argv is None)
    try:
        given = parse(sys.argv[1:] if argv is None else list(argv))
        code = int(given.run(given))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Somebody closed the pipe we print into (`sim timeline … | head`): nothing is wrong.
        sys.stderr.close()
        return 0
    except OSError as error:
        return _unwritten(error)
    return code


def _prepare_process(*, ours: bool) -> None:
    """Text goes out whatever the terminal can show, or if nobody reads it. SIGTERM ends a process
    of ours by its `finally` clauses, and with it its workers.
    """
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if ours:
        signal.signal(signal.SIGTERM, _terminated)


def _terminated(*_: object) -> NoReturn:
    raise SystemExit(TERMINATED)


def _unwritten(error: OSError) -> int:
    """A file or the output that could not be read or written; what is left in the output's buffer
    is given up, or it would fail once more at the end.
    """
    code = usage(failed_on(error))
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def parse(argv: list[str]) -> argparse.Namespace:
    """The arguments of a command; what stands behind `--` goes on to pytest, as `rest` (only
    `explore` has a use for it).
    """
    rest: list[str] = []
    if argv[:1] == ["explore"] and "--" in argv:
        end = argv.index("--")
        argv, rest = argv[:end], argv[end + 1 :]
    given = _parser().parse_args(argv)
    given.rest = rest
    return given


class _Command(argparse.ArgumentParser):
    """A parser whose examples stay as they are written."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **options
        )


class _Version(argparse.Action):
    """`--version`, looked up only when asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *given: Any, **options: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("sandbox-exchange")
        except PackageNotFoundError:
            found = "of a checkout that is not installed"
        print(f"sim {found}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sim",
        description="A deterministic sandbox of a prediction-market exchange.",
        epilog=(
            "examples:\n  sim demo\n  sim serve quickstart --clock paced:60\n  sim run"
            " scenarios/*.yaml\n  sim replay runs/demo.ndjson"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", required=True, parser_class=_Command
    )
    serve.add_serve(commands, PRESETS)
    command = commands.add_parser(
        "demo", help="a whole partner journey over real sockets, as a timeline"
    )
    command.add_argument(
        "--journal",
        type=Path,
        default=Path("runs/demo.ndjson"),
        help="where the run's journal goes (default runs/demo.ndjson)",
    )
    command.set_defaults(run=_demo)
    command = commands.add_parser(
        "run",
        help="run scenarios headless and report",
        epilog="example: sim run quickstart scenarios/my.yaml --seeds 1..20",
    )
    command.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="bundled name or file")
    command.add_argument(
        "--seeds",
        "--seed",
        default="",
        metavar="A..B",
        help="run each scenario with every seed of the range",
    )
    command.add_argument(
        "--jobs", type=ordinal, default=1, metavar="N", help="processes at once (default 1)"
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter; of a matrix only what agrees with it runs",
    )
    command.add_argument(
        "--preset",
        choices=PRESETS,
        default="",
        help="all quirks and faults at once, instead of the scenario's preset",
    )
    command.add_argument(
        "--junit",
        default="",
        metavar="FILE",
        help="write JUnit XML: a suite per run, a case per step",
    )
    command.add_argument(
        "--results", default="", metavar="FILE", help="write one JSON line per run, as it finishes"
    )
    command.add_argument(
        "--resume", action="store_true", help="skip the runs that stand in --results"
    )
    add_option(
        command,
        "--save-failures",
        old="--keep",
        default="",
        metavar="DIR",
        help="write the journals of failed runs to this folder",
    )
    command.set_defaults(run=_run)
    search.add(commands, PRESETS)
    command = commands.add_parser(
        "check", help="validate scenario files; errors as file:line:column: message"
    )
    command.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="bundled name or file")
    command.set_defaults(run=_check)
    serve.add_replay(commands)
    journals.add(commands)
    command = commands.add_parser(
        "catalogue",
        help=(
            "operations, quirks, faults, presets, assumptions, ledger of statements; printed from"
            " the code"
        ),
    )
    command.add_argument(
        "kind",
        nargs="?",
        default="operations",
        choices=("operations", "quirks", "faults", "presets", "assumptions", "ledger"),
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON")
    form.add_argument("--markdown", action="store_true", help="as a Markdown table")
    command.set_defaults(run=_catalogue)
    command = commands.add_parser("schema", help="JSON schema of scenario files")
    command.set_defaults(run=_schema)
    command = commands.add_parser("openapi", help="OpenAPI document of a plane")
    command.add_argument(
        "plane", nargs="?", default="exchange", choices=("gateway", "retail", "exchange", "auth")
    )
    command.add_argument(
        "--at",
        metavar="INSTANT",
        help="the interface as of this instant (default: the quickstart's start)",
    )
    command.set_defaults(run=_openapi)
    command = commands.add_parser(
        "keys", help="new client key pairs: a partner's RSA key and a retail API key"
    )
    command.add_argument(
        "--out", type=Path, metavar="DIR", help="write the RSA pair there as PEM files"
    )
    command.set_defaults(run=_keys)
    return parser


def _demo(given: argparse.Namespace) -> int:
    from sim.cli.demo import demo

    return demo(given.journal, sys.stdout)


def _run(given: argparse.Namespace) -> int:
    from sim.analysis.search.campaign import RunPlan, run_all
    from sim.analysis.search.workers import NoWorkers
    from sim.scenario.yaml_tree import ScenarioError

    try:
        seeds = seeds_of(given.seeds)
    except ValueError as error:
        return usage(str(error))
    if given.resume and not given.results:
        return usage("--resume needs --results FILE, which holds what is done")
    params = params_or_exit(given.param)
    if any(scenario_of(name, params) is None for name in given.scenarios):
        return USAGE
    will_be_written(files=(given.junit, given.results), folders=(given.save_failures,))
    wanted = RunPlan(
        scenarios=given.scenarios,
        seeds=seeds,
        jobs=given.jobs,
        params=params,
        preset=given.preset,
        results=given.results,
        resume=given.resume,
        junit=given.junit,
        save_failures=given.save_failures,
    )
    try:
        return 0 if run_all(wanted, sys.stdout, sys.stderr) else FAILED
    except ScenarioError as error:  # a value of a matrix that does not fit where it stands
        return told(error)
    except NoWorkers as error:
        return usage(str(error))


def _check(given: argparse.Namespace) -> int:
    from sim.loader.load import load_scenario, scenario_variants
    from sim.scenario.yaml_tree import ScenarioError

    code = 0
    for name in given.scenarios:
        try:
            found = [load_scenario(name, params) for params in scenario_variants(name)]
            runs = f", {len(found)} combinations" if len(found) > 1 else ""
            print(f"{name}: fine, {len(found[0].steps)} steps{runs}")
        except ScenarioError as error:
            code = told(error)
    return code


def _catalogue(given: argparse.Namespace) -> int:
    from sim.analysis.catalogues import rows
    from sim.analysis.tables import as_json, as_markdown, as_text
    from sim.core.model.refusals import Refusal

    try:
        found = rows(given.kind)
    except Refusal as refusal:
        return usage(f"{refusal.message}: {refusal.remedy}")
    print(
        as_json(found) if given.json else as_markdown(found) if given.markdown else as_text(found)
    )
    return 0


def _schema(given: argparse.Namespace) -> int:
    import json

    from sim.scenario.json_schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0


def _openapi(given: argparse.Namespace) -> int:
    import json

    from sim.contract.contract import load_contract
    from sim.contract.openapi import openapi_document
    from sim.scenario.scenario import DEFAULT_START

    at = instant_of(given.at)
    print(
        json.dumps(
            openapi_document(load_contract(), given.plane, DEFAULT_START if at is None else at),
            indent=2,
        )
    )
    return 0


def _keys(given: argparse.Namespace) -> int:
    from sim.server.keys import new_keys

    print(new_keys(given.out))
    return 0
