"""The serial inbox: everything that a socket receives enters the simulation here, and every effect
of the simulation is sent from here.

All listeners run in one event loop, and a call on the simulation runs to completion, so the event
loop is the queue. The host brings a paced clock up to date before each input, applies effects in
order, and lets the clock driver or a command move time from due instant to due instant.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sim.api.pipeline.inputs import (
    Close,
    Disconnect,
    Effect,
    Fired,
    Outcome,
    Post,
    Reply,
    Resolve,
    Send,
)
from sim.contract.contract import Plane
from sim.core.exchange import Exchange
from sim.core.model.refusals import Code, InvalidRequest
from sim.kernel.instants import OUT_OF_RANGE, Instant, is_supported_instant
from sim.run.simulation import Simulation
from sim.server import collector
from sim.server.clock_driver import ClockDriver
from sim.server.console import Observer
from sim.server.event_loop import Tasks, Watchers
from sim.server.held_replies import HeldReplies
from sim.server.history_access import HistoryAccess, OpenedRun
from sim.server.open_streams import TOO_SLOW, OpenStreams
from sim.server.stream_buffer import StreamBuffer
from sim.server.telemetry.meter import Meter, measure
from sim.server.turns import Turns
from sim.server.webhooks import ReceiverResponse, WebhookSender
from sim.world.format.clock_mode import MANUAL, ClockMode

if TYPE_CHECKING:
    from sim.read.history.history import History
    from sim.server.telemetry.prometheus import Latencies

log = logging.getLogger("sim.server")

# Longest real time that one step waits for webhook receivers. An attempt itself gives up after 5 s;
# its retry is due later in virtual time.
_SETTLE_S = 10.0
_STANDS_STILL = "stands still; Retry-After is virtual time: POST /_sim/v1/clock/advance moves it"
# During a long advance the sockets get a turn at least this often, in seconds.
_TURN_S = 0.004

STOPPING = Close(0, Code.UNAVAILABLE, "the simulator is stopping", 1001)
STARTED_OVER = Close(0, Code.UNAVAILABLE, "the simulation was moved to another moment", 1012)


class ClientLine(Protocol):
    """The listeners and connections of the service that serves a host (`line.py`)."""

    def follow(self, exchange: Exchange) -> None: ...

    def disconnect(self, effect: Disconnect) -> None: ...

    def end_idle(self, exchange: Exchange) -> None: ...

    async def settled(self) -> None: ...


class Host:
    """A simulation with a clock driver, stream buffers and a webhook sender. Used from one event
    loop.

    A run that ends early (an internal error, a lost journal) sends no more answers: every further
    call raises RunEnded, and `on_end` gets the reason. `opened` is the finished run that it shows,
    and `tls_ca` the file of the certificate to trust.
    """

    def __init__(
        self,
        simulation: Simulation,
        clock: ClockMode = MANUAL,
        *,
        observer: Observer | None = None,
        meters: tuple[Meter, ...] = (),
        on_end: Callable[[BaseException], None] | None = None,
        opened: OpenedRun | None = None,
        tls_ca: Path | None = None,
    ) -> None:
        self.simulation = simulation
        self.settings = simulation.settings
        self.opened = opened
        self.tls_ca = tls_ca
        self._observer = observer
        self._meters = meters
        self._on_end = on_end
        simulation.journal.set_end_listener(self._run_ended)
        self.replies = HeldReplies(self)
        self.streams = OpenStreams(self)
        self.tasks = Tasks()
        self.watchers = Watchers()
        self.turns = Turns()
        # Number of moves to other moments, and the latest one
        self.jumps, self.last_jump = 0, dict[str, Any]()
        self._moving = asyncio.Lock()
        self.history_access = HistoryAccess()  # simulations at other moments
        self.webhooks = WebhookSender(
            self.settings,
            now=lambda: self.now,
            secret_for=lambda key: self.simulation.secret_for(key),
            answered=self._webhook_answered,
        )
        self.line: ClientLine | None = None  # once somebody can connect
        self.driver = ClockDriver(self, clock)
        self.driver.rearm()

    @property
    def now(self) -> Instant:
        """Virtual now."""
        return self.simulation.now

    @cached_property
    def history(self) -> History:
        """The history of the run, created on first use."""
        from sim.read.history.history import History

        return History(self.simulation, self.opened.recorded if self.opened is not None else None)

    @cached_property
    def latencies(self) -> Latencies:
        """Latencies of calls, counted from the first use on."""
        from sim.server.telemetry.prometheus import Latencies

        latencies = Latencies()
        self._meters = (*self._meters, latencies.add)
        return latencies

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
        """Handle one HTTP request."""
        self.catch_up()
        wall = time.time_ns()
        outcome = self.simulation.rest(
            plane, verb, path, query, headers, body, peer=peer, wall=wall, oversize=oversize
        )
        if self._meters:
            measure(self._meters, self.simulation, outcome, headers, wall)
        return self._reply_of(outcome, wall)

    def rpc(self, method: str, metadata: Mapping[str, str], message: bytes, peer: str) -> Reply:
        """Handle one unary gRPC request."""
        self.catch_up()
        wall = time.time_ns()
        outcome = self.simulation.rpc(method, metadata, message, peer=peer, wall=wall)
        if self._meters:
            measure(self._meters, self.simulation, outcome, metadata, wall)
        return self._reply_of(outcome, wall)

    def open(
        self,
        method: str,
        metadata: Mapping[str, str],
        message: bytes,
        peer: str,
        *,
        web_socket: bool = False,
    ) -> StreamBuffer | Reply:
        """Open a stream. Returns the buffer of its frames, or the reply that refuses it or contains
        the messages of a download.
        """
        self.catch_up()
        wall = time.time_ns()
        outcome = self.simulation.open(
            method, metadata, message, peer=peer, wall=wall, web_socket=web_socket
        )
        if self._meters:
            measure(self._meters, self.simulation, outcome, metadata, wall)
        if outcome.reply is not None:
            return self._reply_of(outcome, wall)
        buffer = self.streams.begin(outcome.stream)
        buffer.admission = outcome.admission or buffer.admission
        self._finish(outcome, wall)
        return buffer

    def frame(self, stream: StreamBuffer, message: bytes) -> None:
        """Handle a client's frame. It is ignored if the exchange has ended the stream."""
        if stream in self.streams:
            self.catch_up()
            self._finish(self.simulation.frame(stream.stream, message))

    def hangup(self, stream: StreamBuffer) -> None:
        """The client has closed its side of a stream, has disconnected, or is too slow. Ignored if
        the exchange has ended the stream.
        """
        if stream in self.streams:
            slow = stream.ended_by is TOO_SLOW
            self.streams.leave(stream, STOPPING)
            self.catch_up()
            self._finish(self.simulation.hangup(stream.stream, slow=slow))

    async def control(self, action: str, subject: str, arguments: dict[str, Any]) -> object:
        """Perform an operator action. Returns its value when everything that it caused has
        settled. Raises Refusal.
        """
        self.catch_up()
        outcome = self.simulation.control(action, subject, arguments)
        self._finish(outcome)
        await self.settled()
        return outcome.value

    def answer_due(self, pending: str) -> None:
        """Send a pending answer now, although nobody has moved the clock."""
        self._finish(self.simulation.answer_due(pending))

    def catch_up(self) -> None:
        """Bring a paced clock up to date before an input is handled; start a fast one."""
        if self.driver.paced:
            self.driver.catch_up()
        elif self.driver.fast:
            self.driver.called()

    def _reply_of(self, outcome: Outcome, wall: int) -> Reply:
        reply = outcome.reply
        if reply is None:
            raise AssertionError("a call without a reply")
        if reply.pending_on:
            # Before the effects, because they may contain the answer.
            self.replies.expect(reply.pending_on)
        self._finish(outcome, wall)
        return reply

    def _webhook_answered(self, attempt: Post, answer: ReceiverResponse) -> None:
        self.catch_up()
        outcome = self.simulation.answer(
            attempt.attempt, answer.status, answer.error, answer.retry_after
        )
        if self._observer is not None:
            self._observer.after_attempt(self.simulation, attempt, answer)
        self._finish(outcome)

    # ---- effects

    def _finish(self, outcome: Outcome, wall: int = 0) -> None:
        """Apply what follows from an input, and rearm a paced clock for new timers.

        `wall` is the wall clock, in nanoseconds, when a call arrived.
        """
        self._follow(outcome, wall)
        if self.driver.paced:
            self.driver.rearm()

    def _follow(self, outcome: Outcome, wall: int = 0) -> None:
        """Apply the effects of an input, and tell those who want to know about it."""
        if outcome.warning:
            log.warning("%s", outcome.warning)
        if outcome.effects:
            self.apply(outcome.effects)
        if self.line is not None:
            self.line.follow(self.simulation.exchange)
        if self._observer is not None:
            self._observer.after_input(self.simulation, outcome, wall)
        self.watchers.wake()

    def apply(self, effects: list[Effect]) -> None:
        """Deliver frames, ends of streams, answers and webhook attempts, in order."""
        self.streams.begin_round()
        for effect in effects:
            if isinstance(effect, Send):
                self.streams.send(effect)
            elif isinstance(effect, Close):
                self.streams.close(effect)
            elif isinstance(effect, Resolve):
                self.replies.resolve(effect)
            elif isinstance(effect, Disconnect):
                if self.line is not None:
                    self.line.disconnect(effect)
            elif not effect.receiver:
                self.webhooks.post(effect)

    # ---- time

    @property
    def on_manual_clock(self) -> bool:
        """Whether only commands move the clock."""
        return self.driver.mode.mode == "manual"

    def clock_hint(self, reply: Reply) -> str:
        """Why the pause that a reply asks for does not end by itself; "" if it does."""
        asks = any(name == "Retry-After" for name, _ in reply.headers)
        return _STANDS_STILL if asks and self.on_manual_clock else ""

    @property
    def elides_latency(self) -> bool:
        """Whether replies that take virtual time are sent at once with that time in a
        header (design D3).
        """
        return self.on_manual_clock and self.settings.latency != "hold"

    def reply_held(self) -> None:
        """A reply waits for the clock: let an autojump clock jump."""
        self.driver.reply_held()

    def next_stop(self) -> Instant | None:
        """The next instant at which a timer fires or a held reply is due."""
        stops = (self.simulation.next_due(), self.replies.next_due)
        return min((stop for stop in stops if stop is not None), default=None)

    def step(self, to: Instant) -> Outcome:
        """Move time to an instant in one input."""
        outcome = self.simulation.advance_to(to)
        self._follow(outcome)
        if self.line is not None:
            self.line.end_idle(self.simulation.exchange)
        self.replies.release()
        return outcome

    async def advance(self, to: Instant, until: Callable[[], bool] = lambda: False) -> list[Fired]:
        """Move time to an instant, from due instant to due instant, each settled before the next,
        or to the first after which `until` holds. Returns everything that fired, in order.
        """
        async with self.clock_turn():
            return await self.move(to, until)

    @asynccontextmanager
    async def clock_turn(self) -> AsyncIterator[None]:
        """Wait until nobody else moves the clock. What depends on the present instant, such as the
        target of a move, is computed inside.
        """
        async with self._moving:
            self.catch_up()
            yield

    async def move(self, to: Instant, until: Callable[[], bool] = lambda: False) -> list[Fired]:
        """Like `advance`, for a caller whose turn it is."""
        if not is_supported_instant(to):
            raise InvalidRequest(OUT_OF_RANGE)
        fired: list[Fired] = []
        steps, turn_ends = 0, time.perf_counter() + _TURN_S
        while not until() and (stop := self.next_stop()) is not None and stop <= to:
            await self.streams.wait_for_readers()
            outcome = self.step(max(stop, self.now))
            fired += outcome.fired
            steps += 1
            await self.settled()
            if outcome.effects or self.replies or time.perf_counter() > turn_ends:
                # Frames and released replies are sent before time moves further.
                await asyncio.sleep(0)
                turn_ends = time.perf_counter() + _TURN_S
        if not until() and (to != self.now or not steps):
            fired += self.step(to).fired
            await self.settled()
        self.driver.rebase()
        return fired

    async def settled(self) -> None:
        """Wait, for a limited real time, until webhook receivers have answered all attempts, and
        those that their answers caused.
        """
        if self.webhooks.busy and not await self.webhooks.idle(_SETTLE_S):
            log.warning(
                "a webhook receiver has not answered within %g s; continuing without its answer",
                _SETTLE_S,
            )
        if self.line is not None:
            await self.line.settled()

    # ---- time travel

    async def reset(self, seed: int | None = None) -> None:
        """Go back to the scenario's start."""
        async with self._moving:
            self._start_over(self.simulation.reset(seed))

    async def rewind(self, *, to: Instant | None = None, seq: int | None = None) -> str:
        """Go back to an instant or to the moment right after an input. Returns the name of
        the new branch.
        """
        async with self._moving:
            branch, effects = self.simulation.rewind(to=to, seq=seq)
            self._start_over(effects)
        return branch

    async def restore(self, name: str) -> None:
        """Go to a named snapshot."""
        async with self._moving:
            self._start_over(self.simulation.restore(name))

    async def become(self, simulation: Simulation) -> None:
        """Serve another simulation with the same settings, from its start."""
        async with self._moving:
            self.simulation.journal.set_end_listener(None)
            self.simulation = simulation
            simulation.journal.set_end_listener(self._run_ended)
            self.__dict__.pop("history", None)
            self._start_over([])

    def _start_over(self, effects: list[Effect]) -> None:
        """End everything that belongs to the moment that was left."""
        collector.release()
        self.webhooks.abandon()
        self.apply(effects)
        self.streams.end_all(STARTED_OVER)
        if self.line is not None:
            self.line.follow(self.simulation.exchange)
        self.replies.abandon()
        self.driver.rebase()
        simulation, self.jumps = self.simulation, self.jumps + 1
        self.last_jump = {
            "branch": simulation.branch,
            "seq": simulation.seq,
            "digest": simulation.digest,
        }
        self.watchers.wake()

    # ---- end

    def _run_ended(self, cause: BaseException) -> None:
        """The run accepts no more inputs: the clock stops, and no client waits for it any more."""
        self.driver.stop()
        self.webhooks.abandon()
        # After the input that failed, so that its caller gets the error first.
        asyncio.get_running_loop().call_soon(self._abandon, self.streams.take_all())
        if self._on_end is not None:
            self._on_end(cause)

    def _abandon(self, streams: list[StreamBuffer]) -> None:
        for stream in streams:
            stream.end(STOPPING)
        self.replies.abandon()

    async def stop(self) -> None:
        """End streams, release held replies, send no more webhooks."""
        collector.release()
        self.driver.stop()
        self.history_access.stop()
        self.streams.end_all(STOPPING)
        self.replies.abandon()
        await self.webhooks.close()
        self.tasks.cancel()
