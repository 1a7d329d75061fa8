"""The clock of the pytest fixture: virtual time that the test moves, the instant at which it
begins, and what a wall clock that stands still or jumps would break.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit
from warnings import warn

from msgspec.structs import replace

from sim.kernel.instants import (
    Instant,
    format_instant,
    from_datetime,
    parse_instant,
    parse_span,
    to_datetime,
)
from sim.world.format.scalar_types import SPAN
from sim.world.format.scenario import Scenario

__tracebackhide__ = True  # pytest shows the line of the caller

if TYPE_CHECKING:
    from sim.api.pipeline.inputs import Fired
    from sim.server.background import BackgroundInstance, BackgroundService

# When exchanges of tests begin, unless their scenario or marker says so, as it is for `sim serve`.
# `sim calendar` sets it for each date.
START_VARIABLE = "SIM_START"

Moment = str | datetime
Length = str | timedelta


def _never() -> bool:
    return False


class _Plan(NamedTuple):
    """A function to call at an instant. Two at the same instant are called in order of planning."""

    at: Instant
    number: int
    do: Callable[[], object]


class Clock:
    """Virtual time, which only the test moves.

    A move returns when all due timers have fired and webhooks were answered. In a coroutine use
    `advance_async` or `until_async`: the others block the event loop, so a webhook receiver in that
    loop could never answer, and RuntimeError says so.
    """

    def __init__(self, running: BackgroundService | BackgroundInstance) -> None:
        self._running = running
        self._planned: list[_Plan] = []
        self._number = count()
        self._follow: list[Callable[[datetime], None]] = []

    @property
    def now(self) -> datetime:
        """Virtual now as an aware datetime, to the microsecond."""
        return to_datetime(self._instant())

    def advance(self, by: Length) -> list[str]:
        """Move forward by "5m", "PT5M" or a timedelta.

        Returns the timers that fired, in order, each as "timer subject".
        """
        return self._to(self._instant() + _span_of(by))

    def to(self, moment: Moment) -> list[str]:
        """Move forward to an RFC 3339 instant or an aware datetime. Returns the
        same as `advance`.
        """
        return self._to(instant_of(moment))

    def until(self, condition: Mapping[str, object], within: Length = "1d") -> list[str]:
        """Move forward until an event: a condition as in `when` of a step, such as
        `{"maintenance": False}` or `{"order": {"name": "mine", "state": "FILLED"}}`.

        Returns the same as `advance`. Raises TimeoutError if it does not happen `within` this time,
        and InvalidRequest for a condition that does not exist.
        """
        with self._wait_for(condition, within) as happened:
            return self._to(self._instant() + _span_of(within), happened)

    async def advance_async(self, by: Length) -> list[str]:
        """Move forward like `advance`, while the event loop of the caller continues."""
        return await self._to_async(self._instant() + _span_of(by))

    async def until_async(
        self, condition: Mapping[str, object], within: Length = "1d"
    ) -> list[str]:
        """Move forward like `until`, while the event loop of the caller continues."""
        with self._wait_for(condition, within) as happened:
            return await self._to_async(self._instant() + _span_of(within), happened)

    def plan(self, at: Instant, do: Callable[[], object]) -> None:
        """Call `do` when time reaches `at` (nanoseconds since 1970). See `ServedExchange.at`."""
        self._planned.append(_Plan(at, next(self._number), do))

    def _to(self, target: Instant, until: Callable[[], bool] = _never) -> list[str]:
        warn_of_patched_time(by_fixture=bool(self._follow))
        self._refuse_to_block()
        fired: list[str] = []
        for stop, plan in self._stops(target):
            moved, is_over = self._running.run(self._move(stop, until))
            fired += self._moved(moved)
            if is_over:
                break
            if plan is not None:
                self._begin(plan)
        return fired

    async def _to_async(self, target: Instant, until: Callable[[], bool] = _never) -> list[str]:
        warn_of_patched_time(by_fixture=bool(self._follow))
        fired: list[str] = []
        for stop, plan in self._stops(target):
            moving = self._running.start(self._move(stop, until))
            moved, is_over = await asyncio.wrap_future(moving)
            fired += self._moved(moved)
            if is_over:
                break
            if plan is not None and inspect.isawaitable(done := self._begin(plan)):
                await done
        return fired

    async def _move(self, stop: Instant, until: Callable[[], bool]) -> tuple[list[Fired], bool]:
        """In the service's loop: what fired, and whether `until` holds."""
        return await self._running.host.advance(stop, until), until()

    @contextmanager
    def _wait_for(
        self, condition: Mapping[str, object], within: Length
    ) -> Iterator[Callable[[], bool]]:
        """Look for a condition while the block moves the clock; TimeoutError if it was not met."""
        from sim.run.actors.operator.action import read_entry
        from sim.server.control.clock_calls import watch_for
        from sim.world.format.steps import When

        running, when = self._running, read_entry(When, condition)
        happened = running.call(lambda: watch_for(running.host, when))
        try:
            yield happened
            if not running.call(happened):
                now = format_instant(self._instant())
                raise TimeoutError(f"{dict(condition)} did not happen within {within}: now {now}")
        finally:
            running.call(lambda: running.simulation.script.watch(None))

    def _begin(self, plan: _Plan) -> object:
        self._planned.remove(plan)
        return plan.do()

    def _instant(self) -> Instant:
        return self._running.call(lambda: self._running.simulation.now)

    def _stops(self, target: Instant) -> Iterator[tuple[Instant, _Plan | None]]:
        """Yield the instants at which to stop, each with its plan; the last one is the target."""
        while due := [plan for plan in self._planned if plan.at <= target]:
            plan = min(due)
            yield max(plan.at, self._instant()), plan
        yield target, None

    def _moved(self, fired: list[Fired]) -> list[str]:
        for follow in self._follow:
            follow(self.now)
        return [f"{timer.timer} {timer.subject}".rstrip() for timer in fired]

    def _refuse_to_block(self) -> None:
        """RuntimeError in an event loop in which a registered webhook receiver listens."""
        try:
            loop: Any = asyncio.get_running_loop()
        except RuntimeError:
            return
        ports = _listening_ports(loop)
        running = self._running
        urls = running.call(lambda: running.simulation.exchange.webhooks.urls())
        for url in urls:
            if urlsplit(url).port in ports:
                raise RuntimeError(
                    f"this move blocks the event loop in which the webhook receiver {url} runs, so"
                    " it could never answer. Write `await exchange.clock.advance_async(...)` or"
                    " `await exchange.clock.until_async(...)`"
                )


def instant_of(moment: Moment) -> Instant:
    """Nanoseconds since 1970 of RFC 3339 text or an aware datetime."""
    if isinstance(moment, datetime):
        return from_datetime(moment)
    try:
        return parse_instant(moment)
    except (ValueError, TypeError):
        usual = "an aware datetime or text such as 2026-09-08T18:00:00Z"
        raise ValueError(f"expected an instant: {usual}, not {moment!r}") from None


def _span_of(by: Length) -> int:
    if isinstance(by, timedelta):
        return by // timedelta(microseconds=1) * 1_000
    try:
        return parse_span(by)
    except (ValueError, TypeError):
        usual = 'a timedelta or text such as "5m" or "PT5M"'
        meant = SPAN.suggestion(str(by))
        raise ValueError(f"expected a duration: {usual}, not {by!r}{meant}") from None


def _listening_ports(loop: Any) -> set[int]:
    """TCP ports on which an event loop accepts connections; none for a loop without a selector."""
    selector = getattr(loop, "_selector", None)
    watched = selector.get_map() if selector is not None and hasattr(selector, "get_map") else ()
    return {port for port in map(_listening_port, watched) if port}


def _listening_port(number: int) -> int:
    """The port on which a file descriptor accepts connections; 0 for any other file."""
    try:
        opened = socket.socket(fileno=number)
    except OSError:
        return 0
    try:
        listens = opened.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        name = opened.getsockname()
        return int(name[1]) if listens and isinstance(name, tuple) else 0
    except OSError:
        return 0
    finally:
        opened.detach()  # the file belongs to the loop


# ---- the beginning


def with_start(scenario: Scenario, start: str = "") -> Scenario:
    """The scenario, begun at an RFC 3339 instant with an offset: `start`, else that of `SIM_START`,
    else its own. ValueError where it is none, with the name of the variable if it is that.
    """
    text = start or os.environ.get(START_VARIABLE, "").strip()
    if not text:
        return scenario
    try:
        at = parse_instant(text)
    except ValueError as error:
        raise ValueError(f"{'start' if start else START_VARIABLE}: {error}") from None
    return replace(scenario, clock=replace(scenario.clock, start=at))


# ---- the wall clock of this process


def open_grpc_channels() -> int:
    """Number of open gRPC channels of this process."""
    grpc = sys.modules.get("grpc")
    if grpc is None:
        return 0
    kinds = (grpc.Channel, *((grpc.aio.Channel,) if "grpc.aio" in sys.modules else ()))
    held = (each for each in gc.get_objects() if issubclass(type(each), kinds))  # not of proxies
    return sum(map(_is_open, held))


def _is_open(channel: Any) -> bool:
    native = getattr(channel, "_channel", None)
    if native is None:
        return True
    try:
        # 4 is SHUTDOWN; a closed channel may refuse the question instead.
        return int(native.check_connectivity_state(False)) != 4
    except Exception:
        return False


def warn_of_patched_time(*, by_fixture: bool = False) -> None:
    """Warn when a test library has stopped or shifted this process's clock.

    `by_fixture` says that the fixture itself froze it with freezegun.
    """
    freezegun, time_machine = sys.modules.get("freezegun.api"), sys.modules.get("time_machine")
    patched = ""
    if freezegun is not None and freezegun.freeze_factories and not by_fixture:
        patched = "freezegun"
    if time_machine is not None and time_machine.escape_hatch.is_travelling():
        patched = "time-machine"
    if patched:
        warn(
            f"{patched} holds this process's clock: gRPC deadlines fire at once or never, and"
            " tokens look stale. Move virtual time with exchange.clock, or let exchange.freeze()"
            " do it",
            stacklevel=4,
        )
