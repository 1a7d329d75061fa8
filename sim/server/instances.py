"""Many worlds in one process: each its own exchange, clock, journal and ports, told apart by port.
Forked from one that runs, or begun from a scenario.

All of them live in one event loop. A world that ends leaves the others alone; the first one,
`main`, is the process's own and ends them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from msgspec.structs import replace

from sim.core.model.refusals import AlreadyExists, Conflict, InvalidRequest, NotFound
from sim.server.clock_driver import ClockMode
from sim.server.host import Host
from sim.server.journal_file import open_journal, spooled_journal
from sim.server.listeners import bind
from sim.server.ready_file import ready_facts
from sim.server.service import Service, addresses_of

if TYPE_CHECKING:
    from sim.api.pipeline.settings import Settings
    from sim.scenario.scenario import Scenario
    from sim.server.tls import Identity
    from sim.simulation import Simulation

Build: TypeAlias = "Callable[[Settings, BinaryIO], Simulation]"
MAIN = "main"
WORLDS_MAX = 256
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}", re.ASCII)


class Instances:
    """Every world of a process, by name in order of making. `journal` is where the first one's
    journal goes: the others' stand beside it.
    """

    def __init__(
        self, journal: Path | None = None, identity: Identity | None = None, control_token: str = ""
    ) -> None:
        self._services: dict[str, Service] = {}
        self._journals: dict[str, tuple[BinaryIO, Path | None]] = {}
        self._journal = journal
        self._identity = identity
        self._control_token = control_token
        self._made = 0
        self._making: set[str] = set()

    def adopt(self, service: Service, name: str = MAIN) -> None:
        """A service that runs is one of these from now on."""
        self._services[name] = service
        service.host.worlds = self

    def name_of(self, host: Host) -> str:
        """Name of the world of a host."""
        return next(name for name, service in self._services.items() if service.host is host)

    def facts(self, name: str) -> dict[str, Any]:
        """What the ready file would say of a world. NotFound when there is none of this name."""
        service = self._services.get(name)
        if service is None:
            raise NotFound(
                f"no world is called {name!r}",
                rule="control",
                remedy="GET /_sim/v1/worlds lists them",
            )
        kept = self._journal if name == MAIN else self._journals[name][1]
        return {
            "world": name,
            **ready_facts(service.host.simulation, service.addresses, str(kept) if kept else None),
        }

    def all(self) -> list[dict[str, Any]]:
        """Every world in short, oldest first."""
        found = []
        for name, service in self._services.items():
            facts = self.facts(name)
            found.append(
                {key: facts[key] for key in ("world", "scenario", "seed", "now", "control")}
                | {"seq": service.host.simulation.seq}
            )
        return found

    def service(self, name: str) -> Service:
        """The service of a world. KeyError when there is none."""
        return self._services[name]

    async def fork(self, origin: Host, name: str = "", journal: Path | None = None) -> str:
        """A world that begins as another is now, on ports of its own, with the same clock mode; its
        name. Refuses a name that is taken.
        """
        name = self._free(name)

        def build(settings: Settings, file: BinaryIO) -> Simulation:
            return origin.simulation.fork(journal=file, settings=settings)

        return await self._open(
            name, origin, origin.driver.mode, build, journal or self._beside(name)
        )

    async def begin(
        self,
        origin: Host,
        scenario: Scenario,
        seed: int | None = None,
        name: str = "",
        clock: ClockMode | None = None,
    ) -> str:
        """A world at the start of a scenario; its name. It has the settings of its origin and,
        unless given, its clock mode.
        """
        from sim.simulation import Simulation

        name = self._free(name)

        def build(settings: Settings, file: BinaryIO) -> Simulation:
            return Simulation(scenario, seed=seed, journal=file, settings=settings)

        return await self._open(
            name, origin, clock or origin.driver.mode, build, self._beside(name)
        )

    async def end(self, name: str) -> None:
        """Stop serving a world. The first one ends with the process only."""
        if name == MAIN:
            raise InvalidRequest("the first world ends with the process", rule="control")
        self.facts(name)
        await self._services.pop(name).stop()
        self._journals.pop(name)[0].close()

    async def end_all(self) -> None:
        """Stop serving every world but the first."""
        for name in [name for name in self._services if name != MAIN]:
            await self.end(name)

    async def _open(
        self, name: str, origin: Host, clock: ClockMode, build: Build, where: Path | None
    ) -> str:
        self._making.add(name)
        try:
            await self._serve(name, origin, clock, build, where)
        finally:
            self._making.discard(name)
        return name

    async def _serve(
        self, name: str, origin: Host, clock: ClockMode, build: Build, where: Path | None
    ) -> None:
        bound = bind(origin.settings.host, 0)
        file = open_journal(where) if where is not None else spooled_journal()
        try:
            known = addresses_of(bound, tls_ca=self._identity.ca_file if self._identity else None)
            settings = replace(
                origin.settings,
                token_url=f"{known.auth}/oauth/token",
                api_addresses=(known.exchange,),
                docs_url=known.docs,
            )
            host = Host(build(settings, file), clock)
            service = await Service.start(
                host, bound, identity=self._identity, control_token=self._control_token, first=False
            )
        except BaseException:
            bound.close()
            file.close()
            raise
        self._journals[name] = (file, where)
        self.adopt(service, name)

    def _free(self, name: str) -> str:
        if len(self._services) + len(self._making) >= WORLDS_MAX:
            raise Conflict(
                f"a process serves at most {WORLDS_MAX} worlds",
                rule="control",
                remedy="DELETE /_sim/v1/worlds/{name} ends one",
            )
        if not name:
            self._made += 1
            name = f"world-{self._made}"
            return self._free("") if name in self._services or name in self._making else name
        if not _NAME.fullmatch(name):
            raise InvalidRequest("a world's name is up to 40 of a-z, 0-9 and -", rule="control")
        if name in self._services or name in self._making:
            raise AlreadyExists(f"there is a world {name!r} already", rule="control")
        return name

    def _beside(self, name: str) -> Path | None:
        return (
            self._journal.with_suffix(f".{name}{self._journal.suffix}")
            if self._journal is not None
            else None
        )
