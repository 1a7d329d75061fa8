"""`sim serve` and `sim replay --serve`: bind, build, listen, print where, wait for the end."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import aiohttp

from sim.api.pipeline.settings import Settings
from sim.server.addresses import addresses_of
from sim.server.clock_driver import ClockMode
from sim.server.event_loop import new_event_loop
from sim.server.host import Host
from sim.server.http.fast_path import AVAILABLE as FAST_PATH_AVAILABLE
from sim.server.instances import Instances, settings_at
from sim.server.journal_file import JournalFile
from sim.server.listeners import Bound, bind, is_loopback
from sim.server.ready_file import clear_ready_file, greeting, ready_facts, write_ready_file
from sim.server.service import Service
from sim.server.tls import Identity, make_identity
from sim.simulation import Simulation

INTERRUPTED, UNWRITABLE = 130, 2


class ServeOptions(NamedTuple):
    """How to serve. `journal` is the journal's path, for the ready file; `began` is perf_counter at
    the start of the process, for the greeting.
    """

    settings: Settings
    clock: ClockMode
    port_base: int = 0
    tls: Path | None = None
    ready_file: Path | None = None
    journal: Path | None = None
    control_token: str = ""
    began: float = 0.0


def serve(options: ServeOptions, build: Callable[[Settings], Simulation]) -> int:
    """Serve what `build` makes of the settings, addresses included, until interrupted; returns the
    exit code. Raises CouldNotListen before anything is built.
    """
    bound = bind(options.settings.host, options.port_base)
    try:
        if options.ready_file is not None:
            clear_ready_file(options.ready_file)
        identity = make_identity(options.tls, bound.host) if options.tls is not None else None
        addresses = addresses_of(bound, tls_ca=identity.ca_file if identity else None)
        simulation = build(settings_at(options.settings, addresses))
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(options, bound, simulation, identity))
    finally:
        bound.close()


async def _serve(
    options: ServeOptions, bound: Bound, simulation: Simulation, identity: Identity | None
) -> int:
    token = options.control_token or ("" if is_loopback(bound.host) else secrets.token_urlsafe(24))
    instances = Instances(options.journal, identity, token)
    service = await Service.start(
        Host(simulation, options.clock),
        bound,
        identity=identity,
        control_token=token,
        instances=instances,
    )
    instances.adopt(service)
    _announce(options, simulation, service, token)
    code = await _until_stopped(simulation, options.journal)
    await instances.end_all()
    await service.stop()
    inputs, digest = simulation.seq, simulation.digest
    print(f"seed {simulation.seed}, {inputs} inputs, digest {digest}", flush=True)
    if options.journal is not None:
        print(f"replay: sim replay {shlex.quote(str(options.journal))}", flush=True)
    return code


def _announce(
    options: ServeOptions, simulation: Simulation, service: Service, control_token: str
) -> None:
    """Write the ready file; print the greeting and what else the user has to know."""
    journal = str(options.journal) if options.journal else None
    facts = ready_facts(simulation, service.addresses, journal)
    token = {"control_token": control_token} if control_token else {}
    if options.ready_file is not None:
        write_ready_file(options.ready_file, facts | token)
    print(greeting(facts, (time.perf_counter() - options.began) * 1_000), flush=True)
    if control_token:
        print(f"control plane token: {control_token}", flush=True)
    if not FAST_PATH_AVAILABLE:
        print(
            f"warning: aiohttp {aiohttp.__version__} is not a tested release: answers are the same,"
            " but each HTTP request costs about twice as much",
            file=sys.stderr,
            flush=True,
        )


async def _until_stopped(simulation: Simulation, journal: Path | None) -> int:
    """Wait for SIGINT, SIGTERM or the loss of the journal; returns the exit code. A second SIGINT
    kills the process.
    """
    loop = asyncio.get_running_loop()
    first: asyncio.Future[int] = loop.create_future()

    def interrupt() -> None:
        if first.done():
            os._exit(INTERRUPTED)
        first.set_result(INTERRUPTED)
        print("stopping; once more to kill", file=sys.stderr, flush=True)

    def terminate() -> None:
        if not first.done():
            first.set_result(0)

    def lost(error: OSError) -> None:
        # An exchange that went on without its journal could never be replayed.
        if not first.done():
            first.set_result(UNWRITABLE)
            print(
                f"sim: {journal}: {error.strerror}: the journal ends here, so this exchange stops",
                file=sys.stderr,
                flush=True,
            )

    file = simulation.journal.file
    if isinstance(file, JournalFile):
        file.lost = lost
    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, terminate)
    return await first
