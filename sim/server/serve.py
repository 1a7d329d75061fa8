"""`sim serve` and `sim replay --serve`: bind, build, listen, say where, wait for the end."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from sim.server.clock_driver import ClockMode
from sim.server.event_loop import new_event_loop
from sim.server.host import Host
from sim.server.instances import Instances
from sim.server.journal_file import JournalFile
from sim.server.listeners import Bound, bind, is_loopback
from sim.server.ready_file import clear_ready_file, greeting, ready_facts, write_ready_file
from sim.server.service import Service, addresses_of

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.server.tls import Identity
    from sim.simulation import Simulation

INTERRUPTED, UNWRITABLE = 130, 2


class Wanted(NamedTuple):
    """How to serve. `journal` is where the journal goes, for the ready file; `began` the process's
    perf_counter at its start, for the greeting.
    """

    settings: Settings
    clock: ClockMode
    port_base: int = 0
    tls: Path | None = None
    ready_file: Path | None = None
    journal: Path | None = None
    control_token: str = ""
    began: float = 0.0


def serve(wanted: Wanted, build: Callable[[Settings], Simulation]) -> int:
    """Serve what `build` makes of the settings, addresses included, until interrupted; exit code.
    Raises CouldNotListen before anything is built.
    """
    bound = bind(wanted.settings.host, wanted.port_base)
    try:
        if wanted.ready_file is not None:
            clear_ready_file(wanted.ready_file)
        identity = _identity(wanted, bound)
        known = addresses_of(bound, tls_ca=identity.ca_file if identity else None)
        simulation = build(
            replace(
                wanted.settings,
                token_url=f"{known.auth}/oauth/token",
                api_addresses=(known.exchange,),
                docs_url=known.docs,
            )
        )
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_serve(wanted, bound, simulation, identity))
    finally:
        bound.close()


def _identity(wanted: Wanted, bound: Bound) -> Identity | None:
    if wanted.tls is None:
        return None
    from sim.server.tls import make_identity

    return make_identity(wanted.tls, bound.host)


async def _serve(
    wanted: Wanted, bound: Bound, simulation: Simulation, identity: Identity | None
) -> int:
    token = wanted.control_token or ("" if is_loopback(bound.host) else secrets.token_urlsafe(24))
    service = await Service.start(
        Host(simulation, wanted.clock), bound, identity=identity, control_token=token
    )
    worlds = Instances(wanted.journal, identity, token)
    worlds.adopt(service)
    facts = ready_facts(
        simulation, service.addresses, str(wanted.journal) if wanted.journal else None
    )
    if wanted.ready_file is not None:
        write_ready_file(wanted.ready_file, facts | ({"control_token": token} if token else {}))
    print(greeting(facts, (time.perf_counter() - wanted.began) * 1_000), flush=True)
    if token:
        print(f"control plane token: {token}", flush=True)
    code = await _interrupted(simulation, wanted.journal)
    await worlds.end_all()
    await service.stop()
    print(
        f"seed {simulation.seed}, {simulation.seq} inputs, digest {simulation.digest}", flush=True
    )
    if wanted.journal is not None:
        print(f"replay: sim replay {wanted.journal}", flush=True)
    return code


async def _interrupted(simulation: Simulation, journal: Path | None) -> int:
    """Wait for SIGINT or SIGTERM, or for the journal to be lost; the exit code that asks for. A
    second SIGINT kills the process.
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
        # An exchange that went on without its journal could never be replayed, and would answer 500
        # to everybody.
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
