"""A recorder without sockets: what `sim record` would write of calls to a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from sim import Simulation, load_scenario
from sim.api.pipeline.inputs import Close, Effect, Outcome, Reply, Resolve, Send
from sim.contract.contract import load_contract
from sim.evidence.recording.files import Frame, RecordedMessage, RecordingFile
from sim.evidence.recording.grpc_bodies import message_to_json
from sim.evidence.recording.writer import RecordingWriter
from sim.kernel.instants import format_instant
from sim.run.client.client import Connection
from sim.server.http.response import http_date


class RecordedSimulation(Simulation):
    """Writes every call and frame down, as the recorder does."""

    def begin_recording(self, file: Path) -> None:
        """Write to this file from now on."""
        to = RecordingFile(file, {"exchange": "http://in-process"})
        self.writer = RecordingWriter(to, lambda: self.now)  # as if the world were in real time
        self.open_streams: dict[int, tuple[str, str, int]] = {}
        self.held: dict[str, Any] = {}

    def rest(
        self,
        plane: Any,
        verb: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        body: bytes,
        **rest: Any,
    ) -> Outcome:
        """A call, recorded when its answer is there."""
        began = self.now
        outcome = super().rest(plane, verb, path, query, headers, body, **rest)
        kind = headers.get("content-type", "")
        asked = self.writer.request(verb, path, query, headers.items(), body, kind)
        client = self.writer.client(headers, plane)
        assert outcome.reply is not None
        if outcome.reply.pending_on:
            self.held[outcome.reply.pending_on] = plane, began, client, asked
        else:
            self.writer.call(plane, began, client, asked, self._answer(outcome.reply, plane))
        return outcome

    def _answer(self, reply: Reply, plane: str) -> RecordedMessage:
        body = reply.body
        if reply.chunks is not None:
            body = b"".join(reply.chunks)
            reply.chunks = iter((body,))
        headers = [("content-type", reply.content_type), ("date", http_date(self.now))]
        headers += [(name, value) for name, value in reply.headers if "x-sim" not in name]
        if plane in ("gateway", "retail"):
            headers.append(("x-trace-id", reply.request_id.zfill(32)))
        return self.writer.answer(reply.status, headers, body, reply.content_type)

    def rpc(self, method: str, metadata: Mapping[str, str], message: bytes, **rest: Any) -> Outcome:
        """A unary gRPC call."""
        outcome = super().rpc(method, metadata, message, **rest)
        reply, operation = outcome.reply, load_contract().by_rpc(method)
        assert reply is not None
        body = (
            reply.message if reply.code else message_to_json(operation, reply.body, request=False)
        )
        asked = self.writer.value(message_to_json(operation, message, request=True))
        headers = self.writer.request("gRPC", method, "", metadata.items(), b"").headers
        self.writer.call(
            "grpc",
            self.now,
            self.writer.client(metadata, "grpc"),
            RecordedMessage("gRPC", method, "", None, headers, asked),
            RecordedMessage(
                status=reply.code, body=self.writer.value(body), now=format_instant(self.now)
            ),
        )
        return outcome

    def open(
        self, method: str, metadata: Mapping[str, str], message: bytes, **rest: Any
    ) -> Outcome:
        """A stream; its first frames are among the effects."""
        outcome = super().open(method, metadata, message, **rest)
        socket = bool(rest.get("web_socket"))
        plane: Any = "retail" if socket else "grpc"
        client = self.writer.client(metadata, plane)
        headers = self.writer.request("GET", method, "", metadata.items(), b"").headers
        if outcome.reply is not None and outcome.reply.chunks is None and socket:
            asked = RecordedMessage("GET", method, "", None, {**headers, "upgrade": "websocket"})
            answer = self._answer(outcome.reply, plane)
            self.writer.call(plane, self.now, client, asked, answer)
            return outcome
        opened = {"path" if socket else "rpc": method, "request": {"headers": headers}}
        number = self.writer.open(plane, client, opened)
        if not socket and load_contract().by_rpc(method).kind == "server":  # type: ignore[union-attr]
            self._frame(plane, client, number, method, "client", message)
        if outcome.stream:
            self.open_streams[outcome.stream] = method, client, number
        elif outcome.reply is not None:
            chunks = list(outcome.reply.chunks or ())
            outcome.reply.chunks = iter(chunks) if outcome.reply.chunks is not None else None
            for chunk in chunks:
                self._frame(plane, client, number, method, "service", chunk)
            ended = {"from": "service", "code": outcome.reply.code, "reason": ""}
            self.writer.close(plane, client, number, ended)
        return outcome

    def frame(self, stream: int, message: bytes) -> Outcome:
        """A frame of a client."""
        method, client, number = self.open_streams[stream]
        self._frame(_plane(method), client, number, method, "client", message)
        return super().frame(stream, message)

    def hangup(self, stream: int, *, slow: bool = False) -> Outcome:
        """A client that ends its stream."""
        if stream in self.open_streams:
            method, client, number = self.open_streams.pop(stream)
            ended = {"from": "client", "code": None, "reason": "cancelled"}
            self.writer.close(_plane(method), client, number, ended)
        return super().hangup(stream, slow=slow)

    def reported(self, effects: list[Effect]) -> None:
        """Write what came of an input."""
        for effect in effects:
            if isinstance(effect, Send) and effect.stream in self.open_streams:
                method, client, number = self.open_streams[effect.stream]
                self._frame(_plane(method), client, number, method, "service", effect.frame)
            elif isinstance(effect, Close) and effect.stream in self.open_streams:
                method, client, number = self.open_streams.pop(effect.stream)
                code = effect.code if _plane(method) == "grpc" else effect.web_socket_code
                ended = {"from": "service", "code": code, "reason": effect.message}
                self.writer.close(_plane(method), client, number, ended)
            elif isinstance(effect, Resolve) and effect.pending_on in self.held:
                plane, began, client, asked = self.held.pop(effect.pending_on)
                answer = self._answer(effect.reply, plane)
                self.writer.call(plane, began, client, asked, answer)

    def _frame(
        self, plane: Any, client: str, number: int, method: str, sender: Any, message: bytes
    ) -> None:
        if plane == "retail":
            frame = self.writer.text_frame(sender, message)
        else:
            operation = load_contract().by_rpc(method)
            body = message_to_json(operation, message, request=sender == "client")
            frame = Frame(sender, self.writer.value(body))
        self.writer.frame(plane, client, number, frame)


class RecordedConnection(Connection):
    """Clients of a recorded simulation."""

    def deliver(self, effects: list[Effect]) -> None:
        """Write effects down, then deliver them."""
        simulation = self.simulation
        assert isinstance(simulation, RecordedSimulation)
        simulation.reported(effects)
        super().deliver(effects)


def _plane(method: str) -> Any:
    return "retail" if method.startswith("/v1/") else "grpc"


def record(
    file: Path, scenario: str = "quickstart", seed: int = 7, **rest: Any
) -> RecordedConnection:
    """Clients of a scenario whose calls are written to a file."""
    simulation = RecordedSimulation(load_scenario(scenario, **rest), seed=seed, journal=BytesIO())
    simulation.begin_recording(file)
    return RecordedConnection(simulation)
