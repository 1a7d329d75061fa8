"""What the service's clock said at each line of a recording, and in which order a replay goes.

The recorder's clock gives each line an instant to the microsecond. The service's clock shows only
now and then: a `Date` header gives whole seconds, and a message says when something happened. Each
of these is a *reading*. A recording is divided into *stretches*; within a stretch one rule derives
all readings from the recorder's clock. A stretch ends at a reading that the rule does not explain,
because somebody moved the service's clock. There are two rules:

- The clock *runs* like the recorder's, at a fixed distance from it. So does the clock of the real
  service, which nobody moves, and that of a sandbox with a paced clock.
- The clock *stands* still. So does the manual clock of a sandbox, which only its tester moves. He
  moves it by whole milliseconds, so events happen at whole milliseconds.

The lines between the last reading of a stretch and the first of the next show no time. The clock
was moved before the first heartbeat among them, since only passing time causes one. Without a
heartbeat it was moved before all of them. If an answer says that its caller waited, the clock went
on after that call was sent.

A call whose answer the service held takes two turns: one at the instant when it was sent, one when
it was answered. So does a call during which the service's clock was moved: frames that the passing
time caused were recorded before its answer. Quicker calls take one turn, in order of their
completion, since a recording does not show in which order a service took calls that overlapped.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from copy import copy
from typing import Literal, NamedTuple

from msgspec import Struct

from sim.evidence.recording.files import RecordedLine, UnreadableRecording
from sim.evidence.recording.service_times import latest_event, service_body, service_date
from sim.evidence.replay.frames import is_heartbeat
from sim.kernel.instants import NS_PER_MS, NS_PER_S, Instant, Span, parse_instant

HELD = NS_PER_S  # an answer that took this long was held
_AT_ONCE = 5 * NS_PER_MS  # nobody moves a clock by hand so soon after an answer
_BY_HAND = 0.9  # share of events at whole milliseconds that shows a clock moved by hand
_SECONDS = re.compile(r"\d{1,9}(\.\d+)?")
_LATENCY = ("x-server-latency", "x-pm-server-latency")
_ANY = 1 << 100


class Turn(NamedTuple):
    """A line, or half of a call that was held; `now` is what the service's clock said."""

    entry: RecordedLine
    now: Instant
    half: Literal["", "sent", "answered"] = ""


class _Reading(NamedTuple):
    """What a line shows of the service's clock.

    Between the instants `sent` and `done` of the recorder's clock it was at least `least` and less
    than `most`; at `done` it was at least `event`, when something had happened.
    """

    sent: Instant
    done: Instant
    least: Instant
    most: Instant
    event: Instant


class _Stretches(Struct):
    """Stretches in order, each with its begin by the recorder's clock and its value."""

    begins: list[Instant] = []
    revealed: list[Instant] = []  # when the first reading of each was complete
    values: list[Instant] = []
    low: int = -_ANY  # bounds of the last value
    high: int = _ANY

    def begin(self, at: Instant, revealed: Instant) -> None:
        """Begin a stretch; the first one has no beginning."""
        self.begins.append(max(at, self.begins[-1]) if self.begins else -_ANY)
        self.revealed.append(revealed)
        self.values.append(0)
        self.low, self.high = -_ANY, _ANY

    def narrow(self, low: int, high: int) -> None:
        """Narrow the bounds of the last value."""
        self.low, self.high = max(self.low, low), min(self.high, high)
        self.values[-1] = self.low

    def begin_after(self, sent: Instant) -> None:
        """Let the stretches that were revealed since `sent` begin after it."""
        for number in range(len(self.begins) - 1, 0, -1):
            if self.revealed[number] < sent:
                return
            self.begins[number] = max(self.begins[number], sent + 1)

    def number_at(self, instant: Instant) -> int:
        """Return the number of the stretch at an instant of the recorder's clock."""
        return bisect_right(self.begins, instant) - 1


class _RunningClock(_Stretches):
    """The value of a stretch is the distance from the recorder's clock to the service's."""

    def add(self, reading: _Reading, moved_at: Instant) -> None:
        """Add a reading. If it begins a stretch, the clock was moved at `moved_at`."""
        low, high = reading.least - reading.done, reading.most - reading.sent
        event = reading.event - reading.done
        # An event is no upper bound, and the parts of a service have clocks of their own.
        late = (self.low if self.high == _ANY else self.high) + HELD
        if low >= self.high or high <= self.low or event > late or not self.begins:
            self.begin(moved_at, reading.done)
        self.narrow(low, high)
        self.narrow(min(event, self.high - 1), _ANY)

    def now(self, at: Instant) -> Instant:
        """Return the service's instant at an instant of the recorder's clock."""
        return at + (self.values[self.number_at(at)] if self.begins else 0)


class _StandingClock(_Stretches):
    """The value of a stretch is the service's instant."""

    last: Instant = -_ANY  # when the reading before was complete

    def add(self, reading: _Reading, moved_at: Instant) -> None:
        """Add a reading. If it begins a stretch, the clock was moved at `moved_at`."""
        least = max(reading.least, min(reading.event, reading.most - 1))
        is_later = least >= self.high or reading.most <= self.low
        # An event right after an answer makes the second of that answer exact.
        if reading.most == _ANY and reading.sent - self.last > _AT_ONCE:
            is_later |= least > self.low
        if is_later or not self.begins:
            self.begin(moved_at, reading.done)
        self.narrow(least, reading.most)
        self.last = reading.done

    def now(self, at: Instant) -> Instant:
        """Return the service's instant at an instant of the recorder's clock."""
        return self.values[self.number_at(at)]


class ServiceClock:
    """The service's clock over a recording. Raises UnreadableRecording for a line whose instant
    cannot be read.
    """

    def __init__(self, entries: Collection[RecordedLine]) -> None:
        self._entries = entries
        self.moves: Mapping[int, int] = {}
        running, standing, events, exact = _RunningClock(), _StandingClock(), 0, 0
        last, is_dated = 0, False  # the last line with a Date header, or else with an event
        quiet_since, heartbeat = -_ANY, _ANY  # since the last reading
        for entry in entries:
            sent, done = sent_at(entry), done_at(entry)
            is_held = _is_held(entry, sent, done)
            reading = _reading(entry, sent, done)
            if reading is None or (reading.most == _ANY and reading.event < standing.low):
                if entry.frame is not None and is_heartbeat(entry.frame.body):
                    heartbeat = min(heartbeat, sent)
                continue
            moved_at = min(sent, quiet_since if heartbeat == _ANY else heartbeat)
            if not standing.begins and (waited := _wait(entry)) and reading.most != _ANY:
                least, most = reading.least - waited, reading.most - waited
                standing.add(_Reading(sent, sent, least, most, -_ANY), moved_at)
            for stretches in (running, standing):
                stretches.add(reading, done if is_held else moved_at)
                if _wait(entry):
                    stretches.begin_after(sent)
            quiet_since, heartbeat = done + 1, _ANY
            events += reading.event != -_ANY
            exact += reading.event != -_ANY and reading.event % NS_PER_MS == 0
            if reading.most != _ANY or not is_dated:
                last, is_dated = entry.n, reading.most != _ANY
        runs, stands = len(running.begins), len(standing.begins)
        is_standing = runs > 1 and (exact > events * _BY_HAND if events else stands <= runs)
        self._stretches: _RunningClock | _StandingClock = standing if is_standing else running
        self._last_reading = last if is_standing else None
        self._held = sorted(
            (entry for entry in entries if self._takes_two_turns(entry)), key=sent_at
        )

    def with_moves(self, moves: Mapping[int, int]) -> ServiceClock:
        """Return the same clock with another order of turns: `moves` maps the index of a line to
        that of the call after which it takes its turn.
        """
        other = copy(self)
        other.moves = moves
        return other

    @property
    def moved(self) -> bool:
        """Whether the service's clock was moved, or showed nowhere."""
        return len(self._stretches.begins) != 1

    def is_after_last_reading(self, n: int) -> bool:
        """Return whether a line comes after the last reading of a clock that stands, so that nobody
        knows how far it was moved before the line.
        """
        return self._last_reading is not None and n > self._last_reading

    def took(self, entry: RecordedLine) -> Span | None:
        """Return how long the service took for a call; None if its clock was moved meanwhile."""
        if waited := self.waited(entry):
            return waited
        sent, done = sent_at(entry), done_at(entry)
        stretches = self._stretches
        if stretches.begins and stretches.number_at(sent - 1) != stretches.number_at(done):
            return None
        return done - sent

    def _takes_two_turns(self, entry: RecordedLine) -> bool:
        """Return whether the service held an answer, or its clock went on before it answered."""
        if self.waited(entry):
            return entry.request is not None
        return _is_held(entry, sent_at(entry), done_at(entry))

    def waited(self, entry: RecordedLine) -> Span:
        """Return how long a caller waited while the clock was moved for it; 0 if it was not."""
        return _wait(entry) if isinstance(self._stretches, _StandingClock) else 0

    def turns(self) -> Iterator[Turn]:
        """Yield every line in the order of a replay."""
        held, now = iter(self._held), self._stretches.now
        following = next(held, None)
        moved = defaultdict[int, list[Turn]](list)
        for index, entry in enumerate(self._entries):
            sent, done = sent_at(entry), done_at(entry)
            single = not self._takes_two_turns(entry)
            at = sent if single else done
            while following is not None and sent_at(following) <= at:
                yield Turn(following, now(sent_at(following)), "sent")
                following = next(held, None)
            turn = Turn(entry, now(at), "" if single else "answered")
            if index in self.moves:
                moved[self.moves[index]].append(turn)
            else:
                yield turn
                yield from moved.pop(index, ())


def _reading(entry: RecordedLine, sent: Instant, done: Instant) -> _Reading | None:
    """Return what a line shows of the service's clock, if anything."""
    body = service_body(entry)
    event = -_ANY if body is None else latest_event(body, -_ANY)
    date = service_date(entry)
    if date is None:
        return None if event == -_ANY else _Reading(sent, done, -_ANY, _ANY, event)
    return _Reading(sent, done, date, date + NS_PER_S, event)


def _wait(entry: RecordedLine) -> Span:
    """Return how long a caller waited while the clock of a sandbox went on; the real service says
    something else under this name.
    """
    headers = entry.answer.headers if entry.answer is not None else {}
    text = next((headers[name] for name in _LATENCY if name in headers), "0")
    return round(float(text) * NS_PER_S) if _SECONDS.fullmatch(text) else 0


def _is_held(entry: RecordedLine, sent: Instant, done: Instant) -> bool:
    return done - sent >= HELD and entry.answer is not None and entry.request is not None


def sent_at(entry: RecordedLine) -> Instant:
    """Return when a line began, by the recorder's clock."""
    return _read(entry, entry.at)


def done_at(entry: RecordedLine) -> Instant:
    """Return when a call was answered; for other lines, when they came."""
    at = entry.answer.at if entry.answer is not None else ""
    return max(_read(entry, at), sent_at(entry)) if at else sent_at(entry)


def _read(entry: RecordedLine, text: str) -> Instant:
    try:
        return parse_instant(text)
    except ValueError:
        raise UnreadableRecording(f"line {entry.n + 1}: at is not an instant") from None
