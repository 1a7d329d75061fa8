"""Replies that take time: those that are sent at a later virtual instant, and those that need a
later input (a synchronous order, a webhook registration).
"""

from __future__ import annotations

import asyncio
import heapq
from typing import Any, Protocol

from sim.api.pipeline.inputs import Reply, Resolve
from sim.core.model.refusals import Code
from sim.kernel.instants import NS_PER_S, Instant, format_seconds


class ReplyHost(Protocol):
    """The interface of the host whose replies are held."""

    @property
    def now(self) -> Instant: ...

    @property
    def on_manual_clock(self) -> bool: ...

    @property
    def elides_latency(self) -> bool: ...

    def answer_due(self, pending: str) -> None: ...

    def reply_held(self) -> None: ...


class HeldReplies:
    """The replies of a host that clients wait for."""

    def __init__(self, host: ReplyHost) -> None:
        self._host = host
        self._held: list[tuple[Instant, int, asyncio.Future[Any]]] = []
        self._count = 0
        self._pending: dict[str, asyncio.Future[Reply]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def next_due(self) -> Instant | None:
        """The instant at which the first of them is due."""
        return self._held[0][0] if self._held else None

    # ---- for the listeners

    def elided_time(self, reply: Reply) -> str:
        """The service time of a reply in virtual seconds, as text, if it is sent at once; "" if
        there is none or the reply is held.
        """
        span = reply.ready_at - self._host.now
        return format_seconds(span) if span > 0 and self._host.elides_latency else ""

    def must_wait(self, reply: Reply) -> bool:
        """Whether a reply has to wait for the clock."""
        return reply.ready_at > self._host.now and not self._host.elides_latency

    async def complete(self, reply: Reply) -> tuple[Reply, str]:
        """The reply once it is complete and may leave, and its elided time."""
        if reply.pending_on:
            reply = await self._answer(reply)
        elided = self.elided_time(reply)
        if self.must_wait(reply):
            await self._ready(reply)
        return reply, elided

    async def _ready(self, reply: Reply) -> None:
        """Wait until a held reply is due."""
        future = asyncio.get_running_loop().create_future()
        self._hold(reply.ready_at, future)
        try:
            await future
        finally:
            if future.cancelled():
                self.release()

    async def _answer(self, reply: Reply) -> Reply:
        """Wait for the answer to a pending call, with the effects of a fault on it. The answer may
        already be there.

        If only time has to pass, the reply counts as held, so an autojump clock jumps to its
        answer. On a manual clock that nobody moves, the answer is sent after as much real time as
        it would have waited in virtual time, so no client waits longer than it asked for.
        """
        host, future = self._host, self._pending[reply.pending_on]
        patience = max(1, reply.deadline - host.now) / NS_PER_S if reply.deadline else None
        try:
            if reply.deadline:
                self._hold(reply.deadline, future)
            while not (await asyncio.wait((future,), timeout=patience))[0]:
                if host.on_manual_clock:
                    host.answer_due(reply.pending_on)
        finally:
            del self._pending[reply.pending_on]
            future.cancel()
            self._forget_done()
        answer = future.result()
        answer.connection_fault = reply.connection_fault or answer.connection_fault
        answer.ready_at = max(answer.ready_at, reply.ready_at)
        answer.headers += reply.headers
        return answer

    # ---- for the host

    def expect(self, pending_on: str) -> None:
        """A later input will bring this answer."""
        self._pending[pending_on] = asyncio.get_running_loop().create_future()

    def resolve(self, effect: Resolve) -> None:
        """Deliver an answer for which a client waits."""
        waiting = self._pending.get(effect.pending_on)
        if waiting is not None and not waiting.done():
            waiting.set_result(effect.reply)
            self._forget_done()

    def release(self, *, everything: bool = False) -> None:
        """Release replies that are due; drop those whose client has disconnected."""
        now = self._host.now
        while self._held and (everything or self._held[0][0] <= now or self._held[0][2].done()):
            _, _, future = heapq.heappop(self._held)
            if not future.done():
                future.set_result(None)

    def abandon(self) -> None:
        """No input will bring the pending answers: end them as UNAVAILABLE, and
        release all others.
        """
        gone = Reply(
            status=503,
            code=Code.UNAVAILABLE,
            body=b'{"code":14,"message":"service unavailable","details":[]}',
            message="service unavailable",
        )
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_result(gone)
        self.release(everything=True)

    def _hold(self, until: Instant, future: asyncio.Future[Any]) -> None:
        self._count += 1
        heapq.heappush(self._held, (until, self._count, future))
        self._host.reply_held()

    def _forget_done(self) -> None:
        """Drop entries at the head of the heap that are answered or whose
        client has disconnected.
        """
        while self._held and self._held[0][2].done():
            heapq.heappop(self._held)
