"""`sim serve` and `sim replay --serve`: bind, build, listen, print the addresses, wait
for the end.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp

from sim.api.pipeline.settings import Settings
from sim.kernel.journal import JournalLost
from sim.read.commands import sim_command
from sim.read.layout import put
from sim.run.simulation import Simulation
from sim.server.collector import rare_collections
from sim.server.console import Console
from sim.server.host import Host
from sim.server.http.fast_path import AVAILABLE as FAST_PATH_AVAILABLE
from sim.server.instances import MAIN, Instances, settings_at
from sim.server.listeners import BoundSockets, addresses_of, bind, is_loopback
from sim.server.platforms import new_event_loop
from sim.server.ready_file import claimed_ready_file, greeting, write_ready_file
from sim.server.room_files import open_in_browser, room_url
from sim.server.shutdown import Shutdown
from sim.server.tls import Identity, make_identity
from sim.world.format.clock_mode import ClockMode

if TYPE_CHECKING:
    from sim.server.watching import ReloadedScenario, ScenarioWatch


class ServeOptions(NamedTuple):
    """How to serve. `journal` is the path of the journal, for the ready file; `began` is
    perf_counter at the start of the process, for the greeting.
    """

    settings: Settings
    clock: ClockMode
    port_base: int = 0
    tls: Path | None = None
    tls_names: tuple[str, ...] = ()
    ready_file: Path | None = None
    journal: Path | None = None
    control_token: str = ""
    quiet: bool = False
    log_format: str = "text"
    open: bool = False
    otlp: str = ""
    began: float = 0.0
    watch: Callable[[Settings], ScenarioWatch] | None = None


def serve(options: ServeOptions, build: Callable[[Settings], Simulation]) -> int:
    """Serve the simulation that `build` makes from the settings, which contain the addresses, until
    interrupted. Returns the exit code. Raises CouldNotListen before anything is built.
    """
    bound = bind(options.settings.host, options.port_base)
    with closing(bound), claimed_ready_file(options.ready_file, bound):
        public = options.settings.public_host
        identity = None
        if options.tls is not None:
            identity = make_identity(options.tls, bound.host, public, *options.tls_names)
        addresses = addresses_of(bound, identity, public)
        simulation = build(settings_at(options.settings, addresses))
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(options, bound, simulation, identity))


async def _serve(
    options: ServeOptions, bound: BoundSockets, simulation: Simulation, identity: Identity | None
) -> int:
    token = options.control_token or ("" if is_loopback(bound.host) else secrets.token_urlsafe(24))
    shutdown = Shutdown()
    console = Console(options.log_format, quiet=options.quiet)
    instances = Instances(options.journal, identity, token, shutdown.run_ended, console.called)
    telemetry = None
    if options.otlp:
        from sim.server.telemetry.otlp import Telemetry

        telemetry = Telemetry(options.otlp, simulation, console)
    host = Host(
        simulation,
        options.clock,
        observer=telemetry or console,
        meters=(telemetry.called,) if telemetry is not None else (),
        on_end=partial(shutdown.run_ended, options.journal),
        tls_ca=identity.ca_file if identity else None,
    )
    await instances.start_main(host, bound)
    with rare_collections():
        shutdown.on_signals(console)  # a program that reads that it is ready may end it
        _announce(options, console, _write_ready_file(options, instances, token), token)
        if options.watch is not None:
            from sim.server.watching import watch

            def reloaded(fresh: ReloadedScenario) -> None:
                """Symbols, parties and journal may have changed."""
                instances.journal = fresh.journal
                _write_ready_file(options, instances, token)

            say = partial(console.say, error=True)
            host.tasks.spawn(watch(host, options.watch(host.settings), say, reloaded))
        code = await shutdown.code
    await instances.stop()
    if telemetry is not None:
        telemetry.close()
    console.close()
    if shutdown.message:
        console.say(f"sim: {shutdown.message}", error=True)
    if not isinstance(host.simulation.ended, JournalLost):
        inputs, digest = host.simulation.seq, host.simulation.digest
        console.say(f"seed {host.simulation.seed}, {inputs} inputs, digest {digest}")
    if instances.journal is not None:
        console.say(f"replay: {sim_command('replay', instances.journal)}")
    return code


def _write_ready_file(
    options: ServeOptions, instances: Instances, control_token: str
) -> dict[str, Any]:
    """Write the ready file, if there is to be one. Returns its facts, without the token."""
    facts = instances.facts(MAIN)
    if options.ready_file is not None:
        token = {"control_token": control_token} if control_token else {}
        write_ready_file(options.ready_file, facts | token)
    return facts


def _announce(
    options: ServeOptions, console: Console, facts: dict[str, Any], control_token: str
) -> None:
    """Print the greeting and other notices for the user."""
    took_ms = (time.perf_counter() - options.began) * 1_000
    room = room_url(facts["control"], control_token)
    console.ready(facts, greeting(facts, took_ms, room))
    if control_token and options.log_format == "text":
        put(f"control plane token: {control_token}", flush=True)
    elif control_token and options.ready_file is None:
        console.say(
            "the control plane requires a token, which is not printed: set one with"
            " SIM_CONTROL_TOKEN, or read it in the file of --ready-file"
        )
    if options.open:
        open_in_browser(room, console)
    if not FAST_PATH_AVAILABLE:
        console.say(
            f"warning: aiohttp {aiohttp.__version__} is not a tested release: answers are the same,"
            " but each HTTP request costs about twice as much",
            error=True,
        )
