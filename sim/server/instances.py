"""The instances of one process. Each has its own exchange, clock, journal and ports. An instance is
forked from another one, or begins at the start of a scenario.

All of them run in one event loop. An instance that ends does not affect the others, except the
first one, `main`: it belongs to the process and ends them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from msgspec.structs import replace

from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import AlreadyExists, Conflict, InvalidRequest, NotFound, Unavailable
from sim.run.simulation import Simulation
from sim.server.console import Observer
from sim.server.event_loop import in_slices
from sim.server.host import Host
from sim.server.journal_file import open_journal, spooled_journal
from sim.server.listeners import Addresses, BoundSockets, addresses_of, bind
from sim.server.ready_file import ready_facts
from sim.server.service import Service
from sim.server.tls import Identity
from sim.world.format.clock_mode import ClockMode
from sim.world.format.scenario import Scenario

Build: TypeAlias = Callable[[Settings, BinaryIO], Simulation]
MAIN = "main"
INSTANCES_MAX = 256
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)


def settings_at(settings: Settings, addresses: Addresses) -> Settings:
    """Settings of an instance that is served at these addresses."""
    return replace(
        settings,
        token_url=addresses.token_url,
        api_addresses=(addresses.exchange,),
        docs_url=addresses.docs,
    )


class Fork(NamedTuple):
    """The origin of a fork: the input of a branch of another instance."""

    origin: Host
    branch: str
    seq: int


class Instances:
    """The instances of a process by name, in order of creation. `journal` is the path of the first
    one's journal; those of the others are beside it. `on_end` is called when the run of another
    instance ends early, with its journal and the cause; `observer_of` makes the observer of each.
    """

    def __init__(
        self,
        journal: Path | None = None,
        identity: Identity | None = None,
        control_token: str = "",
        on_end: Callable[[Path | None, BaseException], None] | None = None,
        observer_of: Callable[[str], Observer] | None = None,
    ) -> None:
        self._services: dict[str, Service] = {}
        self._journals: dict[str, tuple[BinaryIO, Path | None]] = {}
        self.journal = journal
        self._identity = identity
        self._control_token = control_token
        self._on_end = on_end
        self._observer_of = observer_of
        self._forks: dict[str, Fork] = {}
        self._numbered = 0
        self._starting: set[str] = set()

    async def start_main(self, host: Host, bound: BoundSockets) -> Service:
        """Serve the first instance. Raises CouldNotListen if gRPC's port is in use."""
        service = self._services[MAIN] = await self._served(host, bound)
        return service

    def name_of(self, host: Host) -> str:
        """The name of a host's instance."""
        return next(name for name, service in self._services.items() if service.host is host)

    def service(self, name: str) -> Service:
        """The service of an instance. Raises KeyError if there is none of this name."""
        return self._services[name]

    def facts(self, name: str) -> dict[str, Any]:
        """The ready file's facts about an instance. NotFound if there is none of this name."""
        service = self._services.get(name)
        if service is None:
            raise NotFound(
                f"no world is called {name!r}", rule="T1", remedy="GET /_sim/v1/worlds lists them"
            )
        path = self.journal if name == MAIN else self._journals[name][1]
        journal = str(path) if path else None
        return ready_facts(service.host.simulation, service.addresses, journal)

    def describe(self, name: str) -> dict[str, Any]:
        """The answer of the control plane about an instance. NotFound if there is none."""
        return {"world": name, **self.facts(name)}

    def describe_all(self) -> list[dict[str, Any]]:
        """Every instance in short, oldest first."""
        keys = ("world", "scenario", "seed", "now", "control")
        rows = []
        for name, service in self._services.items():
            facts = self.describe(name)
            rows.append({key: facts[key] for key in keys} | {"seq": service.host.simulation.seq})
        return rows

    async def fork(
        self,
        origin: Host,
        name: str = "",
        journal: Path | None = None,
        *,
        seq: int | None = None,
        branch: str = "",
    ) -> str:
        """Serve a copy of an instance's present state, or of its state right after an input
        of a branch, on its own ports, with the same clock mode. Returns its name. Refuses a
        name that exists.
        """
        name = self._reserve(name)
        path = journal or self._journal_beside(name)
        mode = origin.driver.mode
        if origin.opened is not None:
            last = origin.opened.recorded.branch.seq
            seq = last if seq is None else seq
            origin.history.check(seq, branch, 0)
            await origin.opened.reach(seq, branch)
        if seq is None:

            def build(settings: Settings, file: BinaryIO) -> Simulation:
                return origin.simulation.fork(journal=file, settings=settings)

            on, seq = origin.simulation.journal.branch, origin.simulation.seq
            await self._start(name, origin, mode, build, path)
        else:
            async with origin.history_access.lock:
                past, on = await in_slices(origin.history.moment(seq, branch))

                def build(settings: Settings, file: BinaryIO) -> Simulation:
                    return past.fork_past(on, file, settings)

                await self._start(name, origin, mode, build, path)
        self._forks[name] = Fork(origin, on.holder(seq).name, seq)
        return name

    def forks_of(self, origin: Host) -> list[dict[str, Any]]:
        """The running instances that were forked from one, as rows of its branches."""
        return [
            {
                "name": name,
                "parent": fork.branch,
                "from_seq": fork.seq,
                "last_seq": self._services[name].host.simulation.seq,
                "current": False,
                "forked": name,
                "begun": "fork",
                "seed": self._services[name].host.simulation.seed,
            }
            for name, fork in self._forks.items()
            if fork.origin is origin
        ]

    async def begin(
        self,
        origin: Host,
        scenario: Scenario,
        seed: int | None = None,
        name: str = "",
        clock: ClockMode | None = None,
    ) -> str:
        """Serve a scenario from its start, with the settings of `origin` and, by default, its clock
        mode. Returns the instance's name. Refuses a name that exists.
        """
        name = self._reserve(name)
        path = self._journal_beside(name)

        def build(settings: Settings, file: BinaryIO) -> Simulation:
            return Simulation(scenario, seed=seed, journal=file, settings=settings)

        return await self._start(name, origin, clock or origin.driver.mode, build, path)

    async def end(self, name: str) -> None:
        """Stop an instance. The first one ends only with the process."""
        if name == MAIN:
            raise InvalidRequest("the first world ends with the process", rule="T1")
        self.describe(name)
        self._forks.pop(name, None)
        await self._services.pop(name).stop()
        self._journals.pop(name)[0].close()

    async def stop(self) -> None:
        """Stop every instance, the first one last."""
        for name in [name for name in self._services if name != MAIN]:
            await self.end(name)
        await self._services[MAIN].stop()

    async def _start(
        self, name: str, origin: Host, clock: ClockMode, build: Build, journal: Path | None
    ) -> str:
        self._starting.add(name)
        try:
            bound = bind(origin.settings.host, 0)
            file = open_journal(journal) if journal is not None else spooled_journal()
            try:
                addresses = addresses_of(bound, self._identity, origin.settings.public_host)
                host = Host(
                    build(settings_at(origin.settings, addresses), file),
                    clock,
                    observer=self._observer_of(name) if self._observer_of is not None else None,
                    on_end=partial(self._on_end, journal) if self._on_end is not None else None,
                    tls_ca=addresses.tls_ca,
                )
                self._services[name] = await self._served(host, bound)
            except BaseException:
                bound.close()
                file.close()
                if journal is not None:
                    journal.unlink(missing_ok=True)
                raise
            self._journals[name] = (file, journal)
        except (OSError, MemoryError) as error:
            # No descriptors, ports, memory or disk space: the process continues without it.
            why = getattr(error, "strerror", None) or str(error) or "out of memory"
            raise Unavailable(
                f"the world {name} cannot be opened: {why}",
                rule="T1",
                remedy="stop worlds that are not needed, or raise its limits (ulimit -n, disk)",
            ) from error
        finally:
            self._starting.discard(name)
        return name

    async def _served(self, host: Host, bound: BoundSockets) -> Service:
        return await Service.start(
            host, bound, identity=self._identity, control_token=self._control_token, instances=self
        )

    def _reserve(self, name: str) -> str:
        """A valid name that does not exist; for "" the next numbered one."""
        if len(self._services) + len(self._starting) >= INSTANCES_MAX:
            raise Conflict(
                f"a process serves at most {INSTANCES_MAX} worlds",
                rule="T1",
                remedy="DELETE /_sim/v1/worlds/{name} stops one",
            )
        if not name:
            while not name or self._is_taken(name):
                self._numbered += 1
                name = f"world-{self._numbered}"
            return name
        if not _NAME.fullmatch(name):
            raise InvalidRequest("a world's name is up to 40 of a-z, 0-9 and -", rule="T1")
        if self._is_taken(name):
            raise AlreadyExists(f"there is a world {name!r} already", rule="T1")
        return name

    def _is_taken(self, name: str) -> bool:
        return name in self._services or name in self._starting

    def _journal_beside(self, name: str) -> Path | None:
        if self.journal is None:
            return None
        return self.journal.with_suffix(f".{name}{self.journal.suffix}")
