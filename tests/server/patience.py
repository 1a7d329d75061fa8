"""What tests of sockets share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], bool], within_s: float = 5.0) -> None:
    """Let the sockets work until something is so; bytes on loopback take a moment of real time."""
    deadline = asyncio.get_running_loop().time() + within_s
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not come to that"
        await asyncio.sleep(0.001)
