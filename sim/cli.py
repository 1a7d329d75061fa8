"""The command line: arguments in, exit codes out. Each command imports what it needs when it runs, so that `sim --help` is instant.

Exit codes: 0 fine, 1 an expectation failed or journals differ, 2 usage or an invalid file, 3 a replay diverged, 4 could not listen, 130 interrupted.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.commands import search

if TYPE_CHECKING:
    from sim.scenario.document import ScenarioError
    from sim.scenario.model import Scenario
    from sim.settings import Settings
    from sim.simulation import Simulation

FAILED, USAGE, COULD_NOT_LISTEN, INTERRUPTED = 1, 2, 4, 130
DEFAULT_BASE, LAST_BASE = 18080, 65529
ENVIRONMENTS = ("sandbox", "development", "pre-production", "production")
PRESETS = ("ideal", "realistic", "hostile")
_BEGAN = time.perf_counter()


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    given = parse(sys.argv[1:] if argv is None else list(argv))
    try:
        return int(given.run(given))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Somebody closed the pipe we print into (`sim timeline … | head`): nothing is wrong.
        sys.stderr.close()
        return 0


def parse(argv: list[str]) -> argparse.Namespace:
    """The arguments of a command; what stands behind `--` goes on to pytest, as `rest` (only `explore` has a use for it)."""
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
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sim",
        description="A deterministic sandbox of a prediction-market exchange.",
        epilog="examples:\n  sim demo\n  sim serve quickstart --clock paced:60\n  sim run scenarios/*.yaml\n  sim replay runs/demo.ndjson",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Command)
    _add_serve(commands)
    command = commands.add_parser("demo", help="a whole partner journey over real sockets, as a timeline")
    command.add_argument("--journal", type=Path, default=Path("runs/demo.ndjson"), help="where the run's journal goes (default runs/demo.ndjson)")
    command.set_defaults(run=_demo)
    command = commands.add_parser("run", help="run scenarios headless and report", epilog="example: sim run quickstart scenarios/my.yaml --seeds 1..20")
    command.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="bundled name or file")
    command.add_argument("--seeds", default="", metavar="A..B", help="run each scenario with every seed of the range")
    command.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at once (default 1)")
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter; of a matrix only what agrees with it runs")
    command.add_argument("--preset", choices=PRESETS, default="", help="all quirks and faults at once, instead of the scenario's preset")
    command.add_argument("--junit", default="", metavar="FILE", help="write JUnit XML: a suite per run, a case per step")
    command.add_argument("--results", default="", metavar="FILE", help="write one JSON line per run, as it finishes")
    command.add_argument("--resume", action="store_true", help="skip the runs that stand in --results")
    command.add_argument("--keep", default="", metavar="DIR", help="keep the journals of runs that fail")
    command.set_defaults(run=_run)
    search.add(commands, PRESETS)
    command = commands.add_parser("check", help="validate scenario files; errors as file:line:column: message")
    command.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="bundled name or file")
    command.set_defaults(run=_check)
    _add_replay(commands)
    command = commands.add_parser("diff", help="compare two journals")
    command.add_argument("journals", nargs=2, metavar="JOURNAL")
    command.set_defaults(run=_diff)
    command = commands.add_parser("timeline", help="a journal as people read it")
    command.add_argument("journal", metavar="JOURNAL")
    command.set_defaults(run=_timeline)
    command = commands.add_parser(
        "explain",
        help="why a call was refused, or an order, stream, account, instrument, verification or webhook is as it is, from a journal",
        epilog="examples:\n  sim explain run.ndjson                     what was refused, with ids\n"
        "  sim explain run.ndjson 000000000000002a    a refused call\n  sim explain run.ndjson stream/7 --until 2026-09-08T18:05:00Z",
    )
    command.add_argument("journal", metavar="JOURNAL")
    subjects = "request id, order id, stream/7, firms/…, symbol, kyc/EXTERNAL_ID, webhook/EVENT_ID; none: what was refused"
    command.add_argument("subject", metavar="SUBJECT", nargs="?", default="", help=subjects)
    command.add_argument("--until", metavar="INSTANT", help="as of this instant")
    command.add_argument("--json", action="store_true", help="as JSON, as the control plane answers it")
    command.set_defaults(run=_explain)
    _add_judge(commands)
    command = commands.add_parser("catalogue", help="operations, quirks, faults, presets, assumptions, ledger of statements; printed from the code")
    command.add_argument("kind", nargs="?", default="operations", choices=("operations", "quirks", "faults", "presets", "assumptions", "ledger"))
    form = command.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="as JSON")
    form.add_argument("--markdown", action="store_true", help="as a Markdown table")
    command.set_defaults(run=_catalogue)
    command = commands.add_parser("schema", help="JSON schema of scenario files")
    command.set_defaults(run=_schema)
    command = commands.add_parser("openapi", help="OpenAPI document of a plane")
    command.add_argument("plane", nargs="?", default="exchange", choices=("gateway", "retail", "exchange", "auth"))
    command.add_argument("--at", metavar="INSTANT", help="the interface as of this instant (default: the quickstart's start)")
    command.set_defaults(run=_openapi)
    command = commands.add_parser("keys", help="new client key pairs: a partner's RSA key and a retail API key")
    command.add_argument("--out", type=Path, metavar="DIR", help="write the RSA pair there as PEM files")
    command.set_defaults(run=_keys)
    return parser


def _add_serve(commands: Any) -> None:
    command = commands.add_parser(
        "serve",
        help="serve a scenario on loopback",
        epilog="example: sim serve maintenance-window --clock paced:60 --ready-file ready.json",
    )
    command.add_argument("scenario", nargs="?", default="quickstart", metavar="SCENARIO", help="bundled name or file (default: quickstart)")
    command.add_argument("--seed", type=int, metavar="N", help="instead of the scenario's")
    command.add_argument("--start", metavar="INSTANT", help="virtual start, RFC 3339 with offset, instead of the scenario's")
    command.add_argument("--preset", choices=PRESETS, help="all quirks and faults at once, instead of the scenario's preset")
    command.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="value of a parameter of the scenario")
    command.add_argument("--environment", choices=ENVIRONMENTS, help="which environment this is: each has credentials of its own")
    command.add_argument("--journal", type=Path, metavar="PATH", help="keep the journal there")
    _add_listening(command, "the scenario's when it says one, else paced")
    command.set_defaults(run=_serve)


def _add_replay(commands: Any) -> None:
    command = commands.add_parser(
        "replay",
        help="prove a journal: exit 3 at the first line that differs",
        epilog="example: sim replay run.ndjson --until 2026-09-08T18:05:00Z --serve --port-base 0",
    )
    command.add_argument("journal", metavar="JOURNAL")
    command.add_argument("--until", metavar="INSTANT", help="stop before the first input after this instant")
    command.add_argument("--seq", type=int, metavar="N", help="then go back to right after this input")
    command.add_argument("--serve", action="store_true", help="then serve the exchange in the state it came to; the options below say how")
    _add_listening(command, "manual")
    command.set_defaults(run=_replay)


def _add_judge(commands: Any) -> None:
    command = commands.add_parser(
        "judge",
        help="hold what a recorded run's clients did against the documented rules for clients; exit 1 when one was broken",
        epilog="examples:\n  sim judge run.ndjson --junit judge.xml\n  sim judge run.ndjson --caller firms/atlas --rule backoff\n  sim judge --list",
    )
    command.add_argument("journal", metavar="JOURNAL", nargs="?")
    command.add_argument("--list", action="store_true", help="the rulebook, without judging anybody")
    command.add_argument("--caller", default="", metavar="NAME", help="only this firm, participant or address, as the request log names it")
    command.add_argument("--rule", action="append", default=[], metavar="NAME", help="only this rule; may be given again")
    command.add_argument("--until", metavar="INSTANT", help="what was done up to this instant")
    command.add_argument("--json", action="store_true", help="as JSON, as the control plane answers it")
    command.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML too: a case per rule")
    command.set_defaults(run=_judge)


def _add_listening(command: argparse.ArgumentParser, default_clock: str) -> None:
    command.add_argument("--clock", metavar="MODE", default="", help=f"manual, autojump, paced or paced:60 (default: {default_clock})")
    command.add_argument("--host", default="127.0.0.1", help="address to listen on; any other than loopback asks for a control token")
    command.add_argument("--port-base", type=int, default=DEFAULT_BASE, metavar="N", help=f"ports N to N+6; 0 takes free ones (default {DEFAULT_BASE})")
    command.add_argument("--tls", type=Path, metavar="DIR", help="serve over TLS; writes the local CA to DIR/ca.pem")
    command.add_argument("--ready-file", type=Path, metavar="PATH", help="written once everything accepts: addresses and credentials as JSON")
    command.add_argument("--latency", choices=("elide", "hold"), default="elide", help="on a manual clock: answer slow calls at once, or hold them")
    command.add_argument("--opaque", action="store_true", help="send no x-sim-* header")
    command.add_argument("--vendor-prefix", action="store_true", help="the vendor-prefixed JSON names of §2.10")
    command.add_argument("--client-clock", choices=("either", "virtual", "wall"), default="either", help="judges the time in assertions and signatures")
    command.add_argument("--webhook-clock", choices=("auto", "virtual", "wall"), default="auto", help="stamps webhooks; auto: virtual while believable")
    command.add_argument("--webhook-host", action="append", default=[], metavar="HOST", help="host besides loopback that webhooks may go to")
    command.add_argument("--scenarios", type=Path, metavar="DIR", help="folder whose scenario files the control plane may begin worlds from")
    command.add_argument("--control-token", default="", metavar="TOKEN", help="bearer token the control plane asks for")
    command.add_argument("--log-format", choices=("text", "json"), default="text")


def _scenario(name: str, params: Mapping[str, str] | None = None) -> Scenario | None:
    """A scenario, or None after saying what is wrong with it."""
    from sim.scenario.document import ScenarioError
    from sim.scenario.load import load_scenario

    try:
        return load_scenario(name, params)
    except ScenarioError as error:
        _wrong(error)
        return None


def _params(given: list[str]) -> dict[str, str]:
    try:
        return search.params_of(given)
    except ValueError as error:
        raise SystemExit(_usage(str(error))) from None


def _wrong(error: ScenarioError) -> int:
    for problem in error.problems:
        print(problem, file=sys.stderr)
    return USAGE


def _instant(text: str | None) -> int | None:
    from sim.kernel.instants import parse_instant

    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as error:
        raise SystemExit(_usage(str(error))) from None


def _usage(message: str) -> int:
    print(f"sim: {message}", file=sys.stderr)
    return USAGE


def _serve(given: argparse.Namespace) -> int:
    # Hardly anything that is made until we listen is garbage (measured: 2 % of 114,000 objects), and looking for it takes a tenth of the start.
    gc.disable()
    scenario = _scenario(given.scenario, _params(given.param))
    if scenario is None:
        return USAGE
    changes = {name: value for name, value in (("preset", given.preset), ("environment", given.environment)) if value}
    if changes:
        from msgspec.structs import replace

        scenario = replace(scenario, **changes)
    start = _instant(given.start)

    def build(settings: Settings) -> Simulation:
        from sim.shell.journal_file import open_journal, spooled_journal
        from sim.simulation import Simulation

        journal = open_journal(given.journal) if given.journal is not None else spooled_journal()
        return Simulation(scenario, seed=given.seed, start=start, journal=journal, settings=settings)

    return _listen(given, given.clock or scenario.clock.mode or "paced", build, given.journal)


def _listen(given: argparse.Namespace, clock: str, build: Callable[[Settings], Simulation], journal: Path | None = None) -> int:
    """Serve what `build` makes, as the options of `_add_listening` say."""
    from sim.settings import Settings
    from sim.shell.clock_driver import parse_clock_mode
    from sim.shell.listeners import CouldNotListen
    from sim.shell.logs import set_up_logging

    try:
        mode = parse_clock_mode(clock)
    except ValueError as error:
        return _usage(str(error))
    if not 0 <= given.port_base <= LAST_BASE:
        return _usage(f"--port-base is 0 or up to {LAST_BASE}")
    set_up_logging(given.log_format)
    from sim.shell.serve import Wanted, serve

    settings = Settings(
        host=given.host,
        latency=given.latency,
        opaque=given.opaque,
        vendor_prefix=given.vendor_prefix,
        client_clock=given.client_clock,
        webhook_clock=given.webhook_clock,
        scenarios=str(given.scenarios.resolve()) if given.scenarios else "",
        webhook_hosts=tuple(host.lower() for host in given.webhook_host),
    )
    wanted = Wanted(
        settings=settings,
        clock=mode,
        port_base=given.port_base,
        tls=given.tls,
        ready_file=given.ready_file,
        journal=journal,
        control_token=given.control_token,
        began=_BEGAN,
    )
    try:
        return serve(wanted, build)
    except CouldNotListen as error:
        print(f"sim: {error}", file=sys.stderr)
        return COULD_NOT_LISTEN
    except OSError as error:
        return _usage(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def _demo(given: argparse.Namespace) -> int:
    from sim.demo import demo

    return demo(given.journal, sys.stdout)


def _run(given: argparse.Namespace) -> int:
    from sim.scenario.document import ScenarioError
    from sim.search.campaign import Wanted, run_all

    try:
        seeds = search.seeds_of(given.seeds)
    except ValueError as error:
        return _usage(str(error))
    if given.resume and not given.results:
        return _usage("--resume needs --results FILE, which holds what is done")
    params = _params(given.param)
    if any(_scenario(name, params) is None for name in given.scenarios):
        return USAGE
    wanted = Wanted(
        scenarios=given.scenarios,
        seeds=seeds,
        jobs=given.jobs,
        params=params,
        preset=given.preset,
        results=given.results,
        resume=given.resume,
        junit=given.junit,
        keep=given.keep,
    )
    try:
        return 0 if run_all(wanted, sys.stdout, sys.stderr) else FAILED
    except ScenarioError as error:  # a value of a matrix that does not fit where it stands
        return _wrong(error)
    except OSError as error:
        return _usage(f"{error.filename}: {error.strerror}")


def _check(given: argparse.Namespace) -> int:
    from sim.scenario.document import ScenarioError
    from sim.scenario.load import load_scenario, scenario_variants

    code = 0
    for name in given.scenarios:
        try:
            found = [load_scenario(name, params) for params in scenario_variants(name)]
            runs = f", {len(found)} combinations" if len(found) > 1 else ""
            print(f"{name}: fine, {len(found[0].steps)} steps{runs}")
        except ScenarioError as error:
            code = _wrong(error)
    return code


def _replay(given: argparse.Namespace) -> int:
    from sim.replay import replay, replayed

    until = _instant(given.until)
    if not given.serve:
        return replay(given.journal, until, sys.stdout, given.seq)

    def build(settings: Settings) -> Simulation:
        found = replayed(given.journal, until, sys.stdout, settings, given.seq)
        if isinstance(found, int):
            raise SystemExit(found)
        return found

    return _listen(given, given.clock or "manual", build)


def _diff(given: argparse.Namespace) -> int:
    from sim.replay import diff

    first, second = given.journals
    return diff(first, second, sys.stdout)


def _timeline(given: argparse.Namespace) -> int:
    from sim.timeline import timeline

    return timeline(given.journal, sys.stdout)


def _explain(given: argparse.Namespace) -> int:
    from sim.explain.text import explain_journal

    return explain_journal(given.journal, given.subject, _instant(given.until), sys.stdout, sys.stderr, as_json=given.json)


def _judge(given: argparse.Namespace) -> int:
    from sim.judge.command import judge_journal, list_rules

    if given.list:
        return list_rules(sys.stdout)
    if given.journal is None:
        return _usage("judge whom? sim judge JOURNAL, or sim judge --list")
    until, rules = _instant(given.until), tuple(given.rule)
    try:
        return judge_journal(given.journal, sys.stdout, sys.stderr, until=until, caller=given.caller, rules=rules, as_json=given.json, junit=given.junit)
    except OSError as error:
        return _usage(f"{error.filename}: {error.strerror}")


def _catalogue(given: argparse.Namespace) -> int:
    from sim.catalogues import rows
    from sim.core.refusals import Refusal
    from sim.tables import as_json, as_markdown, as_text

    try:
        found = rows(given.kind)
    except Refusal as refusal:
        return _usage(f"{refusal.message}: {refusal.remedy}")
    print(as_json(found) if given.json else as_markdown(found) if given.markdown else as_text(found))
    return 0


def _schema(given: argparse.Namespace) -> int:
    import json

    from sim.scenario.schema import scenario_schema

    print(json.dumps(scenario_schema(), indent=2))
    return 0


def _openapi(given: argparse.Namespace) -> int:
    import json

    from sim.api.contract import load_contract
    from sim.api.openapi import openapi_document
    from sim.scenario.model import DEFAULT_START

    at = _instant(given.at)
    print(json.dumps(openapi_document(load_contract(), given.plane, DEFAULT_START if at is None else at), indent=2))
    return 0


def _keys(given: argparse.Namespace) -> int:
    from sim.shell.keys import new_keys

    print(new_keys(given.out))
    return 0
