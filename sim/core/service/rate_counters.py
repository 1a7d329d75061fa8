"""The counters behind rate limits: token buckets and a sliding minute, per limit, method and
subject, on virtual time (rule R2).

A bucket is stored as one number, the instant at which it would be full again. An idle caller
therefore needs no memory, and nothing has to be refilled (the generic cell rate algorithm).
Checking (`wait`) and counting (`take`) are two steps, because a call that one limit refuses must
not count against another.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

from sim.kernel.instants import NS_PER_S, Instant, Span

Rung: TypeAlias = Literal["global", "endpoint"]

_WINDOW_S = 60
_SWEEP_AT = 1024  # subjects in one counter before idle ones are dropped


class Limit(Struct, frozen=True):
    """`count` calls in `period`.

    A bucket holds `burst` calls (0: `count`) and refills steadily; a `sliding` limit counts the
    last 60 seconds. The global rung is checked first and shared by all methods; the endpoint rung
    counts each method separately. `extra` limits apply with `limits.extra` only. `rule` is the rule
    of the page *Rules* about this limit. `tiers` has the calls that each tier of callers may make.
    """

    name: str
    count: int
    period: Span
    source: str
    burst: int = 0
    sliding: bool = False
    rung: Rung = "endpoint"
    extra: bool = False
    rule: str = "R1"
    tiers: tuple[int, ...] = ()


class Pace(NamedTuple):
    """A limit in numbers.

    `calls` are allowed per period. A bucket regains one call each `interval`, and is empty if it
    will be full again later than `tolerance` from now.
    """

    interval: Span
    tolerance: Span
    calls: int


class CallWindow(Struct):
    """Calls in each of the last 60 seconds: `counts[s % 60]` for second s; `head` is
    the newest second.
    """

    head: int
    total: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * _WINDOW_S)


class _Counter:
    """What all counters of a limit and method share: its pace, and the paces of subjects with
    a raised limit.
    """

    __slots__ = ("limit", "pace", "special", "sweep_at")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.pace = pace_of(limit, limit.count)
        self.special: dict[str, Pace] = {}
        self.sweep_at = _SWEEP_AT


class TokenBuckets(_Counter):
    """Token buckets of one limit and method.

    `full[subject]` is the instant at which the bucket will be full again; full buckets are dropped.
    """

    __slots__ = ("full",)

    def __init__(self, limit: Limit, full: dict[str, Instant]) -> None:
        super().__init__(limit)
        self.full = full

    def wait(self, subject: str, now: Instant) -> Span:
        """Return how long until the limit admits a call; 0 if it does so now."""
        full = self.full.get(subject, 0)
        if full <= now:
            return 0
        pace = self.special.get(subject, self.pace) if self.special else self.pace
        return max(0, full - now - pace.tolerance)

    def take(self, subject: str, now: Instant) -> None:
        """Count an admitted call."""
        full = self.full.get(subject, 0)
        pace = self.special.get(subject, self.pace) if self.special else self.pace
        if full > now:
            self.full[subject] = full + pace.interval
            return
        if len(self.full) >= self.sweep_at:
            self._sweep(now)
        self.full[subject] = now + pace.interval

    def used(self, subject: str, now: Instant) -> int:
        """Return the number of calls not yet refilled."""
        pace = self.special.get(subject, self.pace)
        return -(-max(0, self.full.get(subject, 0) - now) // pace.interval)

    def subjects(self) -> tuple[str, ...]:
        """Return the subjects that have a counter."""
        return tuple(self.full)

    def _sweep(self, now: Instant) -> None:
        for subject in [subject for subject, full in self.full.items() if full <= now]:
            del self.full[subject]
        self.sweep_at = max(_SWEEP_AT, 2 * len(self.full))


class Sliding(_Counter):
    """Counters per second over the last minute, of one limit and method."""

    __slots__ = ("windows",)

    def __init__(self, limit: Limit, windows: dict[str, CallWindow]) -> None:
        super().__init__(limit)
        self.windows = windows

    def wait(self, subject: str, now: Instant) -> Span:
        """Return how long until the limit admits a call; 0 if it does so now."""
        window = self.windows.get(subject)
        if window is None:
            return 0
        second = now // NS_PER_S
        if window.head != second:
            _slide(window, second)
        pace = self.special.get(subject, self.pace) if self.special else self.pace
        excess = window.total - pace.calls
        if excess < 0:
            return 0
        oldest = second - _WINDOW_S
        while excess >= 0:
            oldest += 1
            excess -= window.counts[oldest % _WINDOW_S]
        return (oldest + _WINDOW_S) * NS_PER_S - now

    def take(self, subject: str, now: Instant) -> None:
        """Count a call that `wait` admitted at this instant."""
        second = now // NS_PER_S
        window = self.windows.get(subject)
        if window is None:
            if len(self.windows) >= self.sweep_at:
                self._sweep(second)
            window = self.windows[subject] = CallWindow(second)
        window.counts[second % _WINDOW_S] += 1
        window.total += 1

    def used(self, subject: str, now: Instant) -> int:
        """Return the calls of the last minute, of a subject that has a counter. Changes nothing."""
        window = self.windows[subject]
        oldest = max(now // NS_PER_S, window.head) - _WINDOW_S + 1
        return sum(window.counts[second % _WINDOW_S] for second in range(oldest, window.head + 1))

    def subjects(self) -> tuple[str, ...]:
        """Return the subjects that have a counter."""
        return tuple(self.windows)

    def _sweep(self, second: int) -> None:
        oldest = second - _WINDOW_S
        for subject in [name for name, window in self.windows.items() if window.head <= oldest]:
            del self.windows[subject]
        self.sweep_at = max(_SWEEP_AT, 2 * len(self.windows))


Counter: TypeAlias = TokenBuckets | Sliding


def pace_of(limit: Limit, count: int) -> Pace:
    """Return the pace of a limit with another count.

    A raised limit keeps the burst of the table, unless the burst is the count itself. The
    interval is rounded down: an emptied bucket of 30 per second is full again after a second, not
    two nanoseconds later.
    """
    interval = max(1, limit.period // count)
    return Pace(interval, ((limit.burst or count) - 1) * interval, count)


def _slide(window: CallWindow, second: int) -> None:
    """Advance a window to a second, clearing the seconds that fall out."""
    gap = second - window.head
    if gap >= _WINDOW_S:
        window.counts = [0] * _WINDOW_S
        window.total = 0
    else:
        for s in range(window.head + 1, second + 1):
            window.total -= window.counts[s % _WINDOW_S]
            window.counts[s % _WINDOW_S] = 0
    window.head = second
