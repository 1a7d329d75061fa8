"""Time travel: named snapshots, reset, rewind, and forks. What a journey does to streams, journal
and branch names is decided here.

A journey restores state and digest exactly. Streams are connections to somebody and no state:
whoever travels ends them with UNAVAILABLE, and a fork begins with none. Nothing here reads a clock
or a file but the journal.
"""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

from msgspec import msgpack

from sim.actors.participants.participants import ParticipantsState
from sim.actors.script.runner import ScriptState
from sim.api.pipeline.inputs import Advanced, Effect, Input, recorded_input
from sim.api.pipeline.settings import Settings
from sim.core.exchange import State
from sim.core.history import joined, parted
from sim.core.model.refusals import Code, Conflict, NotFound
from sim.engine.snapshots import Snapshot, Snapshots
from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import read_line

if TYPE_CHECKING:
    from sim.simulation import Simulation


@cache
def state_decoder() -> msgpack.Decoder[tuple[State, ScriptState, ParticipantsState]]:
    """Decoder of a moment's state. Made when somebody first travels: it looks at every type of the
    state.
    """
    return msgpack.Decoder(tuple[State, ScriptState, ParticipantsState])


def moment_of(sim: Simulation, *, log: bool = False) -> Snapshot:
    """The simulation as it is now; with its request log where it may be gone to from another
    branch.
    """
    state = sim.exchange.save()
    state.trading, history = parted(state.trading)
    encoded = msgpack.encode((state, sim.script.save(), sim.participants.save()))
    return Snapshot(
        sim.now,
        sim.journal.checkpoint(),
        encoded,
        history,
        sim.world.reference,
        sim.log.fork() if log else None,
    )


def return_to(sim: Simulation, moment: Snapshot) -> None:
    """Become what was saved; the journal is the caller's."""
    state, script_state, participants_state = state_decoder().decode(moment.state)
    state.trading = joined(state.trading, moment.history)
    sim.world.reference = sim.exchange.reference = moment.reference
    sim.exchange.load(state)
    sim.script.load(script_state)
    sim.script.attend()
    sim.participants.load(participants_state)
    if moment.log is None:
        sim.log.truncate(moment.checkpoint.seq)
    else:
        sim.log.become(moment.log)
    sim.hub.cancel_timers()


def snapshot(sim: Simulation, name: str) -> None:
    """Remember this moment under a name."""
    sim.snapshots.named[name] = moment_of(sim, log=True)
    sim.journal.mark("snapshot", name)


def restore(sim: Simulation, name: str) -> list[Effect]:
    """Go to a named moment, back or forward."""
    found = sim.snapshots.named.get(name)
    if found is None:
        raise NotFound(
            f"no snapshot is called {name!r}", remedy="POST /_sim/v1/snapshots/{name} takes one"
        )
    effects = close_streams(sim, "a snapshot was restored")
    return_to(sim, found)
    sim.journal.resume(found.checkpoint)
    sim.journal.mark("restore", name)
    return effects


def reset(sim: Simulation, seed: int | None) -> list[Effect]:
    """Back to the scenario's start, with the same seed unless one is given."""
    effects = close_streams(sim, "the simulation was reset")
    again = seed is None or seed == sim.seed
    sim.seed = sim.seed if seed is None else seed
    sim.journal.mark("reset", str(sim.seed))
    sim.journal.restart(sim.seed)
    if again:
        return_to(sim, sim.snapshots.start)
        sim.branch, sim.branches = "main", 0
        sim.snapshots = Snapshots(sim.snapshots.start)
    else:
        sim.begin()
    return effects


def rewind(sim: Simulation, to: Instant | None, seq: int | None) -> list[Effect]:
    """Back to right after an input, or to an instant with every input at it, on a new branch."""
    target = _target(sim, to, seq)
    effects = close_streams(sim, "the simulation was rewound")
    moment = sim.snapshots.nearest(target, sim.journal)
    inputs = [
        recorded_input(read_line(line)) for line in sim.journal.lines(moment.checkpoint.seq, target)
    ]
    places = sim.journal.past()
    return_to(sim, moment)
    sim.journal.resume(moment.checkpoint)
    _rerun(sim, inputs)
    sim.journal.resume(sim.journal.checkpoint()._replace(places=places))
    sim.branches += 1
    sim.branch = f"branch-{sim.branches}"
    sim.journal.mark("rewind", str(target))
    effects += close_streams(sim, "the simulation was rewound")
    if to is not None and sim.now < to:
        sim.handle(Advanced(to))
    return effects


def fork(sim: Simulation, journal: BinaryIO | None, settings: Settings | None) -> Simulation:
    """An independent simulation in the same state; see `Simulation.fork`."""
    made = copy(sim)
    made.settings = settings or sim.settings
    if made.settings.recorded() != sim.settings.recorded():
        raise ValueError("a fork keeps the settings that stand in the journal's header")
    made.signing_secrets = dict(sim.signing_secrets)
    made.journal = sim.journal.fork(journal)
    made.world = copy(sim.world)
    made.assemble()
    made.exchange.begin_as(sim.exchange)
    made.participants = sim.participants.fork(made)
    made.own_timers()
    made.snapshots = sim.snapshots.fork()
    return_to(made, moment_of(sim, log=True))
    made.journal.mark("fork", sim.branch)
    return made


def close_streams(sim: Simulation, why: str) -> list[Effect]:
    """End every stream, and every download with its next part; nothing that was set for a stream is
    left.
    """
    sim.journeys += 1
    sim.pipeline.replies.journeys = sim.journeys
    sim.exchange.order_sessions.close_all()
    effects = sim.hub.close_all(Code.UNAVAILABLE, why)
    sim.hub.cancel_timers()
    return effects


def _rerun(sim: Simulation, inputs: list[Input]) -> None:
    sim.journal.shadow = True
    try:
        for given in inputs:
            sim.handle(given)
    finally:
        sim.journal.shadow = False


def _target(sim: Simulation, to: Instant | None, seq: int | None) -> int:
    if seq is not None:
        if not 0 <= seq <= sim.seq:
            raise Conflict(f"this branch has inputs 0..{sim.seq}")
        return seq
    if to is None:
        raise Conflict('say where to: {"to": instant} or {"seq": n}')
    if not sim.start <= to <= sim.now:
        raise Conflict(
            f"this branch runs from {format_instant(sim.start)} to {format_instant(sim.now)}"
        )
    return sim.journal.seq_at(to)
