"""The queue of everything that will happen by itself: timers as data, ordered by due instant, then
by kind where that matters, then by order of scheduling.

A timer names what to do (`kind`) and to whom (`subject`); it holds no code, so a queue can be
saved, compared and printed. Whoever owns the queue dispatches on the kind. Cancelling is O(1): the
entry stays in the heap and is skipped when it surfaces; the heap is rebuilt once more than half of
it is dead, so memory follows the live timers. A timer may be parked: it stays live and can be
cancelled, but does not surface until all parked ones are put back.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush

from msgspec import Struct

from sim.kernel.instants import Instant

# The place at their instant of timers of which nobody said more.
_LAST = "~"


class Timer(Struct, frozen=True, order=True, array_like=True, gc=False):
    """Something due at an instant. `seq` is unique in its queue: timers order by (due, place, seq),
    as quickly as bare tuples would.
    """

    due: Instant
    place: str
    seq: int
    kind: str
    subject: str


class TimerQueue:
    """Timers ordered by (due, place, seq)."""

    __slots__ = ("_by_subject", "_dead", "_heap", "_live", "_next_seq", "_parked", "_places")

    def __init__(self, first: Sequence[str] = (), by_subject: Collection[str] = ()) -> None:
        """`first`: kinds that go before all others at their instant, in this order; those of them
        in `by_subject` by subject among themselves.
        """
        self._places = {kind: str(place) for place, kind in enumerate(first)}
        self._by_subject = frozenset(by_subject)
        self._heap: list[Timer] = []
        self._live: set[int] = set()
        self._dead = 0
        self._next_seq = 1
        self._parked: list[Timer] = []

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, seq: int) -> bool:
        """Whether a timer has yet to fire."""
        return seq in self._live

    def schedule(self, due: Instant, kind: str, subject: str = "") -> int:
        """Add a timer and return its seq, by which it can be cancelled."""
        seq = self._next_seq
        self._next_seq = seq + 1
        place = self._places.get(kind, _LAST)
        if kind in self._by_subject:
            place += subject
        heappush(self._heap, Timer(due, place, seq, kind, subject))
        self._live.add(seq)
        return seq

    def cancel(self, seq: int) -> bool:
        """Forget a timer; False when it has fired or was cancelled before."""
        if seq not in self._live:
            return False
        self._live.discard(seq)
        # a parked one is no ballast, but counting it costs at most an early rebuild
        self._dead += 1
        if self._dead > 64 and self._dead * 2 > len(self._heap):
            self._heap = [timer for timer in self._heap if timer.seq in self._live]
            heapify(self._heap)
            self._dead = 0
        return True

    def next_due(self) -> Instant | None:
        """Due instant of the next live timer, or None."""
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
        """Set a popped timer aside, under its seq, until `unpark`."""
        self._live.add(timer.seq)
        self._parked.append(timer)

    def unpark(self) -> int:
        """Put parked timers back; long due, they are the next to surface, in order of their due
        instants. Returns how many there were.
        """
        back = [timer for timer in self._parked if timer.seq in self._live]
        for timer in back:
            heappush(self._heap, timer)
        self._parked = []
        return len(back)

    def cancel_kinds(self, prefix: str) -> None:
        """Forget every timer whose kind begins so, parked ones aside."""
        for seq in [timer.seq for timer in self._heap if timer.kind.startswith(prefix)]:
            self.cancel(seq)

    def pending(self) -> list[Timer]:
        """Live timers in firing order, without parked ones."""
        return sorted(timer for timer in self._heap if timer.seq in self._live)

    def save(self) -> tuple[int, list[Timer], list[Timer]]:
        """State as plain data: the next seq, the live timers, the parked ones."""
        return (
            self._next_seq,
            self.pending(),
            [timer for timer in self._parked if timer.seq in self._live],
        )

    def load(self, state: tuple[int, list[Timer], list[Timer]]) -> None:
        """Replace the queue by a saved one."""
        self._next_seq = state[0]
        self._heap = list(state[1])  # sorted, therefore a heap
        self._parked = list(state[2])
        self._live = {timer.seq for timer in [*self._heap, *self._parked]}
        self._dead = 0
