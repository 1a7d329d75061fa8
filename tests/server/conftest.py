"""Listeners around the fake simulation in the test's own loop, processes, and a browser."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from itertools import count
from typing import Any, NamedTuple

import aiohttp
import grpc
import pytest
import pytest_asyncio
from chromium import chromium
from fake_simulation import FakeSimulation

from sim.api.pipeline.settings import Settings
from sim.server.host import Host
from sim.server.listeners import bind
from sim.server.service import Addresses, Service
from sim.world.format.clock_mode import MANUAL, ClockMode
from tests.kit.http import Answer
from tests.kit.processes import Process

RawHttp = Callable[[str, bytes], Awaitable[bytes]]


class Line(NamedTuple):
    """A connection, to send bytes on."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def send(self) -> Callable[[bytes], None]:
        """Write."""
        return self.writer.write

    async def head(self, end: bytes = b"\r\n\r\n") -> bytes:
        """Everything up to the end of the next head."""
        return await asyncio.wait_for(self.reader.readuntil(end), 10)

    async def answer(self) -> tuple[bytes, bytes]:
        """Head and body of the next answer."""
        head = await self.head()
        size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        return head, await self.reader.readexactly(size)

    async def rest(self) -> bytes:
        """Everything that is said before the connection ends."""
        return await asyncio.wait_for(self.reader.read(), 10)


async def connect(address: str, sent: bytes = b"") -> Line:
    """A connection to an address on which something is sent."""
    host, _, port = address.partition("://")[2].rpartition(":")
    line = Line(*await asyncio.open_connection(host.strip("[]"), int(port)))
    line.send(sent)
    return line


class Served(NamedTuple):
    """A fake simulation behind real sockets."""

    sim: FakeSimulation
    host: Host
    at: Addresses

    async def ask(self, plane: str, path: str = "/x", verb: str = "GET", **options: Any) -> Answer:
        """The answer of a listener, with aiohttp's options of a request."""
        url = f"{getattr(self.at, plane)}{path}"
        async with aiohttp.ClientSession() as http, http.request(verb, url, **options) as answer:
            return Answer(answer.status, answer.headers, await answer.read())

    @asynccontextmanager
    async def web_socket(
        self, path: str = "/v1/ws/markets", plane: str = "retail", **options: Any
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """An open WebSocket."""
        url = f"{getattr(self.at, plane)}{path}"
        async with aiohttp.ClientSession() as http, http.ws_connect(url, **options) as socket:
            yield socket

    async def line(self, sent: bytes = b"", plane: str = "exchange") -> Line:
        """A connection to a listener on which something is sent."""
        return await connect(getattr(self.at, plane), sent)

    @property
    def kinds(self) -> list[str]:
        """The kinds of the inputs that entered, in order."""
        return [value[0] for value in self.sim.inputs]


Serve = Callable[..., Awaitable[Served]]


@pytest.fixture
async def serve():
    """Start a service; stopped after the test."""
    started: list[Service] = []

    async def start(
        *, clock: ClockMode = MANUAL, control_token: str = "", **settings: Any
    ) -> Served:
        sim = FakeSimulation(Settings(**settings))
        host = Host(sim, clock)  # type: ignore[arg-type]
        service = await Service.start(host, bind("127.0.0.1", 0), control_token=control_token)
        started.append(service)
        return Served(sim, host, service.addresses)

    yield start
    for service in started:
        await service.stop()


@pytest.fixture
async def served(serve):
    """A service with the settings that nobody gives."""
    return await serve()


@pytest.fixture
def channel(exchange):
    """A gRPC channel to the exchange."""
    with grpc.insecure_channel(exchange.grpc) as opened:
        yield opened


@pytest.fixture
def raw_http():
    """Send bytes to a listener and read everything that it says before it closes."""

    async def exchange_bytes(address: str, sent: bytes) -> bytes:
        line = await connect(address, sent)
        try:
            return await line.rest()
        finally:
            line.writer.close()

    return exchange_bytes


@pytest.fixture
def start(tmp_path):
    """Start `sim` with a ready file; ended after the test."""
    with ExitStack() as started:
        numbers = count()

        def begin(*arguments: str, program: tuple[str, ...] = ("-m", "sim")) -> Process:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            return started.enter_context(Process(folder, *arguments, program=program))

        yield begin


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser(tmp_path_factory):
    """Chromium with a profile of its own."""
    async with chromium(tmp_path_factory.mktemp("profile"), "") as running:
        yield running
