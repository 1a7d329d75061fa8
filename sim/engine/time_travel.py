"""Time travel: go to a snapshot, back to the start, back to any input, or on in two runs at once.

| | State comes from | Branch | Digest afterwards |
|---|---|---|---|
| restore | a named snapshot of any branch | a new one | that of the snapshot |
| reset | the start, with the same seed | a new one, from the start | that of a fresh start |
| rewind | the nearest snapshot; inputs after it are handled again | a new one | that of the input |
| fork | a snapshot taken for it | a new one, in another run | the same |

`snapshots.py` has the theory. This file adds what a snapshot does not hold. Streams are connections
to somebody, so whoever travels ends them with UNAVAILABLE, a fork begins with none, and their
timers are cancelled. The journal keeps every line ever written; a mark (`snapshot`, `restore`,
`reset`, `rewind`, `fork`) tells a replay to travel at the same place. Nothing here reads a clock or
a file but the journal, and nothing knows which extensions there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import wraps
from typing import BinaryIO, Concatenate, ParamSpec, TypeVar

from sim.api.pipeline.inputs import Advanced, Effect, Input, recorded_input
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Code, Conflict, NotFound, Refusal
from sim.engine.engine import Engine
from sim.engine.run import Run
from sim.engine.snapshots import Snapshot, Snapshots, load_state, unsavable
from sim.engine.start import Start
from sim.kernel.branches import Branch
from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import Journal
from sim.kernel.journal_reader import read_line

P = ParamSpec("P")
T = TypeVar("T")


def all_or_nothing(
    travel: Callable[Concatenate[Engine, P], T],
) -> Callable[Concatenate[Engine, P], T]:
    """Make a time travel complete or fatal: an error on the way ends the run, which would otherwise
    continue between two moments.
    """

    @wraps(travel)
    def made(engine: Engine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        engine.journal.check_open()
        try:
            return travel(engine, *args, **kwargs)
        except Refusal:
            raise
        except BaseException as error:
            engine.journal.end(error)
            raise

    return made


def load(engine: Engine, snapshot: Snapshot, *, streams: bool = False) -> None:
    """Load a saved state, with the streams that were open or without any. The caller takes care of
    the journal.
    """
    engine.world.reference = snapshot.reference
    load_state(engine.exchange, engine.extensions, snapshot, engine.hub if streams else None)
    if snapshot.log is not None:
        engine.log.become(snapshot.log)
    engine.log.truncate(snapshot.checkpoint.seq)
    engine.travelled = True
    if not streams:
        engine.hub.cancel_timers()


@all_or_nothing
def take_named(engine: Engine, name: str) -> None:
    """Keep a snapshot of this moment under a name."""
    engine.snapshots.named[name] = _saved(engine)
    engine.journal.mark("snapshot", name)


@all_or_nothing
def restore(engine: Engine, name: str) -> list[Effect]:
    """Go to a named snapshot, back or forward."""
    snapshot = engine.snapshots.named.get(name)
    if snapshot is None:
        raise NotFound(
            f"no snapshot is called {name!r}", remedy="POST /_sim/v1/snapshots/{name} takes one"
        )
    effects = close_streams(engine, "a snapshot was restored")
    log = engine.log.fork()
    load(engine, snapshot)
    engine.journal.resume(snapshot.checkpoint)
    engine.journal.branch_off("restore")
    engine.snapshots.leave(engine.journal, log)
    engine.journal.mark("restore", name)
    return effects


@all_or_nothing
def leave(engine: Engine, seed: int) -> list[Effect]:
    """End the run; a new one begins in the same journal, with a seed."""
    effects = close_streams(engine, "the simulation was reset")
    engine.journal.mark("reset", str(seed))
    engine.journal.restart(seed)
    return effects


@all_or_nothing
def return_to_start(engine: Engine) -> None:
    """Return to the state at the scenario's start, with the same seed."""
    start, log = engine.snapshots.start, engine.log.fork()
    load(engine, start)
    engine.journal.branch.timers = engine.exchange.ctx.timers.scheduled
    left, engine.snapshots = engine.snapshots, Snapshots(start)
    engine.snapshots.adopt(left, log)


@all_or_nothing
def rewind(engine: Engine, to: Instant | None, seq: int | None) -> list[Effect]:
    """Go back to right after an input, or to an instant with every input at it, on a new branch."""
    journal = engine.journal
    target = _target(engine, to, seq)
    effects = close_streams(engine, "the simulation was rewound")
    snapshot = engine.snapshots.nearest(target)
    left, log = journal.branch, engine.log.fork()
    parts = left.parts(snapshot.checkpoint.seq, target)
    again = [(part, _recorded(journal, part, first, last)) for part, first, last in parts]
    load(engine, snapshot, streams=True)
    journal.resume(snapshot.checkpoint)
    _handle_again(engine, left.holder(snapshot.checkpoint.seq), again)
    journal.branch = left
    journal.branch_off("rewind")
    engine.snapshots.leave(journal, log)
    journal.mark("rewind", str(target))
    close_streams(engine, "the simulation was rewound")  # those of then: nobody holds them now
    if to is not None and engine.now < to:
        engine.handle(Advanced(to))
    return effects


def fork(engine: Engine, journal: BinaryIO | None, settings: Settings | None) -> Engine:
    """An independent engine in the same state; see `Simulation.fork`."""
    forked = _fork(engine, engine.journal.fork(journal), settings or engine.settings)
    forked.snapshots = engine.snapshots.fork()
    load(forked, _saved(engine))
    forked.journal.mark("fork", engine.branch)
    forked.journal.branch_off("fork")
    return forked


def fork_past(past: Engine, branch: Branch, file: BinaryIO, settings: Settings) -> Engine:
    """Return an independent engine in the state of a replica, at a moment of a branch.
    Its journal is written to a file and holds the inputs of that branch up to that moment.
    """
    journal = past.journal.along(branch, file)
    forked = _fork(past, journal, settings)
    forked.snapshots = Snapshots(past.snapshots.start)
    load(forked, _saved(past))
    journal.mark("fork", past.branch)
    journal.branch_off("fork")
    return forked


def go_on_as_fork(engine: Engine, origin: str) -> None:
    """Continue as a fork of this moment. A replay of a fork's journal passes here too."""
    close_streams(engine, "the fork begins without them")
    engine.journal.mark("fork", origin)
    engine.journal.branch_off("fork")


def replica(engine: Engine) -> Engine:
    """Return an engine of the same run that can be brought to any moment and journals nothing. It
    has no state yet.
    """
    twin = _fork(engine, engine.journal.view(), engine.settings)
    twin.snapshots = Snapshots(engine.snapshots.start)
    return twin


def begin_as(start: Start, run: Run, journal: Journal, epoch: int) -> Engine:
    """An engine at the start of a run, equal to one that begins from nothing. The run is that of
    the start's engine but for the settings that no journal keeps, and for a seed from which nothing
    but identifiers follows.
    """
    begun = _twin(start.engine, run, journal, epoch)
    snapshot = start.under(run.seed)._replace(checkpoint=journal.checkpoint())
    begun.snapshots = Snapshots(snapshot)
    load(begun, snapshot)
    journal.branch.timers = begun.exchange.ctx.timers.scheduled
    return begun


def _fork(engine: Engine, journal: Journal, settings: Settings) -> Engine:
    return _twin(engine, engine.run._replace(settings=settings), journal, engine.epoch)


def _twin(engine: Engine, run: Run, journal: Journal, epoch: int) -> Engine:
    """Return an engine of the same run with the same start and no state."""
    if run.settings.recorded() != engine.settings.recorded():
        raise ValueError("a fork keeps the settings that stand in the journal's header")
    twin = Engine(
        run._replace(signing_secrets=dict(engine.signing_secrets)),
        copy(engine.world),
        journal,
        engine.behaviour,
        epoch=epoch,
    )
    twin.exchange.begin_as(engine.exchange)
    for name, extension in twin.extensions.items():
        extension.begin_as(engine.extensions[name])
    twin.close_timers()
    return twin


def _saved(engine: Engine) -> Snapshot:
    """Return a snapshot of this moment, with its calls. Conflict when the state cannot be saved."""
    try:
        return engine.snapshot(log=True)
    except (TypeError, ValueError, OverflowError) as error:
        remedy = "rewind to a moment before it, or reset"
        raise Conflict(unsavable(error), rule="control", remedy=remedy) from error


def close_streams(engine: Engine, why: str) -> list[Effect]:
    """End every stream, and every download with its next part; cancel the timers of streams."""
    engine.pipeline.replies.epoch += 1
    engine.exchange.order_sessions.close_all()
    effects = engine.hub.close_all(Code.UNAVAILABLE, why)
    engine.hub.cancel_timers()
    for extension in engine.extensions.values():
        extension.load_streams(None)
    return effects


def _recorded(journal: Journal, branch: Branch, first: int, last: int) -> list[Input]:
    lines = journal.lines(first, last, branch)
    return [recorded_input(read_line(line)) for line in lines]


def _handle_again(
    engine: Engine, on: Branch, parts: Sequence[tuple[Branch, Sequence[Input]]]
) -> None:
    """Handle inputs again whose lines exist. Where the run left a branch for another it travelled,
    which ended every stream.
    """
    engine.journal.shadow = True
    try:
        for branch, inputs in parts:
            if branch is not on:
                close_streams(engine, "the simulation was moved to another moment")
                on = branch
            engine.journal.branch = branch
            for input_ in inputs:
                engine.handle(input_)
    finally:
        engine.journal.shadow = False


def _target(engine: Engine, to: Instant | None, seq: int | None) -> int:
    last, start = engine.journal.seq, engine.run.start
    if seq is not None:
        if not 0 <= seq <= last:
            raise Conflict(f"this branch has inputs 0..{last}")
        return seq
    if to is None:
        raise Conflict('say where to: {"to": instant} or {"seq": n}')
    if not start <= to <= engine.now:
        raise Conflict(
            f"this branch runs from {format_instant(start)} to {format_instant(engine.now)}"
        )
    return engine.journal.seq_at(to)
