"""The composition root: one run of a scenario as an object with methods.

`Simulation` builds the world and hands the engine its handlers, actions and extensions. With it a
process, a test or a replay does everything that can be done with a run: send it inputs and move its
clock (`engine/run_inputs.py`), read it (`engine/run_view.py`), go back and fork (below). It is
synchronous and single-threaded, reads no clock and opens no socket; the journal's file and the
caller's wall clock are handed in. The same scenario, seed and inputs give the same journal, byte
for byte but for what clients draw at random.

What an input does is `engine/engine.py`'s affair. Everything that only reads a run from outside
(explanations, conformance, catalogues, views) stands above, and takes a `Simulation`.
"""

from __future__ import annotations

from copy import copy
from typing import BinaryIO, cast

from msgspec import Raw

from sim.api.pipeline.inputs import Effect
from sim.api.pipeline.settings import Settings
from sim.api.registry import FINISHERS, handlers
from sim.core.catalogue.bounds import SEED
from sim.kernel.branches import Branch
from sim.kernel.instants import Instant
from sim.kernel.journal import Header, Journal
from sim.run.actors.operator.actions import act
from sim.run.actors.participants.participants import Participants
from sim.run.actors.receivers import Receivers
from sim.run.actors.script.runner import Script
from sim.run.engine import time_travel
from sim.run.engine.engine import Behaviour, Engine
from sim.run.engine.journal_record import library_versions
from sim.run.engine.run import Run
from sim.run.engine.run_inputs import RunInputs
from sim.run.engine.start import PreparedStarts
from sim.world.format.scenario import Scenario
from sim.world.start.world import build_world


class Simulation(RunInputs):
    """A run of a scenario: the exchange, its clock and its journal.

    OutOfBounds when the seed has more than 63 bits or is negative.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int | None = None,
        start: Instant | None = None,
        journal: BinaryIO | None = None,
        settings: Settings | None = None,
    ) -> None:
        run = _run_of(scenario, seed, start, settings)
        self.engine = _begin(run, Journal(_header(run), journal))

    @property
    def script(self) -> Script:
        """The steps of the scenario."""
        return cast(Script, self.engine.extensions[Script.name])

    # ---- time travel; every stream ends with UNAVAILABLE

    def snapshot(self, name: str) -> None:
        """Remember this moment under a name."""
        time_travel.take_named(self.engine, name)

    def restore(self, name: str) -> list[Effect]:
        """Go to a named snapshot, back or forward. NotFound when there is none of this name."""
        effects = time_travel.restore(self.engine, name)
        self._tell_of_jump()
        return effects

    def reset(self, seed: int | None = None) -> list[Effect]:
        """Go back to the scenario's start, with the same seed unless one is given.

        Tokens, limits and sessions start afresh.
        """
        engine = self.engine
        run = engine.run if seed is None else engine.run._replace(seed=SEED.check(seed))
        effects = time_travel.leave(engine, run.seed)
        if run.seed == engine.run.seed:
            time_travel.return_to_start(engine)
        else:
            self.engine = _begin_again(run, engine)
            self.engine.observers = engine.observers
            self.engine.snapshots.adopt(engine.snapshots, engine.log)
        self._tell_of_jump()
        return effects

    def rewind(
        self, *, to: Instant | None = None, seq: int | None = None
    ) -> tuple[str, list[Effect]]:
        """Go back to right after an input, or to an instant with every input at it.

        Returns the name of the new branch, and the ends of streams.
        """
        effects = time_travel.rewind(self.engine, to, seq)
        self._tell_of_jump()
        return self.engine.branch, effects

    def continue_as_fork(self, origin: str) -> None:
        """Go on as a fork of this moment, without its streams, as the replay of a fork does."""
        time_travel.continue_as_fork(self.engine, origin)
        self._tell_of_jump()

    def _tell_of_jump(self) -> None:
        for observer in self.engine.observers:
            observer.after_jump()

    def fork(
        self, *, journal: BinaryIO | None = None, settings: Settings | None = None
    ) -> Simulation:
        """An independent simulation in the same state: same seed, instant, digest, request log,
        snapshots; tokens issued so far hold in it too.

        The same inputs lead both to the same digest. The fork begins without the streams that are
        open here, which are connections to somebody. With a file its journal is written there
        from the start of the run, so that it replays alone; without, what lies before the fork is
        read from this one's. `settings` may differ in what the journal's header does not keep,
        such as addresses.
        """
        forked = copy(self)
        forked.engine = time_travel.fork(self.engine, journal, settings)
        return forked

    def fork_past(self, branch: Branch, journal: BinaryIO, settings: Settings) -> Simulation:
        """Return an independent simulation in the state of this replica, at its moment of a
        branch. Its journal has the inputs of that branch up to that moment.
        """
        forked = copy(self)
        forked.engine = time_travel.fork_past(self.engine, branch, journal, settings)
        return forked

    def replica(self, root: Branch) -> Simulation:
        """A simulation of the same run for looking back: it journals nothing and its engine is made
        to stand at moments of the branches that begin at `root`.
        """
        replica, engine = copy(self), self.engine
        if root.seed == engine.run.seed:
            replica.engine = time_travel.replica(engine)
        else:
            journal = engine.journal.view()
            journal.stand_at_start(root)
            replica.engine = _begin(engine.run._replace(seed=root.seed), journal)
        return replica


def asked_to_begin(scenario: Scenario, *, seed: int | None = None) -> set[str]:
    """Names of the assumptions whose values the world of a scenario is built with."""
    run = _run_of(scenario, seed, None, None)
    engine = _bare(run, Journal(_header(run)))
    asked = engine.exchange.ctx.assumptions.watch()
    engine.begin()
    return asked


def _run_of(
    scenario: Scenario, seed: int | None, start: Instant | None, settings: Settings | None
) -> Run:
    return Run(
        scenario=scenario,
        seed=SEED.check(scenario.seed if seed is None else seed),
        start=scenario.clock.start if start is None else start,
        settings=settings or Settings(),
        signing_secrets={},
    )


def _header(run: Run) -> Header:
    scenario = run.scenario
    return Header(
        name=scenario.name,
        seed=run.seed,
        start=run.start,
        scenario=Raw(scenario.source()),
        scenario_digest=scenario.digest,
        places=[step.where for step in scenario.steps],
        libraries=library_versions(),
        settings=run.settings.recorded(),
    )


def _begin_again(run: Run, engine: Engine) -> Engine:
    """An engine at the start of a run that takes over the journal of another."""
    try:
        return _begin(run, engine.journal, engine.epoch)
    except BaseException as error:
        engine.journal.end(error)
        raise


PREPARED = PreparedStarts()


def _begin(run: Run, journal: Journal, epoch: int = 0) -> Engine:
    """An engine at the start of a run."""
    start = PREPARED.of(
        run, journal.header, lambda: _begin_from_nothing(run, Journal(journal.header))
    )
    if start is None:
        return _begin_from_nothing(run, journal, epoch)
    return time_travel.begin_as(start, run, journal, epoch)


def _begin_from_nothing(run: Run, journal: Journal, epoch: int = 0) -> Engine:
    engine = _bare(run, journal, epoch)
    engine.begin()
    return engine


def _bare(run: Run, journal: Journal, epoch: int = 0) -> Engine:
    behaviour = Behaviour(handlers(), FINISHERS, act, (Participants, Receivers, Script))
    return Engine(run, build_world(run.scenario, run.start), journal, behaviour, epoch=epoch)
