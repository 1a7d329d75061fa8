"""`sim serve` and `sim replay`: arguments in, exit codes out."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.cli.arguments import (
    COULD_NOT_LISTEN,
    USAGE,
    add_option,
    instant_of,
    params_or_exit,
    scenario_of,
    usage,
)

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.simulation import Simulation

DEFAULT_BASE, LAST_BASE = 18080, 65529
ENVIRONMENTS = ("sandbox", "development", "pre-production", "production")
BEGAN = time.perf_counter()


def add_serve(commands: Any, presets: tuple[str, ...]) -> None:
    command = commands.add_parser(
        "serve",
        help="serve a scenario on loopback",
        epilog="example: sim serve maintenance-window --clock paced:60 --ready-file ready.json",
    )
    command.add_argument(
        "scenario",
        nargs="?",
        default="quickstart",
        metavar="SCENARIO",
        help="bundled name or file (default: quickstart)",
    )
    command.add_argument("--seed", type=int, metavar="N", help="instead of the scenario's")
    command.add_argument(
        "--start",
        metavar="INSTANT",
        help="virtual start, RFC 3339 with offset, instead of the scenario's",
    )
    command.add_argument(
        "--preset",
        choices=presets,
        help="all quirks and faults at once, instead of the scenario's preset",
    )
    command.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="value of a parameter of the scenario",
    )
    command.add_argument(
        "--environment",
        choices=ENVIRONMENTS,
        help="which environment this is: each has credentials of its own",
    )
    command.add_argument("--journal", type=Path, metavar="PATH", help="keep the journal there")
    _add_listening(command, "the scenario's when it says one, else paced")
    command.set_defaults(run=_serve)


def add_replay(commands: Any) -> None:
    command = commands.add_parser(
        "replay",
        help="prove a journal: exit 3 at the first line that differs",
        epilog="example: sim replay run.ndjson --until 2026-09-08T18:05:00Z --serve --port-base 0",
    )
    command.add_argument("journal", metavar="JOURNAL")
    command.add_argument(
        "--until",
        metavar="INSTANT",
        help="stop at this instant, in the middle of a step of the clock if need be",
    )
    command.add_argument(
        "--seq", type=int, metavar="N", help="then go back to right after this input"
    )
    command.add_argument(
        "--serve",
        action="store_true",
        help="then serve the exchange in the state it came to; the options below say how",
    )
    _add_listening(command, "manual")
    command.set_defaults(run=_replay)


def _add_listening(command: argparse.ArgumentParser, default_clock: str) -> None:
    command.add_argument(
        "--clock",
        metavar="MODE",
        default="",
        help=f"manual, autojump, paced or paced:60 (default: {default_clock})",
    )
    command.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; any other than loopback asks for a control token",
    )
    command.add_argument(
        "--port-base",
        type=int,
        default=DEFAULT_BASE,
        metavar="N",
        help=f"ports N to N+6; 0 takes free ones (default {DEFAULT_BASE})",
    )
    command.add_argument(
        "--tls", type=Path, metavar="DIR", help="serve over TLS; writes the local CA to DIR/ca.pem"
    )
    command.add_argument(
        "--ready-file",
        type=Path,
        metavar="PATH",
        help="written once everything accepts: addresses and credentials as JSON",
    )
    command.add_argument(
        "--latency",
        choices=("elide", "hold"),
        default="elide",
        help="on a manual clock: answer slow calls at once, or hold them",
    )
    add_option(
        command,
        "--no-debug-headers",
        old="--opaque",
        action="store_true",
        help="send no x-sim-* header",
    )
    command.add_argument(
        "--vendor-prefix", action="store_true", help="the vendor-prefixed JSON names of §2.10"
    )
    command.add_argument(
        "--client-clock",
        choices=("either", "virtual", "wall"),
        default="either",
        help="judges the time in assertions and signatures",
    )
    command.add_argument(
        "--webhook-clock",
        choices=("auto", "virtual", "wall"),
        default="auto",
        help="stamps webhooks; auto: virtual while believable",
    )
    command.add_argument(
        "--webhook-host",
        action="append",
        default=[],
        metavar="HOST",
        help="host besides loopback that webhooks may go to",
    )
    command.add_argument(
        "--scenarios",
        type=Path,
        metavar="DIR",
        help="folder whose scenario files the control plane may begin worlds from",
    )
    command.add_argument(
        "--control-token",
        default="",
        metavar="TOKEN",
        help="bearer token the control plane asks for",
    )
    command.add_argument("--log-format", choices=("text", "json"), default="text")


def _serve(given: argparse.Namespace) -> int:
    # Hardly anything that is made until we listen is garbage (measured: 2 % of 114,000 objects),
    # and looking for it takes a tenth of the start.
    gc.disable()
    scenario = scenario_of(given.scenario, params_or_exit(given.param))
    if scenario is None:
        return USAGE
    changes = {
        name: value
        for name, value in (("preset", given.preset), ("environment", given.environment))
        if value
    }
    if changes:
        from msgspec.structs import replace

        scenario = replace(scenario, **changes)
    start = instant_of(given.start)
    from sim.kernel.instants import is_supported_instant

    if start is not None and not is_supported_instant(start):
        return usage("--start is in one of the years 1990 to 2199")

    def build(settings: Settings) -> Simulation:
        from sim.server.journal_file import open_journal, spooled_journal
        from sim.simulation import Simulation

        journal = open_journal(given.journal) if given.journal is not None else spooled_journal()
        return Simulation(
            scenario, seed=given.seed, start=start, journal=journal, settings=settings
        )

    return _listen(given, given.clock or scenario.clock.mode or "paced", build, given.journal)


def _listen(
    given: argparse.Namespace,
    clock: str,
    build: Callable[[Settings], Simulation],
    journal: Path | None = None,
) -> int:
    """Serve what `build` makes, as the options of `_add_listening` say."""
    from sim.api.pipeline.settings import Settings
    from sim.server.clock_driver import parse_clock_mode
    from sim.server.listeners import CouldNotListen
    from sim.server.logs import set_up_logging

    try:
        mode = parse_clock_mode(clock)
    except ValueError as error:
        return usage(str(error))
    if not 0 <= given.port_base <= LAST_BASE:
        return usage(f"--port-base is 0 or up to {LAST_BASE}")
    if given.scenarios is not None and not given.scenarios.is_dir():
        return usage(f"--scenarios {given.scenarios}: no folder is there")
    set_up_logging(given.log_format)
    from sim.server.serve import ServeOptions, serve

    settings = Settings(
        host=given.host,
        latency=given.latency,
        opaque=given.no_debug_headers,
        vendor_prefix=given.vendor_prefix,
        client_clock=given.client_clock,
        webhook_clock=given.webhook_clock,
        scenarios=str(given.scenarios.resolve()) if given.scenarios else "",
        webhook_hosts=tuple(host.lower() for host in given.webhook_host),
    )
    options = ServeOptions(
        settings=settings,
        clock=mode,
        port_base=given.port_base,
        tls=given.tls,
        ready_file=given.ready_file,
        journal=journal,
        control_token=given.control_token,
        began=BEGAN,
    )
    try:
        return serve(options, build)
    except CouldNotListen as error:
        print(f"sim: {error}", file=sys.stderr)
        return COULD_NOT_LISTEN


def _replay(given: argparse.Namespace) -> int:
    from sim.analysis.replay import replay, replayed

    until = instant_of(given.until)
    if not given.serve:
        return replay(given.journal, until, sys.stdout, given.seq)

    def build(settings: Settings) -> Simulation:
        found = replayed(given.journal, until, sys.stdout, settings, given.seq)
        if isinstance(found, int):
            raise SystemExit(found)
        return found

    return _listen(given, given.clock or "manual", build)
