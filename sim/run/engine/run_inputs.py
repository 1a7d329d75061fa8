"""The ways into a run from outside: requests of clients, frames of their streams, the passing of
time, actions of operators, answers of webhook receivers.

Each becomes a redacted input before anything else happens (`api/pipeline/redaction.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import json

from sim.api.pipeline import redaction
from sim.api.pipeline.inputs import (
    Advanced,
    AnswerDue,
    Controlled,
    Input,
    Outcome,
    StreamFrame,
    StreamHungUp,
    WebhookAnswered,
)
from sim.contract.contract import Plane
from sim.core.model.refusals import Conflict, InvalidRequest, Refusal
from sim.kernel.instants import OUT_OF_RANGE, Instant, Span, format_instant, is_supported_instant
from sim.kernel.work import Work
from sim.run.engine.run_view import RunView


class RunInputs(RunView):
    """A run that accepts inputs.

    Each returns an outcome, or raises RunEnded once the run has ended.
    """

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

        `headers` is case-insensitive. `wall` is the host's wall clock, used only to judge the
        freshness of signatures. A body that is too large is not kept, only its size in bytes, as
        if it came over a socket.
        """
        engine = self.engine
        if len(body) > engine.settings.max_body:
            body, oversize = b"", len(body)
        return engine.enter(
            redaction.redact_rest(
                engine, plane, verb, path, query, headers, body, peer, wall, oversize
            )
        )

    def prepare(self, plane: Plane, verb: str, path: str, query: str) -> Work[int]:
        """Fill the caches that a read of the gateway uses, in small steps; returns the number of
        large bytes in its answer. It is no input.
        """
        return self.engine.pipeline.prepare(plane, verb, path, query)

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
        """Open a stream.

        If it is refused or a download, `reply` is set. Otherwise `stream` is its id, and the first
        frames are among the effects.
        """
        engine = self.engine
        return engine.enter(
            redaction.redact_open(engine, method, metadata, message, peer, wall, web_socket)
        )

    def frame(self, stream: int, message: bytes) -> Outcome:
        """Handle a client's frame on a stream."""
        return self.engine.enter(StreamFrame(stream, redaction.redact_frame(message)))

    def hangup(self, stream: int, *, slow: bool = False) -> Outcome:
        """Note that the client has disconnected from a stream, or was too slow to keep it."""
        return self.engine.enter(StreamHungUp(stream, slow=slow))

    def advance_to(self, to: Instant) -> Outcome:
        """Move time to an instant, from one due instant to the next; each is a separate input.

        The outcome has the effects and timers of all of them. Refuses an instant in the
        past: use `rewind`.
        """
        if to < self.now:
            raise Conflict(
                f"time only moves forward: now is {format_instant(self.now)}",
                remedy="rewind to go back",
            )
        if not is_supported_instant(to):
            raise InvalidRequest(OUT_OF_RANGE)
        parts = self.engine.handle_requested()
        while True:
            due = self.next_due()
            if parts and self.now >= to and (due is None or due > to):
                break
            parts.append(self.engine.enter(Advanced(to if due is None else min(due, to))))
        parts[0].take(parts)
        return parts[0]

    def control(self, action: str, subject: str, arguments: dict[str, object]) -> Outcome:
        """Perform an operator's action. A refusal is raised after it was written to the journal."""
        body = json.encode(arguments, order="sorted").decode()
        outcome = self.engine.enter(Controlled(action, subject, body))
        if isinstance(outcome.value, Refusal):
            raise outcome.value
        return outcome

    def answer(
        self, attempt: str, status: int, error: str = "", retry_after: Span | None = None
    ) -> Outcome:
        """Note the answer of a webhook receiver. `status` is 0 if there was no HTTP answer."""
        return self.engine.enter(WebhookAnswered(attempt, status, error, retry_after))

    def answer_due(self, pending_on: str) -> Outcome:
        """Send a deferred answer in its current form, because nobody has moved the clock for too
        long.

        Does nothing if it has already left.
        """
        return self.engine.enter(AnswerDue(pending_on))

    def enter(self, input_: Input) -> Outcome:
        """Handle a redacted input, and then the inputs that the script requests because of it."""
        return self.engine.enter(input_)

    def handle(self, input_: Input) -> Outcome:
        """Handle exactly one redacted input, such as one from a journal.

        A journal also holds the inputs that the script requested.
        """
        return self.engine.handle(input_)
