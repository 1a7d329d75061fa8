"""The composition root: one run of a scenario as an object with methods.

`Simulation` builds the world, hands the engine its handlers, actions and extensions, and offers
what a process, a test or a replay does with a run: send it inputs, move its clock, go back, fork,
read. It is synchronous and single-threaded, reads no clock and opens no socket; the journal's file
and the caller's wall clock are handed in. The same scenario, seed and inputs give the same journal,
byte for byte but for what clients draw at random.

What an input does is `engine/engine.py`'s affair. Everything that only reads a run from outside
(explanations, conformance, catalogues, views) stands above, and takes a `Simulation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any, BinaryIO, cast

from msgspec import Raw, json

from sim.actors.operator.actions import act
from sim.actors.participants.participants import Participants
from sim.actors.receivers import Receivers
from sim.actors.script.runner import Script
from sim.api.pipeline import redaction
from sim.api.pipeline.inputs import (
    Advanced,
    AnswerDue,
    Controlled,
    Effect,
    Input,
    Outcome,
    StreamFrame,
    StreamHungUp,
    WebhookAnswered,
)
from sim.api.pipeline.request_log import RequestLog
from sim.api.pipeline.settings import Settings
from sim.api.registry import FINISHERS, handlers
from sim.contract.contract import Contract, Plane
from sim.core.catalogue.assumptions import STREAM_BUFFER_MESSAGES
from sim.core.catalogue.bounds import SEED
from sim.core.exchange import Exchange
from sim.core.model.refusals import Conflict, InvalidRequest, Refusal
from sim.engine import time_travel
from sim.engine.engine import Behaviour, Engine, Run
from sim.engine.journal_record import library_versions
from sim.kernel.branches import Branch
from sim.kernel.instants import OUT_OF_RANGE, Instant, Span, format_instant, is_supported_instant
from sim.kernel.journal import Header, Journal
from sim.scenario.scenario import Scenario
from sim.world.world import World, build_world


class Simulation:
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
        run = Run(
            scenario=scenario,
            seed=SEED.check(scenario.seed if seed is None else seed),
            start=scenario.clock.start if start is None else start,
            settings=settings or Settings(),
            signing_secrets={},
        )
        self.engine = _begin(run, Journal(_header(run), journal))

    # ---- inputs

    def rest(
        self,
        plane: Plane,
        verb: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        peer: str = "127.0.0.1",
        wall: Instant | None = None,
        oversize: int = 0,
    ) -> Outcome:
        """Handle one HTTP request.

        `headers` is case-insensitive; `wall` is the host's wall clock, used only to judge the
        freshness of signatures.
        """
        engine = self.engine
        return engine.enter(
            redaction.redact_rest(
                engine, plane, verb, path, query, headers, body, peer, wall, oversize
            )
        )

    def rpc(
        self,
        method: str,
        metadata: Mapping[str, str],
        message: bytes,
        *,
        peer: str = "127.0.0.1",
        wall: Instant | None = None,
    ) -> Outcome:
        """Handle one unary gRPC request."""
        engine = self.engine
        return engine.enter(redaction.redact_rpc(method, metadata, message, peer))

    def open(
        self,
        method: str,
        metadata: Mapping[str, str],
        message: bytes,
        *,
        peer: str = "127.0.0.1",
        wall: Instant | None = None,
        web_socket: bool = False,
    ) -> Outcome:
        """Begin a stream. If it is refused or a download, `reply` is set; otherwise `stream` is its
        id and the first frames are among the effects.
        """
        engine = self.engine
        return engine.enter(
            redaction.redact_open(engine, method, metadata, message, peer, wall, web_socket)
        )

    def frame(self, stream: int, message: bytes) -> Outcome:
        """Handle a client's frame on a stream."""
        return self.engine.enter(StreamFrame(stream, message))

    def hangup(self, stream: int) -> Outcome:
        """Note that the client's side of a stream is gone."""
        return self.engine.enter(StreamHungUp(stream))

    def advance_to(self, to: Instant) -> Outcome:
        """Move time to an instant, one due instant after the other; each is an input of its own.

        The outcome has the effects and timers of all. Conflict for an instant in the past: use
        `rewind`.
        """
        if to < self.now:
            raise Conflict(
                f"time only moves forward: now is {format_instant(self.now)}",
                remedy="rewind to go back",
            )
        if not is_supported_instant(to):
            raise InvalidRequest(OUT_OF_RANGE)
        parts = self.engine.handle_asked()
        while not parts or self.now < to or ((due := self.next_due()) is not None and due <= to):
            due = self.next_due()
            parts.append(self.engine.enter(Advanced(to if due is None else min(due, to))))
        parts[0].take(parts)
        return parts[0]

    def control(self, action: str, subject: str, arguments: dict[str, object]) -> Outcome:
        """Perform an operator's action. A refusal is raised after it was journalled."""
        body = json.encode(arguments, order="sorted").decode()
        outcome = self.engine.enter(Controlled(action, subject, body))
        if isinstance(outcome.value, Refusal):
            raise outcome.value
        return outcome

    def answer(
        self, attempt: str, status: int, error: str = "", retry_after: Span | None = None
    ) -> Outcome:
        """Note what a webhook receiver answered; `status` is 0 when there was no HTTP answer."""
        return self.engine.enter(WebhookAnswered(attempt, status, error, retry_after))

    def answer_due(self, pending_on: str) -> Outcome:
        """Let a deferred answer leave as things stand, because nobody moved the clock for so long.

        Nothing happens when it has left already.
        """
        return self.engine.enter(AnswerDue(pending_on))

    def enter(self, given: Input) -> Outcome:
        """Handle a redacted input, and then what it makes the script ask for."""
        return self.engine.enter(given)

    def handle(self, given: Input) -> Outcome:
        """Handle exactly one redacted input, such as one that was read from a journal, which also
        holds the inputs that it made the script ask for.
        """
        return self.engine.handle(given)

    # ---- time travel; every stream ends with UNAVAILABLE

    def snapshot(self, name: str) -> None:
        """Remember this moment under a name."""
        time_travel.take_named(self.engine, name)

    def restore(self, name: str) -> list[Effect]:
        """Go to a named snapshot, back or forward. NotFound when there is none of this name."""
        return time_travel.restore(self.engine, name)

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
            self.engine.snapshots.adopt(engine.snapshots, engine.log)
        return effects

    def rewind(
        self, *, to: Instant | None = None, seq: int | None = None
    ) -> tuple[str, list[Effect]]:
        """Go back to right after an input, or to an instant with every input at it.

        Returns the name of the new branch, and the ends of streams.
        """
        effects = time_travel.rewind(self.engine, to, seq)
        return self.engine.branch, effects

    def fork(
        self, *, journal: BinaryIO | None = None, settings: Settings | None = None
    ) -> Simulation:
        """An independent simulation in the same state: same seed, instant, digest, request log,
        snapshots; tokens issued so far hold in it too.

        The same inputs lead both to the same digest. The fork begins without the streams that are
        open here, which are connections to somebody. With a file its journal is written there from
        the start of the run, so that it replays alone; without, what lies before the fork is read
        from this one's. `settings` may differ in what the journal's header does not keep, such as
        addresses.
        """
        forked = copy(self)
        forked.engine = time_travel.fork(self.engine, journal, settings)
        return forked

    def fork_past(self, branch: Branch, journal: BinaryIO, settings: Settings) -> Simulation:
        """An independent simulation in the state of this one, which looks back at a moment of a
        branch (`looker`). Its journal has the inputs of that branch up to there.
        """
        forked = copy(self)
        forked.engine = time_travel.fork_past(self.engine, branch, journal, settings)
        return forked

    def looker(self, root: Branch) -> Simulation:
        """A simulation of the same run for looking back: it journals nothing and its engine is made
        to stand at moments of the branches that begin at `root`.
        """
        looking, engine = copy(self), self.engine
        if root.seed == engine.run.seed:
            looking.engine = time_travel.looker(engine)
        else:
            journal = engine.journal.view()
            journal.stand_at_start(root)
            looking.engine = _begin(engine.run._replace(seed=root.seed), journal)
        return looking

    # ---- reading

    @property
    def scenario(self) -> Scenario:
        """The scenario that it runs."""
        return self.engine.run.scenario

    @property
    def seed(self) -> int:
        """The seed that it runs with."""
        return self.engine.run.seed

    @property
    def start(self) -> Instant:
        """The instant at which it began."""
        return self.engine.run.start

    @property
    def settings(self) -> Settings:
        """How the process around it behaves."""
        return self.engine.run.settings

    @property
    def contract(self) -> Contract:
        """The operations that it serves."""
        return self.engine.contract

    @property
    def world(self) -> World:
        """Who and what was there at the start, and the reference data."""
        return self.engine.world

    @property
    def exchange(self) -> Exchange:
        """The exchange itself."""
        return self.engine.exchange

    @property
    def script(self) -> Script:
        """The steps of the scenario."""
        return cast(Script, self.engine.extensions[Script.name])

    @property
    def journal(self) -> Journal:
        """Every input so far, with everything that followed."""
        return self.engine.journal

    @property
    def ended(self) -> BaseException | None:
        """What ended the run early; None while it takes inputs. Each input after it is RunEnded."""
        return self.journal.ended

    @property
    def log(self) -> RequestLog:
        """Every call so far."""
        return self.engine.log

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.engine.now

    @property
    def seq(self) -> int:
        """Number of inputs handled on this branch."""
        return self.engine.journal.seq

    @property
    def digest(self) -> str:
        """Digest of everything so far, 64 hexadecimal digits."""
        return self.engine.journal.digest

    @property
    def branch(self) -> str:
        """Name of the branch that it is on: "main" until the first journey in time."""
        return self.engine.branch

    @property
    def epoch(self) -> int:
        """How often it has travelled in time; tokens and streams of another epoch are gone."""
        return self.engine.epoch

    def next_due(self) -> Instant | None:
        """When the next thing happens by itself, or None.

        Never in the past: what waited for the end of maintenance is due now.
        """
        if self.engine.next_input() is not None:
            return self.now
        due = self.exchange.ctx.timers.next_due()
        return None if due is None else max(due, self.now)

    def rpc_kind(self, method: str) -> str | None:
        """The kind of a gRPC method served now ("unary", "server", "bidi"), else None."""
        operation = self.contract.by_rpc(method)
        return operation.kind if operation is not None and operation.exists_at(self.now) else None

    def rpc_serves(self, service: str) -> bool | None:
        """Whether a gRPC service answers now; None for an unknown one, "" is all of them.

        During maintenance none does (rule W8).
        """
        if service and not self.contract.has_service(service):
            return None
        return not self.exchange.maintenance.active

    @property
    def stream_buffer(self) -> int:
        """How many messages a stream that begins now may have waiting for its reader."""
        return self.exchange.ctx.assumptions.number(STREAM_BUFFER_MESSAGES)

    def secret_for(self, fingerprint: str) -> bytes | None:
        """The signing secret behind a fingerprint; None in a replay, which has no secrets."""
        return self.engine.signing_secrets.get(fingerprint)

    def account_named(self, name: str) -> str:
        """An account by its own name or that of a user; NotFound when there is none."""
        return self.engine.account_named(name)

    def requests(
        self,
        *,
        operation: str | None = None,
        status: int | None = None,
        caller: str | None = None,
        since: int = 0,
    ) -> list[dict[str, Any]]:
        """Rows of the request log."""
        return self.log.select(
            operation=operation or "", status=status or 0, caller=caller or "", since=since
        )

    def streams(self) -> list[dict[str, Any]]:
        """Streams that are open."""
        return self.engine.hub.describe()

    def skip_to_head(self, stream: int, waiting: list[bytes]) -> list[bytes] | None:
        """What a reader that fell behind gets in the place of the frames that wait for it.

        None unless its stream asked to skip. Changes nothing.
        """
        return self.engine.hub.skip_to_head(stream, waiting)

    def journal_lines(self, since: int = 0) -> Iterator[bytes]:
        """Journal lines after the first `since` ones, as JSON."""
        return self.journal.lines(since)


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


def _begin(run: Run, journal: Journal, epoch: int = 0) -> Engine:
    """An engine at the start of a run."""
    behaviour = Behaviour(handlers(), FINISHERS, act, (Participants, Receivers, Script))
    engine = Engine(run, build_world(run.scenario, run.start), journal, behaviour, epoch=epoch)
    engine.begin()
    return engine
