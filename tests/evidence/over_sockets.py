"""Clients like those of `sim.run.client.client`, over real sockets: `sim serve` and `sim record` run
as separate processes, and all calls of `Clients` (`clients.py`) pass through both.

A second simulation of the scenario in this process provides symbols, firms and keys. It handles no
requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlencode, urlsplit

import grpc
from msgspec import json
from msgspec.json import encode
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as open_web_socket

from sim import Simulation, load_scenario
from sim.api.codecs.codecs import protobuf_decoder, protobuf_encoder
from sim.kernel.instants import parse_instant
from sim.run.client.client import Connection, Http, RpcError
from sim.testing.control import Control
from tests.evidence.clients import Clients, Part, base, variant
from tests.kit.processes import Process

_SETTLED = 0.05  # seconds without a frame after which no further frame is expected


class SocketAnswer:
    """Status and body of an answer over HTTP."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body

    def json(self) -> Any:
        """The body decoded as JSON."""
        return json.decode(self.body)


class SocketHttp(Http):
    """One plane over HTTP with one identity."""

    def __init__(
        self, world: SocketConnection, plane: str, sign: Callable[[str, str], Mapping[str, str]]
    ) -> None:
        self._world, self._sign = world, sign
        self._connection = HTTPConnection(urlsplit(world.addresses[plane]).netloc, timeout=70)

    def request(
        self, verb: str, path: str, *, params: Any = None, json: Any = None, form: Any = None
    ) -> Any:
        """Send a request and return its answer."""
        headers = dict(self._sign(verb, path.partition("?")[0]))
        content, kind = b"", "application/json"
        if form is not None:
            content, kind = urlencode(form).encode(), "application/x-www-form-urlencoded"
        elif json is not None:
            content = encode(json)
        if params:
            path += ("&" if "?" in path else "?") + urlencode(params)
        self._connection.request(verb, path, content or None, {"content-type": kind, **headers})
        answer = self._connection.getresponse()
        return SocketAnswer(answer.status, answer.read())


class SocketStream:
    """A stream whose frames are read by a background thread."""

    def __init__(
        self, frames: Iterator[Any], decode: Callable[[Any], Any], send: Any, end: Any
    ) -> None:
        self.frames: list[Any] = []
        self.end: tuple[int, str] | None = None
        self.send, self._hang_up = send, end
        self.last = time.monotonic()
        threading.Thread(target=self._read, args=(frames, decode), daemon=True).start()

    def _read(self, frames: Iterator[Any], decode: Callable[[Any], Any]) -> None:
        try:
            for frame in frames:
                self.frames.append(decode(frame))
                self.last = time.monotonic()
            self.end = 0, ""
        except grpc.RpcError as error:
            self.end = error.code().value[0], error.details()
        except ConnectionClosed as error:
            self.end = 0, str(error)
        self.last = time.monotonic()

    def close(self) -> None:
        """Close the stream from the client's side."""
        self._hang_up()


class SocketRpc:
    """Exchange gRPC with one identity."""

    def __init__(self, world: SocketConnection, metadata: Callable[[], Mapping[str, str]]) -> None:
        self._world, self._metadata = world, metadata

    def call(self, operation: str, request: Any) -> Any:
        """A unary call. Raises RpcError unless it is OK."""
        contract = self._world.simulation.contract.by_name(operation)
        call = self._world.channel.unary_unary(contract.full_methods[0])
        try:
            answer = call(_protobuf(request), metadata=self._pairs(), timeout=70)
        except grpc.RpcError as error:
            raise RpcError(error.code().value[0], error.details()) from error
        return protobuf_decoder(contract.response)(answer)

    def stream(self, operation: str, request: Any = None) -> SocketStream:
        """Open a server stream (with its request) or a bidirectional one (without)."""
        contract = self._world.simulation.contract.by_name(operation)
        method, decode = contract.full_methods[0], protobuf_decoder(contract.response)
        if request is None:
            sent: SimpleQueue[bytes | None] = SimpleQueue()
            frames = self._world.channel.stream_stream(method)(
                iter(sent.get, None), metadata=self._pairs()
            )
            return self._world.watch(SocketStream(frames, decode, sent.put, frames.cancel))
        frames = self._world.channel.unary_stream(method)(
            _protobuf(request), metadata=self._pairs()
        )
        return self._world.watch(SocketStream(frames, decode, None, frames.cancel))

    def _pairs(self) -> list[tuple[str, str]]:
        return list(self._metadata().items())


def _protobuf(request: Any) -> bytes:
    return protobuf_encoder(type(request))(request)


class SocketConnection(Connection):
    """Clients of a served exchange, behind a recorder."""

    def __init__(
        self, twin: Simulation, addresses: dict[str, str], control: Control, audience: str
    ) -> None:
        super().__init__(twin)
        self.addresses, self.control, self._issuer = addresses, control, audience
        self.channel = grpc.insecure_channel(addresses["grpc"])
        self.open_streams: list[SocketStream] = []

    @property
    def audience(self) -> str:
        return self._issuer

    @property
    def gateway(self) -> Any:
        return SocketHttp(self, "gateway", lambda verb, path: {})

    @property
    def auth(self) -> Any:
        return SocketHttp(self, "auth", lambda verb, path: {})

    def retail(self, key: Any) -> Any:
        return SocketHttp(self, "retail", lambda verb, path: self.retail_headers(key, verb, path))

    def exchange(self, firm: Any, participant: str | None = None) -> Any:
        return SocketHttp(self, "exchange", lambda verb, path: self.bearer(firm, participant))

    def rpc(self, firm: Any, participant: str | None = None) -> Any:
        return SocketRpc(self, lambda: self.bearer(firm, participant) if firm else {})

    def web_socket(self, key: Any, path: str) -> Any:
        """Open a retail WebSocket. Raises RpcError with the HTTP status when it is refused."""
        url = f"{self.addresses['retail'].replace('http', 'ws', 1)}{path}"
        headers = self.retail_headers(key, "GET", path)
        try:
            socket = open_web_socket(url, additional_headers=headers, max_size=None)
        except InvalidStatus as refused:
            raise RpcError(refused.response.status_code, "") from refused

        def send(frame: bytes) -> None:
            with suppress(ConnectionClosed):
                socket.send(frame.decode())

        return self.watch(SocketStream(iter(socket), json.decode, send, socket.close))

    def watch(self, stream: SocketStream) -> SocketStream:
        """Return a stream after its first frames have arrived."""
        self.open_streams.append(stream)
        self.settle()
        return stream

    def settle(self) -> None:
        """Wait until no stream has had a frame for a moment."""
        began = time.monotonic()
        while True:
            now = time.monotonic()
            last = max(
                [
                    began,
                    *(
                        open_stream.last
                        for open_stream in self.open_streams
                        if open_stream.end is None
                    ),
                ]
            )
            if now - last >= _SETTLED or now - began > 5:
                return
            time.sleep(0.005)

    def advance(self, by: str) -> Any:
        """Move the clock of the exchange, after the frames of earlier calls have arrived."""
        self.settle()
        reported = self.control("POST", "/clock/advance", {"by": by})
        self.simulation.advance_to(parse_instant(reported["now"]))
        self.settle()


def planted_over_sockets(
    folder: Path,
    name: str,
    settings: dict[str, dict[str, str]],
    seed: int = 7,
    parts: Sequence[Part] = (),
) -> Path:
    """Record a session of a served variant, as `clients.planted` does without sockets."""
    file, scenario, served = (
        folder / f"{name}.ndjson",
        base(folder),
        variant(folder, name, settings),
    )
    for verb in ("serve", "record"):
        (folder / verb).mkdir()
    options = ("--seed", str(seed), "--clock", "autojump", "--port-base", "0", "--quiet")
    exchange = Process(folder / "serve", "serve", served, *options)
    at = exchange.ready
    planes = ("gateway", "retail", "exchange", "auth", "grpc")
    upstream = [text for plane in planes for text in (f"--{plane}", at[plane])]
    recorder = Process(
        *(folder / "record", "record", "--to", str(file), "--port-base", "0"), *upstream
    )
    twin, audience = Simulation(load_scenario(str(scenario)), seed=seed), at["firms"][0]["audience"]
    try:
        world = SocketConnection(twin, recorder.ready, Control(at["control"]), audience)
        clients = Clients(world)
        for part in parts:
            part(clients)
        world.settle()
    finally:
        recorder.end(2)
        exchange.end(2)
    return file
