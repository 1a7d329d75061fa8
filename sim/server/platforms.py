"""Differences between platforms: event loops, signals, exclusive ports, IPv6, resets, file modes.

Linux, macOS and Windows are supported.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import sys
from collections.abc import Callable

WINDOWS = sys.platform == "win32"


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A new event loop: of uvloop if it is installed, which halves the cost of a request, else of
    asyncio. Virtual time does not depend on the loop.
    """
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def on_signal(
    loop: asyncio.AbstractEventLoop, name: str, callback: Callable[..., object], *arguments: object
) -> None:
    """Call a function in the loop when a signal arrives; nothing if the platform does not have the
    signal.

    A signal that is ignored, such as SIGHUP under `nohup`, stays ignored.
    """
    number = getattr(signal, name, None)
    if number is None or (name == "SIGHUP" and signal.getsignal(number) == signal.SIG_IGN):
        return
    try:
        loop.add_signal_handler(number, callback, *arguments)
    except NotImplementedError:  # the event loops of Windows have no signal handlers
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(callback, *arguments))


def claim_port(listening: socket.socket) -> None:
    """Let a socket bind a port without a listener, even if its last connections linger.

    On Windows SO_REUSEADDR would share the port of another process.
    """
    option = getattr(socket, "SO_EXCLUSIVEADDRUSE", None)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR if option is None else option, 1)


def has_ipv6_loopback() -> bool:
    """Whether ::1 can be bound. Containers and hardened machines often lack it, although Python was
    built with IPv6.
    """
    if not socket.has_ipv6:
        return False
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as trial:
            trial.bind(("::1", 0))
    except OSError:
        return False
    return True


def reset_on_close(connected: socket.socket) -> None:
    """Let a connection end with a reset when it is closed."""
    linger = struct.pack("hh" if WINDOWS else "ii", 1, 0)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def make_private(number: int) -> None:
    """Allow only the owner to read an open file. On Windows the rights of the folder apply."""
    if hasattr(os, "fchmod"):
        os.fchmod(number, 0o600)
