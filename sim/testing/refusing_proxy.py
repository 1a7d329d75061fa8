"""A proxy that lets everything through but connections to the real service, for the programs of a
client's test command: most HTTP clients, in any language, take a proxy from the environment.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

from sim.testing.fuse import is_live, without_proxy

_SITE = Path(__file__).parent / "fuse_site"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_HEAD_MAX = 1 << 16
FENCED = (
    "fenced: the command cannot reach the real service from Python programs that have this package,"
    " nor through the proxy of the environment; not fenced: IP addresses, and other programs that"
    " take no proxy from the environment"
)


class _Proxy(ThreadingTCPServer):
    daemon_threads = True


class _Tunnel(StreamRequestHandler):
    """One connection of a client."""

    rbufsize = 0  # what follows the head stays in the socket

    def handle(self) -> None:
        line = self.rfile.readline(_HEAD_MAX)
        verb, target, *_ = [*line.decode("latin-1").split(), "", ""]
        address = urlsplit(f"//{target}" if verb == "CONNECT" else target)
        head = line
        while line not in (b"\r\n", b"\n", b""):
            head += (line := self.rfile.readline(_HEAD_MAX))
        if is_live(address.hostname or ""):
            self.wfile.write(b"HTTP/1.1 403 Real Service Refused\r\nContent-Length: 0\r\n\r\n")
            return
        with (
            suppress(OSError, ValueError),
            socket.create_connection((address.hostname, address.port or 80), 30) as far,
        ):
            far.settimeout(None)
            if verb == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                far.sendall(head)
            back = threading.Thread(target=_copy, args=(far, self.connection), daemon=True)
            back.start()
            _copy(self.connection, far)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_HEAD_MAX):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


@contextmanager
def fenced_environment() -> Iterator[dict[str, str]]:
    """Variables that keep a command away from the real service, for as long as the block lasts.

    A proxy that the environment has stays, without the names of the service.
    """
    path = os.pathsep.join(filter(None, (str(_SITE), os.environ.get("PYTHONPATH", ""))))
    if any(os.environ.get(name) or os.environ.get(name.lower()) for name in _PROXIES):
        yield {"PYTHONPATH": path} | without_proxy(os.environ)
        return
    with _Proxy(("127.0.0.1", 0), _Tunnel) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{proxy.server_address[1]}"
        loopback = "localhost,127.0.0.1,::1"
        names = {name: url for each in _PROXIES[:2] for name in (each, each.lower())}
        bypass = {"NO_PROXY": loopback, "no_proxy": loopback, "NODE_USE_ENV_PROXY": "1"}
        try:
            yield {"PYTHONPATH": path} | names | bypass
        finally:
            proxy.shutdown()
