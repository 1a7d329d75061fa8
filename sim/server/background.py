"""A service in a background thread, for tests. The test's thread starts it, calls it and stops it,
and may block meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import NotFound
from sim.run.simulation import Simulation
from sim.server.console import Observer
from sim.server.host import Host
from sim.server.instances import Instances, settings_at
from sim.server.listeners import Addresses, BoundSockets, addresses_of, bind
from sim.server.platforms import new_event_loop
from sim.server.service import Service
from sim.world.format.clock_mode import MANUAL, ClockMode
from sim.world.format.scenario import Scenario

T = TypeVar("T")

# A call that takes longer than this in real time hangs: the slowest valid one waits for
# webhook receivers at every step of an advance.
_STUCK_S = 600.0


class BackgroundService:
    """A service in its own thread. Only that thread may use the simulation: use
    `call` and `run`.
    """

    def __init__(
        self,
        simulation: Simulation,
        clock: ClockMode,
        bound: BoundSockets,
        observer: Observer | None = None,
    ) -> None:
        self.simulation = simulation
        self.instances = Instances(observer_of=None if observer is None else lambda _: observer)
        self._observer = observer
        self._clock = clock
        self._bound = bound
        self._loop = new_event_loop()
        self._service: Service | None = None
        self._error: BaseException | None = None
        self._started = threading.Event()
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._work, name="sandbox-exchange", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error

    @property
    def service(self) -> Service:
        """The service. Only its thread may use its parts."""
        if self._service is None:
            raise RuntimeError("the service has stopped")
        return self._service

    @property
    def addresses(self) -> Addresses:
        """The addresses of the surfaces."""
        return self.service.addresses

    @property
    def host(self) -> Host:
        """The host; use it inside `run` and `call` only."""
        return self.service.host

    def fork(self, journal: Path, seq: int | None = None) -> BackgroundInstance:
        """A copy of the present state, or of the state after an input, served from
        the same thread.
        """
        copy = self.instances.fork(self.host, journal=journal, seq=seq)
        return BackgroundInstance(self, self.run(copy))

    def call(self, function: Callable[[], T]) -> T:
        """Run a function in the service's thread and return its result. Once that thread has ended,
        the function runs in the caller's thread.
        """
        if not self._thread.is_alive():
            return function()

        async def once() -> T:
            return function()

        return self.run(once())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the service's loop and wait for its result."""
        return self.start(work).result(_STUCK_S)

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine in the service's loop and return a future of its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Stop listening and end the thread. May be called twice."""
        if self._thread.is_alive() and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._service = None

    def _work(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._error = error
        finally:
            self._bound.close()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
            self._started.set()

    async def _serve(self) -> None:
        self._stopping = asyncio.Event()
        host = Host(self.simulation, self._clock, observer=self._observer)
        self._service = await self.instances.start_main(host, self._bound)
        self._started.set()
        await self._stopping.wait()
        await self.instances.stop()


class BackgroundInstance:
    """A further instance in the thread of a `BackgroundService`, with the same methods. Stopping it
    does not affect the others.
    """

    def __init__(self, thread: BackgroundService, name: str) -> None:
        self._thread = thread
        self.instances = thread.instances
        self.call, self.run, self.start = thread.call, thread.run, thread.start
        self.name = name
        self.service = self.instances.service(name)
        self.host = self.service.host
        self.simulation = self.host.simulation
        self.addresses = self.service.addresses

    def fork(self, journal: Path, seq: int | None = None) -> BackgroundInstance:
        """A copy of the present state, or of the state after an input."""
        name = self.run(self.instances.fork(self.host, journal=journal, seq=seq))
        return BackgroundInstance(self._thread, name)

    def stop(self) -> None:
        """Stop serving this instance. Does nothing if the service has ended."""
        try:
            self.run(self.instances.end(self.name))
        except (NotFound, RuntimeError):
            return


def serve_in_thread(
    scenario: Scenario,
    *,
    seed: int | None = None,
    clock: ClockMode = MANUAL,
    journal: BinaryIO | None = None,
    settings: Settings | None = None,
    observer: Observer | None = None,
    replayed: Simulation | None = None,
) -> BackgroundService:
    """Serve a scenario, or a fork of a replayed run, on free loopback ports from a background
    thread. `observer` is notified about it and its forks.
    """
    settings = settings or Settings()
    bound = bind(settings.host, 0)
    try:
        settings = settings_at(settings, addresses_of(bound))
        if replayed is not None:
            simulation = replayed.fork(journal=journal, settings=settings)
        else:
            simulation = Simulation(scenario, seed=seed, journal=journal, settings=settings)
        return BackgroundService(simulation, clock, bound, observer)
    except BaseException:
        bound.close()
        raise
