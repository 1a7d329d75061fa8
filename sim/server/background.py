"""A service in a background thread, for tests: start it, call into it, stop it, from a thread that
may block.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from sim.core.model.refusals import NotFound
from sim.server.clock_driver import MANUAL, ClockMode
from sim.server.event_loop import new_event_loop
from sim.server.host import Host
from sim.server.instances import Instances
from sim.server.listeners import Bound, bind
from sim.server.service import Addresses, Service, addresses_of

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.scenario.scenario import Scenario
    from sim.simulation import Simulation

T = TypeVar("T")

# A call that takes longer than this in real time is stuck: the slowest honest one waits for webhook
# receivers at every step of an advance.
_STUCK_S = 600.0


class Running:
    """A service at work in its thread. Everything of the simulation is touched in that thread: use
    `call` and `run`.
    """

    def __init__(self, simulation: Simulation, clock: ClockMode, bound: Bound) -> None:
        self.simulation = simulation
        self.worlds = Instances()
        self._clock = clock
        self._bound = bound
        self._loop = new_event_loop()
        self._service: Service | None = None
        self._failed: BaseException | None = None
        self._started = threading.Event()
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._work, name="sandbox-exchange", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._failed is not None:
            raise self._failed

    @property
    def service(self) -> Service:
        """The service; its parts belong to its thread."""
        if self._service is None:
            raise RuntimeError("the service has stopped")
        return self._service

    @property
    def addresses(self) -> Addresses:
        """Where the surfaces listen."""
        return self.service.addresses

    @property
    def host(self) -> Host:
        """The host; use it inside `run` and `call` only."""
        return self.service.host

    def fork(self, journal: Path) -> Forked:
        """A world that begins as this one is now, served from the same thread."""
        return Forked(self, self.run(self.worlds.fork(self.host, journal=journal)))

    def call(self, function: Callable[[], T]) -> T:
        """Run a function in the service's thread and return what it returns."""

        async def once() -> T:
            return function()

        return self.run(once())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the service's loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_STUCK_S)

    def stop(self) -> None:
        """Stop listening and end the thread. Once is enough, twice does no harm."""
        if self._thread.is_alive() and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._service = None

    def _work(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as problem:
            self._failed = problem
        finally:
            self._bound.close()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._started.set()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        host = Host(self.simulation, self._clock)
        self._service = await Service.start(host, self._bound)
        self.worlds.adopt(self._service)
        self._started.set()
        await self._stopping.wait()
        await self.worlds.end_all()
        await self._service.stop()


class Forked:
    """A world in the thread of another. To be used like `Running`; stopping it leaves the others
    alone.
    """

    def __init__(self, thread: Running, name: str) -> None:
        self._thread = thread
        self.worlds = thread.worlds
        self.call, self.run = thread.call, thread.run
        self.name = name
        self.service = self.worlds.service(name)
        self.host = self.service.host
        self.simulation = self.host.simulation
        self.addresses = self.service.addresses

    def fork(self, journal: Path) -> Forked:
        """A world that begins as this one is now."""
        return Forked(self._thread, self.run(self.worlds.fork(self.host, journal=journal)))

    def stop(self) -> None:
        """Stop serving this world; nothing to do when the first one has ended and all with it."""
        try:
            self.run(self.worlds.end(self.name))
        except (NotFound, RuntimeError):
            return


def serve_in_thread(
    scenario: Scenario,
    *,
    seed: int | None = None,
    clock: ClockMode = MANUAL,
    journal: BinaryIO | None = None,
    settings: Settings | None = None,
) -> Running:
    """Serve a scenario on free loopback ports from a background thread."""
    from msgspec.structs import replace

    from sim.api.pipeline.settings import Settings
    from sim.simulation import Simulation

    chosen = settings or Settings()
    bound = bind(chosen.host, 0)
    try:
        known = addresses_of(bound)
        settings = replace(
            chosen,
            token_url=f"{known.auth}/oauth/token",
            api_addresses=(known.exchange,),
            docs_url=known.docs,
        )
        simulation = Simulation(scenario, seed=seed, journal=journal, settings=settings)
        return Running(simulation, clock, bound)
    except BaseException:
        bound.close()
        raise
