"""`sim serve`: bind, start, say where, wait, stop."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from sim.shell.clock_driver import ClockMode
from sim.shell.host import Host
from sim.shell.listeners import Bound, bind, is_loopback
from sim.shell.loops import new_event_loop
from sim.shell.ready import greeting, ready_facts, write_ready_file
from sim.shell.service import Service, addresses_of

if TYPE_CHECKING:
    from sim.kernel.instants import Instant
    from sim.scenario.model import Scenario
    from sim.settings import Settings
    from sim.simulation import Simulation

INTERRUPTED = 130


class Wanted(NamedTuple):
    """What to serve and how. `began` is the process's perf_counter at the start, for the figure in the greeting."""

    scenario: Scenario
    settings: Settings
    clock: ClockMode
    seed: int | None = None
    start: Instant | None = None
    port_base: int = 0
    tls: Path | None = None
    ready_file: Path | None = None
    journal: Path | None = None
    control_token: str = ""
    began: float = 0.0


def serve(wanted: Wanted) -> int:
    """Serve until interrupted; exit code. Raises CouldNotListen before anything else was done."""
    bound = bind(wanted.settings.host, wanted.port_base)
    loop = new_event_loop()
    try:
        return loop.run_until_complete(_serve(wanted, bound))
    finally:
        bound.close()
        loop.close()


async def _serve(wanted: Wanted, bound: Bound) -> int:
    identity = None
    if wanted.tls is not None:
        from sim.shell.tls import make_identity

        identity = make_identity(wanted.tls, bound.host)
    simulation = _simulation(wanted, bound, secure=identity is not None)
    token = wanted.control_token or ("" if is_loopback(bound.host) else secrets.token_urlsafe(24))
    host = Host(simulation, wanted.clock)
    service = await Service.start(host, bound, identity=identity, control_token=token)
    facts = ready_facts(simulation, service.addresses, str(wanted.journal) if wanted.journal else None)
    if wanted.ready_file is not None:
        write_ready_file(wanted.ready_file, facts)
    print(greeting(facts, (time.perf_counter() - wanted.began) * 1_000), flush=True)
    if token:
        print(f"control plane token: {token}", flush=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if interrupted:
            os._exit(INTERRUPTED)
        interrupted = True
        print("stopping; once more to kill", file=sys.stderr, flush=True)
        stop.set()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await service.stop()
    print(f"seed {simulation.seed}, {simulation.seq} inputs, digest {simulation.digest}", flush=True)
    if wanted.journal is not None:
        print(f"replay: sim replay {wanted.journal}", flush=True)
    return INTERRUPTED if interrupted else 0


def _simulation(wanted: Wanted, bound: Bound, *, secure: bool) -> Simulation:
    from sim.shell.journal_file import open_journal
    from sim.simulation import Simulation

    known = addresses_of(bound, tls_ca=Path("ca.pem") if secure else None)
    settings = replace(wanted.settings, token_url=f"{known.auth}/oauth/token", api_addresses=(known.exchange,), docs_url=known.docs)
    journal = open_journal(wanted.journal) if wanted.journal is not None else None
    return Simulation(wanted.scenario, seed=wanted.seed, start=wanted.start, journal=journal, settings=settings)
