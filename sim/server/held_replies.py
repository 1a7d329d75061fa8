"""Replies that take time: those that leave at a later instant, and those whose answer another input
brings.
"""

from __future__ import annotations

import asyncio
import heapq
from typing import TYPE_CHECKING, Any

from sim.api.pipeline.inputs import Reply, Resolve
from sim.core.model.refusals import Code
from sim.kernel.instants import NS_PER_S, Instant, format_seconds

if TYPE_CHECKING:
    from sim.server.host import Host


class HeldReplies:
    """The replies of a host that somebody waits for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._held: list[tuple[Instant, int, asyncio.Future[Any]]] = []
        self._count = 0
        self._synchronous_orders: dict[str, asyncio.Future[Reply]] = {}

    def __bool__(self) -> bool:
        return bool(self._held)

    @property
    def next_due(self) -> Instant | None:
        """When the first of them may leave."""
        return self._held[0][0] if self._held else None

    # ---- what a shell asks of a reply

    def elides(self, reply: Reply) -> str:
        """Seconds of virtual time that a reply which leaves at once should have taken, as text; ""
        when it takes none or is held.
        """
        span = reply.ready_at - self._host.simulation.now
        return format_seconds(span) if span > 0 and not self._holding else ""

    def holds(self, reply: Reply) -> bool:
        """Whether a reply has to wait for the clock."""
        return reply.ready_at > self._host.simulation.now and self._holding

    @property
    def _holding(self) -> bool:
        return self._host.driver.mode.mode != "manual" or self._host.settings.latency == "hold"

    async def ready(self, reply: Reply) -> None:
        """Wait until a held reply may leave."""
        future = asyncio.get_running_loop().create_future()
        self._hold(reply.ready_at, future)
        try:
            await future
        finally:
            if future.cancelled():
                self.release()

    async def answer(self, reply: Reply) -> Reply:
        """The answer that a reply waits for, with what a fault makes of it. It may be there
        already.

        Where only time has to pass the reply counts as held, so autojump jumps to its answer. On a
        clock that nobody moves it is wanted after as much real time as it would have waited in
        virtual time: no client waits longer than it said (docs/control-plane.md).
        """
        host, future = self._host, self._synchronous_orders[reply.pending_on]
        patience = (
            max(1, reply.deadline - host.simulation.now) / NS_PER_S if reply.deadline else None
        )
        try:
            if reply.deadline:
                self._hold(reply.deadline, future)
            while not (await asyncio.wait((future,), timeout=patience))[0]:
                if host.driver.mode.mode == "manual":
                    host.apply(host.simulation.answer_due(reply.pending_on).effects)
        finally:
            del self._synchronous_orders[reply.pending_on]
            future.cancel()
            self._forget_done()
        answer = future.result()
        answer.connection_fault = reply.connection_fault or answer.connection_fault
        answer.ready_at = max(answer.ready_at, reply.ready_at)
        answer.headers += reply.headers
        return answer

    # ---- what the host tells

    def expect(self, pending_on: str) -> None:
        """An input to come will bring this answer."""
        self._synchronous_orders[pending_on] = asyncio.get_running_loop().create_future()

    def resolve(self, effect: Resolve) -> None:
        """An answer that somebody waits for is there."""
        waiting = self._synchronous_orders.get(effect.pending_on)
        if waiting is not None and not waiting.done():
            waiting.set_result(effect.reply)
            self._forget_done()

    def release(self, *, everything: bool = False) -> None:
        """Let replies go whose time has come, and forget those whose client is gone."""
        now = self._host.simulation.now
        while self._held and (everything or self._held[0][0] <= now or self._held[0][2].done()):
            _, _, future = heapq.heappop(self._held)
            if not future.done():
                future.set_result(None)

    def abandon(self) -> None:
        """No input will bring what is awaited: it ends as unavailable. Everything else may leave."""
        gone = Reply(
            status=503,
            code=Code.UNAVAILABLE,
            body=b'{"code":14,"message":"service unavailable","details":[]}',
            message="service unavailable",
        )
        for waiting in self._synchronous_orders.values():
            if not waiting.done():
                waiting.set_result(gone)
        self.release(everything=True)

    def _hold(self, until: Instant, future: asyncio.Future[Any]) -> None:
        self._count += 1
        heapq.heappush(self._held, (until, self._count, future))
        self._host.driver.reply_held()

    def _forget_done(self) -> None:
        """Nobody waits for what has been answered, or for whom is gone: such an entry goes once it
        comes first.
        """
        while self._held and self._held[0][2].done():
            heapq.heappop(self._held)
