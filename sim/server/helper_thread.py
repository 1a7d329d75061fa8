"""Runs work outside the event loop that takes long and does not use a simulation.

One thread does all of it: several computing threads would keep the interpreter from the loop for
several switch intervals (measured with six: half a second for everybody else).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_THREAD = ThreadPoolExecutor(max_workers=1, thread_name_prefix="helper")


async def in_helper_thread(function: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """The result of a function that is computed while the loop continues."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREAD, lambda: function(*args, **more))
