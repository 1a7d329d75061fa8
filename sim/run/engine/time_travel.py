"""Time travel: go to a snapshot, to the start or to any input, or continue as two runs.

| | State comes from | Branch | Digest afterwards |
|---|---|---|---|
| restore | a named snapshot of any branch | a new one | that of the snapshot |
| reset | the start, with the same seed | a new one, from the start | that of a new run |
| rewind | the nearest snapshot; inputs after it are repeated | a new one | that of the input |
| fork | a snapshot taken for it | a new one, in another run | the same |

`snapshots.py` has the theory. This module handles what a snapshot does not hold. Streams are
connections to clients, so time travel ends them with UNAVAILABLE and cancels their timers; a fork
begins without any. The journal keeps every line ever written; a mark (`snapshot`, `restore`,
`reset`, `rewind`, `fork`) tells a replay to travel at the same place. Nothing here reads a clock or
a file other than the journal, and nothing depends on which extensions there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from errno import EIO
from functools import wraps
from typing import BinaryIO, Concatenate, ParamSpec, TypeVar

from msgspec import DecodeError

from sim.api.pipeline.inputs import Advanced, Effect, recorded_input
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Code, Conflict, NotFound, Refusal
from sim.kernel.branches import Branch
from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import Journal, JournalLost, Line
from sim.kernel.journal_reader import read_line
from sim.run.engine.engine import Engine
from sim.run.engine.run import Run
from sim.run.engine.snapshots import Snapshot, Snapshots, load_state, unsavable
from sim.run.engine.start import Start

P = ParamSpec("P")
T = TypeVar("T")

NAMED_MAX = 100  # a snapshot of a small run has 200 kB


def all_or_nothing(
    travel: Callable[Concatenate[Engine, P], T],
) -> Callable[Concatenate[Engine, P], T]:
    """Make a time travel complete or fatal.

    An error on the way ends the run, which would otherwise continue in a mixture of two moments.
    Observers do not see the inputs that are repeated on the way.
    """

    @wraps(travel)
    def complete_or_fatal(engine: Engine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        engine.journal.check_open()
        observers, engine.observers = engine.observers, []
        try:
            return travel(engine, *args, **kwargs)
        except Refusal:
            raise
        except BaseException as error:
            engine.journal.end(error)
            raise
        finally:
            engine.observers = observers

    return complete_or_fatal


def load(engine: Engine, snapshot: Snapshot, *, streams: bool = False) -> None:
    """Load a saved state, with the streams that were open or without any.

    The caller takes care of the journal.
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
    """Keep a snapshot of this moment under a name. Conflict if there are too many."""
    if name not in engine.snapshots.named and len(engine.snapshots.named) >= NAMED_MAX:
        remedy = "take one under a name that exists, or rewind: every moment can be returned to"
        raise Conflict(f"there are {NAMED_MAX} named snapshots already", rule="T1", remedy=remedy)
    engine.snapshots.named[name] = _saved(engine)
    engine.journal.mark("snapshot", name)


@all_or_nothing
def restore(engine: Engine, name: str) -> list[Effect]:
    """Travel to a named snapshot, back or forward."""
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
    """End the current run and begin a new one with a seed, in the same journal."""
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
    """Return to right after an input, or to an instant after every input at it, on a new branch."""
    journal = engine.journal
    target = _target(engine, to, seq)
    effects = close_streams(engine, "the simulation was rewound")
    snapshot = engine.snapshots.nearest(target)
    left, log = journal.branch, engine.log.fork()
    parts = left.parts(snapshot.checkpoint.seq, target)
    again = [(part, _recorded(journal, part, first, last)) for part, first, last in parts]
    load(engine, snapshot, streams=True)
    journal.resume(snapshot.checkpoint)
    _repeat(engine, left.holder(snapshot.checkpoint.seq), again)
    journal.branch = left
    journal.branch_off("rewind")
    engine.snapshots.leave(journal, log)
    journal.mark("rewind", str(target))
    # streams of that moment, which no client holds any more
    close_streams(engine, "the simulation was rewound")
    if to is not None and engine.now < to:
        engine.handle(Advanced(to))
    return effects


def fork(engine: Engine, journal: BinaryIO | None, settings: Settings | None) -> Engine:
    """Return an independent engine in the same state; see `Simulation.fork`."""
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


def continue_as_fork(engine: Engine, origin: str) -> None:
    """Continue as a fork of this moment; see `Simulation.continue_as_fork`."""
    close_streams(engine, "the fork begins without them")
    engine.journal.mark("fork", origin)
    engine.journal.branch_off("fork")


def replica(engine: Engine) -> Engine:
    """Return an engine of the same run that can be moved to any moment and writes no journal.

    It has no state yet.
    """
    twin = _fork(engine, engine.journal.view(), engine.settings)
    twin.snapshots = Snapshots(engine.snapshots.start)
    return twin


def begin_as(start: Start, run: Run, journal: Journal, epoch: int) -> Engine:
    """Return an engine at the start of a run, equal to one that was started without a copy.

    The run may differ from that of the start's engine in settings that the journal omits, and in
    the seed if nothing but identifiers depends on it.
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
    """Return an engine of the same run with the same start but without a state."""
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
    """Return a snapshot of this moment, with its calls. Refused if the state cannot be saved."""
    try:
        return engine.snapshot(log=True)
    except (TypeError, ValueError, OverflowError) as error:
        remedy = "rewind to a moment before it, or reset"
        raise Conflict(unsavable(error), rule="T1", remedy=remedy) from error


def close_streams(engine: Engine, why: str) -> list[Effect]:
    """End every stream, and every download at its next part. Cancel the timers of streams."""
    engine.pipeline.replies.epoch += 1
    engine.exchange.order_sessions.close_all()
    effects = engine.hub.close_all(Code.UNAVAILABLE, why)
    engine.hub.cancel_timers()
    for extension in engine.extensions.values():
        extension.load_streams(None)
    return effects


_CHANGED = EIO, "another program has changed the journal"


def _recorded(journal: Journal, branch: Branch, first: int, last: int) -> list[Line]:
    try:
        return [read_line(line) for line in journal.lines(first, last, branch)]
    except DecodeError as error:
        raise JournalLost(*_CHANGED) from error


def _repeat(engine: Engine, on: Branch, parts: Sequence[tuple[Branch, Sequence[Line]]]) -> None:
    """Repeat inputs whose lines exist.

    Where the run moved from one branch to another, time travel ended every stream. Raises
    JournalLost if the lines are not those that were written.
    """
    engine.journal.shadow = True
    try:
        for branch, lines in parts:
            if branch is not on:
                close_streams(engine, "the simulation was moved to another moment")
                on = branch
            engine.journal.branch = branch
            for line in lines:
                engine.handle(recorded_input(line))
                if not engine.journal.digest.startswith(line.digest):
                    raise JournalLost(*_CHANGED)
    finally:
        engine.journal.shadow = False


def _target(engine: Engine, to: Instant | None, seq: int | None) -> int:
    last, start = engine.journal.seq, engine.run.start
    if seq is not None:
        if not 0 <= seq <= last:
            raise Conflict(f"this branch has inputs 0..{last}")
        return seq
    if to is None:
        raise Conflict('send {"to": instant} or {"seq": n}')
    if not start <= to <= engine.now:
        raise Conflict(
            f"this branch runs from {format_instant(start)} to {format_instant(engine.now)}"
        )
    return engine.journal.seq_at(to)
