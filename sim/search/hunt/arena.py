"""Carries out one episode: forks a checkpoint, turns genes into inputs, checks outcomes."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, json

from sim.api.pipeline.inputs import (
    Advanced,
    AnswerDue,
    Close,
    Controlled,
    Input,
    Outcome,
    Post,
    Reply,
    Resolve,
    RestCall,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
    WebhookAnswered,
)
from sim.api.pipeline.verification import bearer
from sim.contract.contract import Operation, load_contract
from sim.core.model.refusals import Refusal
from sim.evidence.witness.journal import Watch
from sim.evidence.witness.observation import ClientObservation
from sim.kernel.entropy import RandomStream
from sim.kernel.instants import is_supported_instant
from sim.read.decisions import decisions_in
from sim.run.simulation import Simulation
from sim.search.hunt.agreement import PAGING, disagreement, page_differences, pageable, readable
from sim.search.hunt.callers import PEER, CallIdentity
from sim.search.hunt.clients import Clients, encoded
from sim.search.hunt.courses import Courses
from sim.search.hunt.episode_checks import EpisodeChecks, of_frame
from sim.search.hunt.episode_result import EpisodeResult, named, work_of
from sim.search.hunt.genes import PART, Gene
from sim.search.hunt.lifecycle_genes import lifecycle_steps
from sim.search.hunt.operators import Operators
from sim.search.hunt.oracles import Trouble
from sim.search.hunt.requests import Requests
from sim.search.hunt.vocabulary import Vocabulary, snake
from sim.search.hunt.watchdog import Watchdog

DUE_MAX = 20  # maximum number of due instants that pass in one gap
RESUME_TOKEN = 500  # bytes; a request at least this long holds a resume token (rule S4)
FRAMES_READ = 10  # frames of an operation from which values are learned
_CHUNKS_MAX = 200  # parts of a download that are read


class ArenaCheckpoint(Struct):
    """A simulation at one moment, without open streams, and the values that clients know there."""

    simulation: Simulation
    vocabulary: Vocabulary
    tokens: list[VerifiedCredential] = []

    def fork(self) -> ArenaCheckpoint:
        """Return an independent copy of this moment."""
        return ArenaCheckpoint(self.simulation.fork(), self.vocabulary.copy(), list(self.tokens))


class Arena:
    """Carries out the genes of one episode. The arena owns the checkpoint from then on.

    Without `looking` nothing is checked: the genes only lead to a moment that another episode has
    already checked.
    """

    def __init__(self, checkpoint: ArenaCheckpoint, *, looking: bool = True) -> None:
        self._checkpoint = checkpoint
        simulation = self._simulation = checkpoint.simulation
        requests = Requests(checkpoint.vocabulary)
        self._operators = Operators(simulation, checkpoint.vocabulary)
        self._clients = Clients(simulation, requests, self._operators)
        self._clients.callers.tokens = checkpoint.tokens
        self._courses = Courses(simulation, self._clients)
        self._requests = requests
        self._checks = EpisodeChecks(simulation) if looking else None
        self._watch = Watch(simulation)
        self._posts: list[Post] = []
        self._held: list[str] = []
        self._sent: set[str] = set()
        self._features: list[str] = []
        self._frames: dict[str, int] = {}
        self._watchdog = Watchdog()
        self._odd = (
            False  # whether a fault or a quirk had an effect since the current comparison began
        )
        self.result = EpisodeResult()

    def run(self, genes: list[Gene]) -> EpisodeResult:
        """Carry out genes until something is wrong, and end the episode."""
        before = self._simulation.seq
        with self._watchdog.watching():
            for gene in genes:
                self._features = []
                self._gene(gene)
                self.result.features.append(self._features)
                if self.result.troubles:
                    break
            self._features = self.result.features[-1] if self.result.features else []
            if not self.result.over:
                self._end()
        self.result.inputs = self._simulation.seq - before
        return self.result

    def _end(self) -> None:
        """Close every stream and check everything once more."""
        self._hang_up()
        if self._checks is not None and not self.result.troubles:
            self.result.troubles += self._checks.at_the_end()

    def _hang_up(self) -> None:
        """Close every stream and forget pending work."""
        for number in list(self._clients.open):
            self._enter(StreamHungUp(number, PEER))
        self._posts.clear()
        self._held.clear()
        self._clients.forget()

    # ---- genes

    def _gene(self, gene: Gene) -> None:
        choices = gene.choices()
        self._wait(gene.gap)
        words = gene.kind.split(" ")
        if gene.kind == PART:
            self._hang_up()
        elif words[0] == "do":
            self._operate(choices, words[1])
        elif words[0] == "course":
            self._course(choices, words[1])
        elif words[0] == "edge":
            self._lifecycle_edge(choices, words[1], words[2])
        elif gene.kind == "order script":
            self._operate(choices, "order.place")
        elif gene.kind == "agree":
            self._agree(choices)
        elif gene.kind == "pages":
            self._pages(choices)
        elif gene.kind == "wait":
            self._answer_held(choices)
        elif not self.result.over:
            for input_ in self._clients.inputs(gene.kind, choices):
                self._enter(input_)
        self._answer_webhooks(choices)

    def _operate(self, choices: RandomStream, action: str) -> None:
        if action == "order.place" and not self._operators.markets():
            return
        self._act(action, *self._operators.draw(choices, action))

    def _lifecycle_edge(self, choices: RandomStream, was: str, to: str) -> None:
        """Move a market along an edge of the lifecycle."""
        for deed in lifecycle_steps(choices, was, to, self._simulation.now):
            if deed.wait:
                self._wait(deed.wait)
            else:
                self._act(deed.action, deed.subject, deed.body)
                if deed.action == "instrument.create":
                    self._checkpoint.vocabulary.add("symbol", deed.body["symbol"])

    def _course(self, choices: RandomStream, name: str) -> None:
        """Enter the inputs of a course one by one.

        The course sees each outcome before the next input.
        """
        if not self._operators.markets():
            return
        course = self._courses.inputs(choices, name)
        outcome: Outcome | None = None
        while not self.result.over:
            try:
                input_ = course.send(outcome)
            except StopIteration:
                return
            outcome = self._enter(input_)
            self._answer_webhooks(choices)

    def _act(self, action: str, subject: str, body: dict[str, Any]) -> None:
        self._enter(Controlled(action, subject, json.encode(body, order="sorted").decode(), PEER))

    def _wait(self, gap: int) -> None:
        """Let a span pass, or a number of due instants."""
        simulation = self._simulation
        until = simulation.now + max(gap, 0)
        most = DUE_MAX if gap > 0 else -gap
        while most and not self.result.over:
            due = simulation.next_due()
            if due is None or (gap > 0 and due > until):
                break
            self._enter(Advanced(due))
            most -= 1
        if most and gap > 0 and is_supported_instant(until) and not self.result.over:
            self._enter(Advanced(max(until, simulation.now)))

    def _agree(self, choices: RandomStream) -> None:
        """Ask the same question over REST and gRPC and compare the answers."""
        operation = choices.choice(readable())
        body = self._requests.complete(choices, operation)
        if encoded(operation, body) is None:
            return
        who = self._clients.callers.on(choices, operation, None)
        replies: list[Reply] = []
        self._odd = False
        for plane in ("exchange", "grpc"):
            input_ = self._clients.call(choices, plane, operation, body, who)
            if isinstance(input_, RestCall) and not input_.path.rpartition("/")[2]:
                return  # an empty name leads to another address
            outcome = self._enter(input_)
            if outcome is None or outcome.reply is None or outcome.injections:
                return
            entry = self._simulation.log.last(outcome.seq)
            if entry is None or not entry.operation:
                return  # a name with a slash leads to another address
            replies.append(outcome.reply)
        if not self._odd:
            rest, grpc = replies
            self.result.troubles += disagreement(operation, self._simulation.now, rest, grpc)

    def _pages(self, choices: RandomStream) -> None:
        """Read the first rows of a list in one page and again in two pages, and compare them."""
        operation = choices.choice(pageable())
        asked = self._requests.complete(choices, operation)
        asked = {name: value for name, value in asked.items() if snake(name) not in PAGING}
        if choices.chance(3, 4):
            asked = {}  # no filter
        who, length = (
            self._clients.callers.on(choices, operation, "exchange"),
            choices.between(1, 3),
        )
        whole = self._page(choices, operation, {**asked, "pageSize": 2 * length}, who)
        first = self._page(choices, operation, {**asked, "pageSize": length}, who)
        if whole is None or first is None or not first.get("nextPageToken"):
            return
        more = {"pageSize": length, "pageToken": first["nextPageToken"]}
        second = self._page(choices, operation, asked | more, who)
        if second is not None:
            self.result.troubles += page_differences(operation, whole, first, second)

    def _page(
        self, choices: RandomStream, operation: Operation, body: dict[str, Any], who: CallIdentity
    ) -> dict[str, Any] | None:
        """Return a page; None if it was refused, or if a fault or a quirk had an effect."""
        self._odd = False
        outcome = self._enter(self._clients.call(choices, "exchange", operation, body, who))
        if (
            outcome is None
            or outcome.reply is None
            or outcome.injections
            or outcome.reply.pending_on
        ):
            return None
        if self._odd or outcome.reply.status != 200 or outcome.reply.chunks is not None:
            return None
        page = json.decode(outcome.reply.body)
        return page if isinstance(page, dict) else None

    def _answer_held(self, choices: RandomStream) -> None:
        if self._held and choices.chance(1, 4):
            self._enter(AnswerDue(self._held.pop()))

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
        """Enter an input and check its outcome."""
        if self.result.over:
            return None
        number = self._watchdog.input = self._simulation.seq + 1
        try:
            outcome = self._simulation.enter(input_)
            self._read(outcome)
        except Refusal as refusal:
            name = input_.action if isinstance(input_, Controlled) else type(input_).__name__
            refused = f"refusal:{name}|{refusal.rule}"
            self._features += (refused, f"rule:{refusal.rule}")
            return None
        except Exception as error:
            kind = type(error).__name__
            says = f"input {number}, {named(input_)}: {kind}: {error}"
            self.result.troubles.append(Trouble("internal error", kind, says))
            self.result.over = True
            return None
        finally:
            self._watchdog.input = 0
        self.result.work += work_of(outcome)
        self._note(input_, outcome)
        self._watch.outcome(input_, outcome)
        self._learn_values()
        if self._checks is None:
            quirks = [one.rule for one in decisions_in(outcome) if "quirk" in one.facts]
        else:
            met = self._checks.features(outcome)
            self._features += met
            quirks = [one for one in met if one.startswith("quirk:")]
            self.result.troubles += self._checks.troubles(input_, outcome)
        self._odd = self._odd or bool(outcome.injections) or bool(quirks)
        return outcome

    @staticmethod
    def _read(outcome: Outcome) -> None:
        """Read a download to its end, as its client does."""
        reply = outcome.reply
        if reply is not None and reply.chunks is not None:
            for _ in zip(range(_CHUNKS_MAX), reply.chunks, strict=False):
                pass

    def _note(self, input_: Input, outcome: Outcome) -> None:
        """Note streams, webhook attempts and pending answers of an outcome."""
        reply = outcome.reply
        if isinstance(input_, StreamOpened) and outcome.stream:
            name = self._simulation.engine.hub.operations().get(outcome.stream)
            if name is not None:
                self._clients.open[outcome.stream] = load_contract().by_name(name)
                self._features.append(f"stream:{name}|opened")
                if len(input_.message) > RESUME_TOKEN:
                    self._features.append(f"stream:{name}|resumed")
        elif isinstance(input_, StreamHungUp):
            operation = self._clients.open.pop(input_.stream, None)
            if operation is not None:
                self._features.append(f"stream:{operation.name}|hung up")
        if reply is not None and reply.pending_on:
            self._held.append(reply.pending_on)
        for effect in outcome.effects:
            if isinstance(effect, Close):
                operation = self._clients.open.pop(effect.stream, None)
                if operation is not None:
                    code = effect.code if operation.grpc else effect.web_socket_code
                    self._features.append(f"stream:{operation.name}|ended {code}")
            elif isinstance(effect, Post) and not effect.receiver:
                self._posts.append(effect)
                signed = "signed" if effect.secret else "unsigned"
                self._features.append(f"webhook:sent {signed}")
                if effect.event_id in self._sent:
                    self._features.append("webhook:again")
                self._sent.add(effect.event_id)
            elif isinstance(effect, Resolve) and effect.pending_on in self._held:
                self._held.remove(effect.pending_on)
                self._features.append(f"answer:late|{effect.reply.status}|{effect.reply.code}")
        if (
            isinstance(input_, RestCall)
            and input_.plane == "auth"
            and reply
            and reply.status == 200
        ):
            self._keep_token(json.decode(reply.body))

    def _keep_token(self, answer: dict[str, Any]) -> None:
        if "access_token" in answer:
            tokens = self._checkpoint.tokens
            tokens.append(bearer(f"Bearer {answer['access_token']}"))
            del tokens[:-4]

    def _learn_values(self) -> None:
        """Learn values from what clients saw, and note the kinds of frames."""
        for seen in self._watch.take():
            if self._checks is not None:
                self._checks.observations.append(seen)
            if seen.body is not None and self._is_news(seen):
                self._checkpoint.vocabulary.learn(seen.body, seen.operation.name)
            if seen.kind == "frame" and isinstance(seen.body, dict):
                self._features += of_frame(seen)
                self._keep_resume_token(seen)

    def _keep_resume_token(self, seen: ClientObservation) -> None:
        token = seen.body.get("resumeToken")
        if token and seen.stream is not None:
            self._clients.tokens_of_streams[seen.stream.number] = token

    def _is_news(self, seen: ClientObservation) -> bool:
        """Return whether to learn from an observation.

        Of frames, only from the first of each operation.
        """
        if seen.kind == "answer":
            return True
        name = seen.operation.name
        self._frames[name] = self._frames.get(name, 0) + 1
        return self._frames[name] <= FRAMES_READ
