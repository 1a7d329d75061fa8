"""Work in the event loop: tasks that end together, long work in slices, work in a helper thread,
and watchers of a run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from sim.kernel.work import Work
from sim.server.logs import log_failure

P = ParamSpec("P")
T = TypeVar("T")

# Longest time without yielding.
_SLICE_S = 0.004
# One thread does all of the work outside the loop: several computing threads would keep the
# interpreter from the loop for several switch intervals (measured with six: half a second for
# everybody else).
# It ends with the process, whatever it is doing: nothing may hold a process that is to stop.
_work: SimpleQueue[Callable[[], None]] = SimpleQueue()


@cache
def _helper_thread() -> Thread:
    def work() -> None:
        while True:
            _work.get()()

    thread = Thread(target=work, name="helper", daemon=True)
    thread.start()
    return thread


async def in_helper_thread(function: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """The result of a function that is computed while the loop continues. It takes long and does
    not use a simulation.
    """
    loop, result = asyncio.get_running_loop(), Future[T]()

    def call() -> None:
        if result.set_running_or_notify_cancel():
            try:
                result.set_result(function(*args, **more))
            except BaseException as error:
                result.set_exception(error)

    _helper_thread()
    _work.put(call)
    return await asyncio.wrap_future(result, loop=loop)


# Work of one loop goes slice by slice, so that much of it does not keep the others waiting longer.
_slices: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


async def in_slices(work: Work[T]) -> T:
    """The result of long work in the loop, which yields to other tasks. If the caller is cancelled,
    the work ends between two of its steps.
    """
    turns = _slices.setdefault(asyncio.get_running_loop(), asyncio.Lock())
    try:
        while True:
            async with turns:
                until = time.perf_counter() + _SLICE_S
                while time.perf_counter() <= until:
                    next(work)
                await asyncio.sleep(0)
    except StopIteration as end:
        answer: T = end.value
        return answer
    finally:
        work.close()


class Tasks:
    """Tasks that are cancelled together. A task that fails is logged."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine in the loop of the caller."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def cancel(self) -> None:
        """Cancel those that still run."""
        for task in self._running:
            task.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log_failure(error, "a task of the host failed")


class Watchers:
    """The events of those who want to know about every input of a run: pages that show it, and
    calls that wait for a change.
    """

    def __init__(self) -> None:
        self._events: dict[asyncio.Event, None] = {}

    def wake(self) -> None:
        """Wake all watchers."""
        for event in self._events:
            event.set()

    @contextmanager
    def watch(self) -> Iterator[asyncio.Event]:
        """An event that every later input sets; the watcher clears it."""
        event = asyncio.Event()
        self._events[event] = None
        try:
            yield event
        finally:
            del self._events[event]
