"""One exchange as a calculation: every input enters here, is redacted, journalled and handled to
completion; out come a reply and effects.

`Simulation` is synchronous and single-threaded. It reads no clock and opens no socket; the
journal's file and the caller's wall clock are handed in. The same scenario, seed and inputs give
the same journal, byte for byte but for what clients draw at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Raw, json

from sim.actors.operator import views
from sim.actors.operator.actions import act
from sim.actors.participants.participants import Participants
from sim.actors.script.runner import Script
from sim.analysis import catalogues
from sim.api.pipeline import redaction
from sim.api.pipeline.inputs import (
    Advanced,
    AnswerDue,
    Controlled,
    Effect,
    Fired,
    Input,
    Outcome,
    Post,
    Reply,
    Resolve,
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
from sim.api.registry import FINISHERS, handlers
from sim.api.streams.hub import Hub
from sim.contract.contract import Plane, load_contract
from sim.core.catalogue.assumptions import STREAM_BUFFER_MESSAGES
from sim.core.exchange import Exchange
from sim.core.identity.credentials import Environment
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound, Refusal
from sim.core.trading.synchronous import PendingAnswer
from sim.engine import time_travel
from sim.engine.journal_record import event_record, library_versions, record_of
from sim.engine.snapshots import Snapshots
from sim.kernel.instants import OUT_OF_RANGE, Instant, Span, format_instant, is_supported_instant
from sim.kernel.journal import Header, Journal
from sim.kernel.timers import Timer, merge_owners
from sim.world.populate import populate
from sim.world.world import World, build_world

if TYPE_CHECKING:
    from sim.analysis.conformance import Report
    from sim.scenario.scenario import Scenario


class Simulation:
    """The exchange, its clock and its journal. See docs/explanation/architecture.md for what enters and what
    comes out.
    """

    exchange: Exchange
    hub: Hub
    pipeline: Pipeline
    script: Script
    participants: Participants

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int | None = None,
        start: Instant | None = None,
        journal: BinaryIO | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.scenario = scenario
        self.settings = settings or Settings()
        self.seed = scenario.seed if seed is None else seed
        self.start = scenario.clock.start if start is None else start
        self.contract = load_contract()
        self.signing_secrets: dict[str, bytes] = {}
        self.journeys = 0  # in time, so far
        self.journal = Journal(self._header(), journal)
        self._encode = json.Encoder().encode
        self.begin()

    # ---- construction

    def _header(self) -> Header:
        return Header(
            name=self.scenario.name,
            seed=self.seed,
            start=self.start,
            scenario=Raw(self.scenario.source()),
            scenario_digest=self.scenario.digest,
            libraries=library_versions(),
            settings=self.settings.recorded(),
        )

    def begin(self) -> None:
        """Become the world as the scenario has it at its start."""
        self.world: World = build_world(self.scenario, self.start)
        self.assemble()
        populate(self.exchange, self.world, self.scenario)
        self.script.attend()
        self.participants = Participants(self)
        self.participants.begin()
        self.own_timers()
        self.exchange.flush()
        self.exchange.take_events()
        self.branch, self.branches = "main", 0
        self.snapshots = Snapshots(time_travel.moment_of(self))

    def assemble(self) -> None:
        """A bare exchange with everything around it."""
        environment = Environment.called(self.scenario.environment)
        self.exchange = Exchange(
            seed=self.seed,
            now=self.start,
            environment=environment,
            webhook_hosts=self.settings.webhook_hosts,
        )
        self.exchange.credentials.addresses = self.settings.api_addresses
        self.log = RequestLog()
        self.hub = Hub(self.exchange, self.contract)
        self.pipeline = Pipeline(self.exchange, self.contract, handlers(), self.log, self.settings)
        self.script = Script(self)

    def own_timers(self) -> None:
        """Find the one owner of every kind of timer; the queue takes no other kind from here on."""
        core = {kind: _alone(handler) for kind, handler in self.exchange.timers.items()}
        extensions = (self.hub.timers, self.participants.timers, self.script.timers)
        self._timers = merge_owners((core, *extensions))
        self.exchange.ctx.timers.close(self._timers)

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.exchange.ctx.now

    @property
    def seq(self) -> int:
        """Number of inputs handled on this branch."""
        return self.journal.seq

    @property
    def digest(self) -> str:
        """Digest of everything so far, 64 hexadecimal digits."""
        return self.journal.digest

    def next_due(self) -> Instant | None:
        """When the next thing happens by itself, or None; never in the past, for what waited for
        the end of maintenance is due now.
        """
        due = self.exchange.ctx.timers.next_due()
        return None if due is None else max(due, self.now)

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
        """One HTTP request. `headers` is case-insensitive; `wall` is the shell's wall clock, used
        only to judge the freshness of signatures.
        """
        return self.handle(
            redaction.redact_rest(
                self, plane, verb, path, query, headers, body, peer, wall, oversize
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
        """One unary gRPC request."""
        return self.handle(redaction.redact_rpc(method, metadata, message, peer))

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
        """A stream begins. Refused, or a download: `reply` is set. Begun: `stream` is its id and
        the first frames are among the effects.
        """
        return self.handle(
            redaction.redact_open(self, method, metadata, message, peer, wall, web_socket)
        )

    def frame(self, stream: int, message: bytes) -> Outcome:
        """A client's frame on a stream."""
        return self.handle(StreamFrame(stream, message))

    def hangup(self, stream: int) -> Outcome:
        """The client's side of a stream is gone."""
        return self.handle(StreamHungUp(stream))

    def advance_to(self, to: Instant) -> Outcome:
        """Move time to an instant; going back is refused (Conflict): use `rewind`."""
        if to < self.now:
            raise Conflict(
                f"time only moves forward: now is {format_instant(self.now)}",
                remedy="rewind to go back",
            )
        if not is_supported_instant(to):
            raise InvalidRequest(OUT_OF_RANGE)
        return self.handle(Advanced(to))

    def control(self, action: str, subject: str, arguments: dict[str, object]) -> Outcome:
        """A tester's or operator's action. Refusals are raised, after they were journalled."""
        outcome = self.handle(
            Controlled(action, subject, json.encode(arguments, order="sorted").decode())
        )
        if isinstance(outcome.value, Refusal):
            raise outcome.value
        return outcome

    def answer(
        self, attempt: str, status: int, error: str = "", retry_after: Span | None = None
    ) -> Outcome:
        """What a webhook receiver said."""
        return self.handle(WebhookAnswered(attempt, status, error, retry_after))

    def answer_due(self, pending_on: str) -> Outcome:
        """A call was held for the clock, which nobody moved: its answer leaves as things stand.
        Nothing happens when it has left already.
        """
        return self.handle(AnswerDue(pending_on))

    def handle(self, given: Input) -> Outcome:
        """Handle one redacted input to completion and journal it with everything that came of it."""
        exchange = self.exchange
        ctx = exchange.ctx
        outcome = Outcome(seq=self.journal.seq + 1)
        ctx.trace_id = f"{outcome.seq:016x}"
        ctx.service_time = 0
        at = ctx.now
        self._dispatch(given, outcome)
        if self.script.waits and isinstance(given, RestCall | RpcCall):
            self.script.heard_call(self.log.last(outcome.seq), outcome)
        events = self._settle(outcome)
        digested, aside = without_nonce(given)
        self.journal.append(
            at,
            self._encode(digested),
            self._encode(record_of(outcome, events, self.log.last(outcome.seq), ctx.now)),
            aside,
            ctx.now,
        )
        if (
            self.snapshots.due(self.journal.seq)
            and not self.journal.shadow
            and not exchange.order_sessions.blocks_snapshots
        ):
            self.snapshots.keep(time_travel.moment_of(self))
        return outcome

    def _dispatch(self, given: Input, outcome: Outcome) -> None:
        match given:
            case RestCall():
                outcome.reply = self.pipeline.rest(given)
            case RpcCall():
                outcome.reply = self.pipeline.rpc(given)
            case Advanced():
                self._advance(given.to, outcome)
            case StreamOpened():
                self.open_stream(given, outcome)
            case StreamFrame():
                outcome.effects += self.hub.frame(given.stream, given.message)
            case StreamHungUp():
                self.hub.hangup(given.stream)
            case Controlled():
                outcome.value = self._controlled(given, outcome)
            case WebhookAnswered():
                self.exchange.webhooks.answer(
                    given.attempt, given.status, given.error, given.retry_after
                )
            case AnswerDue():
                self.exchange.awaited.give_up(given.pending_on)

    def _advance(self, to: Instant, outcome: Outcome) -> None:
        ctx = self.exchange.ctx
        while (timer := self._next_timer(to)) is not None:
            ctx.now = max(ctx.now, timer.due)
            if self.exchange.postpones(timer):
                ctx.timers.suspend(timer)
                continue
            outcome.fired.append(Fired(ctx.now, timer.kind, timer.subject))
            self._timers[timer.kind](timer, outcome)
            self.publish(outcome)
        ctx.now = max(ctx.now, to)

    def _next_timer(self, to: Instant) -> Timer | None:
        """The next timer that is due; first the exchange is told how far time moves, where
        something depends on how long it stays as it is.
        """
        exchange = self.exchange
        timers = exchange.ctx.timers
        if exchange.scoring.stale:
            due = timers.next_due()
            exchange.scoring.time_moves(to if due is None else min(due, to))
        return timers.pop_due(to)

    def open_stream(self, given: StreamOpened, outcome: Outcome) -> None:
        """Begin a stream as part of the input under way: its id and first frames, or the reply that
        refuses it or is all there is to it.
        """
        admitted = self.pipeline.open(given)
        if isinstance(admitted, Reply):
            outcome.reply = admitted
            return
        try:
            outcome.stream, effects = self.hub.open(admitted)
            outcome.effects += effects
            self.pipeline.log_subscription(given, admitted)
        except Refusal as refusal:
            outcome.reply = self.pipeline.refuse_subscription(given, admitted, refusal)

    def _controlled(self, given: Controlled, outcome: Outcome) -> object:
        try:
            return act(self, given.action, given.subject, json.decode(given.arguments), outcome)
        except Refusal as refusal:
            return refusal

    def publish(self, outcome: Outcome) -> None:
        """Tell streams what has happened up to now, with the instant at which it happened, and the
        script, which may do something about it.
        """
        exchange = self.exchange
        exchange.flush()
        while unsent := exchange.ctx.events[exchange.published :]:
            exchange.published = len(exchange.ctx.events)
            outcome.effects += self.hub.publish(unsent)
            if self.participants.wants_events:
                self.participants.hear(unsent)
            if self.script.waits:
                self.script.hear(unsent, outcome)
                exchange.flush()
        for wait in exchange.awaited.take_ended():
            self._answer_held(wait, outcome)

    def _answer_held(self, wait: PendingAnswer, outcome: Outcome) -> None:
        """The answer somebody was held for, as things are at this instant."""
        finisher = FINISHERS["synchronous order"]
        answer = finisher.build(self.exchange, wait)
        reply = self.pipeline.replies.complete(finisher.plane, answer, wait.request_id)
        if isinstance(answer, Refusal):
            self.pipeline.log_late_refusal(answer, reply, wait.orders)
        if wait.clock_stalled:
            reply.headers = (*reply.headers, ("x-sim-clock", "stood still"))
        outcome.effects.append(Resolve(wait.name, reply))
        self.script.answered(wait.name, reply, outcome)

    def _settle(self, outcome: Outcome) -> list[Any]:
        exchange = self.exchange
        if exchange.ctx.events or exchange.trading.books.unannounced or exchange.awaited.ended:
            self.publish(outcome)
        webhooks = exchange.webhooks
        if webhooks.outbox or webhooks.settled:
            for attempt in webhooks.take_attempts():
                outcome.effects.append(
                    Post(
                        attempt.id,
                        attempt.url,
                        attempt.event_id,
                        attempt.body,
                        attempt.secret,
                        attempt.timeout,
                    )
                )
            for registration in webhooks.take_settled():
                finisher = FINISHERS["webhook registration"]
                answer = finisher.build(exchange, registration)
                reply = self.pipeline.replies.complete(
                    finisher.plane, answer, registration.request_id
                )
                outcome.effects.append(Resolve(registration.id, reply))
        if outcome.effects:
            self.script.absorb(outcome)
        return (
            [event_record(event) for event in exchange.take_events()] if exchange.ctx.events else []
        )

    # ---- time travel (`travel.py`); whoever travels ends every stream with UNAVAILABLE

    def snapshot(self, name: str) -> None:
        """Remember this moment under a name."""
        time_travel.snapshot(self, name)

    def restore(self, name: str) -> list[Effect]:
        """Go to a named moment, back or forward. NotFound when there is none of this name."""
        return time_travel.restore(self, name)

    def reset(self, seed: int | None = None) -> list[Effect]:
        """Back to the scenario's start, with the same seed unless one is given. Tokens, limits,
        sessions start afresh.
        """
        return time_travel.reset(self, seed)

    def rewind(
        self, *, to: Instant | None = None, seq: int | None = None
    ) -> tuple[str, list[Effect]]:
        """Go back to right after an input, or to an instant with every input at it. Returns the new
        branch's name and what ends.
        """
        effects = time_travel.rewind(self, to, seq)
        return self.branch, effects

    def fork(
        self, *, journal: BinaryIO | None = None, settings: Settings | None = None
    ) -> Simulation:
        """An independent simulation in the same state: same seed, instant, digest, request log,
        snapshots; tokens issued so far hold in it too.

        The same inputs lead both to the same digest. It begins without the streams that are open
        here: those are connections to somebody. With a file its journal is written there from the
        start of the run, so that it replays alone; without, what lies before the fork is read from
        this simulation's. `settings` may differ in what the journal's header does not keep, such as
        addresses.
        """
        return time_travel.fork(self, journal, settings)

    # ---- reading

    def rpc_kind(self, method: str) -> str | None:
        """ "unary", "server" or "bidi" for a gRPC method served now, else None."""
        operation = self.contract.by_rpc(method)
        return operation.kind if operation is not None and operation.exists_at(self.now) else None

    def rpc_serves(self, service: str) -> bool | None:
        """Whether a gRPC service answers now, which none does during maintenance (rule W8); None
        for one there is not. "" is all of them.
        """
        if service and not self.contract.has_service(service):
            return None
        return not self.exchange.maintenance.active

    @property
    def stream_buffer(self) -> int:
        """How many messages a stream that begins now may have waiting for its reader."""
        return self.exchange.ctx.assumptions.number(STREAM_BUFFER_MESSAGES)

    def secret_for(self, fingerprint: str) -> bytes | None:
        """Signing secret behind a fingerprint; None in a replay, which has no secrets."""
        return self.signing_secrets.get(fingerprint)

    def account_named(self, name: str) -> str:
        """An account by its resource name, or that of a user or scripted participant. NotFound when
        there is none.
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

    def explain(self, subject: str) -> dict[str, Any] | None:
        """Why a call was refused, or an order, stream, account or instrument is as it is; see
        `sim.analysis.explain`. None when nothing is called that.
        """
        from sim.analysis.explain import explain

        return explain(self, subject)

    def judge(self, *, caller: str = "", rules: tuple[str, ...] = ()) -> Report:
        """What clients did, held against the documented rules for clients; see
        `sim.analysis.conformance`. NotFound for a rule that there is none of.
        """
        from sim.analysis.conformance import check

        return check(self, caller=caller, rules=rules)

    def streams(self) -> list[dict[str, Any]]:
        """Streams that are open."""
        return self.hub.describe()

    def skip_to_head(self, stream: int, waiting: list[bytes]) -> list[bytes] | None:
        """What a reader that fell behind gets in the place of the frames that wait for it; None
        unless its stream asked to skip. Changes nothing.
        """
        return self.hub.skip_to_head(stream, waiting)

    def deliveries(self) -> list[dict[str, Any]]:
        """The webhook delivery log."""
        return views.deliveries(self.exchange)

    def state(self, what: str) -> object:
        """A read-only view: books, orders, accounts, sessions, limits, breakers, instruments, ...
        NotFound for anything else.
        """
        return views.view(self, what)

    def catalogue(self, kind: str) -> list[dict[str, Any]]:
        """Operations, quirks, faults or assumptions, with the values in force."""
        return catalogues.rows(kind, self)

    def metrics(self) -> dict[str, float]:
        """Counters about itself, by Prometheus name with labels."""
        return views.metrics(self)

    def journal_lines(self, since: int = 0) -> Iterator[bytes]:
        """Journal lines after the first `since` ones, as JSON."""
        return self.journal.lines(since)


def _alone(handler: Callable[[Timer], None]) -> Callable[[Timer, Outcome], None]:
    """Handle a timer without the outcome of the input under way."""
    return lambda timer, outcome: handler(timer)
