"""The serial inbox: everything a socket receives reaches the simulation here, and everything the
simulation does leaves from here.

All shells run in one event loop, and a call on the simulation runs to completion, so calling it is
the queue. The host brings a paced clock up to date before each input, applies effects in order, and
lets the clock driver or a command move time step by step.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sim.api.pipeline.inputs import Close, Effect, Fired, Outcome, Post, Reply, Resolve, Send
from sim.contract.contract import Plane
from sim.core.model.refusals import Code, InvalidRequest
from sim.kernel.instants import OUT_OF_RANGE, Instant, is_supported_instant
from sim.server.clock_driver import MANUAL, ClockDriver, ClockMode
from sim.server.held_replies import HeldReplies
from sim.server.stream_buffer import Channel
from sim.server.webhooks.sender import Answered, WebhookSender

if TYPE_CHECKING:
    from sim.server.instances import Instances
    from sim.simulation import Simulation

log = logging.getLogger("sim.server")

# Longest real time a step waits for webhook receivers; an attempt itself gives up after 5 s, and
# its retry is due later in virtual time.
_SETTLE_S = 10.0
# A long advance lets sockets have a turn at least this often.
_STEPS_PER_BREATH = 64

# Longest real time that moving the clock by command waits for a reader who has fallen behind and
# does not move (rule S12 says what becomes of it).
_READER_S = 1.0

TOO_SLOW = Close(0, Code.RESOURCE_EXHAUSTED, "slow consumer", 1013)
STOPPING = Close(0, Code.UNAVAILABLE, "the simulator is stopping", 1001)
STARTED_OVER = Close(0, Code.UNAVAILABLE, "the simulation was moved to another moment", 1012)


class Host:
    """A simulation with a clock driver, streams and a webhook sender around it. Belongs to one
    event loop. `worlds` are those of the process, this one too.
    """

    def __init__(self, simulation: Simulation, clock: ClockMode = MANUAL) -> None:
        self.simulation = simulation
        self.settings = simulation.settings
        self.replies = HeldReplies(self)
        self._channels: dict[int, Channel] = {}
        self._behind: dict[int, Channel] = {}
        self._applied = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._news: dict[asyncio.Event, None] = {}
        self._moving = asyncio.Lock()
        self.webhooks = WebhookSender(
            self.settings,
            now=lambda: self.simulation.now,
            secret_for=lambda key: self.simulation.secret_for(key),
            answered=self._webhook_answered,
        )
        self.worlds: Instances | None = None
        self.driver = ClockDriver(self, clock)
        self.driver.rearm()

    # ---- inputs

    def rest(
        self,
        plane: Plane,
        verb: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        body: bytes,
        peer: str,
        oversize: int = 0,
    ) -> Reply:
        """One HTTP request."""
        self.arrive()
        outcome = self.simulation.rest(
            plane,
            verb,
            path,
            query,
            headers,
            body,
            peer=peer,
            wall=time.time_ns(),
            oversize=oversize,
        )
        return self._replied(outcome)

    def rpc(self, method: str, metadata: Mapping[str, str], message: bytes, peer: str) -> Reply:
        """One unary gRPC request."""
        self.arrive()
        return self._replied(
            self.simulation.rpc(method, metadata, message, peer=peer, wall=time.time_ns())
        )

    def open(
        self,
        method: str,
        metadata: Mapping[str, str],
        message: bytes,
        peer: str,
        *,
        web_socket: bool = False,
    ) -> Channel | Reply:
        """A stream begins: the channel of its frames, or the reply that refuses it or holds the
        messages of a download.
        """
        self.arrive()
        outcome = self.simulation.open(
            method, metadata, message, peer=peer, wall=time.time_ns(), web_socket=web_socket
        )
        if outcome.reply is not None:
            return self._replied(outcome)
        channel = self._channels[outcome.stream] = Channel(
            outcome.stream, self.simulation.stream_buffer, self.settings.stream_buffer
        )
        self._carry_out(outcome.effects)
        return channel

    def frame(self, channel: Channel, message: bytes) -> None:
        """A client's frame; ignored when the stream has ended on our side."""
        if self._channels.get(channel.stream) is channel:
            self.arrive()
            self._carry_out(self.simulation.frame(channel.stream, message).effects)

    def hangup(self, channel: Channel) -> None:
        """The client's side of a stream is gone; nothing to do when ours ended first."""
        if self._channels.get(channel.stream) is channel:
            del self._channels[channel.stream]
            channel.end(STOPPING, at_once=True)
            self.arrive()
            self._carry_out(self.simulation.hangup(channel.stream).effects)

    async def control(self, action: str, subject: str, arguments: dict[str, Any]) -> object:
        """A tester's action that changes the world; answers when what it set off has settled.
        Raises Refusal.
        """
        self.arrive()
        outcome = self.simulation.control(action, subject, arguments)
        self._carry_out(outcome.effects)
        await self.settled()
        return outcome.value

    def arrive(self) -> None:
        """Something reaches us from outside: bring a paced clock up to date before it is looked at."""
        if self.driver.paced:
            self.driver.catch_up()

    def _replied(self, outcome: Outcome) -> Reply:
        reply = outcome.reply
        if reply is None:
            raise AssertionError("a call without a reply")
        if reply.failure is not None:
            log.error(
                "a call failed inside, request id %s", reply.request_id, exc_info=reply.failure
            )
        if reply.pending_on:
            # Before the effects: what it waits for may be among those that they set off.
            self.replies.expect(reply.pending_on)
        self._carry_out(outcome.effects)
        return reply

    def _webhook_answered(self, attempt: Post, answer: Answered) -> None:
        self.arrive()
        self._carry_out(
            self.simulation.answer(
                attempt.attempt, answer.status, answer.error, answer.retry_after
            ).effects
        )

    # ---- effects

    def _carry_out(self, effects: list[Effect]) -> None:
        """What an input did: its effects, and a paced clock that knows of timers it may have set."""
        if effects:
            self.apply(effects)
        if self.driver.paced:
            self.driver.rearm()

    def apply(self, effects: list[Effect]) -> None:
        """Hand frames, ends and webhook attempts to those who carry them out, in order."""
        self._applied += 1
        for effect in effects:
            if isinstance(effect, Send):
                channel = self._channels.get(effect.stream)
                if channel is not None and not channel.push(effect.frame):
                    self._fell_behind(channel)
            elif isinstance(effect, Close):
                ended = self._channels.pop(effect.stream, None)
                if ended is not None:
                    ended.end(effect)
            elif isinstance(effect, Resolve):
                self.replies.resolve(effect)
            else:
                self.webhooks.post(effect)
        for happened in self._news:
            happened.set()

    @contextmanager
    def news(self) -> Iterator[asyncio.Event]:
        """An event that is set by every input from now on; whoever waits for it clears it."""
        happened = asyncio.Event()
        self._news[happened] = None
        try:
            yield happened
        finally:
            del self._news[happened]

    def _fell_behind(self, channel: Channel) -> None:
        """The reader of a stream is waited for where that is possible, and loses what waits for it
        or the stream where it is too slow.

        What one input brings at once, such as a snapshot of everything, makes nobody slow: too much
        has to be waiting when more comes. Memory is another matter.
        """
        self._behind[channel.stream] = channel
        channel.slow_since = (channel.slow_since or self._applied) if channel.slow else 0
        if channel.slow_since in (0, self._applied) and not channel.full:
            return
        head = self.simulation.skip_to_head(channel.stream, channel.waiting)
        if head is not None:
            channel.skip(head)
            return
        channel.end(TOO_SLOW, at_once=True)
        # As an input of its own, after the present one has been applied.
        asyncio.get_running_loop().call_soon(self.hangup, channel)

    async def _read(self) -> None:
        """Let readers who have fallen behind catch up: time that is moved by command moves faster
        than anybody can read.
        """
        behind, self._behind = self._behind, {}
        for channel in behind.values():
            await channel.caught_up(_READER_S)

    # ---- time

    def next_stop(self) -> Instant | None:
        """When the next thing happens by itself: a timer, or a held reply that becomes ready."""
        due = self.simulation.next_due()
        ready = self.replies.next_due
        return (
            min(due, ready)
            if due is not None and ready is not None
            else ready
            if due is None
            else due
        )

    def step(self, to: Instant) -> Outcome:
        """Move time to an instant in one input."""
        outcome = self.simulation.advance_to(to)
        self.apply(outcome.effects)
        self.replies.release()
        return outcome

    async def advance(self, to: Instant) -> list[Fired]:
        """Move time to an instant, due instant by due instant, each settled before the next;
        everything that fired, in order.
        """
        if not is_supported_instant(to):
            raise InvalidRequest(OUT_OF_RANGE)
        async with self._moving:
            self.arrive()
            fired: list[Fired] = []
            steps = 0
            while (stop := self.next_stop()) is not None and stop <= to:
                if self._behind:
                    await self._read()
                outcome = self.step(max(stop, self.simulation.now))
                fired += outcome.fired
                steps += 1
                await self.settled()
                if outcome.effects or self.replies or steps % _STEPS_PER_BREATH == 0:
                    # Frames and released replies leave before time moves on.
                    await asyncio.sleep(0)
            if to != self.simulation.now or not steps:
                fired += self.step(to).fired
                await self.settled()
            self.driver.rebase()
        return fired

    async def settled(self) -> None:
        """Wait until webhook receivers have answered what was posted so far and what their answers
        set off, a bounded real time.
        """
        if self.webhooks.busy and not await self.webhooks.idle(_SETTLE_S):
            log.warning(
                "a webhook receiver has not answered within %g s; going on without it", _SETTLE_S
            )

    async def reset(self, seed: int | None = None) -> None:
        """Back to the scenario's start."""
        await self._travel(lambda: self.simulation.reset(seed))

    async def rewind(self, *, to: Instant | None = None, seq: int | None = None) -> str:
        """Back to an instant or to right after an input; the new branch's name."""
        branch = ""

        def move() -> list[Effect]:
            nonlocal branch
            branch, effects = self.simulation.rewind(to=to, seq=seq)
            return effects

        await self._travel(move)
        return branch

    async def restore(self, name: str) -> None:
        """To a named snapshot."""
        await self._travel(lambda: self.simulation.restore(name))

    async def _travel(self, move: Callable[[], list[Effect]]) -> None:
        async with self._moving:
            effects = move()
            self.webhooks.abandon()
            self.apply(effects)
            self._end_channels(STARTED_OVER)
            self.replies.abandon()
            self.driver.rebase()

    # ---- end

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a task of the host's; a failure is logged, not lost."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("a task of the host failed", exc_info=problem)

    def _end_channels(self, why: Close) -> None:
        for channel in list(self._channels.values()):
            channel.end(why)
        self._channels.clear()

    async def stop(self) -> None:
        """End streams, let held replies go, send no more webhooks."""
        self.driver.stop()
        self._end_channels(STOPPING)
        self.replies.abandon()
        await self.webhooks.close()
        for task in self._tasks:
            task.cancel()
