"""The queue of everything that is due to happen: timers as data, in one total order.

Theory. Virtual time moves only when an input says so (`advance_to`). Between two inputs nothing
happens. During an advance everything happens that is due, one timer after the other, and virtual
now is each timer's own instant while its owner acts. There is no second clock and no concurrency,
so the run is a function of its inputs if and only if the order of timers is unambiguous.

* Instants are integers of nanoseconds, so two timers are often due at the same instant: a market
  closes when a good-till-time order expires, thousands of markets open at noon.
* At one instant the order is (priority, seq). `seq` counts calls of `schedule`: what was scheduled
  first fires first. This is enough wherever one timer causes another.
* It is not enough where two causes are independent: the order would depend on which of them was
  created first. For those kinds a priority decides (`core/model/timer_priority.py`), by kind, and
  within some kinds by subject.
* If a timer schedules another one at the same instant, that one fires in the same advance. A timer
  that is overdue (because it was suspended) fires at virtual now: time never moves back.

A timer names what to do (`kind`) and to whom (`subject`). It holds no code, so that a queue can be
saved, compared and printed. The code belongs to the components: each declares the kinds that it
owns (`timers`, a mapping from kind to function), `merge_owners` merges these mappings, and after
`close` the queue accepts no other kind. A kind with two owners or none is thus an error when a
simulation starts or a timer is scheduled, and never a timer that is lost.

Cost. Scheduling and popping are O(log n). Cancelling is O(1): the entry stays in the heap and is
skipped when it surfaces. The heap is rebuilt once more than half of it is dead, so memory follows
the live timers. A suspended timer stays live and can be cancelled, but does not surface until all
suspended ones resume (rule W7: what falls due during maintenance happens after it).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TypeAlias, TypeVar

from msgspec import Struct

from sim.kernel.instants import Instant

# The priority of kinds without an explicit one. It comes after all others.
_LAST = "~"


class Timer(Struct, frozen=True, order=True, array_like=True, gc=False):
    """Something due at an instant.

    `seq` is unique in its queue. Timers order by (due, priority, seq), as fast as bare tuples.
    """

    due: Instant
    priority: str
    seq: int
    kind: str
    subject: str


TimerHandlers: TypeAlias = Mapping[str, Callable[[Timer], None]]
Kind = TypeVar("Kind")
Handler = TypeVar("Handler")


class TimerOwnershipError(ValueError):
    """A kind of timer has two owners, or none."""


def merge_owners(owners: Iterable[Mapping[Kind, Handler]]) -> dict[Kind, Handler]:
    """Merge the timer kinds of several components. Raises TimerOwnershipError for duplicates."""
    merged: dict[Kind, Handler] = {}
    for owned in owners:
        for kind, handler in owned.items():
            if kind in merged:
                raise TimerOwnershipError(f"two components own the timer kind {kind!r}")
            merged[kind] = handler
    return merged


class _AnyKind(dict[str, str]):
    """Priorities of a queue that is not closed, which accepts every kind."""

    def __missing__(self, kind: str) -> str:
        return _LAST


class TimerQueue:
    """Timers ordered by (due, priority, seq)."""

    __slots__ = ("_by_subject", "_dead", "_heap", "_live", "_next_seq", "_priorities", "_suspended")

    def __init__(self, first: Sequence[str] = (), by_subject: Collection[str] = ()) -> None:
        """Create an empty queue.

        Kinds in `first` fire before all others at the same instant, in this order. Timers of a kind
        in `by_subject`, which must be in `first`, are ordered by subject among themselves.
        """
        self._priorities: dict[str, str] = _AnyKind(
            (kind, str(index)) for index, kind in enumerate(first)
        )
        self._by_subject = frozenset(by_subject)
        self._heap: list[Timer] = []
        self._live: set[int] = set()
        self._dead = 0
        self._next_seq = 1
        self._suspended: list[Timer] = []

    def close(self, kinds: Collection[str]) -> None:
        """Accept only these kinds from now on.

        Raises TimerOwnershipError if a timer of another kind is pending or another kind
        has a priority.
        """
        pending = (timer.kind for timer in (*self._heap, *self._suspended))
        for kind in (*self._priorities, *pending):
            if kind not in kinds:
                raise TimerOwnershipError(f"no component owns the timer kind {kind!r}")
        self._priorities = {kind: self._priorities[kind] for kind in kinds}

    def __len__(self) -> int:
        return len(self._live)

    @property
    def scheduled(self) -> int:
        """The number that the next timer will have. All timers so far have lower ones."""
        return self._next_seq

    def __contains__(self, seq: int) -> bool:
        """Return whether a timer has yet to fire."""
        return seq in self._live

    def schedule(self, due: Instant, kind: str, subject: str = "") -> int:
        """Add a timer and return its seq, by which it can be cancelled."""
        seq = self._next_seq
        try:
            priority = self._priorities[kind]
        except KeyError:
            raise TimerOwnershipError(f"no component owns the timer kind {kind!r}") from None
        self._next_seq = seq + 1
        if kind in self._by_subject:
            priority += subject
        heappush(self._heap, Timer(due, priority, seq, kind, subject))
        self._live.add(seq)
        return seq

    def cancel(self, seq: int) -> bool:
        """Forget a timer. Return False if it has already fired or been cancelled."""
        if seq not in self._live:
            return False
        self._live.discard(seq)
        # A suspended timer is not in the heap, but counting it causes at most an early rebuild.
        self._dead += 1
        if self._dead > 64 and self._dead * 2 > len(self._heap):
            self._heap = [timer for timer in self._heap if timer.seq in self._live]
            heapify(self._heap)
            self._dead = 0
        return True

    def next_due(self) -> Instant | None:
        """Return the due instant of the next live timer, or None."""
        heap = self._heap
        while heap and heap[0].seq not in self._live:
            heappop(heap)
            self._dead -= 1
        return heap[0].due if heap else None

    def pop_due(self, until: Instant) -> Timer | None:
        """Remove and return the next timer due at or before `until`, or None."""
        heap, live = self._heap, self._live
        while heap and heap[0].due <= until:
            timer = heappop(heap)
            if timer.seq in live:
                live.remove(timer.seq)
                return timer
            self._dead -= 1
        return None

    def suspend(self, timer: Timer) -> None:
        """Set a popped timer aside, with its seq, until `resume`."""
        self._live.add(timer.seq)
        self._suspended.append(timer)

    def resume(self) -> int:
        """Put suspended timers back and return how many there were.

        They are overdue, so they surface next, in order of their due instants.
        """
        live = [timer for timer in self._suspended if timer.seq in self._live]
        for timer in live:
            heappush(self._heap, timer)
        self._suspended = []
        return len(live)

    def cancel_kinds(self, prefix: str) -> None:
        """Forget every timer whose kind begins with the prefix, except suspended ones."""
        for seq in [timer.seq for timer in self._heap if timer.kind.startswith(prefix)]:
            self.cancel(seq)

    def pending(self) -> list[Timer]:
        """Return the live timers in firing order, without suspended ones."""
        return sorted(timer for timer in self._heap if timer.seq in self._live)

    @property
    def version(self) -> tuple[int, int, int]:
        """A value that changes whenever `pending` does."""
        return self._next_seq, len(self._live), len(self._suspended)

    def save(self) -> tuple[int, list[Timer], list[Timer]]:
        """Return the state as plain data: the next seq, the live timers, the suspended ones."""
        return (
            self._next_seq,
            self.pending(),
            [timer for timer in self._suspended if timer.seq in self._live],
        )

    def load(self, state: tuple[int, list[Timer], list[Timer]]) -> None:
        """Replace the queue by a saved one."""
        self._next_seq = state[0]
        self._heap = list(state[1])  # sorted, and therefore a heap
        self._suspended = list(state[2])
        self._live = {timer.seq for timer in [*self._heap, *self._suspended]}
        self._dead = 0
