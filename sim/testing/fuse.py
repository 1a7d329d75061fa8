"""The fuse: while a test uses the exchange, its process cannot connect to the real service (D24).

`fixtures/service-hosts.txt` has the names of the service; their subdomains count too. A connection
to one of them raises LiveHostRefused before anything is sent. Loopback and every other host are let
through, unless the fuse covers everything.

CPython announces name look-ups and connections of the module `socket` as audit events, whoever
makes them: requests, httpx, aiohttp, asyncio. gRPC, uvloop and aiodns look names up in C, so their
entry points are fenced. A proxy of the environment would look names up in place of this process, so
NO_PROXY excludes these names. Beyond reach: IP addresses, a proxy that a client was given by hand,
C libraries other than those three, a grpc.aio channel from before the test, and child processes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, NamedTuple

from sim.kernel import resources

REMEDY = (
    "point the client at the exchange of the test; exchange_allow_live_hosts (pytest's ini) or"
    " @pytest.mark.exchange(allow_live_hosts=[...]) lifts this"
)


class LiveHostRefused(RuntimeError):
    """A test was about to connect to the real service. No OSError: a client would try again."""


class FuseLimits(NamedTuple):
    """What the fuse lets through: hosts that are allowed although they are the service's, and
    whether everything but loopback is refused.
    """

    allowed: tuple[str, ...] = ()
    everything: bool = False


class _State:
    """The limits in force, and how many users the fuse has. It refuses only while it has one."""

    limits = FuseLimits()
    users = 0


@contextmanager
def fused(limits: FuseLimits, *, used: bool = True) -> Iterator[None]:
    """Put limits in force for a block, and refuse connections in it if the exchange is `used`.
    Whoever else arms the fuse in the block does so until its end.
    """
    before = _State.limits, _State.users
    variables = {name: os.environ.get(name) for name in ("NO_PROXY", "no_proxy")}
    _State.limits = limits
    if used:
        arm()
    try:
        yield
    finally:
        _State.limits, _State.users = before
        for name, value in variables.items():
            os.environ.pop(name, None)
            os.environ |= {name: value} if value is not None else {}


def arm() -> None:
    """Refuse connections to the service from now on."""
    _install()
    os.environ |= without_proxy(os.environ)
    _State.users += 1


def disarm() -> None:
    """Undo one `arm`."""
    _State.users = max(0, _State.users - 1)


def without_proxy(environment: Any) -> dict[str, str]:
    """Return the variables by which no proxy carries the service's names."""
    present = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if present == "*":
        return {}
    names = [form for host in service_hosts() for form in (host, f".{host}")]
    text = ",".join(dict.fromkeys([*filter(None, present.split(",")), *names]))
    return {"NO_PROXY": text, "no_proxy": text}


@cache
def service_hosts() -> tuple[str, ...]:
    """Return the public names of the service."""
    return tuple(resources.path("fixtures", "service-hosts.txt").read_text("ascii").split())


def refuse(host: object) -> None:
    """Raise LiveHostRefused for a host that the fuse does not let through."""
    if not _State.users or not isinstance(host, str | bytes) or not host:
        return
    name = _plain(host.decode("ascii", "replace") if isinstance(host, bytes) else host)
    limits = _State.limits
    refused = not _is_loopback(name) if limits.everything else is_live(name)
    if refused and not _within(name, limits.allowed):
        raise LiveHostRefused(f"this test was about to connect to {name}: {REMEDY}")


def is_live(host: str) -> bool:
    """Whether a host is the real service's."""
    return _within(_plain(host), service_hosts())


def _plain(host: str) -> str:
    return host.lower().strip("[]").partition("%")[0].rstrip(".")


def _within(name: str, hosts: Iterable[str]) -> bool:
    return any(name == host or name.endswith(f".{host}") for host in hosts)


def _is_loopback(name: str) -> bool:
    with suppress(ValueError):
        address = ip_address(name)
        return address.is_loopback or address.is_unspecified
    return _within(name, ("localhost",))


# ---- what is watched

_LOOK_UPS = ("socket.getaddrinfo", "socket.gethostbyname")
_CONNECTIONS = ("socket.connect", "socket.sendto")


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _LOOK_UPS:
        refuse(arguments[0])
    elif event in _CONNECTIONS and isinstance(arguments[1], tuple):
        refuse(arguments[1][0])


@cache
def _install() -> None:
    """Watch the sockets of this process; hooks of CPython stay until it ends."""
    sys.addaudithook(_audit)
    for module, classes, methods, find in _FENCED:
        if find_spec(module.partition(".")[0]) is not None:
            for name in classes:
                kind = getattr(import_module(module), name, None)
                for method in methods:
                    if kind is not None and hasattr(kind, method):
                        setattr(kind, method, _fenced(getattr(kind, method), find))


def _fenced(function: Callable[..., Any], find: Callable[..., object]) -> Callable[..., Any]:
    @wraps(function)
    def fenced(*arguments: Any, **named: Any) -> Any:
        refuse(find(*arguments, **named))
        return function(*arguments, **named)

    return fenced


def _of_target(target: object) -> str:
    """The host of a gRPC target: "host:port", "dns:///host:port", "dns:host:port"."""
    text = target.decode() if isinstance(target, bytes) else str(target)
    text = text.rpartition("/")[2].removeprefix("dns:")
    return "" if text.startswith("unix") else text.rpartition(":")[0] or text


def _of_channel(channel: object, target: object = "", *rest: object, **named: object) -> str:
    return _of_target(target)


def _of_call(call: Any, *rest: object, **named: object) -> str:
    return _of_target(getattr(call, "_target", ""))


def _of_loop(
    loop: object, first: object = None, host: object = None, *rest: object, **named: Any
) -> object:
    """The host that a loop or a resolver is asked for: by name, first, or after a factory or a
    socket; an address is a pair.
    """
    host = named.get("host", first if isinstance(first, str | bytes) else host)
    return host[0] if isinstance(host, tuple) else host


def _of_address(sock: object, *arguments: object) -> object:
    """The host of `connect(address)` and `sendto(data[, flags], address)`."""
    address = arguments[-1] if arguments else ""
    return address[0] if isinstance(address, tuple) and address else ""


_CALLS = ("UnaryUnary", "UnaryStream", "SingleThreadedUnaryStream", "StreamUnary", "StreamStream")
_FENCED: tuple[tuple[str, tuple[str, ...], tuple[str, ...], Callable[..., object]], ...] = (
    # A socket looks a name up before it announces the connection.
    ("socket", ("socket",), ("connect", "connect_ex", "sendto"), _of_address),
    ("grpc._channel", ("Channel",), ("__init__",), _of_channel),
    (
        "grpc._channel",
        tuple(f"_{name}MultiCallable" for name in _CALLS),
        ("__call__", "with_call", "future"),
        _of_call,
    ),
    ("grpc.aio._channel", ("Channel",), ("__init__",), _of_channel),
    ("uvloop", ("Loop",), ("create_connection", "getaddrinfo", "sock_connect"), _of_loop),
    ("aiodns", ("DNSResolver",), ("query", "query_dns", "getaddrinfo", "gethostbyname"), _of_loop),
)
