"""The timer queue against the plainest thing that could work: a sorted list."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sim.kernel.timers import Timer, TimerQueue


class Queue(RuleBasedStateMachine):
    """Schedule, cancel, pop, park, unpark, save and load."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = TimerQueue()
        self.waiting: list[Timer] = []
        self.parked: list[Timer] = []
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
        known = [timer for timer in self.waiting + self.parked if timer.seq == seq]
        assert self.queue.cancel(seq) is bool(known)
        self.waiting = [timer for timer in self.waiting if timer.seq != seq]
        self.parked = [timer for timer in self.parked if timer.seq != seq]

    @rule(until=st.integers(0, 20), suspend=st.booleans())
    def pop(self, until: int, suspend: bool) -> None:
        due = [timer for timer in sorted(self.waiting) if timer.due <= until]
        found = self.queue.pop_due(until)
        assert found == (due[0] if due else None)
        if found is not None:
            self.waiting.remove(found)
            if suspend:
                self.queue.suspend(found)
                self.parked.append(found)

    @rule()
    def unpark(self) -> None:
        assert self.queue.unpark() == len(self.parked)
        self.waiting += self.parked
        self.parked = []

    @rule()
    def save_and_load(self) -> None:
        other = TimerQueue()
        other.load(self.queue.save())
        self.queue = other

    @invariant()
    def agrees(self) -> None:
        assert self.queue.pending() == sorted(self.waiting)
        assert len(self.queue) == len(self.waiting) + len(self.parked)
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
    """A year of set-and-cancelled timers, parked ones among them, leaves no ballast."""
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
