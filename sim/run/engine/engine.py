"""One input in, one outcome out.

`Engine.handle` is the only way into a running exchange. It takes one input (a call, a frame, an
advance of time, a step of the scenario, an operator's action), applies it with all consequences,
and appends one line to the journal before the outcome leaves:

dispatch  the component that the input concerns handles it: pipeline, hub, clock, operator, webhooks
publish   events reach streams and extensions, each at its own instant; their reactions may cause
          further events, until there are none left
finish    webhook attempts and pending answers are added to the effects (`input_effects.py`)
record    input and outcome are written to the journal; the digest covers both

The input is encoded before the first step. If any step fails, the run ends: no answer is ever based
on a state that is not in the journal. Refusals are outcomes, not failures.

Nothing below `handle` waits, and nothing happens between two calls of it. State is therefore a
function of the inputs, and replaying a journal yields the same journal, byte for byte.

An advance of time is one input in which timers fire, each published at its own instant, so streams
and extensions see the exchange in its state at that instant (`kernel/timers.py` has the order).
`Simulation` advances from due instant to due instant, so that each of them has a line of its own.

An extension may request an input: the script begins a step and makes its calls. `enter` handles an
input from outside and then the requested ones, so that nothing comes between cause and effect. A
replay takes both from the journal and calls `handle`.

The engine knows no component's timers, handler, operator action or extension by name: `Behaviour`
passes them in as data. `Simulation` decides how runs begin (worlds, seeds, files), and
`time_travel.py` implements the return to an earlier input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import json

from sim.api.pipeline.handler import AnyHandler, Finisher
from sim.api.pipeline.inputs import (
    Advanced,
    AnswerDue,
    Controlled,
    Fired,
    Input,
    Outcome,
    OutcomeHandlers,
    Reply,
    RestCall,
    RpcCall,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    WebhookAnswered,
    without_nonce,
)
from sim.api.pipeline.pipeline import Pipeline
from sim.api.pipeline.request_log import RequestLog
from sim.api.pipeline.settings import Settings
from sim.api.streams.hub import Hub
from sim.contract.contract import Contract, load_contract
from sim.core.exchange import Exchange
from sim.core.identity.credentials import Environment
from sim.core.matching.clearing import CLEARING_TIMER
from sim.core.model.orders import Order
from sim.core.model.refusals import NotFound, Refusal
from sim.core.model.why import Why
from sim.kernel.instants import Instant
from sim.kernel.journal import Journal
from sim.kernel.timers import Timer, merge_owners
from sim.run.engine.causes import Causes
from sim.run.engine.extension import Extension
from sim.run.engine.input_effects import InputEffects
from sim.run.engine.journal_record import record_of
from sim.run.engine.run import Run
from sim.run.engine.snapshots import Snapshot, Snapshots, encode_state, save_streams, unsavable
from sim.run.engine.verdicts import judge
from sim.world.format.scenario import Scenario
from sim.world.start.populate import populate
from sim.world.start.world import World

Act: TypeAlias = Callable[["Engine", str, str, dict[str, object], Outcome], object]
_encode = json.Encoder().encode


class Behaviour(NamedTuple):
    """What a run consists of besides the exchange.

    These are handlers by operation, builders of deferred answers by kind, the function that
    performs an operator's action by name, and constructors of extensions, in the order in which
    they are notified.
    """

    handlers: Mapping[str, AnyHandler]
    finishers: Mapping[str, Finisher]
    act: Act
    extensions: tuple[Callable[[Engine], Extension], ...] = ()


class RunObserver(Protocol):
    """Somebody outside who looks at everything that a run does, and changes nothing."""

    def after_input(
        self, engine: Engine, input_: Input, outcome: Outcome, at: Instant, out: bytes
    ) -> None:
        """Take an input whose line is written: `at` is the instant before it, `out` its outcome as
        the journal has it.
        """

    def after_jump(self) -> None:
        """Note that the run goes on in the state of another moment."""


class Engine:
    """An exchange with its surfaces, its extensions and its journal."""

    def __init__(
        self, run: Run, world: World, journal: Journal, behaviour: Behaviour, *, epoch: int = 0
    ) -> None:
        """Compose an exchange without content. `begin` or `time_travel.fork` gives it a state."""
        self.run = run
        self.world = world
        self.journal = journal
        self.behaviour = behaviour
        self.contract: Contract = load_contract()
        settings = run.settings
        self.exchange = Exchange(
            seed=run.seed,
            now=run.start,
            environment=Environment.called(run.scenario.environment),
            webhook_hosts=settings.webhook_hosts,
            receivers=[receiver.address for receiver in run.scenario.world.receivers],
        )
        self.exchange.credentials.addresses = settings.api_addresses
        self.exchange.credentials.issuer_address = settings.token_url.removesuffix("/oauth/token")
        self.log = RequestLog()
        self.hub = Hub(self.exchange, self.contract)
        self.pipeline = Pipeline(
            self.exchange, self.contract, behaviour.handlers, self.log, settings
        )
        self.pipeline.replies.epoch = epoch
        extensions = [create(self) for create in behaviour.extensions]
        self.extensions = {extension.name: extension for extension in extensions}
        self._on_call = [hook.on_call for hook in extensions if hook.overrides("on_call")]
        self._requesters = [hook.next_input for hook in extensions if hook.overrides("next_input")]
        self.input_effects = InputEffects(
            self.exchange, self.hub, self.pipeline, behaviour.finishers, extensions
        )
        self._causes = Causes(self.exchange, self.hub, extensions, journal)
        self._inputs = merge_owners(extension.inputs for extension in extensions)
        self._timers = self._timer_handlers()
        self.travelled = True  # extensions may request inputs before the next one enters
        self.observers: list[RunObserver] = []
        self.snapshots: Snapshots

    def _timer_handlers(self) -> OutcomeHandlers:
        """Return the handler for each kind of timer. A kind with two owners is an error."""
        core = {kind: _without_outcome(handler) for kind, handler in self.exchange.timers.items()}
        extensions = (extension.timers for extension in self.extensions.values())
        return merge_owners((core, self.hub.timers, *extensions))

    def begin(self) -> None:
        """Bring the world into its state at the start of the scenario."""
        extensions = self.extensions.values()
        for extension in extensions:
            extension.plan()
        populate(self.exchange, self.world, self.run.scenario)
        for extension in extensions:
            extension.follow()
        for extension in extensions:
            extension.begin()
        self.exchange.flush()
        self.exchange.take_events()
        self.close_timers()
        self.journal.branch.timers = self.exchange.ctx.timers.scheduled
        self.snapshots = Snapshots(self.snapshot())

    def close_timers(self) -> None:
        """Refuse timers of kinds without an owner from now on. A pending one is an error."""
        self.exchange.ctx.timers.close(self._timers)

    # ---- reads

    @property
    def scenario(self) -> Scenario:
        """The scenario that it runs."""
        return self.run.scenario

    @property
    def settings(self) -> Settings:
        """Settings of the process in which it runs."""
        return self.run.settings

    @property
    def signing_secrets(self) -> dict[str, bytes]:
        """Signing keys of clients in clear, by their fingerprints."""
        return self.run.signing_secrets

    @property
    def epoch(self) -> int:
        """The number of time travels so far."""
        return self.pipeline.replies.epoch

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.exchange.ctx.now

    @property
    def branch(self) -> str:
        """The name of the current branch."""
        return self.journal.branch.name

    def snapshot(self, *, log: bool = False, copies: Mapping[int, Order] | None = None) -> Snapshot:
        """Return the current state; with `log`, also the calls so far, which another branch may
        need.

        Equal copies of live orders in `copies`, by their `seq`, are shared.
        """
        state, history = encode_state(self.exchange, self.extensions, copies or {})
        return Snapshot(
            self.now,
            self.journal.checkpoint(),
            state,
            history,
            self.world.reference,
            self.log.fork() if log else None,
            save_streams(self.hub, self.extensions),
        )

    def account_named(self, name: str) -> str:
        """Return an account by its resource name, or by that of a user or scripted participant.

        Refuses an unknown name as not found.
        """
        user = self.world.parties.user(name) or self.exchange.firms.user(name)
        account = user.account if user else name
        if account not in self.exchange.trading.ledger:
            raise NotFound(
                f"no account is called {name}",
                rule="T1",
                remedy="GET /_sim/v1/state/accounts lists them",
            )
        return account

    # ---- inputs

    def enter(self, input_: Input) -> Outcome:
        """Handle an input from outside, and every input that extensions request.

        The outcome is that of the input, with the effects and timers of all of them in order.
        """
        early = self.handle_requested() if self.travelled else []
        self.travelled = False
        try:
            outcome = self.handle(input_)
        except BaseException as error:
            if early:
                self.journal.end(error)  # their outcomes would be lost
            raise
        late = self.handle_requested() if self.next_input() is not None else []
        if early or late:
            outcome.take((*early, outcome, *late))
        return outcome

    def handle_requested(self) -> list[Outcome]:
        """Handle every input that extensions request."""
        self.journal.check_open()
        outcomes = []
        while (input_ := self.next_input()) is not None:
            outcomes.append(self.handle(input_))
        return outcomes

    def next_input(self) -> Input | None:
        """Return the input that an extension requests, which comes before any other; else None."""
        try:
            for next_input in self._requesters:
                if (input_ := next_input()) is not None:
                    return input_
        except BaseException as error:
            self.journal.end(error)  # it would fail again before every input
            raise
        return None

    def handle(self, input_: Input) -> Outcome:
        """Handle one redacted input to completion, and write it to the journal with its
        consequences.

        An input that cannot be encoded is an error that changes nothing. A later failure leaves an
        inconsistent state, so the run ends: the journal holds every input before this one and, as
        its last line, this one without an outcome. Each further one raises RunEnded.
        """
        journal, ctx = self.journal, self.exchange.ctx
        journal.check_open()
        digested, aside = without_nonce(input_)
        entering = _encode(digested)
        outcome = Outcome(seq=journal.seq + 1, cause=self._causes.of(input_))
        ctx.trace_id = f"{outcome.seq:016x}"
        ctx.service_time = 0
        at = ctx.now
        try:
            self._dispatch(input_, outcome)
            self.input_effects.finish(input_, outcome)
            record = record_of(outcome, self.log.last(outcome.seq), ctx.now)
            judge(self.log, outcome.seq, record, ctx.now)
            entry = _encode(record)
            counts = ctx.timers.scheduled, outcome.cause, len(self.exchange.trading.trades)
            journal.append(at, entering, entry, aside, ctx.now, *counts)
        except Exception as error:
            journal.fail(at, entering, aside, error)
            raise
        except BaseException as error:
            journal.end(error)
            raise
        for observer in self.observers:
            observer.after_input(self, input_, outcome, at, entry)
        if self.snapshots.due(journal.seq) and not journal.shadow:
            self._keep_snapshot(outcome)
        return outcome

    def _keep_snapshot(self, outcome: Outcome) -> None:
        """Keep a snapshot.

        Failure is only a warning, because the input is already in the journal.
        """
        if self.exchange.order_sessions.blocks_snapshots:
            return
        try:
            self.snapshots.keep(self.snapshot())
        except Exception as error:
            self.snapshots.postpone(self.journal.seq)
            outcome.warning = f"no snapshot after input {outcome.seq}: {unsavable(error)}"

    def _dispatch(self, input_: Input, outcome: Outcome) -> None:
        match input_:
            case RestCall():
                outcome.reply = self.pipeline.rest(input_)
                for on_call in self._on_call:
                    on_call(input_, outcome)
            case RpcCall():
                outcome.reply = self.pipeline.rpc(input_)
                for on_call in self._on_call:
                    on_call(input_, outcome)
            case Advanced():
                self._advance(input_.to, outcome)
            case StreamOpened():
                self._open_stream(input_, outcome)
            case StreamFrame():
                outcome.effects += self.hub.frame(input_.stream, input_.message)
            case StreamHungUp():
                self.hub.hangup(input_.stream)
                if input_.slow:
                    self.exchange.ctx.apply(Why("S12"), f"stream/{input_.stream}")
            case Controlled():
                outcome.value = self._perform(input_, outcome)
            case WebhookAnswered():
                self.exchange.webhooks.answer(
                    input_.attempt, input_.status, input_.error, input_.retry_after
                )
            case AnswerDue():
                self.exchange.awaited.abandon(input_.pending_on)
            case _:
                self._inputs[type(input_)](input_, outcome)

    def _advance(self, to: Instant, outcome: Outcome) -> None:
        """Fire every timer that is due, each at its own instant, then move to `to`.

        Stops at a timer after which an extension requests an input.
        """
        exchange, ctx = self.exchange, self.exchange.ctx
        before, latest, trading = ctx.timers.scheduled, 0, exchange.trading
        trades, cleared = len(trading.trades), trading.cleared
        while (timer := self._next_timer(to)) is not None:
            if timer.due > ctx.now:
                ctx.now = timer.due
            if exchange.postpones(timer):
                ctx.timers.suspend(timer)
                continue
            outcome.fired.append(Fired(ctx.now, timer.kind, timer.subject))
            if latest < timer.seq < before and timer.kind != CLEARING_TIMER:
                latest = timer.seq
            self._timers[timer.kind](timer, outcome)
            self.input_effects.publish(outcome)
            if self.next_input() is not None:
                break
        else:
            ctx.now = max(ctx.now, to)
        last = min(trading.cleared, trades) if trading.cleared > cleared else 0
        if latest or last:
            outcome.cause = self._causes.of_advance(latest, last)

    def _next_timer(self, to: Instant) -> Timer | None:
        """Return the next timer that is due.

        Scores of quotes depend on how long they rest, so the exchange is told of a move
        before it happens.
        """
        exchange = self.exchange
        timers = exchange.ctx.timers
        if exchange.scoring.stale:
            due = timers.next_due()
            exchange.scoring.time_moves(to if due is None else min(due, to))
        return timers.pop_due(to)

    def _open_stream(self, opened: StreamOpened, outcome: Outcome) -> None:
        """Open a stream as part of the current input.

        The outcome gets its id and first frames, or the reply if it is refused or is a download.
        """
        admitted = self.pipeline.open(opened)
        if isinstance(admitted, Reply):
            outcome.reply = admitted
            return
        try:
            outcome.stream, effects = self.hub.open(admitted)
            outcome.effects += effects
            outcome.admission = self.pipeline.log_subscription(opened, admitted)
        except Refusal as refusal:
            outcome.reply = self.pipeline.refuse_subscription(opened, admitted, refusal)

    def _perform(self, controlled: Controlled, outcome: Outcome) -> object:
        """Perform an operator's action and return its answer, or the refusal as a value."""
        body = json.decode(controlled.arguments)
        try:
            return self.behaviour.act(self, controlled.action, controlled.subject, body, outcome)
        except Refusal as refusal:
            return refusal


def _without_outcome(handler: Callable[[Timer], None]) -> Callable[[Timer, Outcome], None]:
    """Return a handler that ignores the current outcome, which core components do not know."""
    return lambda timer, _outcome: handler(timer)
