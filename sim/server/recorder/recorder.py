"""`sim record`: listeners between clients and a service, and the file that they write."""

from __future__ import annotations

import asyncio
import signal
import ssl
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
from msgspec import Struct

from sim.evidence.recording.files import PLANES, RecordingFile, wall_clock
from sim.evidence.recording.writer import RecordingWriter
from sim.kernel.instants import format_instant
from sim.read.layout import put
from sim.server.grpc.listening import on_free_port
from sim.server.listeners import (
    SURFACES,
    BoundSockets,
    addresses_to_bind,
    bind,
    port_taken,
    reachable,
)
from sim.server.ready_file import claimed_ready_file, write_ready_file
from sim.server.recorder.grpc_relay import GrpcRelay
from sim.server.recorder.http_listener import HttpListener
from sim.server.recorder.probe import Probe, ProbePlan
from sim.server.recorder.upstream import Upstream

STOP_S = 1.0  # seconds for calls in progress when the recorder stops


class RecordOptions(Struct, frozen=True, kw_only=True):
    """What to record. `upstream` has an address for each recorded plane; `ca` is a file of
    certificate authorities to trust instead of the machine's.
    """

    to: Path
    upstream: dict[str, str]
    host: str = "127.0.0.1"
    port_base: int = 0
    ready_file: Path | None = None
    ca: Path | None = None
    note: str = ""
    probe: ProbePlan | None = None


class RecordingRelay:
    """Listeners that relay all traffic and record it."""

    def __init__(self, options: RecordOptions) -> None:
        """Bind ports and create the file. OSError: a port is in use, or the file exists."""
        self._options = options
        self._bound: BoundSockets = bind(options.host, options.port_base, options.upstream)
        try:
            self.writer = RecordingWriter(RecordingFile(options.to, options.upstream, options.note))
        except OSError:
            self._bound.close()
            raise
        self._upstreams: list[Upstream] = []
        self._servers: list[tuple[asyncio.Server, HttpListener]] = []
        self._grpc: GrpcRelay | None = None

    async def start(self) -> dict[str, str]:
        """Start accepting clients; return the address of each recorded plane."""
        options, loop = self._options, asyncio.get_running_loop()
        context = ssl.create_default_context(cafile=str(options.ca)) if options.ca else None
        addresses: dict[str, str] = {}
        for plane in PLANES:
            if plane not in self._bound.sockets:
                continue
            upstream = Upstream(plane, options.upstream[plane], self.writer, context)
            listener = HttpListener(upstream)
            self._upstreams.append(upstream)
            for sock in self._bound.sockets[plane]:
                server = await loop.create_server(listener.server, sock=sock)
                self._servers.append((server, listener))
            addresses[plane] = f"http://{reachable(options.host, self._bound.port(plane))}"
        if "grpc" in options.upstream:
            self._grpc = self._grpc_relay()
            await self._grpc.start()
            addresses["grpc"] = reachable(options.host, self._grpc.port)
        return addresses

    def _grpc_relay(self) -> GrpcRelay:
        options = self._options
        target, secure = grpc_target(options.upstream)
        credentials = None
        if secure:
            roots = options.ca.read_bytes() if options.ca else None
            credentials = grpc.ssl_channel_credentials(roots)
        port = options.port_base + SURFACES.index("grpc") if options.port_base else 0
        here = self._bound.addresses, port
        try:
            return on_free_port(lambda: GrpcRelay(target, here, self.writer, credentials), port)
        except RuntimeError as problem:
            raise port_taken(options.host, port, "grpc") from problem

    async def stop(self) -> None:
        """Stop listening. Calls under way get STOP_S seconds; then the file is complete."""
        for server, listener in self._servers:
            server.close()
            listener.server.pre_shutdown()
        await asyncio.gather(*(port.server.shutdown(STOP_S) for _, port in self._servers))
        if self._grpc is not None:
            await self._grpc.stop()
        for upstream in self._upstreams:
            await upstream.session.close()
        self.writer.file.close()


def grpc_target(upstream: dict[str, str]) -> tuple[str, bool]:
    """Return the target of gRPC and whether it uses TLS: as its scheme says, or else like
    the other planes.
    """
    address = upstream["grpc"]
    scheme, separator, rest = address.partition("://")
    if separator:
        return rest.rstrip("/"), scheme in ("https", "grpcs")
    others = [urlsplit(url).scheme for plane, url in upstream.items() if plane != "grpc"]
    return address, address.endswith(":443") or "https" in others


def record(options: RecordOptions) -> int:
    """Record until a signal comes; return the exit code. Raises OSError."""
    with claimed_ready_file(options.ready_file):
        return asyncio.run(_record(options))


async def _record(options: RecordOptions) -> int:
    recorder = RecordingRelay(options)
    addresses = await recorder.start()
    if options.ready_file is not None:
        write_ready_file(options.ready_file, ready_facts(options, addresses))
    put(f"recording to {options.to}; each address relays to the service on the right", "")
    for plane, address in addresses.items():
        put(f"  {plane:<9} {address}  →  {options.upstream[plane]}")
    put(
        "", "keys, tokens, signatures and SSNs are written as fingerprints; Ctrl-C ends", flush=True
    )
    ended = _on_signals()
    if options.probe is not None:
        audience = options.upstream.get("exchange") or options.upstream.get("auth", "")
        await asyncio.to_thread(Probe(options.probe, addresses, audience).print_all)
        ended.cancel()
        code = 0
    else:
        code = await ended
    await recorder.stop()
    writer = recorder.writer
    summary = f"{writer.calls} calls, {writer.frames} messages of streams"
    put(f"sim record: {options.to} has {summary}", file=sys.stderr)
    return code


def _on_signals() -> asyncio.Future[int]:
    """Return a future that gets the exit code on SIGINT or SIGTERM."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[int] = loop.create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 0)):
        signal.signal(number, lambda *_, code=code: loop.call_soon_threadsafe(end, code))
    return ended


def ready_facts(options: RecordOptions, addresses: dict[str, str]) -> dict[str, Any]:
    """Return the ready file: the keys of that of `sim serve`, null for facts that a recorder does
    not know. Clients still sign for the service's own names (`audience`).
    """
    upstream = options.upstream
    return {
        **{plane: addresses.get(plane) for plane in PLANES},
        **dict.fromkeys(("control", "docs", "tls_ca", "scenario", "seed", "reading", "journal")),
        "now": format_instant(wall_clock()),
        "firms": [],
        "api_keys": [],
        "symbols": {},
        "listens_on": addresses_to_bind(options.host),
        "audience": upstream.get("exchange") or upstream.get("auth"),
        "upstream": upstream,
        "recording": str(options.to),
    }
