"""One episode: turns moves into inputs of a simulation, and checks every outcome."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field, json
from msgspec.structs import replace

from sim.api.pipeline.inputs import (
    Advanced,
    AnswerDue,
    Close,
    Controlled,
    Effect,
    Input,
    Outcome,
    Post,
    Reply,
    Resolve,
    RestCall,
    StreamHungUp,
    StreamOpened,
    WebhookAnswered,
)
from sim.api.pipeline.verification import bearer
from sim.core.model.refusals import Refusal
from sim.evidence.witness.observation import ClientObservation
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import DAY, Span, is_supported_instant, parse_span
from sim.read.features import FeatureReader
from sim.run.actors.operator.action import read_entry
from sim.run.actors.script.calls import ClientCalls
from sim.run.simulation import Simulation
from sim.search.hunt.agreement import QUESTIONS, Agreement
from sim.search.hunt.clients import PEER, Clients
from sim.search.hunt.judges import Judges
from sim.search.hunt.live_moves import LIVE_MOVES
from sim.search.hunt.live_view import LiveView, Vocabulary
from sim.search.hunt.oracles import read_download
from sim.search.hunt.sequences import DrawnMove
from sim.search.hunt.troubles import JUDGE_ERROR, Trouble, internal_error, judge_error
from sim.search.hunt.watchdog import Watchdog
from sim.search.moves.table import MOVES
from sim.search.moves.view import Act, Document, Steps
from sim.world.format.steps import Step

_HOP = 3 * DAY  # an open stream sends some ten thousand heartbeats and books in this time
DUE_MAX = 20  # maximum number of due instants that pass in one gap
FRAMES_READ = 10  # frames of an operation from which values are learned
_TOKENS_MAX = 4
_TOKENS = ("access_token", "participantToken")


class EpisodeResult(Struct):
    """The result of an episode: the features of each move, and what is wrong.

    `inputs` counts handled inputs. `over` says that the run has ended. `cpu_s` is the processor
    time in seconds. `journals` are those of the episode and of its replay if something is wrong.
    """

    features: list[list[str]] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    inputs: int = 0
    over: bool = False
    cpu_s: float = 0.0
    journals: list[bytes] = field(default_factory=list)

    @property
    def wrong(self) -> bool:
        """Whether something is wrong with the exchange, and not only with a judge."""
        return any(trouble.kind != JUDGE_ERROR for trouble in self.troubles)


class Episode:
    """Carries out the moves of one episode. The simulation belongs to it from then on."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._view = LiveView(simulation, Vocabulary(simulation))
        self._clients = Clients(self._view)
        self._script = ClientCalls(simulation.engine)
        self._agreement = Agreement(self._clients, self._view, self._enter, self._take)
        self._reader = FeatureReader(simulation)
        self._judges = Judges(simulation)
        self._input = 0  # the number of the current one
        self._values: dict[str, str] = {}  # saved from answers, by the names of `${name}`
        self._stream_names: dict[int, str] = {}
        self._posts: list[Post] = []
        self._held: list[str] = []
        self._features: list[str] = []
        self._frames: dict[str, int] = {}
        self.result = EpisodeResult()

    def run(self, moves: Sequence[DrawnMove]) -> EpisodeResult:
        """Carry out moves until something is wrong, and end the episode."""
        before = self._simulation.seq
        with Watchdog(lambda: self._input).watching():
            for move in moves:
                self._features = []
                self.result.features.append(self._features)
                try:
                    self._move(move)
                except Exception as error:
                    trouble = judge_error(f"move {move.kind}", move.kind, error)
                    self.result.troubles.append(trouble)
                    break
                if self.result.wrong:
                    break
            if not self.result.over:
                self._end()
        self.result.inputs = self._simulation.seq - before
        return self.result

    def _end(self) -> None:
        """Close every stream and check everything once more."""
        for number in self._clients.open:
            self._enter(StreamHungUp(number, PEER))
        if not self.result.wrong:
            self.result.troubles += self._judges.at_the_end()

    # ---- moves

    def _move(self, move: DrawnMove) -> None:
        choices = move.choices()
        self._wait(move.gap)
        if self.result.over:
            return
        kind = move.kind
        if kind in MOVES:
            if MOVES[kind].is_possible(self._view):
                self._take(choices, MOVES[kind].draw(choices, self._view))
        elif kind in LIVE_MOVES:
            self._take(choices, LIVE_MOVES[kind](choices, self._view))
        elif kind in QUESTIONS:
            self.result.troubles += self._agreement.ask(kind, choices)
        elif kind == "wait":
            if self._held and choices.chance(1, 4):
                self._enter(AnswerDue(self._held.pop()))
        else:
            for input_ in self._clients.inputs(kind, choices):
                self._enter(input_)
        self._answer_webhooks(choices)

    def _take(self, choices: RandomStream, steps: Steps) -> None:
        """Take the steps of a move, each in the state in which the one before left the exchange."""
        if not self._view.markets():
            return
        for step in steps:
            if isinstance(step, Act):
                arguments = json.encode(step.body, order="sorted").decode()
                self._enter(Controlled(step.action, step.subject, arguments, PEER))
            elif "advance" in step:
                self._wait(parse_span(step["advance"]), arrives=True)
            else:
                self._client_step(step)
            self._answer_webhooks(choices)
            if self.result.over:
                return

    def _client_step(self, document: Document) -> None:
        """Do what a client does in a step of a scenario, unless it needs a value of an answer that
        did not come.
        """
        step = self._script.filled(read_entry(Step, document), self._values)
        if self._script.unsaved(step):
            return
        try:
            inputs = self._script.inputs(step)
        except Refusal:
            return
        while inputs:
            input_ = replace(inputs.pop(0), peer=PEER)
            outcome = self._enter(input_)
            if outcome is None:
                return
            if isinstance(input_, StreamOpened):
                if not outcome.stream or step.subscribe is None:
                    return
                self._stream_names[outcome.stream] = step.subscribe.name
                inputs = self._script.opened(step.subscribe, outcome.stream, inputs)
            elif step.save and outcome.reply is not None and not outcome.reply.pending_on:
                reply = self._script.readable(input_, outcome.reply)
                list(self._script.keep(step.save, reply, self._values))

    def _wait(self, gap: Span, *, arrives: bool = False) -> None:
        """Let a span pass, or a number of due instants. The first few pass one by one; a wait that
        `arrives` passes the others too.
        """
        simulation = self._simulation
        until = simulation.now + max(gap, 0)
        left = DUE_MAX if gap > 0 else -gap
        while left and not self.result.over:
            due = simulation.next_due()
            if due is None or (gap > 0 and due > until):
                break
            self._enter(Advanced(due))
            left -= 1
        if gap > 0 and (left or arrives) and is_supported_instant(until):
            while simulation.now < until - _HOP and not self.result.over:
                self._enter(Advanced(simulation.now + _HOP))
            self._enter(Advanced(max(until, simulation.now)))

    def _answer_webhooks(self, choices: RandomStream) -> None:
        """Answer pending webhook attempts, usually with success."""
        posts, self._posts = self._posts, []
        for post in posts:
            status = choices.choice((200, 200, 200, 200, 204, 500, 404, 0))
            error = "" if status else "connection refused"
            if choices.chance(1, 12):
                self._posts.append(post)
            elif not self.result.over:
                self._enter(WebhookAnswered(post.attempt, status, error, None, PEER))

    # ---- inputs

    def _enter(self, input_: Input) -> Outcome | None:
        """Enter an input and check its outcome. Return None if it was refused or failed."""
        if self.result.over:
            return None
        number = self._input = self._simulation.seq + 1
        try:
            outcome = self._simulation.enter(input_)
            read_download(outcome)
        except Refusal as refusal:
            name = input_.action if isinstance(input_, Controlled) else type(input_).__name__
            feature = f"refusal:{name}|{refusal.rule}"
            self._features += (feature, f"rule:{refusal.rule}")
            return None
        except Exception as error:
            self.result.troubles.append(internal_error(number, input_, error))
            self.result.over = True
            return None
        finally:
            self._input = 0
        self._check(input_, outcome)
        return outcome

    def _check(self, input_: Input, outcome: Outcome) -> None:
        """Note what an outcome shows, and what is wrong with it."""
        if isinstance(input_, StreamHungUp):
            self._script.streams.leave(input_.stream)
        self._note_reply(input_, outcome.reply)
        for effect in outcome.effects:
            self._note_effect(effect)
        self._features += self._reader.after_input(outcome)
        self.result.troubles += self._judges.after_input(input_, outcome)
        self._learn_values()

    def _note_reply(self, input_: Input, reply: Reply | None) -> None:
        if reply is None:
            return
        if reply.pending_on:
            self._held.append(reply.pending_on)
        if isinstance(input_, RestCall) and reply.journal is not None and reply.status == 200:
            answer = json.decode(reply.body)
            for token in filter(None, map(answer.get, _TOKENS)):
                tokens = self._clients.callers.tokens
                tokens.append(bearer(f"Bearer {token}"))
                del tokens[:-_TOKENS_MAX]

    def _note_effect(self, effect: Effect) -> None:
        """Note the end of a stream, a webhook attempt, or the answer to a pending call."""
        if isinstance(effect, Close):
            self._script.streams.leave(effect.stream)
        elif isinstance(effect, Post) and not effect.receiver:
            self._posts.append(effect)
        elif isinstance(effect, Resolve) and effect.pending_on in self._held:
            self._held.remove(effect.pending_on)

    def _learn_values(self) -> None:
        """Learn values from what clients observed, and note the kinds of frames."""
        for observation in self._judges.witness.latest:
            if observation.body is not None and self._is_read(observation):
                self._view.vocabulary.learn(observation.body, observation.operation.name)
            if observation.kind == "frame" and isinstance(observation.body, dict):
                self._keep_resume_token(observation)

    def _keep_resume_token(self, observation: ClientObservation) -> None:
        token = observation.body.get("resumeToken")
        if token and observation.stream is not None:
            name = self._stream_names.get(observation.stream.number, "")
            self._view.tokens[name] = token

    def _is_read(self, observation: ClientObservation) -> bool:
        """Return whether to learn from an observation.

        Of frames, only from the first of each operation.
        """
        if observation.kind == "answer":
            return True
        name = observation.operation.name
        self._frames[name] = self._frames.get(name, 0) + 1
        return self._frames[name] <= FRAMES_READ
