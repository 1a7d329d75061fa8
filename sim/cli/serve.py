"""Serve a scenario on loopback, each surface on its own port.

Every option may come from the environment: SIM_PORT_BASE for --port-base, SIM_SCENARIO for the
scenario. The command line wins.

example:
  sim serve maintenance-window --clock paced:60 --ready-file ready.json
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim.cli.arguments import (
    add_choices_of_scenario,
    add_instant,
    add_option,
    add_path,
    read_scenario,
    seed_number,
)
from sim.cli.listening import add_listening, listen, listening_problems

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.simulation import Simulation

ENVIRONMENTS = ("sandbox", "development", "pre-production", "production")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "scenario",
        nargs="?",
        default="quickstart",
        metavar="SCENARIO",
        help="bundled name or file (default: quickstart)",
    )
    add_option(parser, "--seed", "instead of the scenario's", type=seed_number, metavar="N")
    start = "virtual start, RFC 3339 with offset, instead of the scenario's"
    add_instant(parser, "--start", start)
    add_choices_of_scenario(parser)
    environment = "which environment to simulate; each has its own credentials"
    add_option(parser, "--environment", environment, choices=ENVIRONMENTS)
    add_path(parser, "--journal", "PATH", "write the journal there")
    add_listening(parser, default_clock="the scenario's, or else paced")


def problems(args: argparse.Namespace) -> Iterator[str]:
    from sim.kernel.instants import is_supported_instant

    if args.start is not None and not is_supported_instant(args.start):
        yield "--start must lie in the years 1990 to 2199"
    yield from listening_problems(args)


def run(args: argparse.Namespace) -> int:
    # Almost nothing created before the exchange listens is garbage (measured: 2 % of 114,000
    # objects). The server freezes these objects and enables the collector when it starts.
    gc.disable()
    from msgspec.structs import replace

    from sim.scenario.variation import with_choices

    scenario = read_scenario(args.scenario, args)
    scenario = with_choices(scenario, args.preset, args.reading)
    if args.environment:
        scenario = replace(scenario, environment=args.environment)

    def build(settings: Settings) -> Simulation:
        from sim.server.journal_file import open_journal, spooled_journal
        from sim.simulation import Simulation

        journal = open_journal(args.journal) if args.journal is not None else spooled_journal()
        return Simulation(
            scenario, seed=args.seed, start=args.start, journal=journal, settings=settings
        )

    return listen(args, args.clock or scenario.clock.mode or "paced", build, args.journal)
