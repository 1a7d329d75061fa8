"""The timer queue against the plainest thing that could work: a sorted list."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sim.kernel.timers import Timer, TimerOwnershipError, TimerQueue, merge_owners


class Queue(RuleBasedStateMachine):
    """Schedule, cancel, pop, suspend, resume, save and load."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = TimerQueue()
        self.waiting: list[Timer] = []
        self.suspended: list[Timer] = []
        self.seqs: list[int] = []

    @rule(due=st.integers(0, 20))
    def schedule(self, due: int) -> None:
        seq = self.queue.schedule(due, "kind", f"s{due}")
        assert seq not in self.seqs
        self.seqs.append(seq)
        self.waiting.append(Timer(due, "~", seq, "kind", f"s{due}"))

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        seq = data.draw(st.sampled_from([*self.seqs, 0]))
        existing = [timer for timer in self.waiting + self.suspended if timer.seq == seq]
        assert self.queue.cancel(seq) is bool(existing)
        self.waiting = [timer for timer in self.waiting if timer.seq != seq]
        self.suspended = [timer for timer in self.suspended if timer.seq != seq]

    @rule(until=st.integers(0, 20), suspend=st.booleans())
    def pop(self, until: int, suspend: bool) -> None:
        due = [timer for timer in sorted(self.waiting) if timer.due <= until]
        result = self.queue.pop_due(until)
        assert result == (due[0] if due else None)
        if result is not None:
            self.waiting.remove(result)
            if suspend:
                self.queue.suspend(result)
                self.suspended.append(result)

    @rule()
    def resume(self) -> None:
        assert self.queue.resume() == len(self.suspended)
        self.waiting += self.suspended
        self.suspended = []

    @rule()
    def save_and_load(self) -> None:
        other = TimerQueue()
        other.load(self.queue.save())
        self.queue = other

    @invariant()
    def agrees(self) -> None:
        assert self.queue.pending() == sorted(self.waiting)
        assert len(self.queue) == len(self.waiting) + len(self.suspended)
        assert self.queue.next_due() == min((timer.due for timer in self.waiting), default=None)


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=60, stateful_step_count=60)


def test_kinds_with_a_place_come_before_the_others_of_their_instant() -> None:
    """In the order given, those that go by subject so, whatever was scheduled first; a later
    instant stays later.
    """
    queue = TimerQueue(("end", "move"), ("move",))
    for due, kind, subject in (
        (5, "any", "a"),
        (5, "move", "z"),
        (5, "move", "b"),
        (5, "end", "2"),
        (5, "end", "1"),
        (4, "any", "c"),
        (6, "end", "3"),
    ):
        queue.schedule(due, kind, subject)
    fired = []
    while (timer := queue.pop_due(6)) is not None:
        fired.append((timer.due, timer.kind, timer.subject))
    assert fired == [
        (4, "any", "c"),
        (5, "end", "2"),
        (5, "end", "1"),
        (5, "move", "b"),
        (5, "move", "z"),
        (5, "any", "a"),
        (6, "end", "3"),
    ]


def test_cancelled_timers_do_not_pile_up() -> None:
    """A year of set-and-cancelled timers, suspended ones among them, leaves no ballast."""
    queue = TimerQueue()
    for due in range(10_000):
        seq = queue.schedule(due, "kind")
        if due % 3 == 0:
            timer = queue.pop_due(due)
            assert timer is not None
            queue.suspend(timer)
        queue.cancel(seq)
    assert len(queue) == 0
    assert queue.save() == (10_001, [], [])
    assert len(queue._heap) < 200


def test_a_kind_with_two_owners_is_an_error() -> None:
    merged = merge_owners(({"a": len, "b": len}, {"c": repr}))
    assert merged == {"a": len, "b": len, "c": repr}
    with pytest.raises(TimerOwnershipError, match="two components own the timer kind 'b'"):
        merge_owners((merged, {"b": repr}))


def test_a_closed_queue_schedules_no_kind_without_an_owner() -> None:
    queue = TimerQueue(("end",))
    queue.schedule(1, "kind")
    queue.close({"end", "kind"})
    assert queue.schedule(1, "end") == 2
    with pytest.raises(TimerOwnershipError, match="no component owns the timer kind 'other'"):
        queue.schedule(1, "other")
    assert [timer.seq for timer in queue.pending()] == [2, 1]
    assert queue.schedule(1, "kind") == 3, "the refused timer takes no seq"


def test_closing_a_queue_finds_kinds_without_an_owner() -> None:
    """A pending timer, a suspended one, and a kind that has a priority."""
    pending = TimerQueue()
    pending.schedule(1, "kind")
    suspended = TimerQueue()
    suspended.schedule(1, "kind")
    timer = suspended.pop_due(1)
    assert timer is not None
    suspended.suspend(timer)
    for queue in (pending, suspended, TimerQueue(("kind",))):
        with pytest.raises(TimerOwnershipError, match="no component owns the timer kind 'kind'"):
            queue.close({"other"})


def heap_after(queue: TimerQueue, seqs: list[int]) -> list[int]:
    """How many entries the heap has after each of some timers was cancelled."""
    results = []
    for seq in seqs:
        assert queue.cancel(seq)
        results.append(len(queue._heap))
    return results


def fill(queue: TimerQueue, count: int) -> list[int]:
    """Timers in an order that a heap does not keep by itself."""
    return [queue.schedule(1 + number * 7919 % count, "kind") for number in range(count)]


def test_the_heap_is_rebuilt_once_more_than_half_of_it_and_more_than_64_entries_are_dead() -> None:
    queue = TimerQueue()
    assert heap_after(queue, fill(queue, 200)[:101]) == [200] * 100 + [99]
    assert heap_after(queue, fill(queue, 100)[:66]) == [199] * 66  # counted from the rebuild
    small = TimerQueue()
    assert heap_after(small, fill(small, 100)[:66]) == [100] * 64 + [35] * 2


@pytest.mark.parametrize("pops", [False, True])
def test_dead_entries_that_surface_count_no_more(pops: bool) -> None:
    queue = TimerQueue()
    seqs = [queue.schedule(due, "kind") for due in range(200)]
    assert set(heap_after(queue, seqs[:20])) == {200}
    if pops:
        assert [queue.pop_due(20), queue.pop_due(19)] != [None, None]
    else:
        assert queue.next_due() == 20
    left = len(queue._heap)
    assert left == 180 - pops
    assert heap_after(queue, seqs[30:121]) == [left] * (left // 2) + [left - left // 2 - 1] * (
        91 - left // 2
    )


def test_a_rebuilt_or_loaded_queue_fires_in_order_and_starts_to_count_anew() -> None:
    queue = TimerQueue()
    seqs = fill(queue, 300)
    assert len(set(heap_after(queue, seqs[::2] + seqs[1:30:2]))) == 2
    left = [timer.seq for timer in queue.pending()]
    other = TimerQueue()
    other.load(queue.save())
    dirty = TimerQueue()
    heap_after(dirty, fill(dirty, 200)[:90])
    dirty.load(queue.save())
    for result in (queue, other, dirty):
        fired = []
        while (timer := result.pop_due(300)) is not None:
            fired.append(timer)
        assert [timer.seq for timer in fired] == left
        assert fired == sorted(fired)
    dirty.load(other.save())
    assert set(heap_after(dirty, fill(dirty, 200)[:100])) == {200}


def test_a_prefix_of_kinds_is_cancelled_and_the_suspended_stay() -> None:
    queue = TimerQueue()
    for kind in ("stream.beat", "stream.end", "order.end", "stream.beat"):
        queue.schedule(1, kind)
    first = queue.pop_due(1)
    assert first is not None
    queue.suspend(first)
    queue.cancel_kinds("stream.")
    assert [timer.kind for timer in queue.pending()] == ["order.end"]
    assert [seq in queue for seq in (0, 1, 2, 3, 4, 5)] == [False, True, False, True, False, False]
    assert queue.resume() == 1
    assert [timer.kind for timer in queue.pending()] == ["stream.beat", "order.end"]


def test_the_version_of_a_queue_changes_whenever_what_is_pending_does() -> None:
    queue = TimerQueue()
    observed = {queue.version}
    first = queue.schedule(1, "kind")
    queue.schedule(2, "kind")
    observed.add(queue.version)
    assert (queue.scheduled, len(queue)) == (3, 2)
    timer = queue.pop_due(1)
    assert timer is not None
    observed.add(queue.version)
    queue.suspend(timer)
    observed.add(queue.version)
    assert queue.version != TimerQueue().version
    queue.resume()
    assert queue.version not in observed | {(3, 1, 0)} or queue.cancel(first)
    assert len(observed) == 4
