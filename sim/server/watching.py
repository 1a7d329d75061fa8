"""`sim serve --watch`: when a file of the scenario changes, the exchange starts over with it.

Files are looked at by name, so that editors which replace a file are seen too. A change counts when
it has lasted from one look to the next. A scenario that cannot be read changes nothing: the run
goes on, and the console says where the mistake is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sim.scenario.clock_mode import ClockMode
from sim.scenario.yaml_tree import ScenarioError
from sim.server.beside import beside
from sim.server.host import Host
from sim.simulation import Simulation

_LOOK_S = 0.25


class ReloadedScenario(NamedTuple):
    """A scenario that was read again: the files it came from, what builds its simulation, and the
    path of that one's journal.
    """

    files: Sequence[Path]
    clock: ClockMode
    build: Callable[[], Simulation]
    journal: Path | None


class ScenarioWatch(NamedTuple):
    """What to look at first, and what reads the scenario again: ScenarioError, OSError."""

    files: Sequence[Path]
    read: Callable[[], ReloadedScenario]


async def watch(
    host: Host,
    watched: ScenarioWatch,
    say: Callable[[str], None],
    reloaded: Callable[[ReloadedScenario], None],
) -> None:
    """Start the host over whenever a file changes; for ever."""
    files = watched.files
    current = before = _state(files)
    while True:
        await asyncio.sleep(_LOOK_S)
        state = _state(files)
        if state == current or state != before:
            before = state
            continue
        current = state
        try:
            fresh = await beside(watched.read)
            simulation = fresh.build()
        except (ScenarioError, OSError) as error:
            say(f"sim: not reloaded, the run goes on as it was\n{error}")
            continue
        files = fresh.files
        current = before = _state(files)
        await host.become(simulation)
        host.driver.change(fresh.clock)
        reloaded(fresh)
        say(f"sim: reloaded {simulation.scenario.name}, seed {simulation.seed}")


def _state(files: Sequence[Path]) -> list[tuple[int, int, int] | None]:
    """What changes when a file does; None for one that is not there."""
    states: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = file.stat()
            states.append((status.st_mtime_ns, status.st_size, status.st_ino))
        except OSError:
            states.append(None)
    return states
