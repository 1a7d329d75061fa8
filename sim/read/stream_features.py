"""Features of what a run sent besides answers: streams and their frames, webhook attempts, answers
that came late. `features` has the other groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import DecodeError, json

from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_decoder
from sim.api.pipeline.inputs import (
    AnswerDue,
    Close,
    Effect,
    Post,
    Resolve,
    Send,
    StreamHungUp,
    StreamOpened,
)
from sim.contract.contract import Operation, load_contract
from sim.read.record import JournalEntry
from sim.run.simulation import Simulation

RESUME_TOKEN = 500  # bytes; a request at least this long holds a resume token (rule S4)
_EMPTY: tuple[Any, ...] = (None, "", [], {})  # values that a frame does not have


class StreamFeatures:
    """Reads these features of one run, input by input."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._open: dict[int, Operation] = {}
        self._event_ids: set[str] = set()
        self._asked: set[str] = set()  # answers that were asked for before they were due

    def of_input(self, entry: JournalEntry) -> Iterator[str]:
        """Yield the features of an input by itself: a stream that a client opened or left."""
        match entry.input:
            case StreamOpened(message=message):
                name = self._simulation.engine.hub.operations().get(entry.out.stream)
                if name is not None:
                    self._open[entry.out.stream] = load_contract().by_name(name)
                    yield f"stream:{name}|opened"
                    if len(message) > RESUME_TOKEN:
                        yield f"stream:{name}|resumed"
            case StreamHungUp(stream=stream) if operation := self._open.pop(stream, None):
                yield f"stream:{operation.name}|hung up"
            case AnswerDue(pending_on=pending_on):
                self._asked.add(pending_on)

    def of_effects(self, effects: Iterable[Effect]) -> Iterator[str]:
        """Yield the features of what one or several inputs caused."""
        for effect in effects:
            match effect:
                case Send() if operation := self._open.get(effect.stream):
                    yield from self._of_frame(operation, effect.frame)
                case Close() if operation := self._open.pop(effect.stream, None):
                    code = effect.code if operation.grpc else effect.web_socket_code
                    yield f"stream:{operation.name}|ended {code}"
                case Post() if not effect.receiver:
                    yield f"webhook:sent {'signed' if effect.secret else 'unsigned'}"
                    if effect.event_id in self._event_ids:
                        yield "webhook:again"
                    self._event_ids.add(effect.event_id)
                case Resolve() if effect.pending_on not in self._asked:
                    yield f"answer:late|{effect.reply.status}|{effect.reply.code}"

    def _of_frame(self, operation: Operation, frame: bytes) -> Iterator[str]:
        """Yield the kind of a frame: the names in it that have a value."""
        try:
            if operation.content != "web_socket":
                encode = json_encoder(
                    operation.response, dialect_at("exchange", self._simulation.now)
                )
                frame = encode(protobuf_decoder(operation.response)(frame))
            body = json.decode(frame)
        except (DecodeError, ValueError, TypeError, LookupError):  # a fault cut it
            return
        if isinstance(body, dict):
            names = sorted(name for name, value in body.items() if value not in _EMPTY)
            yield f"stream:{operation.name}|{' '.join(names)}"
