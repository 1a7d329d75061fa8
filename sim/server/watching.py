"""`sim serve --watch`: restarts the exchange when a file of the scenario changes.

Files are checked by name, so that editors that replace a file are handled too. A change counts when
it is the same in two checks. If the scenario cannot be read, the run continues unchanged, and the
console shows the mistake.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sim.run.simulation import Simulation
from sim.server.event_loop import in_helper_thread
from sim.server.host import Host
from sim.world.format.clock_mode import ClockMode
from sim.world.format.yaml_tree import ScenarioError

_LOOK_S = 0.25


class ReloadedScenario(NamedTuple):
    """A scenario that was read again: its files, the function that builds its simulation, and the
    path of its journal.
    """

    files: Sequence[Path]
    clock: ClockMode
    build: Callable[[], Simulation]
    journal: Path | None


class ScenarioWatch(NamedTuple):
    """The files to check first, and the function that reads the scenario
    again (ScenarioError, OSError).
    """

    files: Sequence[Path]
    read: Callable[[], ReloadedScenario]


async def watch(
    host: Host,
    watched: ScenarioWatch,
    say: Callable[[str], None],
    reloaded: Callable[[ReloadedScenario], None],
) -> None:
    """Restart the host whenever a file changes; does not return."""
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
            fresh = await in_helper_thread(watched.read)
            simulation = fresh.build()
        except (ScenarioError, OSError) as error:
            say(f"sim: not reloaded, the run continues unchanged\n{error}")
            continue
        files = fresh.files
        current = before = _state(files)
        await host.become(simulation)
        host.driver.change(fresh.clock)
        reloaded(fresh)
        say(f"sim: reloaded {simulation.scenario.name}, seed {simulation.seed}")


def _state(files: Sequence[Path]) -> list[tuple[int, int, int] | None]:
    """The state of a file, which changes with the file; None if it does not exist."""
    states: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = file.stat()
            states.append((status.st_mtime_ns, status.st_size, status.st_ino))
        except OSError:
            states.append(None)
    return states
