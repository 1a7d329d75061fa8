"""One input in, one outcome out.

`Engine.handle` is the only way into a running exchange. It takes one input (a call, a frame, an
advance of time, a step of the scenario, an operator's action), lets everything happen that follows
from it, and appends one line to the journal before the outcome leaves:

    dispatch  the part that the input concerns acts on it: pipeline, hub, clock, operator, webhooks
    publish   events that happened reach streams and extensions, each at its own instant; what
              these do about them may cause further events, until nothing is left
    finish    webhook attempts and answers that were waiting join the effects (`input_effects.py`)
    record    input and outcome go to the journal; the digest covers both

The input is encoded before the first of them. If one of them fails, the run ends: nothing is ever
answered out of a state that stands in no journal. Refusals are outcomes, no failures.

Nothing below `handle` waits, and nothing happens between two calls of it. State is therefore a
function of the inputs, and a journal that is handled again gives the same journal, byte for byte.

An advance of time is one input in which timers fire, each published at its own instant, so streams
and extensions see the exchange as it is then (`kernel/timers.py` has the order). `Simulation`
advances from due instant to due instant, so each of them is a line of its own.

An extension may ask for an input: the script begins a step, and makes the calls of it. `enter`
handles an input from outside and then what is asked for, so that nothing comes between a cause and
its effect. A replay takes both from the journal, and calls `handle`.

The engine knows no component of the exchange by its timers, no handler, no operator action and no
extension by name: `Behaviour` hands them in as data. Where runs begin (worlds, seeds, files) is
`Simulation`'s affair; how a run returns to an earlier input is `time_travel.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from msgspec import json

from sim.api.pipeline.deferred import Finisher
from sim.api.pipeline.handler import AnyHandler
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
from sim.core.model.orders import Order
from sim.core.model.refusals import NotFound, Refusal
from sim.engine.causes import Causes
from sim.engine.extension import Extension
from sim.engine.input_effects import InputEffects
from sim.engine.journal_record import record_of
from sim.engine.run import Run
from sim.engine.snapshots import Snapshot, Snapshots, encode_state, save_streams, unsavable
from sim.kernel.instants import Instant
from sim.kernel.journal import Journal
from sim.kernel.timers import Timer, merge_owners
from sim.scenario.scenario import Scenario
from sim.world.populate import populate
from sim.world.world import World

Act: TypeAlias = Callable[["Engine", str, str, dict[str, object], Outcome], object]
_encode = json.Encoder().encode


class Behaviour(NamedTuple):
    """What a run is made of besides the exchange.

    Handlers by operation, builders of deferred answers by kind, the function that performs an
    operator's action by name, and constructors of extensions in the order in which they hear.
    """

    handlers: Mapping[str, AnyHandler]
    finishers: Mapping[str, Finisher]
    act: Act
    extensions: tuple[Callable[[Engine], Extension], ...] = ()


class Engine:
    """An exchange with its surfaces, its extensions and its journal."""

    def __init__(
        self, run: Run, world: World, journal: Journal, behaviour: Behaviour, *, epoch: int = 0
    ) -> None:
        """Compose a bare exchange; `begin` or `time_travel.fork` gives it a state."""
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
            receivers=[one.address for one in run.scenario.world.receivers],
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
        self._on_call = [hook.on_call for hook in extensions if hook.hears("on_call")]
        self._askers = [hook.next_input for hook in extensions if hook.hears("next_input")]
        self.input_effects = InputEffects(
            self.exchange, self.hub, self.pipeline, behaviour.finishers, extensions
        )
        self._causes = Causes(self.exchange, self.hub, extensions, journal)
        self._inputs = merge_owners(extension.inputs for extension in extensions)
        self._timers = self._timer_handlers()
        self.travelled = True  # something may be asked for before the next input enters
        self.snapshots: Snapshots

    def _timer_handlers(self) -> OutcomeHandlers:
        """Who acts on each kind of timer; a kind with two owners is an error."""
        core = {kind: _without_outcome(handler) for kind, handler in self.exchange.timers.items()}
        extensions = (extension.timers for extension in self.extensions.values())
        return merge_owners((core, self.hub.timers, *extensions))

    def begin(self) -> None:
        """Become the world as the scenario has it at its start."""
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
        """Refuse timers of kinds that nobody owns from here on; one that is pending is an error."""
        self.exchange.ctx.timers.close(self._timers)

    # ---- what others ask of it

    @property
    def scenario(self) -> Scenario:
        """The scenario that it runs."""
        return self.run.scenario

    @property
    def settings(self) -> Settings:
        """How the process around it behaves."""
        return self.run.settings

    @property
    def signing_secrets(self) -> dict[str, bytes]:
        """Clear signing keys of clients by their fingerprints."""
        return self.run.signing_secrets

    @property
    def epoch(self) -> int:
        """How often it has travelled in time."""
        return self.pipeline.replies.epoch

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.exchange.ctx.now

    @property
    def branch(self) -> str:
        """Name of the branch that it is on."""
        return self.journal.branch.name

    def snapshot(self, *, log: bool = False, copies: Mapping[int, Order] | None = None) -> Snapshot:
        """The state right now, with the calls so far where another branch may come back to it;
        `copies` of live orders by their `seq` are shared where they are equal.
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
        """An account by its resource name, or by that of a user or scripted participant.

        NotFound when there is none.
        """
        user = self.world.parties.user(name) or self.exchange.firms.user(name)
        account = user.account if user else name
        if account not in self.exchange.trading.ledger:
            raise NotFound(
                f"no account is called {name}",
                rule="control",
                remedy="GET /_sim/v1/state/accounts lists them",
            )
        return account

    # ---- inputs

    def enter(self, input_: Input) -> Outcome:
        """Handle an input from outside, and everything that extensions ask for.

        The outcome is that of the input, with the effects and timers of all of them in order.
        """
        early = self.handle_asked() if self.travelled else []
        self.travelled = False
        try:
            outcome = self.handle(input_)
        except BaseException as error:
            if early:
                self.journal.end(error)  # nobody will hear of what came of them
            raise
        late = self.handle_asked() if self.next_input() is not None else []
        if early or late:
            outcome.take((*early, outcome, *late))
        return outcome

    def handle_asked(self) -> list[Outcome]:
        """Handle everything that extensions ask for."""
        self.journal.check_open()
        outcomes = []
        while (input_ := self.next_input()) is not None:
            outcomes.append(self.handle(input_))
        return outcomes

    def next_input(self) -> Input | None:
        """The input that comes before anything else because an extension asks for it, or None."""
        try:
            for asks in self._askers:
                if (input_ := asks()) is not None:
                    return input_
        except BaseException as error:
            self.journal.end(error)  # it would fail again before every further input
            raise
        return None

    def handle(self, input_: Input) -> Outcome:
        """Handle one redacted input to completion and journal it with everything that followed.

        An input that cannot be encoded is an error that changes nothing. What fails after that has
        left something half done, so the run ends: the journal holds every input before this one,
        and each further one is RunEnded.
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
            events = self.input_effects.finish(input_, outcome)
            record = record_of(outcome, events, self.log.last(outcome.seq), ctx.now)
            entry = _encode(record)
            journal.append(at, entering, entry, aside, ctx.now, ctx.timers.scheduled, outcome.cause)
        except BaseException as error:
            journal.end(error)
            raise
        if self.snapshots.due(journal.seq) and not journal.shadow:
            self._keep_snapshot(outcome)
        return outcome

    def _keep_snapshot(self, outcome: Outcome) -> None:
        """Keep a snapshot. The input is journalled: one that cannot be made is a warning."""
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
        """Fire every timer that is due, each at its own instant, then stand at `to`; or stop at a
        timer that made an extension ask for an input.
        """
        exchange, ctx = self.exchange, self.exchange.ctx
        before, latest = ctx.timers.scheduled, 0
        while (timer := self._next_timer(to)) is not None:
            if timer.due > ctx.now:
                ctx.now = timer.due
            if exchange.postpones(timer):
                ctx.timers.suspend(timer)
                continue
            outcome.fired.append(Fired(ctx.now, timer.kind, timer.subject))
            if latest < timer.seq < before:
                latest = timer.seq
            self._timers[timer.kind](timer, outcome)
            self.input_effects.publish(outcome)
            if self.next_input() is not None:
                break
        else:
            ctx.now = max(ctx.now, to)
        if latest:
            outcome.cause = self._causes.of_timer(latest)

    def _next_timer(self, to: Instant) -> Timer | None:
        """The next timer that is due.

        Quotes score by how long they stand, so before time moves the exchange learns how far.
        """
        exchange = self.exchange
        timers = exchange.ctx.timers
        if exchange.scoring.stale:
            due = timers.next_due()
            exchange.scoring.time_moves(to if due is None else min(due, to))
        return timers.pop_due(to)

    def _open_stream(self, opened: StreamOpened, outcome: Outcome) -> None:
        """Begin a stream as part of the input under way.

        The outcome gets its id and first frames, or the reply that refuses it or is a download.
        """
        admitted = self.pipeline.open(opened)
        if isinstance(admitted, Reply):
            outcome.reply = admitted
            return
        try:
            outcome.stream, effects = self.hub.open(admitted)
            outcome.effects += effects
            self.pipeline.log_subscription(opened, admitted)
        except Refusal as refusal:
            outcome.reply = self.pipeline.refuse_subscription(opened, admitted, refusal)

    def _perform(self, controlled: Controlled, outcome: Outcome) -> object:
        """Perform an operator's action; the answer, or the refusal as a value."""
        body = json.decode(controlled.arguments)
        try:
            return self.behaviour.act(self, controlled.action, controlled.subject, body, outcome)
        except Refusal as refusal:
            return refusal


def _without_outcome(handler: Callable[[Timer], None]) -> Callable[[Timer, Outcome], None]:
    """Handle a timer without the outcome of the input under way, which the core does not know."""
    return lambda timer, _outcome: handler(timer)
