"""Moves the clock (design D3). Every mode calls `step`, which makes a journalled `advance_to`:

| Mode | Moves |
|---|---|
| manual | when the control plane or the test says so |
| autojump | while a reply is held: from due instant to due instant |
| fast | from due instant to due instant, from the first call of a client on |
| paced:n | with real time: n virtual seconds per real second |

A paced clock sleeps until something is due, and catches up when a call arrives. A fast clock gives
the sockets a turn between two jumps and waits for slow readers.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant
from sim.server.event_loop import Tasks
from sim.server.held_replies import HeldReplies
from sim.server.open_streams import OpenStreams
from sim.world.format.clock_mode import ClockMode

# Arriving calls bring a paced clock up to date at most this often in real time, so that a busy
# second does not journal ten thousand advances.
_GRAIN_NS = NS_PER_MS
# Longest real sleep, because event loops reject timers of years.
_SLEEP_MAX_S = 600.0


class ClockHost(Protocol):
    """The interface of the host whose clock a driver moves."""

    tasks: Tasks
    replies: HeldReplies
    streams: OpenStreams

    @property
    def now(self) -> Instant: ...

    def next_stop(self) -> Instant | None: ...

    def step(self, to: Instant) -> object: ...

    async def settled(self) -> None: ...


class ClockDriver:
    """Moves a host's clock in one of the modes. Used only from the host's event loop."""

    def __init__(self, host: ClockHost, mode: ClockMode) -> None:
        self._host = host
        self._mode = mode
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for: Instant | None = None
        self._jump: asyncio.Task[None] | None = None
        self._real_origin = self._real_last = time.monotonic_ns()
        self._virtual_origin: Instant = host.now
        self.paced, self.fast = mode.mode == "paced", mode.mode == "fast"

    @property
    def mode(self) -> ClockMode:
        """The present mode."""
        return self._mode

    def change(self, mode: ClockMode) -> None:
        """Continue in another mode from virtual now."""
        if self.paced:
            self.catch_up()
        self.stop()
        self._mode = mode
        self.paced, self.fast = mode.mode == "paced", mode.mode == "fast"
        self.rebase()
        if mode.mode == "fast":
            self.called()
        if self._host.replies:
            self.reply_held()

    def called(self) -> None:
        """A client has called, or the mode was set in a running exchange: start a fast clock."""
        if self._mode.mode == "fast" and (self._jump is None or self._jump.done()):
            self._jump = self._host.tasks.spawn(self._jump_on())

    def rebase(self) -> None:
        """Something else has moved virtual now: continue from there."""
        self._real_origin = self._real_last = time.monotonic_ns()
        self._virtual_origin = self._host.now
        self.rearm()

    def catch_up(self) -> None:
        """Bring a paced clock up to date, unless that happened less than `_GRAIN_NS` ago."""
        real = time.monotonic_ns()
        if real - self._real_last >= _GRAIN_NS:
            self._step(real)

    def _step(self, real: int, at_least: Instant = 0) -> None:
        self._real_last = real
        paced_to = (
            self._virtual_origin
            + (real - self._real_origin) * self._mode.rate.numerator // self._mode.rate.denominator
        )
        target = max(paced_to, at_least)
        if target > self._host.now:
            self._host.step(target)

    def rearm(self) -> None:
        """Sleep until the next due instant of a paced clock. Cheap if that instant
        has not changed.
        """
        if not self.paced:
            return
        due = self._host.next_stop()
        if due == self._armed_for and self._timer is not None:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._armed_for = due
        if due is None:
            return
        self._timer = asyncio.get_running_loop().call_later(
            min(self._real_wait(due) / NS_PER_S, _SLEEP_MAX_S), self._wake
        )

    def _real_wait(self, due: Instant) -> int:
        real_due = (
            self._real_origin
            + (due - self._virtual_origin)
            * self._mode.rate.denominator
            // self._mode.rate.numerator
        )
        return max(0, real_due - time.monotonic_ns())

    def reply_held(self) -> None:
        """A reply is held: an autojump clock starts to jump."""
        if self._mode.mode == "autojump" and (self._jump is None or self._jump.done()):
            self._jump = self._host.tasks.spawn(self._jump_while_held())
        else:
            self.rearm()

    def stop(self) -> None:
        """Stop moving the clock."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._armed_for = None
        if self._jump is not None:
            self._jump.cancel()
        self._jump = None

    def _wake(self) -> None:
        due, self._timer, self._armed_for = self._armed_for, None, None
        # The loop's timer may fire slightly early; its instant counts as due nevertheless.
        if due is not None and self._real_wait(due) < _GRAIN_NS:
            self._step(time.monotonic_ns(), at_least=due)
        self.rearm()

    async def _jump_on(self) -> None:
        await asyncio.sleep(0)
        while (target := self._host.next_stop()) is not None:
            self._host.step(target)
            await self._host.settled()
            await self._host.streams.wait_for_readers()
            await asyncio.sleep(0)

    async def _jump_while_held(self) -> None:
        # One turn of the loop per jump: calls that have arrived are handled before the next jump.
        await asyncio.sleep(0)
        while self._host.replies and (target := self._host.next_stop()) is not None:
            self._host.step(target)
            await self._host.settled()
            await asyncio.sleep(0)
