"""`sim open`: a finished run behind the control plane. Its rows can be read at once, and its states
as soon as the replay has reached them. It can be forked at any moment, but not changed.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from sim.api.pipeline.settings import Settings
from sim.read.layout import put
from sim.server.collector import rare_collections
from sim.server.console import Console
from sim.server.history_access import OpenedRun
from sim.server.host import Host
from sim.server.instances import MAIN, Instances
from sim.server.listeners import BoundSockets, addresses_of, bind
from sim.server.platforms import new_event_loop
from sim.server.ready_file import claimed_ready_file, write_ready_file
from sim.server.room_files import open_in_browser
from sim.server.shutdown import Shutdown
from sim.world.format.clock_mode import MANUAL

if TYPE_CHECKING:
    from sim.read.history.recorded import RecordedRun
    from sim.run.simulation import Simulation

SURFACES = ("control", "docs")
DIVERGED = 3
# Real time between two messages about the progress of the replay.
_TELL_S = 0.25


class OpenOptions(NamedTuple):
    """The journal to open, and the address to serve it on."""

    port_base: int = 0
    ready_file: Path | None = None
    open: bool = False


def open_run(recorded: RecordedRun, options: OpenOptions) -> int:
    """Serve a finished run until interrupted; returns the exit code. Raises CouldNotListen before
    the replay, and the errors of `RecordedRun.begin`.
    """
    bound = bind("127.0.0.1", options.port_base, SURFACES)
    with closing(bound), claimed_ready_file(options.ready_file, bound):
        docs = addresses_of(bound).docs
        simulation = recorded.begin(replace(Settings(), docs_url=docs))
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_show(recorded, options, bound, simulation))


async def _show(
    recorded: RecordedRun, options: OpenOptions, bound: BoundSockets, simulation: Simulation
) -> int:
    from sim.read.replay import Divergence

    shutdown, console = Shutdown(), Console("text", quiet=True)
    instances = Instances(on_end=shutdown.run_ended)
    opened = OpenedRun(recorded, simulation)
    host = Host(simulation, MANUAL, opened=opened)
    await instances.start_main(host, bound)
    shutdown.on_signals(console)  # a program that reads that it is ready may end it
    facts = instances.facts(MAIN) | {"journal": str(recorded.path)}
    if options.ready_file is not None:
        write_ready_file(options.ready_file, facts)
    console.say(f"{recorded.path}: {recorded.header.name}, {recorded.total} inputs")
    console.say(f"room     {facts['room']}")
    console.say(f"control  {facts['control']}")
    if options.open:
        open_in_browser(facts["room"], console)
    replaying = asyncio.ensure_future(opened.replay())
    telling = asyncio.ensure_future(_tell(host, opened, console))
    code = 0
    with rare_collections():
        await asyncio.wait((replaying, shutdown.code), return_when=asyncio.FIRST_COMPLETED)
        if replaying.done():
            try:
                replaying.result()
                console.say(f"replayed {recorded.total} inputs, every line as recorded")
            except Divergence as difference:
                code = DIVERGED
                put(*difference.lines(), file=sys.stderr, flush=True)
        code = await shutdown.code or code
    replaying.cancel()
    telling.cancel()
    await instances.stop()
    console.close()
    return code


async def _tell(host: Host, opened: OpenedRun, console: Console) -> None:
    """Report the progress of the replay: often to clients of the live stream, every tenth
    to the console.
    """
    tenth = 0
    while not opened.over:
        await asyncio.sleep(_TELL_S)
        host.watchers.wake()
        inputs, total = opened.recorded.inputs, opened.recorded.total
        if not opened.over and 10 * inputs // total > tenth:
            tenth = 10 * inputs // total
            console.say(f"replayed {inputs} of {total} inputs")
    host.watchers.wake()
